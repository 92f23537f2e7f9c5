//! Who answers a server's questions: the commands themselves, run in the name and the scope of who asks.

use std::sync::Arc;

use async_trait::async_trait;
use gpuledger_aggregator::close::{CloseError, Manifest, phase};
use gpuledger_aggregator::lake::{Lake, LakeError};
use gpuledger_aggregator::report::{
    self, Ask as Asked, Currency, Dimension, Format as Written, Narrow, Reader, ReportError,
};
use gpuledger_api::answer::{Act, Answers, Column, Document, Export, File, Kind, Month, Place as Told, Report};
use gpuledger_api::ask::{Ask, Filter, Format};
use gpuledger_api::problem::Problem;
use gpuledger_api::state::chain;
use gpuledger_api::who::{Role, Scope, Who};
use gpuledger_control::{Control, Switch, Switched};
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window::{self, Window};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore};

use super::asked;
use super::open::{Newest, Open, Question};
use crate::args::{self, Command, Forced};
use crate::clock;
use crate::command::{self, dispatch_one};
use crate::outcome::{self, Outcome};
use crate::place::{Held, Place};
use crate::session::{self, Names};

/// Questions that are worked on at a time, beside those whose answer is there.
const AT_A_TIME: usize = 4;

/// The ledger of a data folder, as a server asks it.
#[derive(Debug)]
pub(crate) struct Ledger {
    place: Place,
    writing: Arc<Mutex<()>>,
    open: Open,
    turns: Semaphore,
}

impl Ledger {
    /// Of a place whose lake the server holds.
    pub(crate) fn new(place: Place, writing: Arc<Mutex<()>>) -> Self {
        Self { place, writing, open: Open::default(), turns: Semaphore::new(AT_A_TIME) }
    }

    fn lake(&self) -> Result<Lake, Problem> {
        Lake::open(&self.place.data, false).map_err(|e| Problem::unavailable(format!("the data cannot be read: {}", chain(&e))))
    }

    /// The place in which a command runs for somebody.
    fn place_of(&self, base: Option<Arc<Reader>>, narrow: Narrow, cut: Option<u64>) -> Place {
        let held = Held { writing: Arc::clone(&self.writing), base, narrow };
        Place { held: Some(held), cut, ..self.place.clone() }
    }

    async fn at(&self, lake: &Lake, ask: &Ask) -> Result<Newest, Problem> {
        let nothing = || Problem::unavailable("there is no ledger yet: something must be taken in and built first");
        let newest = Open::newest(lake).await.map_err(|e| problem_of(&e))?.ok_or_else(nothing)?;
        match ask.as_of {
            None => Ok(newest),
            // a build of an older cut is looked for when it is opened
            Some(cut) => Ok(Newest { cut, build: if cut == newest.cut { newest.build } else { 0 }, ..newest }),
        }
    }

    async fn run(
        &self,
        who: &Who,
        ask: &Ask,
        what: &Report,
        written: Written,
    ) -> Result<(session::Said, u64), Problem> {
        let lake = self.lake()?;
        let at = self.at(&lake, ask).await?;
        let what = self.allowed(who, ask, what).await?;
        let _turn = self.turns.acquire().await.map_err(|_| Problem::unavailable("the server stops"))?;
        let terms = asked::terms(ask)?;
        let partitions = self.place.partitions();
        let base = self.open.reader(&lake, partitions, at, ask, terms).await.map_err(|e| problem_of(&e))?;
        if is_priced(&what)
            && let Some((from_ms, to_ms)) = ask.window
        {
            let window = Window { from_ms, to_ms };
            let of = Asked { window, zone: ask.tz(), by: Vec::new(), step: None, currency: Currency::none() };
            report::prepare(&base, &of).await.map_err(|e| problem_of(&e))?;
        }
        let names = self.names(who, ask)?;
        let place = self.place_of(Some(base), asked::narrow(&who.scope(), ask)?, ask.as_of);
        let typed = asked::command(who, ask, &what)?;
        let run = move || async move { dispatch_one(&place, typed, written, true).await };
        let (done, said) = session::hear(&who.name, names, run).await.ok_or_else(fault)?;
        done.map_err(|e| problem(&e))?;
        Ok((said, at.cut))
    }

