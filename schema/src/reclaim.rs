//! What reclaiming goes by: what was judged of every allocation, what bounds it, and what became of it. One value, the
//! [`Snapshot`], is all that a plan reads; whoever makes it has read tables before.

mod case;
mod snapshot;
mod word;

pub use case::{Case, CaseEvent, MOVES, WrongMove};
pub use snapshot::{
    Allocation, Card, Identity, Judgement, Owner, Past, Snapshot, Source, Switches, Use, Work, Workload,
};
pub use word::{
    ActKind, AlertKind, Approval, CaseState, Class, EventKind, Mode, NotDone, Phase, Reason, StopKind, Verdict,
};

#[cfg(test)]
mod tests;
