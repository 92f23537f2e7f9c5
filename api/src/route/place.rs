//! What this place is, how its loops are, and the description of the routes themselves.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;

use super::report::{PEOPLE, STAFF};
use super::{Answered, Body, Gives, Route, Words, json_of};
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Role};

const fn route(
    method: &'static str,
    path: &'static str,
    says: &'static str,
    roles: &'static [Role],
    answered: fn() -> axum::routing::MethodRouter<App>,
) -> Route {
    let answered = Answered::Own(answered);
    Route { method, path, says, roles, uses: &[], parameters: &[], body: Body::None, gives: Gives::Json, answered }
}

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/api/v1/place", "Zone, currency, months and how far the data is", PEOPLE, || get(place)),
    route("GET", "/api/v1/me", "Who asks, as this server sees it", &Role::ALL, || get(me)),
    route("GET", "/api/v1/loops", "The loops of the server and how each is", STAFF, || get(loops)),
    route(
        "POST",
        "/api/v1/loops/{name}/wake",
        "Starts a round of a loop at once",
        &[Role::Admin, Role::Operator],
        || post(wake),
    ),
    route("GET", "/api/v1/openapi.json", "This description", &Role::ALL, || get(openapi)),
];

async fn place(State(app): State<App>) -> Response {
    json_of(&json!(app.answers().place().await), StatusCode::OK)
}

async fn me(Asker(who): Asker) -> Response {
    let body = json!({
        "name": who.name, "role": who.role.word(), "teams": who.teams, "user": who.user, "node": who.node,
    });
    json_of(&body, StatusCode::OK)
}

async fn loops(State(app): State<App>) -> Response {
    json_of(&json!(app.loops().all()), StatusCode::OK)
}

async fn wake(State(app): State<App>, Path(words): Path<Words>) -> Result<Response, Problem> {
    let name = words.get("name").map_or("", String::as_str);
    if app.loops().wake(name) {
        return Ok(json_of(&json!({"done": format!("loop {name} is woken")}), StatusCode::ACCEPTED));
    }
    let known = app.loops().all().into_keys().collect::<Vec<_>>().join(", ");
    Err(Problem::absent(format!("there is no loop `{name}`; there are: {known}")))
}

async fn openapi(State(app): State<App>) -> Response {
    json_of(&crate::openapi::document(&app.settings().version), StatusCode::OK)
}
