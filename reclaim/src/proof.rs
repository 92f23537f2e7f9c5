//! The proof of a case: who, what was seen, who was told what and when, who approved, what was asked and answered, and when the
//! GPUs were seen free. One JSON document that can be handed out.

use gpuledger_schema::hash::sha256_hex;
use gpuledger_schema::reclaim::{Allocation, Case, CaseEvent};
use serde::Serialize;

use crate::policy::Book;
use crate::text::utc;

/// A proof.
#[derive(Debug, Serialize)]
pub struct Proof<'a> {
    /// The case as it stands.
    pub case: &'a Case,
    /// The allocation at the opening.
    pub facts: Option<Allocation>,
    /// Hash of the policy book it goes by.
    pub policy_hash: &'a str,
    /// Everything that happened, oldest first.
    pub events: &'a [CaseEvent],
    /// The same in words, a line an event.
    pub story: Vec<String>,
}

/// The proof of a case, and the SHA-256 of its bytes in hex.
///
/// # Errors
/// Where it cannot be written as JSON.
pub fn export(case: &Case, events: &[CaseEvent], book: &Book) -> Result<(String, String), serde_json::Error> {
    let proof = Proof {
        case,
        facts: crate::plan::facts(case),
        policy_hash: &book.hash,
        events,
        story: events.iter().map(told).collect(),
    };
    let text = serde_json::to_string_pretty(&proof)?;
    let hash = sha256_hex(text.as_bytes());
    Ok((text, hash))
}

/// An event in words.
pub fn told(e: &CaseEvent) -> String {
    let mut out = format!("{} {} by {}", utc(e.at_ms), e.kind, e.actor);
    let parts = [
        e.phase.map(|p| format!("({p})")),
        e.reason.clone().filter(|r| !r.is_empty()).map(|r| format!(": {r}")),
        e.deadline_ms.map(|d| format!("; due {}", utc(d))),
        e.until_ms.map(|u| format!("; until {}", utc(u))),
        e.proof.clone().map(|p| format!("; {p}")),
    ];
    for part in parts.into_iter().flatten() {
        if part.starts_with('(') {
            out.push(' ');
        }
        out.push_str(&part);
    }
    out
}
