//! Silences: who wants to hear nothing of what, until when, and why. A silenced message is put aside, not lost.

use regex::Regex;
use rusqlite::{Connection, Row, params};

use super::Message;
use crate::control::Control;
use crate::error::ControlError;
use crate::pattern;

/// A silence as it is asked for. At least one of kind, subject and person is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSilence {
    /// Kind of messages, with `*` and `?`; absent: any.
    pub kind: Option<String>,
    /// What they are about, with `*` and `?`; absent: anything.
    pub subject: Option<String>,
    /// Whom they are for, with `*` and `?`, e.g. `lead:nlp`; absent: anybody.
    pub person: Option<String>,
    /// From when, epoch ms.
    pub from_ms: i64,
    /// Until when, epoch ms.
    pub until_ms: i64,
    /// Who asks.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A silence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Number.
    pub silence_id: i64,
    /// Kind of messages; absent: any.
    pub kind: Option<String>,
    /// What they are about; absent: anything.
    pub subject: Option<String>,
    /// Whom they are for; absent: anybody.
    pub person: Option<String>,
    /// From when, epoch ms.
    pub from_ms: i64,
    /// Until when, epoch ms.
    pub until_ms: i64,
    /// Who asked.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When somebody ended it before its time, epoch ms.
    pub ended_ms: Option<i64>,
    /// Who.
    pub ended_by: Option<String>,
}

impl Silence {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            silence_id: row.get("silence_id")?,
            kind: row.get("kind")?,
            subject: row.get("subject")?,
            person: row.get("person")?,
            from_ms: row.get("from_ms")?,
            until_ms: row.get("until_ms")?,
            by: row.get("by")?,
            reason: row.get("reason")?,
            ended_ms: row.get("ended_ms")?,
            ended_by: row.get("ended_by")?,
        })
    }
}

/// A silence that stands, ready to be compared with messages.
pub(super) struct Standing {
    /// The silence.
    pub(super) silence: Silence,
    kind: Option<Regex>,
    subject: Option<Regex>,
    person: Option<Regex>,
}

impl Standing {
    fn of(silence: Silence) -> Result<Self, regex::Error> {
        let read = |of: &Option<String>| of.as_deref().map(|p| Regex::new(&pattern::to_regex(p))).transpose();
        let (kind, subject, person) = (read(&silence.kind)?, read(&silence.subject)?, read(&silence.person)?);
        Ok(Self { silence, kind, subject, person })
    }

    /// Whether it is about the message.
    pub(super) fn covers(&self, message: &Message) -> bool {
        let of = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_none_or(|p| p.is_match(text));
        of(&self.kind, &message.kind) && of(&self.subject, &message.subject) && of(&self.person, &message.person)
    }
}

impl Control {
    /// Begins a silence; its number. One that would silence everything is refused, as is one without a reason.
    pub fn silence(&mut self, new: &NewSilence) -> Result<i64, ControlError> {
        let anything = |p: &Option<String>| p.as_deref().is_none_or(|p| p.chars().all(|c| c == '*'));
        if anything(&new.kind) && anything(&new.subject) && anything(&new.person) {
            return Err(ControlError::Silence { reason: "it would silence everything: say what, about what, or whom" });
        }
        if new.reason.trim().is_empty() || new.by.trim().is_empty() {
            return Err(ControlError::Silence { reason: "a silence has a reason, and somebody who asks for it" });
        }
        if new.until_ms <= new.from_ms {
            return Err(ControlError::Silence { reason: "its end is not after its start" });
        }
        let insert = "INSERT INTO silence (kind, subject, person, from_ms, until_ms, by, reason) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let row = params![new.kind, new.subject, new.person, new.from_ms, new.until_ms, new.by, new.reason];
        self.connection.execute(insert, row).map_err(|e| self.error("write a silence into", e))?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Ends a silence before its time. False where it does not stand.
    pub fn end_silence(&mut self, silence_id: i64, by: &str, now_ms: i64) -> Result<bool, ControlError> {
        let update = "UPDATE silence SET ended_ms = ?2, ended_by = ?3 \
                      WHERE silence_id = ?1 AND ended_ms IS NULL AND until_ms > ?2";
        let changed = self.connection.execute(update, params![silence_id, now_ms, by]);
        changed.map(|n| n == 1).map_err(|e| self.error("end a silence in", e))
    }

    /// Every silence, newest first; those that ended stay.
    pub fn silences(&self) -> Result<Vec<Silence>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Silence>> {
            let select = "SELECT * FROM silence ORDER BY silence_id DESC";
            self.connection.prepare_cached(select)?.query_map([], Silence::read)?.collect()
        };
        read().map_err(|e| self.error("read silences from", e))
    }
}

/// Silences that stand at an instant, oldest first. A pattern that is too long to be compared covers nothing.
pub(super) fn standing(connection: &Connection, now_ms: i64) -> rusqlite::Result<Vec<Standing>> {
    let select = "SELECT * FROM silence WHERE from_ms <= ?1 AND until_ms > ?1 AND ended_ms IS NULL ORDER BY silence_id";
    let silences: Vec<Silence> =
        connection.prepare_cached(select)?.query_map([now_ms], Silence::read)?.collect::<rusqlite::Result<_>>()?;
    Ok(silences.into_iter().filter_map(|s| Standing::of(s).ok()).collect())
}
