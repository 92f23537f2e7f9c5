//! Reports: the month for finance and for a team, the week's findings, half a year of the fleet, budgets.

use serde::Serialize;

use crate::value::At;

/// A team's part of the month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TeamShare {
    /// Team.
    pub team: String,
    /// GPU-hours held, one decimal.
    pub held_hours: String,
    /// Of these not used, percent, whole; absent: nothing of them was measured.
    pub not_used_percent: Option<String>,
    /// Amount, decimal text in the currency.
    pub amount: String,
}

/// The month's bill, for finance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FinanceStatement {
    /// Billing month, YYYY-MM.
    pub period: String,
    /// Zone in which days and months are cut (IANA name).
    pub zone: String,
    /// ISO 4217 code.
    pub currency: String,
    /// When it was closed; absent: a draft.
    pub closed: Option<At>,
    /// Hash of the lines; absent: a draft.
    pub output_sha256: Option<String>,
    /// Billed to teams, decimal text.
    pub billed: String,
    /// What stays with the platform, decimal text.
    pub platform: String,
    /// What the fleet cost in the month, decimal text: billed and platform together, but for corrections of earlier periods and lines
    /// that a person wrote.
    pub fleet: String,
    /// Corrections of earlier periods within what is billed, decimal text.
    pub corrections: String,
    /// Measured part of the held time, percent, one decimal; absent: nothing was held.
    pub coverage_percent: Option<String>,
    /// Teams by amount.
    pub teams: Vec<TeamShare>,
    /// What has to be known, in sentences of the bill.
    pub notes: Vec<String>,
    /// The statement.
    pub page: String,
    /// The exports.
    pub exports: String,
}

/// A line of a team's month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineShare {
    /// Model and task type, as on the statement.
    pub what: String,
    /// GPU-hours, one decimal.
    pub hours: String,
    /// Amount, decimal text.
    pub amount: String,
}

/// What was measured of held time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Used {
    /// GPU-hours in which kernels ran, one decimal.
    pub busy_hours: String,
    /// Part of the held hours, percent, whole.
    pub busy_percent: String,
    /// GPU-hours held and not used, one decimal.
    pub not_used_hours: String,
    /// Part of the held hours, percent, whole.
    pub not_used_percent: String,
    /// What the hours not used cost, decimal text.
    pub not_used_amount: String,
}

/// How much of a budget is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetUse {
    /// The budget, decimal text.
    pub budget: String,
    /// Used of it, percent, whole.
    pub used_percent: String,
}

/// The month of a team, for its lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TeamStatement {
    /// Team.
    pub team: String,
    /// Billing month, YYYY-MM.
    pub period: String,
    /// Zone in which days and months are cut (IANA name).
    pub zone: String,
    /// ISO 4217 code.
    pub currency: String,
    /// When it was closed; absent: a draft.
    pub closed: Option<At>,
    /// Amount of the month with its shared costs and corrections, decimal text.
    pub amount: String,
    /// Of it shared costs (what nobody used, was out of order, or nobody saw), decimal text.
    pub shared_amount: String,
    /// GPU-hours held, one decimal.
    pub held_hours: String,
    /// What was measured of them; absent: nothing was, or nothing was held.
    pub used: Option<Used>,
    /// GPU-hours held and not measured, one decimal.
    pub unmeasured_hours: String,
    /// Part of the held hours, percent, whole; absent: nothing was held.
    pub unmeasured_percent: Option<String>,
    /// Amount of the month before, decimal text; absent: there was none.
    pub previous_amount: Option<String>,
    /// Budget; absent: there is none.
    pub budget: Option<BudgetUse>,
    /// Largest lines.
    pub lines: Vec<LineShare>,
    /// Most expensive findings.
    pub findings: Vec<Waste>,
    /// What has to be known, in sentences of the bill.
    pub notes: Vec<String>,
    /// The statement.
    pub page: String,
    /// The findings.
    pub findings_page: String,
}

