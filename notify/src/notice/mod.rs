//! What people are told: one type a notice, with the figures as they are shown. Money and hours are decimal text that was
//! rounded before; instants have their zone; links are whole URLs.

mod alerts;
mod money;
mod reclaim;

use serde::Serialize;

pub use alerts::{
    BrokenCell, Conflict, Gap, Hung, LateNode, ManyAlerts, MemoryOverQuota, NoContact, NodeLost, Test, Uncalibrated,
    Undelivered, UnregisteredGpu,
};
pub use money::{
    Advice, AdviceKind, BudgetAlert, BudgetUse, FinanceStatement, HealthAssessment, LineShare, Measure, TeamShare,
    TeamStatement, Trend, Used, Verdict, Waste, WasteDigest,
};
pub use reclaim::{Action, Card, Freed, Kept, ReclaimCase, ReclaimFailure, ReclaimLinks, ReclaimWarning, ZombieClass};

use crate::who::{Role, Who};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Something that people are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The month's bill, to finance.
    StatementFinance(FinanceStatement),
    /// The month of a team, to its lead.
    StatementLead(TeamStatement),
    /// The week's findings of a team, to its lead.
    WasteDigest(WasteDigest),
    /// Half a year of the fleet, to operators and finance.
    HealthAssessment(HealthAssessment),
    /// A budget reached one of its marks, to lead and finance.
    BudgetAlert(BudgetAlert),
    /// A node's segments do not come in.
    LateNode(LateNode),
    /// Minutes that nobody measured.
    Gap(Gap),
    /// More was granted of a card than there is.
    Conflict(Conflict),
    /// A node whose busy time was never calibrated.
    Uncalibrated(Uncalibrated),
    /// A GPU that no inventory names.
    UnregisteredGpu(UnregisteredGpu),
    /// A job uses more GPU memory than it may.
    MemoryOverQuota(MemoryOverQuota),
    /// A job that computes nothing at full load.
    Hung(Hung),
    /// A node that is gone with what ran on it.
    NodeLost(NodeLost),
    /// The first warning that GPUs are held and not used.
    ReclaimWarning(ReclaimWarning),
    /// The last warning before something is done.
    ReclaimFinal(ReclaimWarning),
    /// The owner keeps them.
    ReclaimKept(Kept),
    /// They were freed.
    ReclaimFreed(Freed),
    /// They could not be freed.
    ReclaimFailed(ReclaimFailure),
    /// More of one kind began at once than anybody reads one by one.
    ManyAlerts(ManyAlerts),
    /// Somebody who has to be told has no address: a case stops there.
    NoContact(NoContact),
    /// A message did not arrive.
    Undelivered(Undelivered),
    /// Shows that the way is open.
    Test(Test),
}

/// A notice's properties, in one place so that they can be compared.
struct Nature {
    name: &'static str,
    urgent: bool,
    cooldown_ms: i64,
    give_up_after_ms: i64,
}

const fn nature(name: &'static str, urgent: bool, cooldown_ms: i64, give_up_after_ms: i64) -> Nature {
    Nature { name, urgent, cooldown_ms, give_up_after_ms }
}

impl Notice {
    /// Names of all notices: those of their text files, and the kinds in the outbox.
    pub const NAMES: [&'static str; 22] = [
        "statement_finance",
        "statement_lead",
        "waste_digest",
        "health_assessment",
        "budget_alert",
        "late_node",
        "gap",
        "conflict",
        "uncalibrated",
        "unregistered_gpu",
        "memory_over_quota",
        "hung",
        "node_lost",
        "reclaim_warning",
        "reclaim_final",
        "reclaim_kept",
        "reclaim_freed",
        "reclaim_failed",
        "many_alerts",
        "no_contact",
        "undelivered",
        "test",
    ];

