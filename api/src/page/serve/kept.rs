//! What pages show of the control file and of the server itself: cases, switches, tokens, loops. Rows are selected by the scope of
//! who looks here, too.

use chrono_tz::Tz;
use gpuledger_schema::reclaim::{Allocation, Case, CaseEvent, Identity};
use gpuledger_schema::unit::CARD_UNITS;
use gpuledger_schema::window::show_ms;
use serde_json::{Value, json};

use super::super::{Answer, Page, View};
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Role, Scope, Who};

/// Cases that ended are shown for so long, ms.
const OVER_MS: i64 = 30 * 86_400_000;

/// Those of a page.
pub(super) async fn answers(app: &App, who: &Who, page: Page, view: &View) -> Vec<(&'static str, Answer)> {
    let zone: Tz = view.zone.parse().unwrap_or(chrono_tz::UTC);
    match page {
        Page::Overview => vec![("cases", open(app, who, zone).await), ("loops", loops(app, who))],
        Page::Reclaim => vec![
            ("reclaim", reclaiming(app, who, zone).await),
            ("cases", open(app, who, zone).await),
            ("over", over(app, who, zone, view.now_ms).await),
        ],
        Page::Case => vec![("case", one(app, who, zone, view.chosen("case")).await)],
        Page::Tokens => vec![("tokens", tokens(app, who, zone, view.now_ms).await)],
        _ => Vec::new(),
    }
}

fn refused(problem: Problem) -> Answer {
    Answer::Failed(problem.detail)
}

fn loops(app: &App, who: &Who) -> Answer {
    if who.is(&[Role::Admin, Role::Finance, Role::Operator]) {
        return Answer::Ready(json!(app.loops().all()));
    }
    Answer::Ready(json!({}))
}

/// Whether a case is of what somebody may see.
fn sees(who: &Who, facts: Option<&Allocation>) -> bool {
    match who.scope() {
        Scope::All => true,
        Scope::Teams(teams) => facts.is_some_and(|a| teams.contains(&a.owner.team)),
        Scope::User(user) => facts.is_some_and(|a| a.owner.user == user),
        Scope::Nothing => false,
    }
}

fn facts(case: &Case) -> Option<Allocation> {
    serde_json::from_str(&case.facts).ok()
}

async fn open(app: &App, who: &Who, zone: Tz) -> Answer {
    match app.look(|c| c.open_cases()).await {
        Ok(found) => listed(who, zone, &found.unwrap_or_default()),
        Err(problem) => refused(problem),
    }
}

async fn over(app: &App, who: &Who, zone: Tz, now_ms: i64) -> Answer {
    match app.look(move |c| c.cases_since(now_ms - OVER_MS)).await {
        Ok(found) => {
            let ended = |c: &Case| ["freed", "active_again"].contains(&c.state.as_str());
            listed(who, zone, &found.unwrap_or_default().into_iter().filter(ended).collect::<Vec<_>>())
        }
        Err(problem) => refused(problem),
    }
}

fn listed(who: &Who, zone: Tz, cases: &[Case]) -> Answer {
    let row = |case: &Case| {
        let facts = facts(case);
        sees(who, facts.as_ref()).then(|| shown(case, facts.as_ref(), zone))
    };
    Answer::Ready(json!({"rows": cases.iter().filter_map(row).collect::<Vec<_>>()}))
}

