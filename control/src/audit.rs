//! The audit log: everything that was changed, by whom, from what to what and why, each entry chained to the one before.
//!
//! The hash of an entry is the SHA-256 of its text form ([`Entry::text`]), which holds the hash of the entry before it: an
//! entry that is changed, taken out or put in breaks the chain there. A tail that is cut off breaks nothing, so the newest
//! hash (the *head*) is also kept elsewhere, and [`Control::verify_audit`] compares what it is given.

use std::fmt;
use std::str::FromStr;

use gpuledger_schema::hash::sha256_hex;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::control::Control;
use crate::error::ControlError;

/// `previous` of the first entry.
const NOTHING_BEFORE: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// First line of a text form: says which form it is.
const FORM: &str = "gpuledger audit 1";
const COLUMNS: &str = "seq, at_ms, actor, action, table_name, subject, version, source, before, after, reason, approver, \
                       previous, hash";

/// Who changes something, when, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// The person or program.
    pub actor: String,
    /// When, epoch ms.
    pub at_ms: i64,
    /// Why, where that is asked for.
    pub reason: Option<String>,
    /// Who approved it, where that is asked for.
    pub approver: Option<String>,
}

/// What is done to a thing, a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A row was added.
    Add,
    /// A row that was there got an end.
    End,
    /// What a forced row leaves over of a row that was there stands as a row of its own.
    Split,
    /// A row that was there holds no more: forced rows stand for all of its time.
    Supersede,
    /// A period was opened again, is collecting, or was closed.
    Period,
    /// An item of a close was waived, or is waived no more.
    Waive,
    /// A line of a draft was accepted or disputed.
    Answer,
}

impl Action {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::End => "end",
            Self::Split => "split",
            Self::Supersede => "supersede",
            Self::Period => "period",
            Self::Waive => "waive",
            Self::Answer => "answer",
        }
    }
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number: 1, 2, 3 ... without a gap.
    pub seq: i64,
    /// When, epoch ms.
    pub at_ms: i64,
    /// Who.
    pub actor: String,
    /// What was done: add, end, split, supersede, period, waive, answer.
    pub action: String,
    /// The table it was done to.
    pub table: String,
    /// What it is about, in words.
    pub subject: String,
    /// The table's version that it led to; absent for what is not a reference table.
    pub version: Option<i64>,
    /// Name of the imported file; absent where there was none.
    pub source: Option<String>,
    /// What was there before, as JSON; absent where nothing was.
    pub before: Option<String>,
    /// What is there now, as JSON; absent where nothing is.
    pub after: Option<String>,
    /// Why, where it was said.
    pub reason: Option<String>,
    /// Who approved it, where it was said.
    pub approver: Option<String>,
    /// The hash of the entry before it; 64 zeros for the first.
    pub previous: String,
    /// The hash of this entry.
    pub hash: String,
}

/// The newest entry, as it was at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

/// A text that is no head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not NUMBER:HASH, as `audit verify` prints it")]
pub struct NotAHead(String);

impl FromStr for Head {
    type Err = NotAHead;

    fn from_str(text: &str) -> Result<Self, NotAHead> {
        let bad = || NotAHead(text.to_owned());
        let (seq, hash) = text.split_once(':').ok_or_else(bad)?;
        let hex = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        match seq.parse() {
            Ok(seq) if hex => Ok(Self { seq, hash: hash.to_ascii_lowercase() }),
            _ => Err(bad()),
        }
    }
}

/// What is asked of the log. What is absent is not asked.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only this table.
    pub table: Option<String>,
    /// Only from this instant on.
    pub from_ms: Option<i64>,
    /// Only before this instant.
    pub to_ms: Option<i64>,
}

/// Where the log is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    /// The entry at which it shows.
    pub seq: i64,
    /// What is wrong there.
    pub reason: String,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCheck {
    /// Entries there are.
    pub entries: i64,
    /// The newest of them.
    pub head: Option<Head>,
    /// Heads of earlier times that were compared.
    pub heads: usize,
    /// The first thing that is wrong; absent: the log is whole.
    pub broken: Option<BrokenLink>,
}

