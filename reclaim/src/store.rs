//! The store as the control file: one server leads, and every move is written with its fence. A kill switch may also be a file.

use std::path::PathBuf;

use gpuledger_control::{CaseError, Control, ControlError, Switch, Switched};
use gpuledger_schema::reclaim::{Allocation, Case, CaseEvent, Past, Switches};

use crate::port::{Store, StoreError};

/// People are told the same again after a day.
const NEWS_MS: i64 = 24 * 3_600_000;

/// Whether a file stands where it stops everything.
pub trait KillFile: Send {
    /// Whether it is there.
    fn is_there(&self) -> bool;
}

/// A path at which a file stops everything. A path that cannot be looked at stops everything, too.
#[derive(Debug, Clone)]
pub struct KillPath(pub PathBuf);

impl KillFile for KillPath {
    fn is_there(&self) -> bool {
        self.0.try_exists().unwrap_or(true)
    }
}

/// The control file as a store.
#[derive(Debug)]
pub struct ControlStore<K> {
    /// The file.
    pub control: Control,
    /// Who this server is: no two are called the same.
    pub holder: String,
    /// The kill file.
    pub kill_file: K,
}

impl<K: KillFile> Store for ControlStore<K> {
    fn lead(&mut self, now_ms: i64, ttl_ms: i64) -> Result<Option<i64>, StoreError> {
        self.control.lead(&self.holder, now_ms, ttl_ms).map_err(failed)
    }

    fn open_cases(&self) -> Result<Vec<Case>, StoreError> {
        self.control.open_cases().map_err(case_error)
    }

    fn open(&mut self, fence: i64, case: &Case, event: &CaseEvent) -> Result<(), StoreError> {
        self.control.open_case(fence, case, event).map_err(case_error)
    }

    fn move_case(&mut self, fence: Option<i64>, case: &Case, event: &CaseEvent) -> Result<Case, StoreError> {
        self.control.move_case(fence, case.case_id, case.seq, event).map_err(case_error)
    }

    fn past(&self, from_ms: i64) -> Result<Vec<Past>, StoreError> {
        let asked = self.control.asked_since(from_ms).map_err(case_error)?;
        Ok(asked.into_iter().map(|(at_ms, case)| past_of(at_ms, &case)).collect())
    }

    fn switches(&self) -> Result<Switches, StoreError> {
        let get = |which| self.control.switched(which).map_err(failed);
        let killed = match (self.kill_file.is_there(), get(Switch::Kill)?) {
            (true, _) => Some("the kill file is there".to_owned()),
            (false, Some(s)) if s.is_on => Some(format!("{} by {}", s.reason, s.actor)),
            _ => None,
        };
        // what nobody ever switched is left to the policy
        let on = |found: Option<Switched>| found.is_none_or(|s| s.is_on);
        Ok(Switches {
            notify: on(get(Switch::Notify)?),
            act: on(get(Switch::Act)?),
            killed,
            breaker: get(Switch::Breaker)?.filter(|s| s.is_on).map(|s| s.reason),
        })
    }

    fn trip(&mut self, now_ms: i64, why: &str) -> Result<(), StoreError> {
        let to = Switched { is_on: true, at_ms: now_ms, actor: "engine".to_owned(), reason: why.to_owned() };
        self.control.switch(Switch::Breaker, &to).map_err(failed)
    }

    fn keep_policy(&mut self, hash: &str, at_ms: i64, text: &str) -> Result<(), StoreError> {
        self.control.keep_policy(hash, at_ms, "engine", text).map_err(failed)
    }

    fn keep_plan(&mut self, hash: &str, made_ms: i64, body: &str) -> Result<(), StoreError> {
        self.control.keep_plan(hash, made_ms, body).map_err(failed)
    }

    fn is_news(&mut self, name: &str, text: &str, now_ms: i64) -> Result<bool, StoreError> {
        self.control.is_news(name, text, now_ms, NEWS_MS).map_err(failed)
    }

    fn not_told(&mut self, name: &str) -> Result<(), StoreError> {
        self.control.not_told(name).map_err(failed)
    }
}

/// An action as the caps count it.
pub fn past_of(at_ms: i64, case: &Case) -> Past {
    let facts: Option<Allocation> = serde_json::from_str(&case.facts).ok();
    let (team, nodes) = facts.map(|a| (a.owner.team, a.nodes)).unwrap_or_default();
    Past { at_ms, case_id: case.case_id, team, nodes }
}

fn failed(e: ControlError) -> StoreError {
    StoreError::Failed(e.to_string())
}

fn case_error(e: CaseError) -> StoreError {
    match e {
        CaseError::NotLeader => StoreError::NotLeader,
        CaseError::Control(e) => failed(e),
        other => StoreError::Refused(other.to_string()),
    }
}
