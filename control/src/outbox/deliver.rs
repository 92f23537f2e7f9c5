//! Delivering: a sender takes leases on messages that are due, says when it starts to send one, and records the end.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::silence::{self, Silence, Standing};
use super::{Attachment, Message, event};
use crate::control::Control;
use crate::error::ControlError;

/// What a sender asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name of the sender, its own in the whole installation: a server and its run.
    pub owner: String,
    /// mail or webhook.
    pub channel: &'static str,
    /// Now, epoch ms.
    pub now_ms: i64,
    /// How long nobody else may take them, ms.
    pub lease_ms: i64,
    /// Most messages.
    pub limit: usize,
}

/// The right to send one message for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The message.
    pub message_id: i64,
    /// Who has it.
    pub owner: String,
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server of the recipient took it.
    Delivered {
        /// What it said.
        answer: String,
    },
    /// Not this time; it is tried again when due, unless that is after it is to be given up.
    Retry {
        /// What was said or went wrong.
        answer: String,
        /// When, epoch ms.
        due_ms: i64,
    },
    /// Nobody knows whether it was taken: the connection ended before the answer. It is tried again.
    Doubt {
        /// What went wrong.
        answer: String,
        /// When, epoch ms.
        due_ms: i64,
    },
    /// Never.
    Failed {
        /// Why.
        answer: String,
    },
    /// Its calendar is closed: no try, and nothing of its time is taken.
    Deferred {
        /// When the calendar opens, epoch ms.
        due_ms: i64,
    },
    /// Given back untouched: nothing was tried.
    Released,
}

impl Control {
    /// Takes leases on messages that are due, urgent ones first, then the oldest. A message that a silence covers is put
    /// aside; one whose lease ran out while it was being sent is a doubt and taken again.
    pub fn claim(&mut self, claim: &Claim) -> Result<Vec<Message>, ControlError> {
        self.change("claim messages in", |transaction| Ok(claim_within(transaction, claim)?))
    }

    /// Says that a claimed message is being sent from now on, at the latest until an instant. False where the lease is
    /// lost: then it must not be sent.
    pub fn begin_sending(&mut self, lease: &Lease, now_ms: i64, until_ms: i64) -> Result<bool, ControlError> {
        self.connection
            .prepare_cached(
                "UPDATE outbox_message SET state = 'sending', tries = tries + 1, lease_until_ms = ?4, \
                 give_up_ms = coalesce(give_up_ms, ?3 + give_up_after_ms) \
                 WHERE message_id = ?1 AND lease_owner = ?2 AND state = 'claimed' AND lease_until_ms > ?3",
            )
            .and_then(|mut s| s.execute(params![lease.message_id, lease.owner, now_ms, until_ms]))
            .map(|changed| changed == 1)
            .map_err(|e| self.error("begin a message in", e))
    }

    /// Records how a try ended. False where the lease is lost and the outcome no longer counts; that a message was
    /// delivered always counts, unless it ended before.
    pub fn record(&mut self, lease: &Lease, outcome: &Outcome, now_ms: i64) -> Result<bool, ControlError> {
        self.change("record a delivery in", |transaction| Ok(record_within(transaction, lease, outcome, now_ms)?))
    }

    /// Records that a delivered message came back. False where there is none of that key that was delivered.
    pub fn bounce(&mut self, key: &str, reason: &str, now_ms: i64) -> Result<bool, ControlError> {
        self.change("record a bounce in", |transaction| {
            let select = "SELECT message_id FROM outbox_message WHERE key = ?1 AND state = 'delivered'";
            let found: Option<i64> = transaction.query_row(select, [key], |r| r.get(0)).optional()?;
            if let Some(message_id) = found {
                end(transaction, message_id, "bounced", Some(reason), now_ms)?;
            }
            Ok(found.is_some())
        })
    }

    /// The files of a message, in order.
    pub fn attachments(&self, message_id: i64) -> Result<Vec<Attachment>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Attachment>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT a.name, a.media_type, b.bytes FROM outbox_attachment a JOIN outbox_blob b ON b.sha256 = a.sha256 \
                 WHERE a.message_id = ?1 ORDER BY a.position",
            )?;
            let rows = statement.query_map([message_id], |row| {
                Ok(Attachment { name: row.get(0)?, media_type: row.get(1)?, bytes: row.get(2)? })
            })?;
            rows.collect()
        };
        read().map_err(|e| self.error("read attachments from", e))
    }
}

/// Batches until one has anything for the sender: messages that were all put aside do not end its round.
fn claim_within(transaction: &Transaction<'_>, claim: &Claim) -> rusqlite::Result<Vec<Message>> {
    let silences = silence::standing(transaction, claim.now_ms)?;
    loop {
        let due = due(transaction, claim)?;
        let nothing_is_due = due.is_empty();
        let mut claimed = Vec::new();
        for message in due {
            claimed.extend(claim_one(transaction, claim, &silences, message)?);
        }
        if nothing_is_due || !claimed.is_empty() {
            return Ok(claimed);
        }
    }
}

