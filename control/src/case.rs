//! Cases of reclaiming: opened, moved by events, and never rewritten. A move that is not one is refused here, too, and so is what
//! a server writes that no longer leads.

use std::str::FromStr;

use gpuledger_schema::reclaim::{Case, CaseEvent, CaseState, WrongMove};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::change::Stop;
use crate::control::Control;
use crate::error::ControlError;

/// What is being tried, for errors.
const WRITE: &str = "write a case to";
const READ: &str = "read cases from";
/// The columns of an event, in the order in which they are read.
const EVENT: &str = "at_ms, actor, kind, deadline_ms, rest_from_ms, until_ms, phase, reason, proof";

/// Why a case could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The control file.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Another server leads.
    #[error("another server leads: what this one wrote was refused")]
    NotLeader,
    /// Something happened to the case since it was read.
    #[error("case {case_id} is at event {found}, not {expected}: it has moved since it was read")]
    Moved {
        /// The case.
        case_id: i64,
        /// Its newest event.
        found: i64,
        /// The event that was expected to be its newest.
        expected: i64,
    },
    /// There is no such case.
    #[error("there is no case {0}")]
    Missing(i64),
    /// The allocation has a case that is not over.
    #[error("allocation {0} has an open case")]
    Open(i64),
    /// The move is not one.
    #[error(transparent)]
    Move(#[from] WrongMove),
}

impl Control {
    /// Opens a case with its first event.
    ///
    /// # Errors
    /// Where another server leads, or the allocation has an open case.
    pub fn open_case(&mut self, fence: i64, case: &Case, event: &CaseEvent) -> Result<(), CaseError> {
        self.change(WRITE, |tx| {
            led_by(tx, fence, event.at_ms)?;
            let open: Option<i64> = tx
                .query_row(
                    "SELECT case_id FROM reclaim_case \
                     WHERE allocation_id = ?1 AND state NOT IN ('freed', 'active_again')",
                    [case.allocation_id],
                    |r| r.get(0),
                )
                .optional()?;
            if open.is_some() {
                return Err(Stop::Refused(CaseError::Open(case.allocation_id)));
            }
            tx.execute(
                "INSERT INTO reclaim_case (case_id, allocation_id, class, opened_ms, policy, facts, seq, state) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7)",
                params![
                    case.case_id,
                    case.allocation_id,
                    case.class.as_str(),
                    case.opened_ms,
                    case.policy,
                    case.facts,
                    case.state.as_str()
                ],
            )?;
            insert(tx, case.case_id, 1, case.state, event)
        })
    }

    /// Moves a case: `seq` is the newest event that the mover knows of. Without a fence it is a person's answer.
    ///
    /// # Errors
    /// Where another server leads, the case has moved since, or the move is none.
    pub fn move_case(
        &mut self,
        fence: Option<i64>,
        case_id: i64,
        seq: i64,
        event: &CaseEvent,
    ) -> Result<Case, CaseError> {
        self.change(WRITE, |tx| {
            if let Some(fence) = fence {
                led_by(tx, fence, event.at_ms)?;
            }
            let case = read_case(tx, case_id)?.ok_or(Stop::Refused(CaseError::Missing(case_id)))?;
            if case.seq != seq {
                return Err(Stop::Refused(CaseError::Moved { case_id, found: case.seq, expected: seq }));
            }
            let next = case.after(event).map_err(|e| Stop::Refused(e.into()))?;
            insert(tx, case_id, next.seq, next.state, event)?;
            tx.execute(
                "UPDATE reclaim_case SET seq = ?2, state = ?3 WHERE case_id = ?1",
                params![case_id, next.seq, next.state.as_str()],
            )?;
            Ok(next)
        })
    }

    /// A case by its id.
    pub fn case(&self, case_id: i64) -> Result<Option<Case>, CaseError> {
        self.look(READ, |c| read_case(c, case_id))
    }

    /// Cases that are not over, by id.
    pub fn open_cases(&self) -> Result<Vec<Case>, CaseError> {
        self.cases_where("state NOT IN ('freed', 'active_again')", 0)
    }

    /// Every case opened at or after an instant, by id.
    pub fn cases_since(&self, from_ms: i64) -> Result<Vec<Case>, CaseError> {
        self.cases_where("opened_ms >= ?1", from_ms)
    }

    /// The events of a case, oldest first.
    pub fn case_events(&self, case_id: i64) -> Result<Vec<CaseEvent>, CaseError> {
        self.look(READ, |c| Ok(read_events(c, case_id)?))
    }

