//! Reading the outbox: for pages, for the doctor, and for whoever waits to hear what became of a message.

use rusqlite::params;

use super::{Message, MessageState};
use crate::control::Control;
use crate::error::ControlError;

/// Something that happened to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Number: events are read in its order.
    pub event_id: i64,
    /// The message.
    pub message_id: i64,
    /// Its key.
    pub key: String,
    /// Its kind.
    pub kind: String,
    /// What caused it.
    pub cause: Option<String>,
    /// Whom it was for.
    pub person: String,
    /// When, epoch ms.
    pub at_ms: i64,
    /// posted, tried, deferred, doubt, delivered, bounced, failed, silenced or cooled.
    pub what: String,
    /// What was answered, or why.
    pub answer: Option<String>,
}

/// How many messages are in which state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// mail or webhook.
    pub channel: String,
    /// State.
    pub state: MessageState,
    /// Messages.
    pub messages: i64,
    /// When the oldest of them was posted, epoch ms.
    pub oldest_ms: i64,
}

impl Control {
    /// Events after one that was seen (0: from the first), oldest first, at most so many.
    pub fn outbox_events_after(&self, event_id: i64, limit: usize) -> Result<Vec<Event>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Event>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT e.event_id, e.message_id, m.key, m.kind, m.cause, m.person, e.at_ms, e.what, e.answer \
                 FROM outbox_event e JOIN outbox_message m ON m.message_id = e.message_id \
                 WHERE e.event_id > ?1 ORDER BY e.event_id LIMIT ?2",
            )?;
            let rows = statement.query_map(params![event_id, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok(Event {
                    event_id: row.get(0)?,
                    message_id: row.get(1)?,
                    key: row.get(2)?,
                    kind: row.get(3)?,
                    cause: row.get(4)?,
                    person: row.get(5)?,
                    at_ms: row.get(6)?,
                    what: row.get(7)?,
                    answer: row.get(8)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|e| self.error("read events of messages from", e))
    }

    /// Messages in a state (absent: any), newest first, at most so many.
    pub fn outbox_messages(&self, state: Option<MessageState>, limit: usize) -> Result<Vec<Message>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Message>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM outbox_message WHERE ?1 IS NULL OR state = ?1 ORDER BY message_id DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![state.map(MessageState::as_str), limit], Message::read)?.collect()
        };
        read().map_err(|e| self.error("read messages from", e))
    }

    /// The messages that something caused, oldest first.
    pub fn outbox_messages_of(&self, cause: &str) -> Result<Vec<Message>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Message>> {
            let select = "SELECT * FROM outbox_message WHERE cause = ?1 ORDER BY message_id";
            self.connection.prepare_cached(select)?.query_map([cause], Message::read)?.collect()
        };
        read().map_err(|e| self.error("read messages from", e))
    }

    /// How many messages are in which state, by channel.
    pub fn outbox_summary(&self) -> Result<Vec<Summary>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Summary>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT channel, state, count(*) AS messages, min(created_ms) AS oldest_ms FROM outbox_message \
                 GROUP BY channel, state ORDER BY channel, state",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(Summary {
                    channel: row.get("channel")?,
                    state: MessageState::read(row)?,
                    messages: row.get("messages")?,
                    oldest_ms: row.get("oldest_ms")?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|e| self.error("count messages of", e))
    }
}
