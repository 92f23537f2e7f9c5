//! How reclaiming stands in a place.

use serde::Serialize;

/// How reclaiming stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Reclaiming {
    /// The four switches, as they count now.
    pub switches: Vec<SwitchNow>,
    /// Caps of acting, and how much of them is used.
    pub bounds: Vec<Bound>,
}

/// A switch as it counts now: what somebody threw, and what the policy in force says where nobody did, or where it says no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchNow {
    /// `notify`, `act`, `kill` or `breaker`.
    pub which: &'static str,
    /// On.
    pub is_on: bool,
    /// What decides it.
    pub by: SwitchBy,
    /// Who threw it; absent: nobody did, or it does not count.
    pub actor: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When, epoch ms.
    pub at_ms: Option<i64>,
}

/// What decides a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchBy {
    /// Nobody ever threw it.
    Nobody,
    /// Who threw it.
    Person,
    /// The policy in force, whatever was thrown.
    Policy,
    /// A file that stops everything as long as it is there.
    File,
}

/// A cap of acting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// `round`, `hour`, `team` or `node`.
    pub name: &'static str,
    /// Actions that count against it now, of teams and nodes those of the one with most; absent: it is counted anew each time.
    pub used: Option<i64>,
    /// Actions that there may be.
    pub limit: i64,
}