    /// What was asked of schedulers after an instant: when, and for which case. A signal and the order after it are one.
    pub fn asked_since(&self, from_ms: i64) -> Result<Vec<(i64, Case)>, CaseError> {
        self.look(READ, |c| {
            let mut find = c.prepare(
                "SELECT case_id, min(at_ms) FROM case_event WHERE kind = 'intended' AND at_ms > ?1 \
                 GROUP BY case_id ORDER BY 2, 1",
            )?;
            let found: Vec<(i64, i64)> =
                find.query_map([from_ms], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
            let mut out = Vec::new();
            for (case_id, at_ms) in found {
                out.extend(read_case(c, case_id)?.map(|case| (at_ms, case)));
            }
            Ok(out)
        })
    }

    fn cases_where(&self, condition: &str, value: i64) -> Result<Vec<Case>, CaseError> {
        self.look(READ, |c| {
            let text =
                format!("SELECT case_id FROM reclaim_case WHERE {condition} AND ?1 IS NOT NULL ORDER BY case_id");
            let ids: Vec<i64> = c.prepare(&text)?.query_map([value], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
            let mut out = Vec::new();
            for id in ids {
                out.extend(read_case(c, id)?);
            }
            Ok(out)
        })
    }
}

/// Whether whoever writes with this fence leads at that instant.
fn led_by(c: &Connection, fence: i64, now_ms: i64) -> Result<(), Stop<CaseError>> {
    let found: Option<(i64, i64)> = c
        .query_row("SELECT fence, until_ms FROM reclaim_lease WHERE name = 'reclaim'", [], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
        .optional()?;
    match found {
        Some((held, until_ms)) if held == fence && now_ms < until_ms => Ok(()),
        _ => Err(Stop::Refused(CaseError::NotLeader)),
    }
}

fn insert(c: &Connection, case_id: i64, seq: i64, state: CaseState, e: &CaseEvent) -> Result<(), Stop<CaseError>> {
    c.execute(
        "INSERT INTO case_event (case_id, seq, at_ms, actor, kind, state, deadline_ms, rest_from_ms, until_ms, phase, \
         reason, proof) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            case_id,
            seq,
            e.at_ms,
            e.actor,
            e.kind.as_str(),
            state.as_str(),
            e.deadline_ms,
            e.rest_from_ms,
            e.until_ms,
            e.phase.map(|p| p.as_str()),
            e.reason,
            e.proof
        ],
    )?;
    Ok(())
}

/// A case is what its events come to.
fn read_case(c: &Connection, case_id: i64) -> Result<Option<Case>, Stop<CaseError>> {
    let head = c
        .query_row("SELECT allocation_id, class, policy, facts FROM reclaim_case WHERE case_id = ?1", [case_id], |r| {
            Ok((r.get::<_, i64>(0)?, word(r, 1)?, r.get::<_, String>(2)?, r.get::<_, String>(3)?))
        })
        .optional()?;
    let Some((allocation_id, class, policy, facts)) = head else { return Ok(None) };
    let events = read_events(c, case_id)?;
    let Some((first, rest)) = events.split_first() else { return Ok(None) };
    let mut case = Case::opened(allocation_id, class, &policy, facts, first);
    for event in rest {
        case = case.after(event).map_err(|e| Stop::Refused(e.into()))?;
    }
    Ok(Some(case))
}

fn read_events(c: &Connection, case_id: i64) -> rusqlite::Result<Vec<CaseEvent>> {
    let text = format!("SELECT {EVENT} FROM case_event WHERE case_id = ?1 ORDER BY seq");
    c.prepare(&text)?
        .query_map([case_id], |r| {
            Ok(CaseEvent {
                at_ms: r.get(0)?,
                actor: r.get(1)?,
                kind: word(r, 2)?,
                deadline_ms: r.get(3)?,
                rest_from_ms: r.get(4)?,
                until_ms: r.get(5)?,
                phase: if r.get_ref(6)? == rusqlite::types::ValueRef::Null { None } else { Some(word(r, 6)?) },
                reason: r.get(7)?,
                proof: r.get(8)?,
            })
        })?
        .collect()
}

/// A word of a closed list.
pub(crate) fn word<T: FromStr>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    text.parse().map_err(|_| {
        let wrong = Box::new(FromSqlError::Other(format!("`{text}` is not a word of its list").into()));
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, wrong)
    })
}