    fn nature(&self) -> Nature {
        match self {
            Self::StatementFinance(_) => nature("statement_finance", false, 0, 3 * DAY_MS),
            Self::StatementLead(_) => nature("statement_lead", false, 0, 3 * DAY_MS),
            Self::WasteDigest(_) => nature("waste_digest", false, 0, 3 * DAY_MS),
            Self::HealthAssessment(_) => nature("health_assessment", false, 0, 3 * DAY_MS),
            Self::BudgetAlert(_) => nature("budget_alert", false, 0, 3 * DAY_MS),
            Self::LateNode(_) => nature("late_node", false, 6 * HOUR_MS, 12 * HOUR_MS),
            Self::Gap(_) => nature("gap", false, DAY_MS, DAY_MS),
            Self::Conflict(_) => nature("conflict", false, DAY_MS, DAY_MS),
            Self::Uncalibrated(_) => nature("uncalibrated", false, 7 * DAY_MS, DAY_MS),
            Self::UnregisteredGpu(_) => nature("unregistered_gpu", false, DAY_MS, DAY_MS),
            Self::MemoryOverQuota(_) => nature("memory_over_quota", true, 6 * HOUR_MS, 6 * HOUR_MS),
            Self::Hung(_) => nature("hung", true, 6 * HOUR_MS, 6 * HOUR_MS),
            Self::NodeLost(_) => nature("node_lost", true, 6 * HOUR_MS, 6 * HOUR_MS),
            Self::ReclaimWarning(_) => nature("reclaim_warning", true, 0, 2 * HOUR_MS),
            Self::ReclaimFinal(_) => nature("reclaim_final", true, 0, 2 * HOUR_MS),
            Self::ReclaimKept(_) => nature("reclaim_kept", false, 0, DAY_MS),
            Self::ReclaimFreed(_) => nature("reclaim_freed", true, 0, DAY_MS),
            Self::ReclaimFailed(_) => nature("reclaim_failed", true, 0, 6 * HOUR_MS),
            Self::ManyAlerts(n) => nature("many_alerts", n.urgent, HOUR_MS, 6 * HOUR_MS),
            Self::NoContact(_) => nature("no_contact", true, 6 * HOUR_MS, 6 * HOUR_MS),
            Self::Undelivered(_) => nature("undelivered", false, HOUR_MS, 12 * HOUR_MS),
            Self::Test(_) => nature("test", true, 0, 10 * MINUTE_MS),
        }
    }