impl Entry {
    /// What is hashed: a line a field, `name length:value`, `name -` where it is absent. A value is UTF-8 and its length
    /// is in bytes, so that no value can pass for another field. The hash itself is not in it.
    pub fn text(&self) -> String {
        let mut text = format!("{FORM}\n");
        let mut line = |name: &str, value: Option<&str>| match value {
            Some(value) => text.push_str(&format!("{name} {}:{value}\n", value.len())),
            None => text.push_str(&format!("{name} -\n")),
        };
        line("seq", Some(&self.seq.to_string()));
        line("at_ms", Some(&self.at_ms.to_string()));
        line("actor", Some(&self.actor));
        line("action", Some(&self.action));
        line("table", Some(&self.table));
        line("subject", Some(&self.subject));
        line("version", self.version.map(|v| v.to_string()).as_deref());
        line("source", self.source.as_deref());
        line("before", self.before.as_deref());
        line("after", self.after.as_deref());
        line("reason", self.reason.as_deref());
        line("approver", self.approver.as_deref());
        line("previous", Some(&self.previous));
        text
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get("seq")?,
            at_ms: row.get("at_ms")?,
            actor: row.get("actor")?,
            action: row.get("action")?,
            table: row.get("table_name")?,
            subject: row.get("subject")?,
            version: row.get("version")?,
            source: row.get("source")?,
            before: row.get("before")?,
            after: row.get("after")?,
            reason: row.get("reason")?,
            approver: row.get("approver")?,
            previous: row.get("previous")?,
            hash: row.get("hash")?,
        })
    }
}

/// What happened, before it has a place in the chain.
#[derive(Debug)]
pub(crate) struct Happened<'a> {
    pub(crate) action: Action,
    pub(crate) table: &'a str,
    pub(crate) subject: String,
    pub(crate) version: Option<i64>,
    pub(crate) source: Option<&'a str>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// The log, open for appending inside a transaction of the caller.
#[derive(Debug)]
pub(crate) struct Log<'c> {
    insert: rusqlite::Statement<'c>,
    head: Option<Head>,
    who: &'c Who,
}

impl<'c> Log<'c> {
    pub(crate) fn open(connection: &'c Connection, who: &'c Who) -> rusqlite::Result<Self> {
        let places = vec!["?"; COLUMNS.split(',').count()].join(", ");
        let insert = connection.prepare(&format!("INSERT INTO audit ({COLUMNS}) VALUES ({places})"))?;
        Ok(Self { insert, head: head(connection)?, who })
    }

    pub(crate) fn append(&mut self, happened: Happened<'_>) -> rusqlite::Result<()> {
        let mut entry = Entry {
            seq: self.head.as_ref().map_or(1, |h| h.seq + 1),
            at_ms: self.who.at_ms,
            actor: self.who.actor.clone(),
            action: happened.action.as_str().to_owned(),
            table: happened.table.to_owned(),
            subject: happened.subject,
            version: happened.version,
            source: happened.source.map(str::to_owned),
            before: happened.before,
            after: happened.after,
            reason: self.who.reason.clone(),
            approver: self.who.approver.clone(),
            previous: self.head.as_ref().map_or_else(|| NOTHING_BEFORE.to_owned(), |h| h.hash.clone()),
            hash: String::new(),
        };
        entry.hash = sha256_hex(entry.text().as_bytes());
        self.insert.execute(params![
            entry.seq,
            entry.at_ms,
            entry.actor,
            entry.action,
            entry.table,
            entry.subject,
            entry.version,
            entry.source,
            entry.before,
            entry.after,
            entry.reason,
            entry.approver,
            entry.previous,
            entry.hash,
        ])?;
        self.head = Some(Head { seq: entry.seq, hash: entry.hash });
        Ok(())
    }
}

fn head(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    connection
        .query_row("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", [], |r| {
            Ok(Head { seq: r.get(0)?, hash: r.get(1)? })
        })
        .optional()
}

