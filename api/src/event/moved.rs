//! Cases that moved, told as events to those who may see them. What moved them may be a round, a page, or a command beside the
//! server: the control file is compared with what was told before.

use std::collections::BTreeMap;

use gpuledger_control::CaseError;
use gpuledger_schema::reclaim::{Allocation, Case};
use serde_json::json;
use tokio::sync::Mutex;

use super::Audience;
use crate::problem::Problem;
use crate::state::App;

/// The newest event of each open case that was told; absent: nobody looked yet.
#[derive(Debug, Default)]
pub(crate) struct Moved(Mutex<Option<BTreeMap<i64, i64>>>);

impl App {
    /// Tells of cases that moved, where somebody may have moved one; what cannot be read is told later.
    pub async fn look_at_cases(&self) {
        if let Err(problem) = self.tell_moved_cases().await {
            tracing::warn!(detail = problem.detail, "cases that moved were not told");
        }
    }

    /// Tells of each case that moved since the last call. The first call only looks: what stands then is on every page.
    ///
    /// # Errors
    /// The control file cannot be read; the next call tells what this one would have.
    pub async fn tell_moved_cases(&self) -> Result<(), Problem> {
        let mut told = self.moved().0.lock().await;
        let known: Vec<i64> = told.iter().flatten().map(|(id, _)| *id).collect();
        let read = move |c: &gpuledger_control::Control| {
            let mut cases = c.open_cases()?;
            for id in known {
                if !cases.iter().any(|case| case.case_id == id) {
                    cases.extend(c.case(id)?);
                }
            }
            Ok::<_, CaseError>(cases)
        };
        let cases = self.look(read).await?.unwrap_or_default();
        let before = told.replace(cases.iter().filter(|c| !c.state.is_over()).map(|c| (c.case_id, c.seq)).collect());
        let Some(before) = before else { return Ok(()) };
        for case in cases.iter().filter(|case| before.get(&case.case_id) != Some(&case.seq)) {
            let data = json!({
                "case_id": case.case_id.to_string(), "seq": case.seq, "class": case.class.as_str(),
                "state": case.state.as_str(), "deadline_ms": case.deadline_ms,
            });
            self.events().tell("case", audience(case), self.now_ms(), data);
        }
        Ok(())
    }
}

/// Who sees a case: who sees its run.
fn audience(case: &Case) -> Audience {
    match serde_json::from_str::<Allocation>(&case.facts) {
        Ok(a) => Audience::User { team: Some(a.owner.team), user: a.owner.user },
        Err(_) => Audience::Staff,
    }
}
