//! What changes something: findings, lines of drafts, closes, reference rows.

use axum::body::Body as RequestBody;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::report::{BILLED, MONEY, PEOPLE, TEAMS};
use super::{Answered, Body, Gives, Route, Words, json_of};
use crate::answer::Act;
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Role};

const ADMIN: &[Role] = &[Role::Admin];
const OPERATE: &[Role] = &[Role::Admin, Role::Operator];

const fn change(
    path: &'static str,
    says: &'static str,
    roles: &'static [Role],
    body: &'static [&'static str],
    answered: fn() -> axum::routing::MethodRouter<App>,
) -> Route {
    Route {
        method: "POST",
        path,
        says,
        roles,
        uses: &[],
        parameters: &[],
        body: Body::Json(body),
        gives: Gives::Json,
        answered: Answered::Own(answered),
    }
}

pub(super) const ROUTES: &[Route] = &[
    change(
        "/api/v1/findings/notes",
        "Says what became of a finding: accept, done, dismiss or reopen",
        TEAMS,
        &["rule!", "subject!", "word!", "reason"],
        || post(finding),
    ),
    change(
        "/api/v1/periods/{period}/lines/{line}/answer",
        "A lead accepts or disputes a line of a draft",
        BILLED,
        &["disputed?!", "reason"],
        || post(line),
    ),
    change(
        "/api/v1/periods/{period}/close",
        "Makes a month final; the name of the month is repeated in the body",
        MONEY,
        &["confirm!", "waive[]", "reason", "approver"],
        || post(close),
    ),
    change(
        "/api/v1/reference/{table}",
        "Adds rows to a reference table, or says what they would change (dry_run)",
        ADMIN,
        &["csv!", "dry_run?", "force?", "reason", "approver"],
        || post(import),
    ),
    change(
        "/api/v1/cases/{case}/answer",
        "Answers a case of reclaiming: keep, normal, release, exempt, approve, hold or resume",
        PEOPLE,
        &["word!", "reason", "hours#"],
        || post(case),
    ),
    change(
        "/api/v1/switches/{which}",
        "Sets a switch of reclaiming: notify, act, kill or breaker",
        OPERATE,
        &["is_on?!", "reason!"],
        || post(switch),
    ),
];

/// Reads a JSON body whole; a field that is not known is a problem.
pub(crate) async fn json<T: DeserializeOwned>(app: &App, body: RequestBody) -> Result<T, Problem> {
    let limit = app.settings().body_bytes;
    let bytes = axum::body::to_bytes(body, limit).await.map_err(|_| {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes, or was cut off"))
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|e| Problem::parameter("body", format!("the body is not what is expected: {e}")))
}

async fn done(app: &App, who: &crate::who::Who, act: Act) -> Result<Response, Problem> {
    Ok(json_of(&app.act(who, &act).await?, StatusCode::OK))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    rule: String,
    subject: String,
    word: String,
    reason: Option<String>,
}

async fn finding(State(app): State<App>, Asker(who): Asker, body: RequestBody) -> Result<Response, Problem> {
    let Finding { rule, subject, word, reason } = json(&app, body).await?;
    done(&app, &who, Act::Finding { rule, subject, word, reason }).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    disputed: bool,
    reason: Option<String>,
}

/// A number in the path.
fn number(words: &Words, name: &str) -> Result<i64, Problem> {
    let word = words.get(name).map_or("", String::as_str);
    word.parse().map_err(|_| Problem::parameter(name, format!("`{word}` is not a {name}")))
}

async fn line(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    body: RequestBody,
) -> Result<Response, Problem> {
    let Line { disputed, reason } = json(&app, body).await?;
    let number = number(&words, "line")?;
    let period = words.get("period").cloned().unwrap_or_default();
    done(&app, &who, Act::Line { period, line: number, disputed, reason }).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Close {
    confirm: String,
    #[serde(default)]
    waive: Vec<String>,
    reason: Option<String>,
    approver: Option<String>,
}

async fn close(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    body: RequestBody,
) -> Result<Response, Problem> {
    let Close { confirm, waive, reason, approver } = json(&app, body).await?;
    let period = words.get("period").cloned().unwrap_or_default();
    if confirm != period {
        return Err(Problem::parameter("confirm", format!("a close is final: repeat the month, `{period}`")));
    }
    done(&app, &who, Act::Close { period, waive, reason, approver }).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Import {
    csv: String,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    force: bool,
    reason: Option<String>,
    approver: Option<String>,
}

async fn import(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    body: RequestBody,
) -> Result<Response, Problem> {
    let Import { csv, dry_run, force, reason, approver } = json(&app, body).await?;
    let table = words.get("table").cloned().unwrap_or_default();
    done(&app, &who, Act::Import { table, csv, force, reason, approver, dry_run }).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    word: String,
    reason: Option<String>,
    hours: Option<i64>,
}

async fn case(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    body: RequestBody,
) -> Result<Response, Problem> {
    let Case { word, reason, hours } = json(&app, body).await?;
    let case_id = number(&words, "case")?;
    done(&app, &who, Act::Case { case_id, word, reason, hours }).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    is_on: bool,
    reason: String,
}

async fn switch(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    body: RequestBody,
) -> Result<Response, Problem> {
    let Switch { is_on, reason } = json(&app, body).await?;
    let which = words.get("which").cloned().unwrap_or_default();
    done(&app, &who, Act::Switch { which, is_on, reason }).await
}
