//! Posting: messages go into the outbox, all or none; within a transaction of whoever causes them where there is one.

use gpuledger_schema::hash::sha256_hex;
use rusqlite::{Transaction, params};

use super::{NewMessage, event};
use crate::control::Control;
use crate::error::ControlError;

/// Longest title, in bytes: a header that no server refuses.
const TITLE_BYTES_MAX: usize = 900;

/// What became of posted messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Posted {
    /// New ones that are to be sent.
    pub waiting: usize,
    /// Those whose key was there already: nothing was changed.
    pub known: usize,
    /// Those that are not sent because the same was told a short while before.
    pub cooled: usize,
}

impl Control {
    /// Posts messages, all or none, where nothing else is to be written with them.
    pub fn post(&mut self, messages: &[NewMessage], now_ms: i64) -> Result<Posted, ControlError> {
        self.change("post messages into", |transaction| Ok(post_within(transaction, messages, now_ms)?))
    }
}

/// Posts messages within the transaction that writes what they tell of.
pub(crate) fn post_within(
    transaction: &Transaction<'_>,
    messages: &[NewMessage],
    now_ms: i64,
) -> rusqlite::Result<Posted> {
    let mut posted = Posted::default();
    for message in messages {
        match post_one(transaction, message, now_ms)? {
            Some(true) => posted.waiting += 1,
            Some(false) => posted.cooled += 1,
            None => posted.known += 1,
        }
    }
    Ok(posted)
}

/// Whether the message is to be sent; `None` where its key is known.
fn post_one(transaction: &Transaction<'_>, message: &NewMessage, now_ms: i64) -> rusqlite::Result<Option<bool>> {
    let known = transaction.prepare_cached("SELECT 1 FROM outbox_message WHERE key = ?1")?.exists([&message.key])?;
    if known {
        return Ok(None);
    }
    let cooled = message.cooldown_ms > 0 && was_told(transaction, message, now_ms)?;
    let state = if cooled { "cooled" } else { "waiting" };
    transaction
        .prepare_cached(
            "INSERT INTO outbox_message (key, kind, subject, cause, person, channel, address, language, calendar, urgent, \
             title, body_text, body_html, link, created_ms, give_up_after_ms, state, due_ms) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?15)",
        )?
        .execute(params![
            message.key,
            message.kind,
            message.subject,
            message.cause,
            message.person,
            message.channel,
            message.address,
            message.language,
            message.calendar,
            message.urgent,
            one_line(&message.title),
            message.body_text,
            message.body_html,
            message.link,
            now_ms,
            message.give_up_after_ms,
            state,
        ])?;
    let message_id = transaction.last_insert_rowid();
    event(transaction, message_id, now_ms, if cooled { "cooled" } else { "posted" }, None)?;
    for (position, attachment) in (0_i64..).zip(&message.attachments) {
        let sha256 = sha256_hex(&attachment.bytes);
        transaction
            .prepare_cached("INSERT INTO outbox_blob (sha256, bytes) VALUES (?1, ?2) ON CONFLICT (sha256) DO NOTHING")?
            .execute(params![sha256, attachment.bytes])?;
        transaction
            .prepare_cached(
                "INSERT INTO outbox_attachment (message_id, position, name, media_type, sha256) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![message_id, position, attachment.name, attachment.media_type, sha256])?;
    }
    Ok(Some(!cooled))
}

/// Whether the address was told the same within the cool-down. What failed, was silenced or came back told nobody.
fn was_told(transaction: &Transaction<'_>, message: &NewMessage, now_ms: i64) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached(
            "SELECT 1 FROM outbox_message WHERE kind = ?1 AND subject = ?2 AND channel = ?3 AND address = ?4 \
             AND created_ms > ?5 AND state IN ('waiting', 'claimed', 'sending', 'delivered')",
        )?
        .exists(params![
            message.kind,
            message.subject,
            message.channel,
            message.address,
            now_ms.saturating_sub(message.cooldown_ms)
        ])
}

/// A title as one line: what ends a line, rings or turns the direction of writing stands as a blank, and it has an end.
fn one_line(title: &str) -> String {
    let mut line = String::with_capacity(title.len());
    for c in title.chars() {
        let unseen =
            c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let c = if unseen { ' ' } else { c };
        if line.len() + c.len_utf8() > TITLE_BYTES_MAX {
            line.push('…');
            break;
        }
        line.push(c);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(one_line("job a\r\nBcc: x@y.example\u{202e}cod"), "job a  Bcc: x@y.example cod");
        assert_eq!(one_line("算法组 2026年3月"), "算法组 2026年3月");
        let long = one_line(&"é".repeat(1000));
        assert!(long.len() <= TITLE_BYTES_MAX + '…'.len_utf8() && long.ends_with('…'));
    }
}
