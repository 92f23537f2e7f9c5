//! What forms of the pages send. Each says afterwards what was done, or what stands against it; nothing acts on GET.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde_json::Value;

use super::super::template::{render, value};
use super::super::{Answer, Page, View, refused, shell};
use super::{html, shown, view_of};
use crate::answer::Act;
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Who};

/// A form has at most so many bytes.
const FORM_BYTES: usize = 1 << 20;

/// The fields of a form.
struct Form(Vec<(String, String)>);

impl Form {
    async fn read(body: Body) -> Result<Self, Problem> {
        let bytes = axum::body::to_bytes(body, FORM_BYTES).await;
        let bytes = bytes.map_err(|_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large"))?;
        Ok(Self(url::form_urlencoded::parse(&bytes).into_owned().collect()))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, v)| n == name && !v.trim().is_empty()).map(|(_, v)| v.trim())
    }

    fn need(&self, name: &str) -> Result<String, Problem> {
        self.get(name).map(str::to_owned).ok_or_else(|| Problem::parameter(name, format!("the form needs `{name}`")))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    fn number(&self, name: &str) -> Result<Option<i64>, Problem> {
        let read = self.get(name).map(|t| t.parse::<i64>());
        read.transpose().map_err(|_| Problem::parameter(name, format!("`{name}` is not a whole number")))
    }

    /// What is done for good asks for the name of the thing.
    fn typed(&self, name: &str) -> Result<(), Problem> {
        if self.get("typed") == Some(name) {
            return Ok(());
        }
        Err(Problem::parameter("typed", format!("type `{name}` exactly; nothing was done")))
    }

    /// The page that the form was on.
    fn back(&self) -> String {
        let ours = |b: &&str| b.starts_with('/') && !b.starts_with("//") && !b.contains(['\\', '\r', '\n']);
        self.get("back").filter(ours).unwrap_or("/").to_owned()
    }
}

/// The routes of the forms.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/waste/answer", post(|a, w, h, b| send(a, w, h, b, finding)))
        .route("/chargeback/answer", post(|a, w, h, b| send(a, w, h, b, line)))
        .route("/chargeback/close", post(|a, w, h, b| send(a, w, h, b, close)))
        .route("/reclaim/answer", post(|a, w, h, b| send(a, w, h, b, case)))
        .route("/reclaim/switch", post(|a, w, h, b| send(a, w, h, b, switch)))
        .route("/settings/table", post(table))
}

async fn send(
    State(app): State<App>,
    Asker(who): Asker,
    head: HeaderMap,
    body: Body,
    make: fn(&Form) -> Result<Act, Problem>,
) -> Response {
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(problem) => return told(&app, &who, &head, "/", Err(problem)).await,
    };
    let back = form.back();
    let done = match make(&form) {
        Ok(act) => app.act(&who, &act).await,
        Err(problem) => Err(problem),
    };
    told(&app, &who, &head, &back, done).await
}

/// What was done, or what stands against it, and the way back.
async fn told(app: &App, who: &Who, head: &HeaderMap, back: &str, done: Result<Value, Problem>) -> Response {
    let place = app.answers().place().await;
    let (_, query) = back.split_once('?').unwrap_or((back, ""));
    let view = view_of(app, Page::Overview, Some(query), head, Some(who), &place);
    match done {
        Ok(said) => html(&view, StatusCode::OK, page(&view, &said, back)),
        Err(problem) => html(&view, problem.code(), refused(&view, problem.status, &problem.detail)),
    }
}

fn page(view: &View, said: &Value, back: &str) -> Result<String, super::super::PageError> {
    let text = said.get("done").and_then(Value::as_str).map_or_else(|| said.to_string(), str::to_owned);
    let shell = shell::plain(view, "done.title");
    let fields = minijinja::context! { page => value(shell), text => text, back => back };
    render(view.lang, "done.html", fields)
}

fn finding(form: &Form) -> Result<Act, Problem> {
    Ok(Act::Finding {
        rule: form.need("rule")?,
        subject: form.need("subject")?,
        word: form.need("word")?,
        reason: form.text("reason"),
    })
}

fn line(form: &Form) -> Result<Act, Problem> {
    let line = form.number("line")?.ok_or_else(|| Problem::parameter("line", "the form needs `line`"))?;
    let disputed = match form.need("word")?.as_str() {
        "accept" => false,
        "dispute" => true,
        other => return Err(Problem::parameter("word", format!("`{other}` is not one of: accept, dispute"))),
    };
    Ok(Act::Line { period: form.need("period")?, line, disputed, reason: form.text("reason") })
}

fn close(form: &Form) -> Result<Act, Problem> {
    let period = form.need("period")?;
    form.typed(&period)?;
    let waive = form.0.iter().filter(|(n, _)| n == "waive").map(|(_, v)| v.clone()).collect();
    Ok(Act::Close { period, waive, reason: form.text("reason"), approver: form.text("approver") })
}

fn case(form: &Form) -> Result<Act, Problem> {
    let case_id = form.number("case")?.ok_or_else(|| Problem::parameter("case", "the form needs `case`"))?;
    let word = form.need("word")?;
    if word == "release" {
        form.typed(&case_id.to_string())?;
    }
    let hours = if ["keep", "exempt"].contains(&word.as_str()) { form.number("hours")? } else { None };
    Ok(Act::Case { case_id, word, reason: form.text("reason"), hours })
}

fn switch(form: &Form) -> Result<Act, Problem> {
    let which = form.need("which")?;
    form.typed(&which)?;
    let is_on = match form.need("on")?.as_str() {
        "yes" => true,
        "no" => false,
        other => return Err(Problem::parameter("on", format!("`{other}` is not one of: yes, no"))),
    };
    Ok(Act::Switch { which, is_on, reason: form.need("reason")? })
}

/// Rows of a reference table: first shown, then saved by the name of the table.
async fn table(State(app): State<App>, Asker(who): Asker, head: HeaderMap, body: Body) -> Response {
    let form = match Form::read(body).await {
        Ok(form) => form,
        Err(problem) => return told(&app, &who, &head, "/settings", Err(problem)).await,
    };
    let back = form.back();
    let saves = form.get("do") == Some("save");
    let act = |form: &Form| {
        let table = form.need("table")?;
        if saves {
            form.typed(&table)?;
        }
        let (csv, reason) = (form.need("csv")?, form.text("reason"));
        Ok(Act::Import { table, csv: format!("{csv}\n"), force: false, reason, approver: None, dry_run: !saves })
    };
    let done = match act(&form) {
        Ok(act) => app.act(&who, &act).await,
        Err(problem) => Err(problem),
    };
    if saves {
        return told(&app, &who, &head, &back, done).await;
    }
    let preview = match done {
        Ok(said) => Answer::Ready(said),
        Err(problem) => Answer::Failed(problem.detail),
    };
    let (_, query) = back.split_once('?').unwrap_or(("", ""));
    let typed = Answer::Ready(serde_json::json!({"csv": form.get("csv"), "reason": form.get("reason")}));
    let more = vec![("preview", preview), ("typed", typed)];
    shown(&app, Page::Reference, Some(query), &head, Some(who), more).await
}