    /// Its name: that of its text files, and its kind in the outbox.
    pub fn name(&self) -> &'static str {
        self.nature().name
    }

    /// Whether it waits for nobody's working hours.
    pub fn urgent(&self) -> bool {
        self.nature().urgent
    }

    /// The same about the same subject is not told to an address again for so long, ms; 0: always.
    pub fn cooldown_ms(&self) -> i64 {
        self.nature().cooldown_ms
    }

    /// How long after the first try it is given up, ms.
    pub fn give_up_after_ms(&self) -> i64 {
        self.nature().give_up_after_ms
    }

    /// What it is about: what cool-downs and silences go by.
    pub fn subject(&self) -> String {
        let node = |cluster: &str, node: &str| format!("{cluster}/{node}");
        match self {
            Self::StatementFinance(n) => n.period.clone(),
            Self::StatementLead(n) => n.team.clone(),
            Self::WasteDigest(n) => n.team.clone(),
            Self::HealthAssessment(n) => format!("{}/{}", n.from, n.to),
            Self::BudgetAlert(n) => n.team.clone(),
            Self::LateNode(n) => node(&n.cluster, &n.node),
            Self::Gap(n) => node(&n.at.cluster, &n.at.node),
            Self::Conflict(n) => node(&n.at.cluster, &n.at.node),
            Self::Uncalibrated(n) => node(&n.cluster, &n.node),
            Self::UnregisteredGpu(n) => format!("{}/{}/{}", n.cluster, n.node, n.uuid),
            Self::MemoryOverQuota(n) => node(&n.cluster, &n.job),
            Self::Hung(n) => node(&n.cluster, &n.job),
            Self::NodeLost(n) => node(&n.cluster, &n.node),
            Self::ReclaimWarning(n) | Self::ReclaimFinal(n) => n.case.id.clone(),
            Self::ReclaimKept(n) => n.case.id.clone(),
            Self::ReclaimFreed(n) => n.case.id.clone(),
            Self::ReclaimFailed(n) => n.case.id.clone(),
            Self::ManyAlerts(n) => n.notice.clone(),
            Self::NoContact(n) => n.person.clone(),
            Self::Undelivered(n) => n.address.clone(),
            Self::Test(n) => n.address.clone(),
        }
    }

    /// Whether the subject is a person or their address: then it is no label of an alert, which everybody can read.
    pub fn subject_is_somebody(&self) -> bool {
        matches!(self, Self::NoContact(_) | Self::Undelivered(_) | Self::Test(_))
    }

    /// The page that shows more.
    pub fn page(&self) -> Option<&str> {
        let page = match self {
            Self::StatementFinance(n) => &n.page,
            Self::StatementLead(n) => &n.page,
            Self::WasteDigest(n) => &n.page,
            Self::HealthAssessment(n) => &n.page,
            Self::BudgetAlert(n) => &n.page,
            Self::LateNode(n) => &n.page,
            Self::Gap(n) => &n.at.page,
            Self::Conflict(n) => &n.at.page,
            Self::Uncalibrated(n) => &n.page,
            Self::UnregisteredGpu(n) => &n.page,
            Self::MemoryOverQuota(n) => &n.page,
            Self::Hung(n) => &n.page,
            Self::NodeLost(n) => &n.page,
            Self::ReclaimWarning(n) | Self::ReclaimFinal(n) => &n.links.page,
            Self::ReclaimKept(n) => &n.page,
            Self::ReclaimFreed(n) => &n.page,
            Self::ReclaimFailed(n) => &n.page,
            Self::ManyAlerts(n) => &n.page,
            Self::NoContact(n) => &n.page,
            Self::Undelivered(n) => &n.page,
            Self::Test(_) => return None,
        };
        Some(page)
    }

    /// Whom it concerns. Nobody, for a test: it goes where it is sent.
    pub fn audience(&self) -> Vec<Who> {
        let on_call = || vec![Who::Role(Role::OnCall)];
        let owner = |user: &Option<String>, team: &str| {
            let lead = Who::Lead(team.to_owned());
            user.as_ref().map_or_else(|| vec![lead.clone()], |user| vec![Who::User(user.clone())])
        };
        match self {
            Self::StatementFinance(_) => vec![Who::Role(Role::Finance)],
            Self::StatementLead(n) => vec![Who::Lead(n.team.clone())],
            Self::WasteDigest(n) => vec![Who::Lead(n.team.clone())],
            Self::HealthAssessment(_) => vec![Who::Role(Role::Operator), Who::Role(Role::Finance)],
            Self::BudgetAlert(n) => vec![Who::Lead(n.team.clone()), Who::Role(Role::Finance)],
            Self::LateNode(_) | Self::Gap(_) | Self::Conflict(_) | Self::NodeLost(_) => on_call(),
            Self::Uncalibrated(_) | Self::UnregisteredGpu(_) => vec![Who::Role(Role::Operator)],
            Self::MemoryOverQuota(n) => [owner(&n.user, &n.team), on_call()].concat(),
            Self::Hung(n) => [owner(&n.user, &n.team), on_call()].concat(),
            Self::ReclaimWarning(n) => owner(&n.case.user, &n.case.team),
            Self::ReclaimFinal(n) => {
                let mut all = owner(&n.case.user, &n.case.team);
                all.push(Who::Lead(n.case.team.clone()));
                all.dedup();
                all
            }
            Self::ReclaimKept(n) => vec![Who::Lead(n.case.team.clone()), Who::Role(Role::Operator)],
            Self::ReclaimFreed(n) => owner(&n.case.user, &n.case.team),
            Self::ReclaimFailed(_) => [on_call(), vec![Who::Role(Role::Operator)]].concat(),
            Self::ManyAlerts(_) => [on_call(), vec![Who::Role(Role::Operator)]].concat(),
            Self::NoContact(_) | Self::Undelivered(_) => vec![Who::Role(Role::Operator)],
            Self::Test(_) => Vec::new(),
        }
    }

    /// Its fields, for templates.
    pub(crate) fn json(&self) -> Result<serde_json::Value, serde_json::Error> {
        fn of<T: Serialize>(notice: &T) -> Result<serde_json::Value, serde_json::Error> {
            serde_json::to_value(notice)
        }
        match self {
            Self::StatementFinance(n) => of(n),
            Self::StatementLead(n) => of(n),
            Self::WasteDigest(n) => of(n),
            Self::HealthAssessment(n) => of(n),
            Self::BudgetAlert(n) => of(n),
            Self::LateNode(n) => of(n),
            Self::Gap(n) => of(n),
            Self::Conflict(n) => of(n),
            Self::Uncalibrated(n) => of(n),
            Self::UnregisteredGpu(n) => of(n),
            Self::MemoryOverQuota(n) => of(n),
            Self::Hung(n) => of(n),
            Self::NodeLost(n) => of(n),
            Self::ReclaimWarning(n) | Self::ReclaimFinal(n) => of(n),
            Self::ReclaimKept(n) => of(n),
            Self::ReclaimFreed(n) => of(n),
            Self::ReclaimFailed(n) => of(n),
            Self::ManyAlerts(n) => of(n),
            Self::NoContact(n) => of(n),
            Self::Undelivered(n) => of(n),
            Self::Test(n) => of(n),
        }
    }
}