/// GPUs from share units, with at most two digits.
fn gpus(units: i64) -> String {
    let hundredths = (i128::from(units) * 100 + i128::from(CARD_UNITS) / 2) / i128::from(CARD_UNITS);
    if hundredths % 100 == 0 {
        (hundredths / 100).to_string()
    } else {
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// The run that a case is about, as pages of runs find it.
fn run(case: &Case, facts: &Allocation) -> Option<String> {
    match &facts.identity {
        Identity::Slurm { .. } | Identity::Kubernetes { .. } | Identity::Session { .. } => {
            Some(case.allocation_id.to_string())
        }
        Identity::Process { .. } => None,
    }
}

/// A case as pages show it.
fn shown(case: &Case, facts: Option<&Allocation>, zone: Tz) -> Value {
    let at = |ms: Option<i64>| ms.map(|ms| show_ms(ms, zone).replace('T', " "));
    let number = |n: Option<i64>| n.map(|n| n.to_string());
    let judged = facts.map(|a| &a.judgement);
    json!({
        "case_id": case.case_id.to_string(),
        "what": facts.map_or_else(|| format!("allocation {}", case.allocation_id), |a| a.identity.shown()),
        "run": facts.and_then(|a| run(case, a)),
        "user": facts.map(|a| a.owner.user.clone()),
        "team": facts.map(|a| a.owner.team.clone()),
        "cluster": facts.and_then(|a| a.identity.cluster().map(str::to_owned)),
        "nodes": facts.map(|a| a.nodes.join(", ")),
        "gpus": facts.map(|a| gpus(a.gpu_units)),
        "model": facts.and_then(|a| a.work.model.clone()),
        "pool": facts.map(|a| a.work.pool.clone()),
        "class": case.class.as_str(),
        "policy": case.policy,
        "state": case.state.as_str(),
        "deadline_ms": number(case.deadline_ms),
        "deadline": at(case.deadline_ms),
        "rest_from": at(case.rest_from_ms),
        "warned": at(case.warned_ms),
        "final": at(case.final_ms),
        "until": at(case.until_ms),
        "until_ms": number(case.until_ms),
        "held": case.held,
        "approved_by": case.approved_by,
        "peak_ppm": number(judged.and_then(|j| j.peak_ppm)),
        "power_mw": number(judged.and_then(|j| j.power_mw)),
        "floor_mw": number(judged.and_then(|j| j.floor_mw)),
        "coverage_ppm": number(judged.and_then(|j| j.coverage_ppm)),
    })
}

async fn one(app: &App, who: &Who, zone: Tz, id: Option<&str>) -> Answer {
    let absent = || Answer::Absent(String::new());
    let Some(id) = id.and_then(|t| t.parse::<i64>().ok()) else { return absent() };
    let found = app.look(move |c| Ok::<_, gpuledger_control::CaseError>((c.case(id)?, c.case_events(id)?))).await;
    match found {
        Err(problem) => refused(problem),
        Ok(Some((Some(case), events))) => {
            let facts = facts(&case);
            // a case of others is as good as none: its number says nothing
            if !sees(who, facts.as_ref()) {
                return absent();
            }
            let event = |e: &CaseEvent| {
                json!({
                    "at": show_ms(e.at_ms, zone).replace('T', " "), "actor": e.actor, "kind": e.kind.as_str(),
                    "reason": e.reason, "proof": e.proof,
                })
            };
            Answer::Ready(json!({
                "case": shown(&case, facts.as_ref(), zone),
                "events": events.iter().map(event).collect::<Vec<_>>(),
            }))
        }
        Ok(_) => absent(),
    }
}

/// The four switches as they count, and the caps.
async fn reclaiming(app: &App, who: &Who, zone: Tz) -> Answer {
    if !who.is(&[Role::Admin, Role::Finance, Role::Operator, Role::Lead, Role::Member]) {
        return Answer::Forbidden(String::new());
    }
    match app.answers().reclaiming().await {
        Err(problem) => refused(problem),
        Ok(found) => {
            let switches = found.switches.iter().map(|s| {
                json!({
                    "which": s.which, "is_on": s.is_on, "by": s.by, "actor": s.actor, "reason": s.reason,
                    "at": s.at_ms.map(|ms| show_ms(ms, zone).replace('T', " ")),
                })
            });
            Answer::Ready(json!({"switches": switches.collect::<Vec<_>>(), "bounds": found.bounds}))
        }
    }
}

async fn tokens(app: &App, who: &Who, zone: Tz, now_ms: i64) -> Answer {
    if !who.is(&[Role::Admin]) {
        return Answer::Forbidden(Role::Admin.word().to_owned());
    }
    match app.look(|c| c.tokens()).await {
        Err(problem) => refused(problem),
        Ok(found) => {
            let at = |ms: i64| show_ms(ms, zone).replace('T', " ");
            let rows = found.unwrap_or_default().into_iter().map(|t| {
                let teams = t.grant.teams.iter().cloned().collect::<Vec<_>>().join(", ");
                let scope = [Some(teams), t.grant.user.clone(), t.grant.node.clone()];
                let scope = scope.into_iter().flatten().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
                json!({
                    "name": t.grant.name, "role": t.grant.role, "scope": scope, "created": at(t.created_ms),
                    "expires": at(t.expires_ms), "created_by": t.created_by, "state": t.state(now_ms),
                })
            });
            Answer::Ready(json!({"rows": rows.collect::<Vec<_>>()}))
        }
    }
}
