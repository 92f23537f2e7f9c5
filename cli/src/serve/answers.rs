//! Who answers a server's questions: the commands themselves, run in the name and the scope of who asks.

use std::sync::Arc;

use async_trait::async_trait;
use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::{self, Ask as Asked, Currency, Format as Written, Narrow, Reader};
use gpuledger_api::answer::{
    Act, Answers, Column, Document, Export, File, Kind, Lasts, Place as Told, Reclaiming, Report,
};
use gpuledger_api::ask::{Ask, Format};
use gpuledger_api::problem::Problem;
use gpuledger_api::state::chain;
use gpuledger_api::who::{Role, Scope, Who};
use gpuledger_control::{Control, Switch};
use gpuledger_schema::window::Window;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Semaphore};

use super::asked;
use super::fault::{fault, problem, problem_of};
use super::open::{Newest, Open, Question};
use super::scope::own_team;
use crate::args::{self, Command, Forced};
use crate::clock;
use crate::command::{self, dispatch_one};
use crate::outcome::Outcome;
use crate::place::{Held, Place};
use crate::reclaim::throw;
use crate::session;

/// Questions that are worked on at a time, beside those whose answer is there.
const AT_A_TIME: usize = 4;

/// The ledger of a data folder, as a server asks it.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(super) place: Place,
    writing: Arc<Mutex<()>>,
    pub(super) open: Arc<Open>,
    turns: Semaphore,
}

impl Ledger {
    /// Of a place whose lake the server holds; what is looked at ahead of questions is worked on by `workers`.
    pub(crate) fn new(place: Place, writing: Arc<Mutex<()>>, workers: Handle) -> Self {
        Self { place, writing, open: Arc::new(Open::new(workers)), turns: Semaphore::new(AT_A_TIME) }
    }

    pub(super) fn lake(&self) -> Result<Lake, Problem> {
        Lake::open(&self.place.data, false)
            .map_err(|e| Problem::unavailable(format!("the data cannot be read: {}", chain(&e))))
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
        let typed = asked::command(ask, &what)?;
        let run = move || async move { dispatch_one(&place, typed, written, true).await };
        let (done, said) = session::hear(&who.name, names, run).await.ok_or_else(fault)?;
        done.map_err(|e| problem(&e))?;
        Ok((said, at.cut))
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
        let which =
            found.ok_or_else(|| Problem::parameter("which", format!("`{which}` is not one of: {}", known())))?;
        if reason.trim().is_empty() {
            return Err(Problem::parameter("reason", "a switch is set for a reason"));
        }
        let lake = self.lake()?;
        let mut control: Control = self.place.control_to_write(&lake).map_err(|e| problem(&e))?;
        let thrown = throw(&mut control, which, is_on, who.name.clone(), reason, clock::now_ms());
        thrown.map_err(|e| Problem::unavailable(crate::chain(&e)))?;
        Ok(json!({"done": format!("{} is {}", which.as_str(), if is_on { "on" } else { "off" })}))
    }
}

/// Questions that are answered from the priced facts of a window: priced once for all of them.
fn is_priced(what: &Report) -> bool {
    matches!(what, Report::Charges | Report::Usage | Report::RunWeek | Report::Gaps { .. } | Report::Findings { .. })
}

/// Of the notes below a statement those of its own lines and its hash: others speak of the whole bill.
fn own_notes(body: &mut Value) {
    let Some(notes) = body.get_mut("notes").and_then(Value::as_array_mut) else { return };
    let is_own = |text: &str| {
        text.starts_with("sha256 ")
            || text
                .split_once(':')
                .is_some_and(|(line, _)| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()))
    };
    notes.retain(|note| note.as_str().is_some_and(is_own));
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
            if let (Report::Job(_) | Report::Explain { .. } | Report::ExplainLine { .. }, Some(names)) =
                (what, self.names(who, ask)?)
            {
                names.json(&mut body);
            }
            if matches!(what, Report::Statement { .. }) && who.scope() != Scope::All {
                own_notes(&mut body);
            }
            Ok(Document { body, columns: said.columns.iter().map(column).collect(), cut })
        };
        if what.lasts() != Lasts::Cut {
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
        let base =
            self.open.reader(&lake, self.place.partitions(), at, ask, terms).await.map_err(|e| problem_of(&e))?;
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
        let Some(typed) = asked::act(who, act)? else { return self.case(who, act) };
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

    async fn reclaiming(&self) -> Result<Reclaiming, Problem> {
        self.reclaiming_now().map_err(|e| problem(&e))
    }

    async fn place(&self) -> Told {
        match self.told().await {
            Ok(told) => told,
            Err(problem) => {
                Told { zone: self.place.config.billing_zone.clone(), trouble: Some(problem.detail), ..Told::default() }
            }
        }
    }
}