    /// What somebody may ask beyond what their rows are: refused, or narrowed to their team.
    async fn allowed(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Report, Problem> {
        let scope = who.scope();
        if scope == Scope::All {
            return Ok(what.clone());
        }
        match what {
            // these select their rows
            Report::Charges
            | Report::Usage
            | Report::Accounting
            | Report::Gaps { .. }
            | Report::Findings { .. }
            | Report::Job(_)
            | Report::Explain { .. } => Ok(what.clone()),
            Report::Quota { .. } | Report::Budgets { .. } if who.role == Role::Lead => Ok(what.clone()),
            Report::Quote(quote) if who.teams.contains(&quote.team) => Ok(what.clone()),
            Report::Quote(_) => Err(Problem::forbidden("a price is quoted to a lead for their own teams")),
            Report::Statement { period, team } => {
                Ok(Report::Statement { period: period.clone(), team: Some(own_team(who, team.as_deref())?) })
            }
            Report::ExplainLine { period, line } => {
                self.owns_line(who, ask, period, line).await?;
                Ok(what.clone())
            }
            _ => Err(Problem::forbidden(format!("this is about the whole fleet; a {} sees their own rows", who.role))),
        }
    }

    /// A line of a bill belongs to a team of who asks.
    async fn owns_line(&self, who: &Who, ask: &Ask, period: &str, line: &str) -> Result<(), Problem> {
        let refused = || Problem::forbidden(format!("line `{line}` is of no team of yours"));
        if who.role != Role::Lead {
            return Err(refused());
        }
        if who.teams.contains(line) {
            return Ok(());
        }
        if !line.bytes().all(|b| b.is_ascii_digit()) {
            return Err(refused());
        }
        let finance = Who::of(&who.name, Role::Finance);
        for team in &who.teams {
            let what = Report::Statement { period: period.to_owned(), team: Some(team.clone()) };
            let lines = Box::pin(self.document(&finance, ask, &what)).await?;
            let rows = lines.body["rows"].as_array().cloned().unwrap_or_default();
            let is_it = |row: &Value| match &row["line"] {
                Value::String(text) => text == line,
                Value::Number(n) => n.to_string() == line,
                _ => false,
            };
            if rows.iter().any(is_it) {
                return Ok(());
            }
        }
        Err(refused())
    }

    /// The names that somebody sees: none where they see all as they are.
    fn names(&self, who: &Who, ask: &Ask) -> Result<Option<Names>, Problem> {
        if !self.place.config.server.pseudonyms || who.role == Role::Admin {
            return Ok(None);
        }
        let own = who.user.clone();
        let user = Dimension::User.word();
        let asks_for = |f: &&Filter| f.dimension == user && f.words.iter().any(|w| own.as_ref() != Some(w));
        if ask.filter.iter().any(|f| asks_for(&f)) {
            return Err(Problem::parameter("filter", "users are shown under pseudonyms, and cannot be asked for by name"));
        }
        let lake = self.lake()?;
        let random = command::random().map_err(|e| problem(&e))?;
        let mut control = self.place.control_to_write(&lake).map_err(|e| problem(&e))?;
        let key = control.secret("pseudonym", random).map_err(|e| Problem::unavailable(chain(&e)))?;
        Ok(Some(Names { key, own }))
    }

    async fn import(&self, who: &Who, act: &Act) -> Result<Value, Problem> {
        let Act::Import { table, csv, force, reason, approver, dry_run } = act else { return Ok(Value::Null) };
        if *force && (reason.is_none() || approver.is_none()) {
            return Err(Problem::parameter("force", "force needs `reason` and `approver`"));
        }
        let table = asked::table(table)?;
        let forced = Forced { force: *force, reason: reason.clone(), approver: approver.clone() };
        let place = self.place_of(None, Narrow::default(), None);
        let (csv, is_dry) = (csv.clone(), *dry_run);
        let work = move || async move {
            let (name, bytes) = ("what was typed", csv.as_bytes());
            if is_dry {
                command::import_dry(&place, table, name, bytes, &forced).await
            } else {
                command::import_as(&place, table, name, bytes, None, &forced).await
            }
        };
        let (done, _) = session::hear(&who.name, None, work).await.ok_or_else(fault)?;
        done.map(|told| json!({"done": told, "dry_run": dry_run})).map_err(|e| problem(&e))
    }

    async fn switch(&self, who: &Who, which: &str, is_on: bool, reason: &str) -> Result<Value, Problem> {
        let known = || Switch::ALL.map(Switch::as_str).join(", ");
        let found = Switch::ALL.into_iter().find(|s| s.as_str() == which);
        let which = found.ok_or_else(|| Problem::parameter("which", format!("`{which}` is not one of: {}", known())))?;
        if reason.trim().is_empty() {
            return Err(Problem::parameter("reason", "a switch is set for a reason"));
        }
        let to = Switched { is_on, at_ms: clock::now_ms(), actor: who.name.clone(), reason: reason.to_owned() };
        let lake = self.lake()?;
        let mut control: Control = self.place.control_to_write(&lake).map_err(|e| problem(&e))?;
        control.switch(which, &to).map_err(|e| Problem::unavailable(chain(&e)))?;
        Ok(json!({"done": format!("{} is {}", which.as_str(), if is_on { "on" } else { "off" })}))
    }

    /// Whether somebody may change what an act is about.
    async fn may_do(&self, who: &Who, act: &Act) -> Result<(), Problem> {
        if who.scope() == Scope::All {
            return Ok(());
        }
        let zone = self.place.zone_needed(None).map_err(|e| problem(&e))?;
        let ask = Ask::in_zone(zone);
        match act {
            Act::Finding { subject, .. } if subject.matches('/').count() <= 1 => {
                // a run that is none of theirs is none at all
                self.document(who, &ask, &Report::Job(subject.clone())).await.map(|_| ())
            }
            Act::Line { period, line, .. } => self.owns_line(who, &ask, period, &line.to_string()).await,
            _ => Err(Problem::forbidden("only who runs the fleet may change this")),
        }
    }
}

fn fault() -> Problem {
    Problem::fault("the command was stopped by a fault of its own")
}

fn own_team(who: &Who, asked: Option<&str>) -> Result<String, Problem> {
    match (asked, who.teams.len()) {
        (Some(team), _) if who.role == Role::Lead && who.teams.contains(team) => Ok(team.to_owned()),
        (None, 1) if who.role == Role::Lead => Ok(who.teams.iter().next().cloned().unwrap_or_default()),
        (None, _) if who.role == Role::Lead => {
            let teams: Vec<&str> = who.teams.iter().map(String::as_str).collect();
            Err(Problem::parameter("team", format!("say which of your teams: {}", teams.join(", "))))
        }
        _ => Err(Problem::forbidden("a bill is shown to finance, and a team's part of it to its lead")),
    }
}

/// Questions that are answered from the priced facts of a window: priced once for all of them.
fn is_priced(what: &Report) -> bool {
    matches!(what, Report::Charges | Report::Usage | Report::Gaps { .. } | Report::Findings { .. })
}

/// Questions whose answer the cut alone decides.
fn is_kept(what: &Report) -> bool {
    !matches!(
        what,
        Report::Periods
            | Report::Statement { .. }
            | Report::ExplainLine { .. }
            | Report::CloseList { .. }
            | Report::Verify { .. }
            | Report::Corrections { .. }
            | Report::Reference { .. }
            | Report::Audit { .. }
            | Report::Uncharged
            | Report::Check
            | Report::Watch { .. }
            | Report::Budgets { .. }
    )
}

/// What went wrong, to who asked: their fault, the data's, or ours.
fn problem(e: &anyhow::Error) -> Problem {
    let text = crate::chain(e);
    for cause in e.chain() {
        if let Some(found) = cause.downcast_ref::<ReportError>() {
            return problem_of(found);
        }
        if cause.is::<LakeError>() {
            return Problem::unavailable(format!("the data cannot be read or written: {text}"));
        }
        if let Some(CloseError::Report(found)) = cause.downcast_ref::<CloseError>() {
            return problem_of(found);
        }
    }
    if outcome::code_of(e) == Outcome::WRONG_USAGE {
        // `--by colour is not one of`: the flags of the command are the parameters of the address
        let flag = text.strip_prefix("--").and_then(|t| t.split([' ', ':']).next()).map(str::to_owned);
        let plain = text.trim_start_matches("--").to_owned();
        return match flag {
            Some(flag) => Problem::parameter(if flag == "zone" { "tz" } else { &flag }, plain),
            None if text.starts_with("no run ") => Problem::absent(plain),
            None if text.starts_with("say which time") => Problem::parameter("month", "say which time: month=YYYY-MM, or from= and to="),
            None => Problem::new(gpuledger_api::StatusCode::BAD_REQUEST, plain),
        };
    }
    if e.chain().any(|c| c.is::<gpuledger_control::ControlError>()) {
        return Problem::conflict(text);
    }
    tracing::error!(error = text, "a question failed");
    Problem::fault(text)
}

fn problem_of(e: &ReportError) -> Problem {
    let text = chain(e);
    match e {
        ReportError::Dimension(_) => Problem::parameter("by", text),
        ReportError::NoCut { .. } | ReportError::NotBuilt(_) => Problem::parameter("as_of", text),
        ReportError::Whole(_) => Problem::parameter("filter", text),
        ReportError::Empty(_) | ReportError::Stale | ReportError::Lake(_) => Problem::unavailable(text),
        _ => {
            tracing::error!(error = text, "a question failed");
            Problem::fault(text)
        }
    }
}

fn column(c: &report::Column) -> Column {
    let kind = match c.kind {
        report::Kind::Text => Kind::Text,
        report::Kind::Hours => Kind::Hours,
        report::Kind::Money => Kind::Money,
        report::Kind::Count => Kind::Count,
        report::Kind::Percent => Kind::Percent,
        report::Kind::Gib => Kind::Gib,
    };
    Column { name: c.name.clone(), heading: c.heading.clone(), kind }
}

#[async_trait]
impl Answers for Ledger {
    async fn document(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Document, Problem> {
        let make = || async {
            let (said, cut) = self.run(who, ask, what, Written::Json).await?;
            let mut body: Value = serde_json::from_slice(&said.bytes)
                .map_err(|e| Problem::fault(format!("the answer is no JSON: {e}")))?;
            if let (Report::Job(_) | Report::Explain { .. } | Report::ExplainLine { .. }, Some(names)) = (what, self.names(who, ask)?) {
                names.json(&mut body);
            }
            Ok(Document { body, columns: said.columns.iter().map(column).collect(), cut })
        };
        if !is_kept(what) {
            return make().await;
        }
        let at = self.at(&self.lake()?, ask).await?;
        let plain = Ask { paging: Default::default(), format: Format::Json, ..ask.clone() };
        let (scope, what_of) = (who.scope(), what.clone());
        let names = who.role == Role::Admin;
        let question = Question { cut: at.cut, build: at.build, scope, plain: names, ask: plain, what: what_of };
        let place = self.open.answer(question);
        place.get_or_try_init(make).await.cloned()
    }

    async fn file(&self, who: &Who, ask: &Ask, what: &Report) -> Result<File, Problem> {
        let (written, end, media) = match ask.format {
            Format::Csv => (Written::Csv, "csv", "text/csv; charset=utf-8"),
            Format::Parquet => (Written::Parquet, "parquet", "application/vnd.apache.parquet"),
            Format::Json => (Written::Json, "json", "application/json"),
            Format::Focus => {
                let month = ask.month.clone().filter(|_| *what == Report::Charges);
                let month = month.ok_or_else(|| {
                    Problem::parameter("format", "focus is for the charges of a month: /api/v1/charges?month=YYYY-MM")
                })?;
                let document = "focus-csv".to_owned();
                let what = Export { period: month, document, team: None, lang: ask.lang, codes: Default::default() };
                return self.export(who, ask, &what).await;
            }
        };
        let (said, cut) = self.run(who, ask, what, written).await?;
        let name = format!("{}.{end}", ask.month.as_deref().unwrap_or("gpuledger"));
        Ok(File { name, media, bytes: said.bytes, cut: Some(cut) })
    }

    async fn export(&self, who: &Who, ask: &Ask, what: &Export) -> Result<File, Problem> {
        let team = match who.scope() {
            Scope::All => what.team.clone(),
            _ if what.document == "pdf" => Some(own_team(who, what.team.as_deref())?),
            _ => return Err(Problem::forbidden("a lead gets the statement of their team: as=pdf")),
        };
        let lake = self.lake()?;
        let at = self.at(&lake, ask).await?;
        let _turn = self.turns.acquire().await.map_err(|_| Problem::unavailable("the server stops"))?;
        let terms = asked::terms(ask)?;
        let base = self.open.reader(&lake, self.place.partitions(), at, ask, terms).await.map_err(|e| problem_of(&e))?;
        let place = self.place_of(Some(base), Narrow::default(), ask.as_of);
        let code = |name: &str| what.codes.get(name).cloned();
        let typed = args::Export {
            period: what.period.clone(),
            document: what.document.clone(),
            team,
            out: None,
            lang: what.lang.word().to_owned(),
            bom: false,
            zone: Some(ask.zone.clone()),
            expense_account: code("expense_account"),
            recovery_account: code("recovery_account"),
            platform_cost_center: code("platform_cost_center"),
        };
        let run = move || async move { command::exported(&place, &typed).await };
        let (made, _) = session::hear(&who.name, None, run).await.ok_or_else(fault)?;
        let (name, media, bytes) = made.map_err(|e| problem(&e))?;
        Ok(File { name, media, bytes, cut: Some(at.cut) })
    }

    async fn act(&self, who: &Who, act: &Act) -> Result<Value, Problem> {
        match act {
            Act::Import { .. } => return self.import(who, act).await,
            Act::Switch { which, is_on, reason } if who.is(&[Role::Admin, Role::Operator]) => {
                return self.switch(who, which, *is_on, reason).await;
            }
            _ => {}
        }
        self.may_do(who, act).await?;
        let Some(typed) = asked::act(who, act)? else {
            return Err(Problem::new(gpuledger_api::StatusCode::NOT_IMPLEMENTED, "cases are answered by `gpuledger reclaim`"));
        };
        let is_close = matches!(typed, Command::Close(_));
        let place = self.place_of(None, Narrow::default(), None);
        let run = move || async move { dispatch_one(&place, typed, Written::Json, true).await };
        let (done, said) = session::hear(&who.name, None, run).await.ok_or_else(fault)?;
        let done = done.map_err(|e| problem(&e))?;
        let text = String::from_utf8_lossy(&said.bytes).into_owned();
        if done == Outcome::Failed {
            return Err(Problem::conflict(format!("the close list has open items: {text}")));
        }
        if is_close {
            return serde_json::from_str(&text).map_err(|e| Problem::fault(format!("the answer is no JSON: {e}")));
        }
        Ok(json!({"done": text}))
    }

    async fn deliver(&self, node: &str, name: &str, bytes: Vec<u8>) -> Result<(), Problem> {
        let lake = self.lake()?;
        let put = lake.deliver(&format!("{node}/{name}"), bytes).await;
        put.map_err(|e| Problem::unavailable(format!("the segment cannot be kept now: {}", chain(&e))))
    }

    async fn place(&self) -> Told {
        match self.told().await {
            Ok(told) => told,
            Err(problem) => Told { zone: self.place.config.billing_zone.clone(), trouble: Some(problem.detail), ..Told::default() },
        }
    }
}

impl Ledger {
    async fn told(&self) -> Result<Told, Problem> {
        let lake = self.lake()?;
        let unavailable = |e: LakeError| Problem::unavailable(chain(&e));
        let zone = self.place.zone(None).map_err(|e| problem(&e))?;
        let currency = self.place.currency(&lake).ok().map(|c| c.code().to_owned());
        let mut told = Told { zone: zone.map(|z| z.name().to_owned()), currency, ..Told::default() };
        let Some(at) = Open::newest(&lake).await.map_err(|e| problem_of(&e))? else { return Ok(told) };
        told.cut = Some(at.cut);
        let Some((first, last)) = at.days else { return Ok(told) };
        let zone = zone.unwrap_or(chrono_tz::UTC);
        let (from_ms, to_ms) = (i64::from(first) * DAY_MS, (i64::from(last) + 1) * DAY_MS);
        told.known_from_ms = Some(from_ms);
        let base = self.open.reader(&lake, self.place.partitions(), at, &Ask::in_zone(zone), Default::default()).await;
        let base = base.map_err(|e| problem_of(&e))?;
        let known = report::last_week(&base).await.map_or(to_ms, |week| week.to_ms);
        told.known_to_ms = Some(known);
        let closed = Manifest::all(&lake).await.map_err(unavailable)?;
        let number = |ms: i64| window::month_number(&window::month_of(ms, zone)).unwrap_or(0);
        for n in number(from_ms)..=number(known - 1) {
            let month = window::month_name(n);
            let manifest = closed.iter().find(|m| m.period == month);
            let Ok(of) = window::month(&month, zone) else { continue };
            let state = phase(of, manifest.is_some(), clock::now_ms()).as_str().to_lowercase();
            let hash = manifest.map(|m| m.output_sha256.clone());
            told.months.push(Month { month, state, hash });
        }
        Ok(told)
    }
}
