//! `report quota`: quota used, borrowed, lent and unmet, from the ledger and from imported series.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use super::fleet_rows::{columns, instants, rows};
use super::render::hours;
use super::{Ask, Column, Kind, Reader, Report, ReportError, Value, prepare};
use crate::engine::{Engine, Params};

fn shown() -> Vec<Column> {
    columns(&[
        ("source", "from", Kind::Text),
        ("cluster", "cluster", Kind::Text),
        ("pool", "pool", Kind::Text),
        ("team", "team", Kind::Text),
        ("quota_hours", "quota h", Kind::Hours),
        ("held_hours", "held h", Kind::Hours),
        ("used_hours", "", Kind::Hours),
        ("borrowed_hours", "borrowed", Kind::Hours),
        ("lent_hours", "lent", Kind::Hours),
        ("spare_hours", "spare h", Kind::Hours),
        ("unmet_hours", "unmet h", Kind::Hours),
        ("unmet_in_quota_hours", "", Kind::Hours),
        ("used_of_quota", "used", Kind::Percent),
        ("mean", "", Kind::Percent),
    ])
}

/// Quota of a window by pool and team.
///
/// # Errors
/// A failing lake or engine.
pub(super) async fn quota(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    quota_steps(reader, ask).await?;
    unmet(reader, ask).await?;
    let engine = reader.engine();
    let window = instants(ask.window);
    engine.step("waste/85_series_point", &Params::new()).await?;
    engine.step("waste/85_series_piece", &window).await?;
    let all = shown();
    let mut made = Vec::new();
    for (source, statement) in [("ledger", "waste/84_quota"), ("series", "waste/86_series_quota")] {
        made.extend(taken(rows(engine, statement, &Params::new(), &all[1..]).await?, source));
    }
    let sum = |i: usize| {
        made.iter()
            .filter_map(|r: &Vec<Value>| if let Value::Ms(ms) = r[i] { Some(ms) } else { None })
            .reduce(|a, b| a + b)
    };
    let said = |v: Option<i128>| v.map_or_else(|| "unknown".to_owned(), |ms| format!("{} h", hours(ms, 1)));
    let sentence = format!(
        "of {} of quota {} were held within it, {} borrowed beyond it, {} asked for and not given",
        said(sum(4)),
        said(sum(6)),
        said(sum(7)),
        said(sum(10))
    );
    let mut notes = Vec::new();
    if made.iter().any(|r| r[4] == Value::Unknown) {
        notes.push("a team without a quota row borrows nothing that could be known".to_owned());
    }
    Ok(Report { notes, ..Report::table(sentence, all, made) })
}

/// Rows with where they are from.
fn taken(rows: Vec<Vec<Value>>, source: &str) -> impl Iterator<Item = Vec<Value>> {
    let source = Value::Text(source.to_owned());
    rows.into_iter().map(move |mut row| {
        row.insert(0, source.clone());
        row
    })
}

/// Quota, held, used and borrowed by pool and team, as the ledger has them.
pub(super) async fn quota_uses(reader: &Reader, ask: &Ask) -> Result<Vec<RecordBatch>, ReportError> {
    quota_steps(reader, ask).await?;
    unmet(reader, ask).await?;
    let (_, rows) = reader.engine().run("waste/84_quota", &Params::new()).await?;
    Ok(rows)
}

/// The chain from usage to who holds what above the quota.
async fn quota_steps(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    prepare(reader, ask).await?;
    let none = Params::new();
    for (step, params) in
        [("waste/80_team_cell", &none), ("waste/81_pool_cell", &none), ("waste/82_quota_cell", &instants(ask.window))]
    {
        reader.engine().step(step, params).await?;
    }
    Ok(())
}

/// What requests waited for, by pool and team. Their teams are found by the charge's own statements, beside those of runs.
async fn unmet(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    let apart = reader.fork().await?;
    let (engine, none) = (apart.engine(), Params::new());
    engine.step("waste/89_asking", &instants(ask.window)).await?;
    put(engine, "owner_key", engine.run("waste/90_asking_owner", &none).await?)?;
    engine.step("charge/21_owner_match", &none).await?;
    engine.step("charge/22_owner_span", &none).await?;
    put(reader.engine(), "unmet", engine.run("waste/91_unmet", &none).await?)
}

/// Registers what a statement gave under another name, or in another session.
fn put(engine: &Engine, table: &str, made: (SchemaRef, Vec<RecordBatch>)) -> Result<(), ReportError> {
    let (schema, rows) = made;
    let schema = rows.first().map_or(schema, RecordBatch::schema);
    Ok(engine.register_rows(table, schema, rows)?)
}

/// Which runs hold what their teams borrow.
///
/// # Errors
/// A failing lake or engine.
pub(super) async fn quota_runs(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    quota_steps(reader, ask).await?;
    let shown = columns(&[
        ("pool", "pool", Kind::Text),
        ("team", "team", Kind::Text),
        ("cluster", "cluster", Kind::Text),
        ("job", "job", Kind::Text),
        ("user", "user", Kind::Text),
        ("borrowed_hours", "borrowed h", Kind::Hours),
    ]);
    let made = rows(reader.engine(), "waste/83_borrowed_run", &Params::new(), &shown).await?;
    Ok(Report {
        notes: vec!["what a team borrows lies on its runs that started last".to_owned()],
        ..Report::table(format!("{} runs held above the quota of their teams", made.len()), shown, made)
    })
}
