//! Documents of a bill as files.

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::routing::get;

use super::report::{BILLED, text};
use super::{Answered, Body, Gives, Parameter, ParameterKind, Route, Words, file};
use crate::answer::Export;
use crate::ask::Query;
use crate::problem::Problem;
use crate::state::App;
use crate::who::Asker;

/// Codes that a posting file needs.
const CODES: [&str; 3] = ["expense_account", "recovery_account", "platform_cost_center"];

const USES: &[&str] = &["tz", "lang"];
const AS: Parameter = Parameter {
    name: "as",
    says: "json, csv, xlsx, pdf, posting, parquet, focus or focus-csv",
    kind: ParameterKind::Needed,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/api/v1/exports/{period}",
    says: "A document of a bill: a month, a quarter 2026-Q1, or months 2026-01..2026-03; a lead gets the PDF of their team",
    roles: BILLED,
    uses: USES,
    parameters: &[
        AS,
        text("team", "The statement of this team alone (pdf)"),
        text("expense_account", "Account that cost centres are debited on (posting)"),
        text("recovery_account", "Account that the platform is credited on (posting)"),
        text("platform_cost_center", "Cost centre of the platform (posting)"),
    ],
    body: Body::None,
    gives: Gives::File,
    answered: Answered::Own(|| get(export)),
}];

async fn export(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Problem> {
    let mut query = Query::read(raw.as_deref());
    let ask = query.ask_of(app.settings().zone, USES)?;
    let mut what = Export {
        period: words.get("period").cloned().unwrap_or_default(),
        document: query.needed("as")?,
        team: query.one("team")?,
        lang: ask.lang,
        codes: Default::default(),
    };
    for code in CODES {
        if let Some(value) = query.one(code)? {
            what.codes.insert(code.to_owned(), value);
        }
    }
    query.done()?;
    Ok(file(app.answers().export(&who, &ask, &what).await?))
}
