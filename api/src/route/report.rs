//! Routes that ask the ledger: each makes a question of its parameters, and nothing else.

use super::{Answered, Body, Gives, Parameter, ParameterKind, Route, Words};
use crate::answer::{Quote, Report};
use crate::ask::Query;
use crate::problem::Problem;
use crate::who::Role;

/// Whoever has rows of their own.
pub(super) const PEOPLE: &[Role] = &[Role::Admin, Role::Finance, Role::Lead, Role::Member, Role::Operator];
/// Who sees the whole fleet.
pub(super) const STAFF: &[Role] = &[Role::Admin, Role::Finance, Role::Operator];
/// Who sees the fleet or a team of it.
pub(super) const TEAMS: &[Role] = &[Role::Admin, Role::Finance, Role::Lead, Role::Operator];
/// Who sees and changes money.
pub(super) const MONEY: &[Role] = &[Role::Admin, Role::Finance];
/// Who has a bill: all of it, or their team's.
pub(super) const BILLED: &[Role] = &[Role::Admin, Role::Finance, Role::Lead];

const CHARGED: &[&str] = &[
    "month",
    "from",
    "to",
    "tz",
    "by",
    "filter",
    "step",
    "basis",
    "unallocated",
    "as_of",
    "format",
    "limit",
    "offset",
];
const GROUPED: &[&str] = &["month", "from", "to", "tz", "by", "filter", "step", "as_of", "format", "limit", "offset"];
const FOUND: &[&str] =
    &["month", "from", "to", "tz", "by", "filter", "step", "as_of", "format", "lang", "limit", "offset"];
const BY: &[&str] = &["month", "from", "to", "tz", "by", "step", "as_of", "format", "limit", "offset"];
const RUNS: &[&str] = &["month", "from", "to", "tz", "filter", "as_of", "format", "limit", "offset"];
const WINDOW: &[&str] = &["month", "from", "to", "tz", "as_of", "format", "limit", "offset"];
const MONTH: &[&str] = &["month", "tz", "as_of", "format", "limit", "offset"];
const ZONED: &[&str] = &["tz", "as_of", "format", "limit", "offset"];
const TOLD: &[&str] = &["tz", "as_of", "lang"];
const PLAIN: &[&str] = &["tz", "as_of"];
const LISTED: &[&str] = &["tz", "limit", "offset"];

pub(super) const fn text(name: &'static str, says: &'static str) -> Parameter {
    Parameter { name, says, kind: ParameterKind::Text }
}

const fn flag(name: &'static str, says: &'static str) -> Parameter {
    Parameter { name, says, kind: ParameterKind::Flag }
}

const fn number(name: &'static str, says: &'static str) -> Parameter {
    Parameter { name, says, kind: ParameterKind::Number }
}

const fn needed(name: &'static str, says: &'static str) -> Parameter {
    Parameter { name, says, kind: ParameterKind::Needed }
}

const fn get(
    path: &'static str,
    says: &'static str,
    roles: &'static [Role],
    uses: &'static [&'static str],
    parameters: &'static [Parameter],
    gives: Gives,
    make: fn(&mut Query, &Words) -> Result<Report, Problem>,
) -> Route {
    Route {
        method: "GET",
        path,
        says,
        roles,
        uses,
        parameters,
        body: Body::None,
        gives,
        answered: Answered::Report(make),
    }
}

const TOP: Parameter = number("top", "Only the first rows; the total is that of all");
const AT: Parameter = text("at", "When: a date (midnight in the zone) or RFC 3339 with an offset");

fn word(words: &Words, name: &str) -> String {
    words.get(name).cloned().unwrap_or_default()
}

fn top(query: &mut Query) -> Result<Option<usize>, Problem> {
    Ok(query.number("top")?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)))
}

/// An instant needs the zone of the question, which was read before: RFC 3339 and dates of UTC alone are read here.
fn at(query: &mut Query) -> Result<Option<i64>, Problem> {
    let read = |text: String| {
        gpuledger_schema::window::instant(&text, chrono_tz::UTC).map_err(|e| Problem::parameter("at", e.to_string()))
    };
    query.one("at")?.map(read).transpose()
}

