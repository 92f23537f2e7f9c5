//! Billing months and their state.
//!
//! That a month is closed is said by the manifest of its close; the row here is what imports go by, and is written after the
//! manifest. Whatever changes here, its entry in the audit log is written in the same transaction.

use std::fmt;
use std::str::FromStr;

use gpuledger_schema::window::{month_name, month_number};
use rusqlite::{Connection, Row, Transaction, params};

use crate::audit::{Action, Happened, Log, Who};
use crate::change::Stop;
use crate::control::Control;
use crate::error::ControlError;

/// What is being tried, for errors.
const DOING: &str = "write to";

/// State of a billing month, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeriodState {
    /// Its usage still comes in, or nobody has looked at it yet.
    Open,
    /// It is over: drafts are out, leads answer, late data is waited for.
    Collecting,
    /// Final.
    Closed,
}

/// Not a state of a period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a state of a period: open, collecting or closed")]
pub struct UnknownState(String);

impl PeriodState {
    /// The word in tables and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Collecting => "collecting",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for PeriodState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PeriodState {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        let known = [Self::Open, Self::Collecting, Self::Closed];
        known.into_iter().find(|s| s.as_str() == word).ok_or_else(|| UnknownState(word.to_owned()))
    }
}

/// A billing month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Its name, YYYY-MM.
    pub period: String,
    /// Its state.
    pub state: PeriodState,
    /// IANA name of the zone in which it is cut.
    pub zone: String,
    /// First instant, epoch ms.
    pub from_ms: i64,
    /// First instant after, epoch ms.
    pub to_ms: i64,
    /// Id of its close; present if it is closed.
    pub close_id: Option<String>,
    /// When it was closed, epoch ms; present if it is closed.
    pub closed_ms: Option<i64>,
}

impl Control {
    /// Every period that was ever written, oldest first. A month that is not there is open.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn periods(&self) -> Result<Vec<Period>, ControlError> {
        select_periods(self.connection(), "").map_err(|e| self.error("read periods from", e))
    }

    /// One period; absent: it is open, and nobody wrote it yet.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn period(&self, name: &str) -> Result<Option<Period>, ControlError> {
        Ok(self.periods()?.into_iter().find(|p| p.period == name))
    }

    /// Writes the state of a period. The same again changes nothing and is not logged.
    ///
    /// # Errors
    /// [`ControlError::PeriodClosed`] where it is closed and something else is asked for: closed is final.
    /// [`ControlError::Not`] where a closed period has no id and time of its close, or another has them.
    pub fn record_period(&mut self, period: &Period, who: &Who) -> Result<(), ControlError> {
        let closed = period.state == PeriodState::Closed;
        if closed != period.close_id.is_some() || closed != period.closed_ms.is_some() {
            let reason = format!(
                "{} is {}: an id and a time of its close belong to a closed period",
                period.period, period.state
            );
            return Err(refused("period", reason));
        }
        self.write(who, |transaction, log| {
            let before = select_periods(transaction, "")?.into_iter().find(|p| p.period == period.period);
            if before.as_ref() == Some(period) {
                return Ok(());
            }
            if before.as_ref().is_some_and(|b| b.state == PeriodState::Closed) {
                return Err(ControlError::PeriodClosed { period: period.period.clone(), doing: "changed" }.into());
            }
            transaction.execute(
                "INSERT INTO period (period, state, zone, from_ms, to_ms, close_id, closed_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (period) DO UPDATE SET state = excluded.state, \
                 zone = excluded.zone, from_ms = excluded.from_ms, to_ms = excluded.to_ms, close_id = excluded.close_id, \
                 closed_ms = excluded.closed_ms",
                params![
                    period.period,
                    period.state.as_str(),
                    period.zone,
                    period.from_ms,
                    period.to_ms,
                    period.close_id,
                    period.closed_ms
                ],
            )?;
            log.append(Happened {
                action: Action::Period,
                table: "period",
                subject: format!("{}: {}", period.period, period.state),
                version: None,
                source: None,
                before: before.map(|b| period_json(transaction, &b)).transpose()?,
                after: Some(period_json(transaction, period)?),
            })?;
            Ok(())
        })
    }

    /// Makes a change with its entries in the audit log: both or, where the change says no, neither.
    pub(crate) fn write(
        &mut self,
        who: &Who,
        change: impl FnOnce(&Transaction<'_>, &mut Log<'_>) -> Result<(), Stop<ControlError>>,
    ) -> Result<(), ControlError> {
        self.change(DOING, |transaction| change(transaction, &mut Log::open(transaction, who)?))
    }
}

/// Closed periods, oldest first.
pub(crate) fn closed_periods(connection: &Connection) -> rusqlite::Result<Vec<Period>> {
    select_periods(connection, "WHERE state = 'closed'")
}

/// The name of the first month after `period` that is not closed.
pub(crate) fn next_open(period: &str, closed: &[Period]) -> String {
    let mut next = month_number(period).unwrap_or(0) + 1;
    while closed.iter().any(|p| p.period == month_name(next)) {
        next += 1;
    }
    month_name(next)
}

/// The period's name, if it is closed.
pub(crate) fn closed(connection: &Connection, period: &str) -> rusqlite::Result<Option<String>> {
    Ok(closed_periods(connection)?.into_iter().map(|p| p.period).find(|p| p == period))
}

fn select_periods(connection: &Connection, condition: &str) -> rusqlite::Result<Vec<Period>> {
    let select = format!(
        "SELECT period, state, zone, from_ms, to_ms, close_id, closed_ms FROM period {condition} ORDER BY from_ms, period"
    );
    let read = |row: &Row<'_>| {
        let state: String = row.get(1)?;
        Ok(Period {
            period: row.get(0)?,
            state: state.parse().map_err(|e: UnknownState| {
                rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, Box::new(e))
            })?,
            zone: row.get(2)?,
            from_ms: row.get(3)?,
            to_ms: row.get(4)?,
            close_id: row.get(5)?,
            closed_ms: row.get(6)?,
        })
    };
    connection.prepare(&select)?.query_map([], read)?.collect()
}

pub(crate) fn refused(table: &'static str, reason: String) -> ControlError {
    ControlError::Not { table, reason }
}

/// Rows as JSON objects, for the audit log.
fn period_json(connection: &Connection, p: &Period) -> rusqlite::Result<String> {
    connection.query_row(
        "SELECT json_object('period', ?1, 'state', ?2, 'zone', ?3, 'from_ms', ?4, 'to_ms', ?5, 'close_id', ?6, \
         'closed_ms', ?7)",
        params![p.period, p.state.as_str(), p.zone, p.from_ms, p.to_ms, p.close_id, p.closed_ms],
        |r| r.get(0),
    )
}