/// Copies the edits of the log before this one, in their order, each with its own time and actor.
pub(crate) fn adopt_edits(connection: &Connection) -> rusqlite::Result<()> {
    let mut edits = connection
        .prepare("SELECT at_ms, actor, file, table_name, version, before, after FROM edit ORDER BY edit_id")?;
    let mut rows = edits.query([])?;
    while let Some(row) = rows.next()? {
        let who = Who { at_ms: row.get(0)?, actor: row.get(1)?, ..Who::default() };
        let (file, table): (String, String) = (row.get(2)?, row.get(3)?);
        let before: Option<String> = row.get(5)?;
        Log::open(connection, &who)?.append(Happened {
            action: if before.is_none() { Action::Add } else { Action::End },
            table: &table,
            subject: "a row, in the log before this one".to_owned(),
            version: row.get(4)?,
            source: Some(&file),
            before,
            after: row.get(6)?,
        })?;
    }
    Ok(())
}

impl Control {
    /// Entries of the audit log, oldest first.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn audit(&self, query: &AuditQuery) -> Result<Vec<Entry>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Entry>> {
            let select = format!(
                "SELECT {COLUMNS} FROM audit WHERE (?1 IS NULL OR table_name = ?1) AND (?2 IS NULL OR at_ms >= ?2) \
                 AND (?3 IS NULL OR at_ms < ?3) ORDER BY seq"
            );
            let mut statement = self.connection().prepare(&select)?;
            statement.query_map(params![query.table, query.from_ms, query.to_ms], Entry::read)?.collect()
        };
        read().map_err(|e| self.error("read the audit log of", e))
    }

    /// The newest entry of the audit log: to be kept where the log is not.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn audit_head(&self) -> Result<Option<Head>, ControlError> {
        head(self.connection()).map_err(|e| self.error("read the audit log of", e))
    }

    /// Whether the log is whole: numbers without a gap, each entry's hash that of its text, each chained to the one before
    /// it, and every head of an earlier time (`heads`) still an entry of it.
    ///
    /// # Errors
    /// SQLite fails. A broken log is no error but what is found.
    pub fn verify_audit(&self, heads: &[Head]) -> Result<AuditCheck, ControlError> {
        self.walk(heads).map_err(|e| self.error("read the audit log of", e))
    }

    fn walk(&self, heads: &[Head]) -> rusqlite::Result<AuditCheck> {
        let mut statement = self.connection().prepare(&format!("SELECT {COLUMNS} FROM audit ORDER BY seq"))?;
        let mut rows = statement.query([])?;
        let (mut last, mut entries, mut broken): (Option<Head>, i64, Option<BrokenLink>) = (None, 0, None);
        while let Some(row) = rows.next()? {
            let entry = Entry::read(row)?;
            entries += 1;
            if broken.is_none()
                && let Some(reason) = wrong(&entry, last.as_ref(), heads)
            {
                broken = Some(BrokenLink { seq: entry.seq, reason });
            }
            last = Some(Head { seq: entry.seq, hash: entry.hash });
        }
        let end = last.as_ref().map_or(0, |h| h.seq);
        if broken.is_none()
            && let Some(lost) = heads.iter().filter(|h| h.seq > end).max_by_key(|h| h.seq)
        {
            let reason = format!("the log ends at entry {end}; it once had {}: its tail was cut off", lost.seq);
            broken = Some(BrokenLink { seq: end + 1, reason });
        }
        Ok(AuditCheck { entries, head: last, heads: heads.len(), broken })
    }
}

/// What is wrong with an entry, given the one before it.
fn wrong(entry: &Entry, before: Option<&Head>, heads: &[Head]) -> Option<String> {
    let (seq, previous) = before.map_or((1, NOTHING_BEFORE), |b| (b.seq + 1, b.hash.as_str()));
    if entry.seq != seq {
        return Some(format!("entry {seq} is missing"));
    }
    if entry.previous != previous {
        return Some("it is not chained to the entry before it".to_owned());
    }
    if entry.hash != sha256_hex(entry.text().as_bytes()) {
        return Some("its hash is not that of what it says: it was changed".to_owned());
    }
    let seen = heads.iter().find(|h| h.seq == entry.seq && h.hash != entry.hash)?;
    Some(format!("its hash was once {}: the log was written anew", seen.hash))
}

#[cfg(test)]
mod tests;
