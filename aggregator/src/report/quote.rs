//! `rates quote`: what GPUs would cost a team for a time, priced by the statements that price every run.

use chrono_tz::Tz;
use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::{filter_record_batch, is_not_null};
use gpuledger_schema::table::Row;
use gpuledger_schema::table::reference::QuotaRow;
use gpuledger_schema::window::{Window, show_ms};

use super::fleet_rows::{columns, instants};
use super::invented::Invented;
use super::money::round;
use super::render::{hours, money};
use super::{Ask, Column, Currency, Kind, Reader, Report, ReportError, Value, price_facts, texts, whole};
use crate::engine::{Engine, Params, bigint, int, text};

/// What is to be quoted.
#[derive(Debug, Clone)]
pub struct QuoteAsked {
    /// How many GPUs.
    pub gpus: u32,
    /// Their model, as devices and rates name it.
    pub model: String,
    /// From when to when.
    pub window: Window,
    /// Zone of local days and of windows of discounts.
    pub zone: Tz,
    /// The team that would pay.
    pub team: String,
    /// Their pool; absent: the one that rows for their model (and cluster) name.
    pub pool: Option<String>,
    /// Their cluster.
    pub cluster: Option<String>,
    /// Task type.
    pub task_type: String,
    /// Whether the run may be preempted.
    pub preemptible: bool,
    /// How money is written.
    pub currency: Currency,
}

/// What is to be estimated of memory.
#[derive(Debug, Clone)]
pub struct MemoryAsked {
    /// Parameters of the model.
    pub params: i64,
    /// Bits of a weight: 32, 16, 8 or 4.
    pub weight_bits: i32,
    /// train, finetune or infer.
    pub task: String,
    /// Tokens of context.
    pub context: i64,
    /// Sequences at a time.
    pub batch: i64,
}

/// An interval of one price.
#[derive(Debug)]
struct Piece {
    words: Vec<Value>,
    mode: String,
    held_ms: i128,
    above_quota: bool,
    list: Option<i128>,
    billed: Option<i128>,
}

fn shown() -> Vec<Column> {
    columns(&[
        ("from", "from", Kind::Text),
        ("to", "to", Kind::Text),
        ("gpu_hours", "GPU-h", Kind::Hours),
        ("list_price", "list price", Kind::Text),
        ("price", "price", Kind::Text),
        ("discounts", "discounts", Kind::Text),
        ("pool", "", Kind::Text),
        ("tier", "", Kind::Text),
        ("mode", "", Kind::Text),
        ("above_quota", "", Kind::Text),
        ("list", "at list price", Kind::Money),
        ("money", "money", Kind::Money),
    ])
}

/// What a run would cost, by interval of one price, equal to what it would be charged by the rates, discounts, terms and quotas
/// that are known now, if its team held nothing else.
///
/// # Errors
/// A failing engine.
pub async fn quote(reader: &Reader, asked: &QuoteAsked) -> Result<Report, ReportError> {
    let apart = reader.with_partitions(reader.engine().partitions()).await?;
    let engine = apart.engine();
    let mut notes = invent(engine, asked).await?;
    let ask =
        Ask { window: asked.window, zone: asked.zone, by: Vec::new(), step: None, currency: asked.currency.clone() };
    price_facts(&apart, &ask).await?;
    let (_, rows) = engine.run("read/81_quote", &Params::new()).await?;
    let pieces = of_all(&rows, |b| pieces(b, asked.zone))?;
    let exact = |f: fn(&Piece) -> Option<i128>| pieces.iter().map(|p| f(p).unwrap_or(0)).collect::<Vec<_>>();
    let measures = [("list", exact(|p| p.list)), ("money", exact(|p| p.billed))];
    let minor = round(engine, &asked.currency, &measures).await?;
    notes.extend(said_of(&pieces, asked));
    Ok(report(pieces, &minor, asked, notes))
}

