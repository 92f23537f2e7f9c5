//! What is said of a billing month before it closes: what its close is waived, and the answers to lines of its draft. Both are
//! added only; the newest counts.

use std::str::FromStr;

use rusqlite::{Connection, Row, params};

use crate::audit::{Action, Happened, Who};
use crate::case::word;
use crate::control::Control;
use crate::error::ControlError;
use crate::period::{closed, refused};

/// An item of the close list that a period is closed in spite of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The period, YYYY-MM.
    pub period: String,
    /// Id of the item, as the close list names it.
    pub item: String,
    /// Why.
    pub reason: String,
    /// Who approved it.
    pub approver: String,
    /// Who wrote it down.
    pub actor: String,
    /// When, epoch ms.
    pub at_ms: i64,
}

/// What a lead says of a line of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is right.
    Accepted,
    /// It is not: the period does not close until it is settled or waived.
    Disputed,
}

impl Verdict {
    /// The word in tables and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Disputed => "disputed",
        }
    }
}

/// Not an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no answer: accepted or disputed")]
pub struct UnknownVerdict(String);

impl FromStr for Verdict {
    type Err = UnknownVerdict;

    fn from_str(word: &str) -> Result<Self, UnknownVerdict> {
        let known = [Self::Accepted, Self::Disputed];
        known.into_iter().find(|v| v.as_str() == word).ok_or_else(|| UnknownVerdict(word.to_owned()))
    }
}

/// An answer to a line of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineAnswer {
    /// The period, YYYY-MM.
    pub period: String,
    /// The line.
    pub line_id: i64,
    /// The answer.
    pub verdict: Verdict,
    /// Why; required for a dispute.
    pub reason: Option<String>,
    /// Who answers.
    pub by: String,
    /// When, epoch ms.
    pub at_ms: i64,
}

impl Control {
    /// Waives an item of the close list of a period, by name.
    ///
    /// # Errors
    /// [`ControlError::PeriodClosed`]; [`ControlError::Not`] without a reason or an approver.
    pub fn waive(&mut self, waiver: &Waiver) -> Result<(), ControlError> {
        self.write_waiver(waiver, true)
    }

    /// Takes a waiver back: from now on the item counts again. The waiver stays in the history.
    ///
    /// # Errors
    /// As [`Control::waive`], and [`ControlError::Not`] where the item is not waived.
    pub fn withdraw_waiver(&mut self, waiver: &Waiver) -> Result<(), ControlError> {
        self.write_waiver(waiver, false)
    }