/// The message, leased; `None` where a silence put it aside.
fn claim_one(
    transaction: &Transaction<'_>,
    claim: &Claim,
    silences: &[Standing],
    mut message: Message,
) -> rusqlite::Result<Option<Message>> {
    if message.state == super::MessageState::Sending {
        let answer = "the sender was lost while it was sending";
        event(transaction, message.message_id, claim.now_ms, "doubt", Some(answer))?;
        add_doubt(transaction, message.message_id)?;
        message.doubts += 1;
    }
    if let Some(standing) = silences.iter().find(|s| s.covers(&message)) {
        let why = in_words(&standing.silence);
        end(transaction, message.message_id, "silenced", Some(&why), claim.now_ms)?;
        return Ok(None);
    }
    transaction
        .prepare_cached(
            "UPDATE outbox_message SET state = 'claimed', lease_owner = ?2, lease_until_ms = ?3 WHERE message_id = ?1",
        )?
        .execute(params![message.message_id, claim.owner, claim.now_ms + claim.lease_ms])?;
    message.state = super::MessageState::Claimed;
    Ok(Some(message))
}

fn add_doubt(transaction: &Transaction<'_>, message_id: i64) -> rusqlite::Result<()> {
    let update = "UPDATE outbox_message SET doubts = doubts + 1 WHERE message_id = ?1";
    transaction.prepare_cached(update)?.execute([message_id]).map(drop)
}

/// Messages that may be tried: due and nobody's, or somebody's whose lease ran out.
fn due(connection: &Connection, claim: &Claim) -> rusqlite::Result<Vec<Message>> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM outbox_message WHERE channel = ?1 AND due_ms <= ?2 \
         AND (state = 'waiting' OR (state IN ('claimed', 'sending') AND lease_until_ms <= ?2)) \
         ORDER BY urgent DESC, due_ms, message_id LIMIT ?3",
    )?;
    let limit = i64::try_from(claim.limit).unwrap_or(i64::MAX);
    statement.query_map(params![claim.channel, claim.now_ms, limit], Message::read)?.collect()
}

fn in_words(silence: &Silence) -> String {
    format!("silence {} by {}: {}", silence.silence_id, silence.by, silence.reason)
}

fn record_within(
    transaction: &Transaction<'_>,
    lease: &Lease,
    outcome: &Outcome,
    now_ms: i64,
) -> rusqlite::Result<bool> {
    let select = "SELECT * FROM outbox_message WHERE message_id = ?1";
    let message = transaction.query_row(select, [lease.message_id], |row| {
        Ok((Message::read(row)?, row.get::<_, Option<String>>("lease_owner")?))
    });
    let Some((message, owner)) = message.optional()? else { return Ok(false) };
    let open = owner.is_some() || message.state == super::MessageState::Waiting;
    if let Outcome::Delivered { answer } = outcome {
        if open {
            end(transaction, lease.message_id, "delivered", Some(answer), now_ms)?;
        }
        return Ok(open);
    }
    if owner.as_deref() != Some(&lease.owner) {
        return Ok(false);
    }
    match outcome {
        Outcome::Failed { answer } => end(transaction, lease.message_id, "failed", Some(answer), now_ms)?,
        Outcome::Retry { answer, due_ms } => again(transaction, &message, "tried", answer, *due_ms, now_ms)?,
        Outcome::Doubt { answer, due_ms } => {
            add_doubt(transaction, lease.message_id)?;
            again(transaction, &message, "doubt", answer, *due_ms, now_ms)?;
        }
        Outcome::Deferred { due_ms } => {
            event(transaction, lease.message_id, now_ms, "deferred", None)?;
            wait(transaction, lease.message_id, *due_ms)?;
        }
        Outcome::Released => wait(transaction, lease.message_id, message.due_ms)?,
        Outcome::Delivered { .. } => {}
    }
    Ok(true)
}

/// A try that did not succeed: the next one, the last of them when its time is over, or the end.
fn again(
    transaction: &Transaction<'_>,
    message: &Message,
    what: &str,
    answer: &str,
    due_ms: i64,
    now_ms: i64,
) -> rusqlite::Result<()> {
    event(transaction, message.message_id, now_ms, what, Some(answer))?;
    // Where even the server was not reached, the try ends before it began to send: it counts like any other.
    let began = i64::from(message.state == super::MessageState::Claimed);
    let (tries, give_up_ms) = transaction
        .prepare_cached(
            "UPDATE outbox_message SET answer = ?2, tries = tries + ?3, \
             give_up_ms = coalesce(give_up_ms, ?4 + give_up_after_ms) WHERE message_id = ?1 RETURNING tries, give_up_ms",
        )?
        .query_row(params![message.message_id, answer, began, now_ms], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?)))?;
    if now_ms >= give_up_ms {
        let answer = format!("given up after {tries} tries: {answer}");
        return end(transaction, message.message_id, "failed", Some(&answer), now_ms);
    }
    wait(transaction, message.message_id, due_ms.min(give_up_ms))
}

fn wait(transaction: &Transaction<'_>, message_id: i64, due_ms: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE outbox_message SET state = 'waiting', lease_owner = NULL, lease_until_ms = NULL, due_ms = ?2 \
             WHERE message_id = ?1",
        )?
        .execute(params![message_id, due_ms])?;
    Ok(())
}

/// Ends a message, with the event that says so.
fn end(
    transaction: &Transaction<'_>,
    message_id: i64,
    state: &str,
    answer: Option<&str>,
    now_ms: i64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE outbox_message SET state = ?2, lease_owner = NULL, lease_until_ms = NULL, answer = ?3 \
             WHERE message_id = ?1",
        )?
        .execute(params![message_id, state, answer])?;
    event(transaction, message_id, now_ms, state, answer)
}