/// What each batch gives, one after another.
fn of_all<T>(
    rows: &[RecordBatch],
    read: impl Fn(&RecordBatch) -> Result<Vec<T>, ReportError>,
) -> Result<Vec<T>, ReportError> {
    Ok(rows.iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Puts the run into the session in place of what the ledger has. Gives what is to be said of it.
async fn invent(engine: &Engine, asked: &QuoteAsked) -> Result<Vec<String>, ReportError> {
    let (_, card) = engine.run("read/80_quote_card", &Params::from([("model", text(&asked.model))])).await?;
    let number = |name: &str| of_all(&card, |b| whole(b, name)).map(|all| all.into_iter().flatten().next());
    let memory_bytes = number("memory_bytes")?.and_then(|n| i64::try_from(n).ok());
    let cards = number("cards")?.unwrap_or(0);
    let interconnect = of_all(&card, |b| texts(b, "interconnect"))?.into_iter().find(|name| name != "-");

    let mut notes = Vec::new();
    if cards == 0 {
        notes.push(format!("no card `{}` is known: its tier goes by the name of the model alone", asked.model));
    } else if cards < i128::from(asked.gpus) {
        notes.push(format!("only {cards} cards `{}` are known", asked.model));
    }
    if team_quotas(engine, &asked.team).await? {
        notes
            .push("a quota that is a part of its pool is passed over: what the pool will have is not known".to_owned());
    }
    let (_, rows) = engine.run("charge/05_edge", &instants(asked.window)).await?;
    let edges = of_all(&rows, |b| whole(b, "at_ms"))?;
    let invented = Invented {
        gpus: asked.gpus,
        model: &asked.model,
        window: asked.window,
        team: &asked.team,
        pool: asked.pool.as_deref(),
        cluster: asked.cluster.as_deref(),
        task_type: &asked.task_type,
        preemptible: asked.preemptible,
        memory_bytes,
        interconnect: interconnect.as_deref(),
        edges: edges.into_iter().flatten().filter_map(|ms| i64::try_from(ms).ok()).collect(),
    };
    invented.register(engine)?;
    Ok(notes)
}

/// Leaves the quotas of the team that are numbers of GPUs; says whether there was one that is a part of its pool.
async fn team_quotas(engine: &Engine, team: &str) -> Result<bool, ReportError> {
    let (schema, rows) = engine.run("read/80_quote_quota", &Params::from([("team", text(team))])).await?;
    let shape = |e: datafusion::arrow::error::ArrowError| ReportError::Shape(e.to_string());
    let mut kept = Vec::new();
    let mut parts = false;
    for batch in &rows {
        let gpus = batch.column_by_name("gpus").ok_or_else(|| ReportError::Shape("gpus".to_owned()))?;
        let numbers: BooleanArray = is_not_null(gpus).map_err(shape)?;
        parts |= numbers.true_count() < batch.num_rows();
        kept.push(filter_record_batch(batch, &numbers).map_err(shape)?);
    }
    let schema = rows.first().map_or(schema, RecordBatch::schema);
    engine.register_rows(QuotaRow::TABLE.name, schema, kept)?;
    Ok(parts)
}

fn pieces(batch: &RecordBatch, zone: Tz) -> Result<Vec<Piece>, ReportError> {
    let (from, to) = (whole(batch, "from_ms")?, whole(batch, "to_ms")?);
    let (list_price, price) = (whole(batch, "list_price_micros")?, whole(batch, "price_micros")?);
    let (pool, tier, mode) = (texts(batch, "pool")?, texts(batch, "tier")?, texts(batch, "mode")?);
    let (discount, held) = (texts(batch, "discount")?, whole(batch, "held_ms")?);
    let (list, billed) = (whole(batch, "list_cost")?, whole(batch, "billed_cost")?);
    let flags = batch.column_by_name("borrowed").and_then(|c| c.as_boolean_opt().cloned());
    let flags = flags.ok_or_else(|| ReportError::Shape("borrowed".to_owned()))?;
    let instant = |ms: Option<i128>| match ms.and_then(|ms| i64::try_from(ms).ok()) {
        Some(ms) => Value::Text(show_ms(ms, zone)),
        None => Value::Unknown,
    };
    let micros = |n: Option<i128>| n.map_or(Value::Unknown, |n| Value::Text(price_text(n)));
    let piece = |i: usize| {
        let above_quota = flags.is_valid(i) && flags.value(i);
        let held_ms = held[i].unwrap_or(0);
        Piece {
            words: vec![
                instant(from[i]),
                instant(to[i]),
                Value::Ms(held_ms),
                micros(list_price[i]),
                micros(price[i]),
                Value::Text(discount[i].clone()),
                Value::Text(pool[i].clone()),
                Value::Text(tier[i].clone()),
                Value::Text(mode[i].clone()),
                Value::Text(if above_quota { "yes" } else { "no" }.to_owned()),
            ],
            mode: mode[i].clone(),
            held_ms,
            above_quota,
            list: list[i],
            billed: price[i].and(billed[i]),
        }
    };
    Ok((0..batch.num_rows()).map(piece).collect())
}

/// A price in millionths, with two decimals at least.
pub(super) fn price_text(micros: i128) -> String {
    let text = money(micros, 6, false);
    let zeros = text.len() - text.trim_end_matches('0').len();
    text[..text.len() - zeros.min(4)].to_owned()
}

/// What a reader has to know of these intervals.
fn said_of(pieces: &[Piece], asked: &QuoteAsked) -> Vec<String> {
    let hours_of = |wanted: &dyn Fn(&Piece) -> bool| {
        pieces.iter().filter(|p| wanted(p)).map(|p| p.held_ms).reduce(|a, b| a + b).map(|ms| hours(ms, 1))
    };
    let mut notes = Vec::new();
    if let Some(h) = hours_of(&|p| p.billed.is_none()) {
        notes.push(format!("unpriced: no rate is for {h} of these GPU-hours; they are in no sum"));
    }
    if let Some(h) = hours_of(&|p| p.above_quota) {
        notes.push(format!(
            "{h} of these GPU-hours are above the quota of {}, if it holds nothing else then",
            asked.team
        ));
    }
    let modes = [
        ("busy", "the pool is billed by what runs: this is what it costs if the GPUs are busy all of the time"),
        (
            "quota",
            "the pool is billed by quota: what lies within the quota is paid with the reserved capacity, used or not",
        ),
        ("showback", "the pool is not billed: see what it costs at list price"),
    ];
    let said = modes.iter().filter(|(mode, _)| pieces.iter().any(|p| p.mode == *mode));
    notes.extend(said.map(|(_, text)| (*text).to_owned()));
    notes.push(
        "as a run of that time would be charged, by what is known now of prices, discounts, terms and quotas"
            .to_owned(),
    );
    notes
}

fn report(pieces: Vec<Piece>, minor: &[Vec<i128>], asked: &QuoteAsked, notes: Vec<String>) -> Report {
    let written = |n: i128| format!("{} {}", money(n, asked.currency.digits(), true), asked.currency.code());
    let sum = |at: usize| minor[at].iter().sum::<i128>();
    let held: i128 = pieces.iter().map(|p| p.held_ms).sum();
    let sentence = format!(
        "{} {} for {} h from {} cost {} {} ({} at list price)",
        asked.gpus,
        asked.model,
        hours(i128::from(asked.window.to_ms - asked.window.from_ms), 1),
        show_ms(asked.window.from_ms, asked.zone),
        asked.team,
        written(sum(1)),
        written(sum(0)),
    );
    let mut rows = Vec::new();
    for (i, piece) in pieces.into_iter().enumerate() {
        let money = |known: Option<i128>, at: usize| known.map_or(Value::Unknown, |_| Value::Money(minor[at][i]));
        let mut row = piece.words;
        row.extend([money(piece.list, 0), money(piece.billed, 1)]);
        rows.push(row);
    }
    let blank = || Value::Text(String::new());
    let mut total = vec![Value::Text("total".to_owned()), blank(), Value::Ms(held)];
    total.extend((0..7).map(|_| blank()));
    total.extend([Value::Money(sum(0)), Value::Money(sum(1))]);
    Report {
        sentence,
        columns: shown(),
        rows,
        total: Some(total),
        notes,
        currency: Some(asked.currency.clone()),
        table_decimals: 2,
    }
}

/// What a model needs of GPU memory and how many cards hold it, as sentences: an estimate, with its formula in
/// `sql/read/82_quote_memory.sql`.
///
/// # Errors
/// A failing engine.
pub async fn memory(reader: &Reader, asked: &MemoryAsked, at_ms: i64) -> Result<Vec<String>, ReportError> {
    let engine = reader.engine();
    let params = Params::from([
        ("params", bigint(asked.params)),
        ("weight_bits", int(asked.weight_bits)),
        ("task", text(&asked.task)),
        ("context", bigint(asked.context)),
        ("batch", bigint(asked.batch)),
    ]);
    let (_, rows) = engine.run("read/82_quote_memory", &params).await?;
    let (mut said, mut need) = (Vec::new(), 0_i128);
    for batch in &rows {
        let bytes = whole(batch, "bytes")?;
        for (part, bytes) in texts(batch, "part")?.into_iter().zip(bytes) {
            let bytes = bytes.unwrap_or(0);
            need += bytes;
            said.push(format!("{part} {} GiB", gib(bytes)));
        }
    }
    let mut out = vec![format!(
        "estimate: {} parameters of {} bits to {} with {} x {} tokens need about {} GiB of GPU memory: {}",
        asked.params,
        asked.weight_bits,
        asked.task,
        asked.context,
        asked.batch,
        gib(need),
        said.join(", "),
    )];
    let need_bytes = i64::try_from(need).unwrap_or(i64::MAX);
    let fit = Params::from([("at_ms", bigint(at_ms)), ("need_bytes", bigint(need_bytes))]);
    let (_, rows) = engine.run("read/83_quote_fit", &fit).await?;
    for batch in &rows {
        let (model, tier) = (texts(batch, "model")?, texts(batch, "tier")?);
        let (memory, needed, cards) = (whole(batch, "memory_bytes")?, whole(batch, "needed")?, whole(batch, "cards")?);
        for i in 0..batch.num_rows() {
            let (needed, cards) = (needed[i].unwrap_or(0), cards[i].unwrap_or(0));
            let tier = if tier[i] == "-" { "no tier".to_owned() } else { format!("tier {}", tier[i]) };
            out.push(format!(
                "estimate: {needed} x {} ({tier}, {} GiB each; {cards} known)",
                model[i],
                gib(memory[i].unwrap_or(0)),
            ));
        }
    }
    Ok(out)
}

/// GiB with one decimal, rounded half up.
fn gib(bytes: i128) -> String {
    money((bytes * 20 + (1 << 30)) / (2 << 30), 1, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_two_decimals_at_least() {
        for (micros, text) in [(2_500_000, "2.50"), (1_234_567, "1.234567"), (0, "0.00"), (12_345_600, "12.3456")] {
            assert_eq!(price_text(micros), text);
        }
        assert_eq!(gib(80 << 30), "80.0");
    }
}