    /// What is waived in a period now: the newest of each item, by item.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn waivers(&self, period: &str) -> Result<Vec<Waiver>, ControlError> {
        waivers(self.connection(), period).map_err(|e| self.error("read waivers from", e))
    }

    /// Keeps what a lead says of a line of a draft. Earlier answers stay in the history.
    ///
    /// # Errors
    /// [`ControlError::PeriodClosed`]; [`ControlError::Not`] for a dispute without a reason.
    pub fn answer(&mut self, answer: &LineAnswer) -> Result<(), ControlError> {
        let blank = answer.reason.as_deref().is_none_or(|r| r.trim().is_empty());
        if answer.verdict == Verdict::Disputed && blank {
            return Err(refused("line_answer", "a line is disputed for a reason".to_owned()));
        }
        let who = Who { actor: answer.by.clone(), at_ms: answer.at_ms, reason: answer.reason.clone(), approver: None };
        self.write(&who, |transaction, log| {
            let history = answer_history(transaction, &answer.period)?;
            let before = history.into_iter().rev().find(|a| a.line_id == answer.line_id);
            if let Some(closed) = closed(transaction, &answer.period)? {
                return Err(ControlError::PeriodClosed { period: closed, doing: "answered" }.into());
            }
            transaction.execute(
                "INSERT INTO line_answer (period, line_id, answer, reason, by, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![answer.period, answer.line_id, answer.verdict.as_str(), answer.reason, answer.by, answer.at_ms],
            )?;
            log.append(Happened {
                action: Action::Answer,
                table: "line_answer",
                subject: format!("{} line {}: {}", answer.period, answer.line_id, answer.verdict.as_str()),
                version: None,
                source: None,
                before: before.as_ref().map(|b| answer_json(transaction, b)).transpose()?,
                after: Some(answer_json(transaction, answer)?),
            })?;
            Ok(())
        })
    }

    /// The answers that count: the newest of each line of a period, by line.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn answers(&self, period: &str) -> Result<Vec<LineAnswer>, ControlError> {
        let mut newest: Vec<LineAnswer> = Vec::new();
        for answer in self.answer_history(period)? {
            newest.retain(|a| a.line_id != answer.line_id);
            newest.push(answer);
        }
        newest.sort_by_key(|a| a.line_id);
        Ok(newest)
    }

    /// Every answer to lines of a period, oldest first.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn answer_history(&self, period: &str) -> Result<Vec<LineAnswer>, ControlError> {
        answer_history(self.connection(), period).map_err(|e| self.error("read answers from", e))
    }

    fn write_waiver(&mut self, waiver: &Waiver, waived: bool) -> Result<(), ControlError> {
        if waiver.reason.trim().is_empty() || waiver.approver.trim().is_empty() {
            return Err(refused("waiver", format!("{} is waived for a reason and by an approver", waiver.item)));
        }
        let who = Who {
            actor: waiver.actor.clone(),
            at_ms: waiver.at_ms,
            reason: Some(waiver.reason.clone()),
            approver: Some(waiver.approver.clone()),
        };
        self.write(&who, |transaction, log| {
            let before = waivers(transaction, &waiver.period)?.into_iter().find(|w| w.item == waiver.item);
            if !waived && before.is_none() {
                let reason = format!("{} is not waived in {}", waiver.item, waiver.period);
                return Err(refused("waiver", reason).into());
            }
            if let Some(closed) = closed(transaction, &waiver.period)? {
                return Err(ControlError::PeriodClosed { period: closed, doing: "waived anything" }.into());
            }
            transaction.execute(
                "INSERT INTO waiver (period, item, waived, reason, approver, actor, at_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![waiver.period, waiver.item, waived, waiver.reason, waiver.approver, waiver.actor, waiver.at_ms],
            )?;
            let word = if waived { "waived" } else { "waived no more" };
            log.append(Happened {
                action: Action::Waive,
                table: "waiver",
                subject: format!("{} {}: {word}", waiver.period, waiver.item),
                version: None,
                source: None,
                before: before.as_ref().map(|b| waiver_json(transaction, b, true)).transpose()?,
                after: Some(waiver_json(transaction, waiver, waived)?),
            })?;
            Ok(())
        })
    }
}

fn waivers(connection: &Connection, period: &str) -> rusqlite::Result<Vec<Waiver>> {
    let mut statement = connection.prepare(
        "SELECT period, item, reason, approver, actor, at_ms FROM waiver w WHERE period = ?1 AND waived = 1 \
         AND waiver_id = (SELECT max(waiver_id) FROM waiver WHERE period = w.period AND item = w.item) ORDER BY item",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Waiver {
            period: row.get(0)?,
            item: row.get(1)?,
            reason: row.get(2)?,
            approver: row.get(3)?,
            actor: row.get(4)?,
            at_ms: row.get(5)?,
        })
    };
    statement.query_map([period], read)?.collect()
}

fn answer_history(connection: &Connection, period: &str) -> rusqlite::Result<Vec<LineAnswer>> {
    let mut statement = connection.prepare(
        "SELECT period, line_id, answer, reason, by, at_ms FROM line_answer WHERE period = ?1 ORDER BY answer_id",
    )?;
    let read = |row: &Row<'_>| {
        Ok(LineAnswer {
            period: row.get(0)?,
            line_id: row.get(1)?,
            verdict: word(row, 2)?,
            reason: row.get(3)?,
            by: row.get(4)?,
            at_ms: row.get(5)?,
        })
    };
    statement.query_map([period], read)?.collect()
}

/// Rows as JSON objects, for the audit log.
fn waiver_json(connection: &Connection, w: &Waiver, waived: bool) -> rusqlite::Result<String> {
    connection.query_row(
        "SELECT json_object('period', ?1, 'item', ?2, 'waived', json(?3), 'reason', ?4, 'approver', ?5, 'actor', ?6, \
         'at_ms', ?7)",
        params![w.period, w.item, if waived { "true" } else { "false" }, w.reason, w.approver, w.actor, w.at_ms],
        |r| r.get(0),
    )
}

fn answer_json(connection: &Connection, a: &LineAnswer) -> rusqlite::Result<String> {
    connection.query_row(
        "SELECT json_object('period', ?1, 'line_id', ?2, 'answer', ?3, 'reason', ?4, 'by', ?5, 'at_ms', ?6)",
        params![a.period, a.line_id, a.verdict.as_str(), a.reason, a.by, a.at_ms],
        |r| r.get(0),
    )
}
