//! Tokens: made, listed, taken back; of admins alone.

use std::collections::BTreeSet;

use axum::body::Body as RequestBody;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{delete, get, post};
use gpuledger_control::{ControlError, Grant, Token, Who as Actor};
use serde::Deserialize;
use serde_json::{Value, json};

use super::act;
use super::{Answered, Body, Gives, Route, Words, json_of};
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Role};

const ADMIN: &[Role] = &[Role::Admin];
const DAY_MS: i64 = 86_400_000;

const fn route(
    method: &'static str,
    path: &'static str,
    says: &'static str,
    body: Body,
    answered: fn() -> axum::routing::MethodRouter<App>,
) -> Route {
    let answered = Answered::Own(answered);
    Route { method, path, says, roles: ADMIN, uses: &[], parameters: &[], body, gives: Gives::Json, answered }
}

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/api/v1/tokens", "Tokens, without their secrets", Body::None, || get(list)),
    route(
        "POST",
        "/api/v1/tokens",
        "Makes a token; its secret is in the answer and nowhere else",
        Body::Json(&["name!", "role!", "teams[]", "user", "node", "days#!"]),
        || post(create),
    ),
    route(
        "POST",
        "/api/v1/tokens/{id}/rotate",
        "Makes a token in the place of another, which stays good for some hours",
        Body::Json(&["days#!", "hours#!"]),
        || post(rotate),
    ),
    route("DELETE", "/api/v1/tokens/{id}", "Takes a token back at once", Body::None, || delete(revoke)),
];

/// A token as it is shown.
fn shown(token: &Token, now_ms: i64) -> Value {
    json!({
        "id": token.id,
        "name": token.grant.name,
        "role": token.grant.role,
        "teams": token.grant.teams,
        "user": token.grant.user,
        "node": token.grant.node,
        "created_ms": token.created_ms,
        "created_by": token.created_by,
        "expires_ms": token.expires_ms,
        "revoked_ms": token.revoked_ms,
        "rotates": token.rotates,
        "state": token.state(now_ms),
    })
}

async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let now_ms = app.now_ms();
    let tokens = app.look(|c| c.tokens()).await?.unwrap_or_default();
    let rows: Vec<Value> = tokens.iter().map(|t| shown(t, now_ms)).collect();
    Ok(json_of(&json!({"rows": rows}), StatusCode::OK))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    name: String,
    role: String,
    #[serde(default)]
    teams: BTreeSet<String>,
    user: Option<String>,
    node: Option<String>,
    days: u32,
}

/// Bytes that nobody can guess.
fn random() -> Result<[u8; 32], Problem> {
    let mut bytes = [0_u8; 32];
    getrandom::getrandom(&mut bytes).map_err(|e| Problem::fault(format!("the system gives no randomness: {e}")))?;
    Ok(bytes)
}

/// What was refused is the asker's fault, everything else is not.
fn refused(e: ControlError) -> Problem {
    match e {
        ControlError::Not { reason, .. } => Problem::parameter("body", reason),
        other => Problem::unavailable(crate::state::chain(&other)),
    }
}

async fn create(State(app): State<App>, Asker(who): Asker, body: RequestBody) -> Result<Response, Problem> {
    let Create { name, role, teams, user, node, days } = act::json(&app, body).await?;
    let (now_ms, bytes) = (app.now_ms(), random()?);
    let grant = Grant { name, role, teams, user, node };
    let actor = Actor { actor: who.name, at_ms: now_ms, ..Actor::default() };
    let expires_ms = now_ms + i64::from(days) * DAY_MS;
    let made = app.control(move |c| Ok::<_, ControlError>(c.mint(&grant, expires_ms, bytes, &actor))).await?;
    let made = made.map_err(refused)?;
    let mut body = shown(&made.token, now_ms);
    body["secret"] = made.secret.into();
    Ok(json_of(&body, StatusCode::CREATED))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotate {
    days: u32,
    hours: u32,
}

async fn rotate(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    body: RequestBody,
) -> Result<Response, Problem> {
    let Rotate { days, hours } = act::json(&app, body).await?;
    let (now_ms, bytes) = (app.now_ms(), random()?);
    let id = words.get("id").cloned().unwrap_or_default();
    let actor = Actor { actor: who.name, at_ms: now_ms, ..Actor::default() };
    let (until, old) = (now_ms + i64::from(days) * DAY_MS, now_ms + i64::from(hours) * 3_600_000);
    let made = app.control(move |c| Ok::<_, ControlError>(c.rotate_token(&id, until, old, bytes, &actor))).await?;
    let made = made.map_err(refused)?;
    app.forget_tokens();
    let mut body = shown(&made.token, now_ms);
    body["secret"] = made.secret.into();
    Ok(json_of(&body, StatusCode::CREATED))
}

async fn revoke(State(app): State<App>, Asker(who): Asker, Path(words): Path<Words>) -> Result<Response, Problem> {
    let actor = Actor { actor: who.name, at_ms: app.now_ms(), ..Actor::default() };
    let id = words.get("id").cloned().unwrap_or_default();
    let named = id.clone();
    let done = app.control(move |c| Ok::<_, ControlError>(c.revoke_token(&id, &actor))).await?;
    app.forget_tokens();
    match done {
        Ok(()) => Ok(json_of(&json!({"done": format!("token {named} is taken back")}), StatusCode::OK)),
        Err(ControlError::Not { reason, .. }) => Err(Problem::absent(reason)),
        Err(other) => Err(refused(other)),
    }
}