pub(super) const ROUTES: &[Route] = &[
    get(
        "/api/v1/charges",
        "Money beside held, busy and idle time, and the line that proves that nothing was lost",
        PEOPLE,
        CHARGED,
        &[],
        Gives::Report,
        |_, _| Ok(Report::Charges),
    ),
    get("/api/v1/usage", "The six classes that are the capacity", PEOPLE, GROUPED, &[], Gives::Report, |_, _| {
        Ok(Report::Usage)
    }),
    get(
        "/api/v1/usage/week",
        "When in the week runs that held GPUs for a day or more were busy: a character for each of its 168 hours",
        PEOPLE,
        RUNS,
        &[],
        Gives::Report,
        |_, _| Ok(Report::RunWeek),
    ),
    get(
        "/api/v1/accounting",
        "Jobs ended, wall, CPU, node and GPU hours, waits",
        PEOPLE,
        GROUPED,
        &[],
        Gives::Report,
        |_, _| Ok(Report::Accounting),
    ),
    get(
        "/api/v1/gaps",
        "What was asked for against what was used, with the money",
        PEOPLE,
        GROUPED,
        &[TOP],
        Gives::Report,
        |q, _| Ok(Report::Gaps { top: top(q)? }),
    ),
    get(
        "/api/v1/findings",
        "Findings with evidence, price and remedy; grouped where `by` or `step` is given",
        PEOPLE,
        FOUND,
        &[text("rule", "Only these rules, separated by commas"), TOP],
        Gives::Report,
        |q, _| {
            let rules = q.all("rule").iter().flat_map(|w| w.split(',')).map(str::to_owned).collect();
            Ok(Report::Findings { rules, top: top(q)? })
        },
    ),
    get(
        "/api/v1/findings/verified",
        "What findings that are done have saved",
        STAFF,
        ZONED,
        &[],
        Gives::Report,
        |_, _| Ok(Report::Verified),
    ),
    get(
        "/api/v1/jobs/{job}",
        "A run on one screen: asked, given, used, charged, found; `/` in a name is written %2F",
        PEOPLE,
        TOLD,
        &[],
        Gives::Json,
        |_, w| Ok(Report::Job(word(w, "job"))),
    ),
    get(
        "/api/v1/explain/runs/{job}",
        "Why a run costs what it costs, down to cells and minutes",
        PEOPLE,
        PLAIN,
        &[flag("cells", "Every 15-minute cell"), flag("minutes", "Every minute that was measured")],
        Gives::Json,
        |q, w| Ok(Report::Explain { run: word(w, "job"), cells: q.flag("cells")?, minutes: q.flag("minutes")? }),
    ),
    get(
        "/api/v1/explain/lines/{period}/{line}",
        "A line of a bill, or a team's, down to rates and runs",
        BILLED,
        PLAIN,
        &[],
        Gives::Json,
        |_, w| Ok(Report::ExplainLine { period: word(w, "period"), line: word(w, "line") }),
    ),
    get(
        "/api/v1/fleet",
        "How much is allocated, busy and effective, what waits, fails and is lost",
        STAFF,
        BY,
        &[text("split", "`week` or `part` (workday, night, weekend): the classes alone")],
        Gives::Report,
        |q, _| Ok(Report::Fleet { split: q.one("split")? }),
    ),
    get(
        "/api/v1/fleet/fragmentation",
        "Free cards that cannot be used as they lie",
        STAFF,
        WINDOW,
        &[],
        Gives::Report,
        |_, _| Ok(Report::Fragmentation),
    ),
    get(
        "/api/v1/fleet/quota",
        "Quota used, borrowed, lent and unmet",
        TEAMS,
        WINDOW,
        &[flag("runs", "Instead: the runs that hold what is borrowed")],
        Gives::Report,
        |q, _| Ok(Report::Quota { runs: q.flag("runs")? }),
    ),
    get(
        "/api/v1/fleet/assets",
        "GPUs registered, seen and offered, differences first",
        STAFF,
        ZONED,
        &[AT],
        Gives::Report,
        |q, _| Ok(Report::Assets { at_ms: at(q)? }),
    ),
    get(
        "/api/v1/fleet/census",
        "What each card did over a week; without a window the last week that is known",
        STAFF,
        WINDOW,
        &[flag("hours", "Instead: the hours of the week, over all cards")],
        Gives::Report,
        |q, _| Ok(Report::Census { hours: q.flag("hours")? }),
    ),
    get(
        "/api/v1/fleet/hours",
        "What each card was most of the time in each hour; without a window the last week that is known",
        STAFF,
        WINDOW,
        &[],
        Gives::Report,
        |_, _| Ok(Report::CardHours),
    ),
    get(
        "/api/v1/health",
        "The period in words: six trends and what would save most",
        STAFF,
        WINDOW,
        &[text("period", "`month` (the default) or `window`: how long the periods before are")],
        Gives::Report,
        |q, _| Ok(Report::Health { period: q.one("period")?.unwrap_or_else(|| "month".to_owned()) }),
    ),
    get(
        "/api/v1/watch",
        "What stands wrong now: late nodes, time nobody measured, conflicts, cards unregistered",
        STAFF,
        ZONED,
        &[AT],
        Gives::Report,
        |q, _| Ok(Report::Watch { at_ms: at(q)? }),
    ),
    get("/api/v1/assessment", "Figures of a longer time, judged", STAFF, WINDOW, &[], Gives::Report, |_, _| {
        Ok(Report::Assessment)
    }),
    get("/api/v1/conservation", "Every invariant that applies, a line each", STAFF, PLAIN, &[], Gives::Json, |_, _| {
        Ok(Report::Check)
    }),
    get("/api/v1/uncharged", "What nobody was charged for, and why", STAFF, MONTH, &[], Gives::Report, |_, _| {
        Ok(Report::Uncharged)
    }),
    get(
        "/api/v1/costs",
        "What pools really cost against what was billed for them",
        MONEY,
        MONTH,
        &[],
        Gives::Report,
        |_, _| Ok(Report::Cost),
    ),
    get(
        "/api/v1/budgets",
        "What teams may spend, have spent and will have spent",
        TEAMS,
        ZONED,
        &[AT],
        Gives::Report,
        |q, _| Ok(Report::Budgets { at_ms: at(q)? }),
    ),
    get(
        "/api/v1/quote",
        "What GPUs would cost a team for a time",
        TEAMS,
        &["tz", "as_of", "format"],
        &[
            number("gpus", "How many GPUs: 1 or more"),
            needed("model", "GPU model, as devices and rates name it"),
            needed("for", "For how long: 90m, 12h, 3d"),
            needed("start", "From when: a date, a local time or RFC 3339"),
            needed("team", "The team that would pay"),
            text("pool", "Pool of the GPUs"),
            text("task_type", "Task type"),
            flag("preemptible", "The run may be preempted"),
            text("params", "Parameters of a model, 7b or 1.5t: its memory is estimated"),
        ],
        Gives::Report,
        quote,
    ),
    get(
        "/api/v1/periods",
        "Billing months, their state, totals and hashes",
        MONEY,
        ZONED,
        &[],
        Gives::Report,
        |_, _| Ok(Report::Periods),
    ),
    get(
        "/api/v1/periods/{period}/statement",
        "The lines of a month: of a draft, or of what was closed",
        BILLED,
        ZONED,
        &[text("team", "Lines of this team alone")],
        Gives::Report,
        |q, w| Ok(Report::Statement { period: word(w, "period"), team: q.one("team")? }),
    ),
    get(
        "/api/v1/periods/{period}/close",
        "What a close would do now: figures, checks and the close list",
        MONEY,
        PLAIN,
        &[],
        Gives::Json,
        |_, w| Ok(Report::CloseList { period: word(w, "period") }),
    ),
    get(
        "/api/v1/periods/{period}/verify",
        "Proof of a closed month: derived again from what it names",
        MONEY,
        PLAIN,
        &[],
        Gives::Json,
        |_, w| Ok(Report::Verify { period: word(w, "period") }),
    ),
    get(
        "/api/v1/corrections",
        "What closed months would be corrected by, if a month were closed now",
        MONEY,
        ZONED,
        &[text("period", "Of this closed month alone")],
        Gives::Report,
        |q, _| Ok(Report::Corrections { period: q.one("period")? }),
    ),
    get(
        "/api/v1/reference/{table}",
        "A reference table as it is now: rates, owners, pools ...",
        STAFF,
        LISTED,
        &[],
        Gives::Json,
        |_, w| Ok(Report::Reference { table: word(w, "table") }),
    ),
    get(
        "/api/v1/audit",
        "Who changed what, when, from what to what, and why",
        MONEY,
        &["from", "to", "tz", "limit", "offset"],
        &[text("table", "Changes of this table alone")],
        Gives::Json,
        |q, _| Ok(Report::Audit { table: q.one("table")? }),
    ),
];

fn quote(query: &mut Query, _: &Words) -> Result<Report, Problem> {
    let gpus = query.number("gpus")?.unwrap_or(1);
    let gpus = u32::try_from(gpus).map_err(|_| Problem::parameter("gpus", "there are not so many GPUs"))?;
    if gpus == 0 {
        return Err(Problem::parameter("gpus", "`gpus` is 1 or more"));
    }
    Ok(Report::Quote(Box::new(Quote {
        gpus,
        model: query.needed("model")?,
        duration: query.needed("for")?,
        from: query.needed("start")?,
        team: query.needed("team")?,
        pool: query.one("pool")?,
        task_type: query.one("task_type")?,
        preemptible: query.flag("preemptible")?,
        params: query.one("params")?,
    })))
}