/// A finding with what it costs and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waste {
    /// Rule and subject, as the finding shows them.
    pub what: String,
    /// Whose job; absent: not a user's.
    pub user: Option<String>,
    /// GPU-hours, one decimal.
    pub hours: String,
    /// What they cost, decimal text; absent: no price.
    pub amount: Option<String>,
    /// What to do, in the words of the finding.
    pub remedy: String,
}

/// The week's findings of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WasteDigest {
    /// Team.
    pub team: String,
    /// First day, YYYY-MM-DD.
    pub from: String,
    /// Last day, YYYY-MM-DD.
    pub to: String,
    /// Zone of the days (IANA name).
    pub zone: String,
    /// ISO 4217 code.
    pub currency: String,
    /// GPU-hours held, one decimal.
    pub held_hours: String,
    /// GPU-hours held and not used, one decimal.
    pub not_used_hours: String,
    /// Part of the held hours, percent, whole.
    pub not_used_percent: String,
    /// What they cost, decimal text.
    pub amount: String,
    /// Findings by amount.
    pub findings: Vec<Waste>,
    /// All findings.
    pub page: String,
}

/// How the fleet is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Well used, well seen.
    Good,
    /// Something is to be changed.
    Watch,
    /// Much is paid for and not used, or not seen.
    Poor,
}

/// A figure of this half-year and of the one before, percent of the capacity, one decimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trend {
    /// Now.
    pub now: String,
    /// Before; absent: not known.
    pub before: Option<String>,
}

/// What to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceKind {
    /// Free what is held and not used.
    Reclaim,
    /// Smaller or shared cards for small work.
    Share,
    /// Move work so that large jobs fit.
    Defragment,
    /// Repair what is often out of order.
    Repair,
    /// See what is not seen.
    Measure,
    /// Buy.
    Buy,
    /// Buy nothing yet.
    DoNotBuy,
}

/// Advice with what it is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What to change.
    pub kind: AdviceKind,
    /// GPU-hours of the half-year that it is about, one decimal.
    pub hours: String,
    /// What they cost, decimal text; absent: not known.
    pub amount: Option<String>,
}

/// Half a year of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HealthAssessment {
    /// First day, YYYY-MM-DD.
    pub from: String,
    /// Last day, YYYY-MM-DD.
    pub to: String,
    /// Zone of the days (IANA name).
    pub zone: String,
    /// ISO 4217 code.
    pub currency: String,
    /// GPUs at the end.
    pub gpus: i64,
    /// How it is.
    pub verdict: Verdict,
    /// Allocated part of the capacity.
    pub allocated: Trend,
    /// Busy part.
    pub busy: Trend,
    /// Held and not used.
    pub not_used: Trend,
    /// Out of order.
    pub unavailable: Trend,
    /// Nobody's.
    pub unallocated: Trend,
    /// Seen part.
    pub coverage: Trend,
    /// What to change, most valuable first.
    pub advice: Vec<Advice>,
    /// The assessment.
    pub page: String,
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Money in the currency.
    Money,
    /// GPU-hours held.
    GpuHours,
}

/// A budget reached one of its marks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetAlert {
    /// Team.
    pub team: String,
    /// First day of the budget, YYYY-MM-DD.
    pub from: String,
    /// Last day, YYYY-MM-DD.
    pub to: String,
    /// Zone of the days (IANA name).
    pub zone: String,
    /// What it counts.
    pub measure: Measure,
    /// ISO 4217 code.
    pub currency: String,
    /// The mark that was reached, percent, whole.
    pub mark_percent: String,
    /// Used, percent, one decimal.
    pub used_percent: String,
    /// Used, decimal text.
    pub used: String,
    /// The budget, decimal text.
    pub budget: String,
    /// What will be used at the end if it goes on like this, decimal text; absent: too early to say.
    pub forecast: Option<String>,
    /// Days that are left.
    pub days_left: i64,
    /// The budget.
    pub page: String,
}
