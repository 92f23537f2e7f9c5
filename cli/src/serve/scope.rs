//! What somebody may ask and do beyond which rows are theirs: refused, or narrowed to their team.

use gpuledger_aggregator::report::Dimension;
use gpuledger_api::answer::{Act, Answers as _, Report};
use gpuledger_api::ask::{Ask, Filter};
use gpuledger_api::problem::Problem;
use gpuledger_api::state::chain;
use gpuledger_api::who::{Role, Scope, Who};
use serde_json::Value;

use super::Ledger;
use super::fault::problem;
use crate::command;
use crate::reclaim::facts;
use crate::session::Names;

impl Ledger {
    /// What somebody may ask beyond what their rows are: refused, or narrowed to their team.
    pub(super) async fn allowed(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Report, Problem> {
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
            let is_it = |row: &Value| match &row["line_id"] {
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
    pub(super) fn names(&self, who: &Who, ask: &Ask) -> Result<Option<Names>, Problem> {
        if !self.place.config.server.pseudonyms || who.role == Role::Admin {
            return Ok(None);
        }
        let own = who.user.clone();
        let user = Dimension::User.word();
        let asks_for = |f: &&Filter| f.dimension == user && f.words.iter().any(|w| own.as_ref() != Some(w));
        if ask.filter.iter().any(|f| asks_for(&f)) {
            return Err(Problem::parameter(
                "filter",
                "users are shown under pseudonyms, and cannot be asked for by name",
            ));
        }
        let lake = self.lake()?;
        let random = command::random().map_err(|e| problem(&e))?;
        let mut control = self.place.control_to_write(&lake).map_err(|e| problem(&e))?;
        let key = control.secret("pseudonym", random).map_err(|e| Problem::unavailable(chain(&e)))?;
        Ok(Some(Names { key, own }))
    }

    /// Whether somebody may change what an act is about.
    pub(super) async fn may_do(&self, who: &Who, act: &Act) -> Result<(), Problem> {
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
            Act::Case { case_id, word, .. } => self.owns_case(who, *case_id, word),
            _ => Err(Problem::forbidden("only who runs the fleet may change this")),
        }
    }

    /// A case is of a run of who answers it, and the answer is one of its owner.
    fn owns_case(&self, who: &Who, case_id: i64, word: &str) -> Result<(), Problem> {
        let absent = || Problem::absent(format!("there is no case `{case_id}` of yours"));
        let control = self.place.control(&self.lake()?).map_err(|e| problem(&e))?.ok_or_else(absent)?;
        let case = control.case(case_id).map_err(|e| Problem::unavailable(chain(&e)))?.ok_or_else(absent)?;
        let owner = facts(&case).map(|f| f.owner).ok_or_else(absent)?;
        let is_theirs = match who.role {
            Role::Lead => who.teams.contains(&owner.team),
            Role::Member => who.user.as_ref() == Some(&owner.user),
            _ => false,
        };
        match (is_theirs, word) {
            (false, _) => Err(absent()),
            (true, "keep" | "normal" | "release") => Ok(()),
            (true, _) => Err(Problem::forbidden("an owner answers keep, normal or release; the rest is an operator's")),
        }
    }
}

/// The team whose bill is meant: the one that was asked for, or the only one there is.
pub(super) fn own_team(who: &Who, asked: Option<&str>) -> Result<String, Problem> {
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
