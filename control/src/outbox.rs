//! The outbox: messages to people and what became of them. A message can be written by the transaction that writes what it tells of.
//!
//! A message goes to one address, so that one bad address stops nobody else. It is `waiting` until a sender takes a lease
//! on it (`claimed`), says that it starts to send (`sending`), and records how that ended. A lease that ran out while the
//! message was only claimed proves that nothing was sent: another sender takes it over. One that ran out while it was
//! being sent is a doubt: it is sent again under the same identity, and the doubt is counted. That is the one case in
//! which somebody may get a message twice, and it is as small as one message a sender.
//!
//! This module knows no mail server, no HTTP and no language: texts come in ready, answers come back as text.

mod alert;
mod deliver;
mod post;
mod read;
mod silence;
#[cfg(test)]
mod tests;

use rusqlite::{Row, params};

pub use alert::{Alert, AlertChanges, NewAlert};
pub use deliver::{Claim, Lease, Outcome};
pub use post::Posted;
pub use read::{Event, Summary};
pub use silence::{NewSilence, Silence};

/// A file that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the file, e.g. `nlp-2026-10-statement.pdf`.
    pub name: String,
    /// Media type, e.g. `application/pdf`.
    pub media_type: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// A message as it is posted: the texts of one language for one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Says which message this is: a key that is there already is not posted again.
    pub key: String,
    /// Kind of what it tells, e.g. `late_node`.
    pub kind: String,
    /// What it is about: a team, a node, a case. Cool-downs and silences go by it.
    pub subject: String,
    /// Id of what caused it, for whoever reads the events; absent where nobody waits for one.
    pub cause: Option<String>,
    /// Whom it is for, e.g. `lead:nlp`.
    pub person: String,
    /// mail or webhook.
    pub channel: String,
    /// Mail address, or name of a webhook.
    pub address: String,
    /// en or zh.
    pub language: String,
    /// Work calendar whose hours it waits for; absent: any time.
    pub calendar: Option<String>,
    /// Waits for no hours.
    pub urgent: bool,
    /// Subject of the mail, title of the chat message.
    pub title: String,
    /// Plain text.
    pub body_text: String,
    /// The same as HTML; absent for chat.
    pub body_html: Option<String>,
    /// Page that shows more.
    pub link: Option<String>,
    /// Files.
    pub attachments: Vec<Attachment>,
    /// The same kind is not told about the same subject to the same address again for so long, ms; 0 is always told.
    pub cooldown_ms: i64,
    /// How long after the first try it is given up, ms.
    pub give_up_after_ms: i64,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageState {
    /// Nobody has it, it is tried when it is due.
    Waiting,
    /// A sender has it, nothing was sent yet.
    Claimed,
    /// A sender is sending it.
    Sending,
    /// The server of that recipient took it.
    Delivered,
    /// It was taken and came back later.
    Bounced,
    /// It did not arrive and is not tried again.
    Failed,
    /// It was not sent because of a silence.
    Silenced,
    /// It was not sent because the same was told a short while before.
    Cooled,
}

impl MessageState {
    /// Every state.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Claimed,
        Self::Sending,
        Self::Delivered,
        Self::Bounced,
        Self::Failed,
        Self::Silenced,
        Self::Cooled,
    ];

    /// The word in the control file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Claimed => "claimed",
            Self::Sending => "sending",
            Self::Delivered => "delivered",
            Self::Bounced => "bounced",
            Self::Failed => "failed",
            Self::Silenced => "silenced",
            Self::Cooled => "cooled",
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let word: String = row.get("state")?;
        let known = Self::ALL.into_iter().find(|s| s.as_str() == word);
        known.ok_or_else(|| {
            let unknown = format!("`{word}` is not a state of a message");
            rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, unknown.into())
        })
    }
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Number in the control file.
    pub message_id: i64,
    /// See [`NewMessage`], also for the rest.
    pub key: String,
    /// Kind.
    pub kind: String,
    /// What it is about.
    pub subject: String,
    /// What caused it.
    pub cause: Option<String>,
    /// Whom it is for.
    pub person: String,
    /// mail or webhook.
    pub channel: String,
    /// Mail address, or name of a webhook.
    pub address: String,
    /// en or zh.
    pub language: String,
    /// Work calendar.
    pub calendar: Option<String>,
    /// Waits for no hours.
    pub urgent: bool,
    /// Title.
    pub title: String,
    /// Plain text.
    pub body_text: String,
    /// HTML.
    pub body_html: Option<String>,
    /// Page.
    pub link: Option<String>,
    /// When it was posted, epoch ms.
    pub created_ms: i64,
    /// How long after the first try it is given up, ms.
    pub give_up_after_ms: i64,
    /// Where it stands.
    pub state: MessageState,
    /// When it may be tried next, epoch ms.
    pub due_ms: i64,
    /// When it is given up, epoch ms; absent before the first try.
    pub give_up_ms: Option<i64>,
    /// How often it was tried.
    pub tries: i64,
    /// How often a try ended without anybody knowing how: it may have arrived so often besides.
    pub doubts: i64,
    /// What was answered last.
    pub answer: Option<String>,
}

impl Message {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            message_id: row.get("message_id")?,
            key: row.get("key")?,
            kind: row.get("kind")?,
            subject: row.get("subject")?,
            cause: row.get("cause")?,
            person: row.get("person")?,
            channel: row.get("channel")?,
            address: row.get("address")?,
            language: row.get("language")?,
            calendar: row.get("calendar")?,
            urgent: row.get("urgent")?,
            title: row.get("title")?,
            body_text: row.get("body_text")?,
            body_html: row.get("body_html")?,
            link: row.get("link")?,
            created_ms: row.get("created_ms")?,
            give_up_after_ms: row.get("give_up_after_ms")?,
            state: MessageState::read(row)?,
            due_ms: row.get("due_ms")?,
            give_up_ms: row.get("give_up_ms")?,
            tries: row.get("tries")?,
            doubts: row.get("doubts")?,
            answer: row.get("answer")?,
        })
    }
}

/// Writes what happened to a message.
fn event(
    connection: &rusqlite::Connection,
    message_id: i64,
    at_ms: i64,
    what: &str,
    answer: Option<&str>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO outbox_event (message_id, at_ms, what, answer) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![message_id, at_ms, what, answer])?;
    Ok(())
}
