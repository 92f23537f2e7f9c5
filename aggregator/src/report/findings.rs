//! `report findings`: what was asked for and not used, by the rules of `sql/waste`, priced, with evidence and a remedy.

use gpuledger_schema::unit::{CELL_MS, DAY_MS};
use gpuledger_schema::window::show_ms;

use super::grouped::{Group, Measure, grouped, texts, whole};
use super::lang::Lang;
use super::money::{Amounts, round};
use super::render::{hours, money};
use super::usage::{key_columns, row, total_of, total_row};
use super::{Ask, Column, Dimension, Kind, Reader, Report, ReportError, Value, prepare};
use crate::engine::{Params, bigint, int};
use crate::statement;

/// Rules that read cells of the window themselves.
const BY_CELL: &[&str] = &["waste/33_hung", "waste/42_sm_low_week", "waste/45_resident_service"];
/// The rest of idle time, which no rule explains: no finding, and listed only where it is asked for.
pub(super) const REST: &str = "idle_other";
/// Findings whose evidence and remedy stand below a table where nobody says how many.
const TOLD: usize = 10;

/// What is asked of findings, beside window and grouping.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Whether to group by the ask's dimensions; else a row a finding.
    pub grouped: bool,
    /// Only these rules; empty: all.
    pub rules: Vec<String>,
    /// Only the first rows.
    pub top: Option<usize>,
    /// Language of sentences and remedies.
    pub lang: Lang,
}

/// Runs every rule for a window; the session then has `evidence`, `hit`, `finding` and `not_judged`.
pub(super) async fn judge(reader: &Reader, ask: &Ask) -> Result<(), ReportError> {
    prepare(reader, ask).await?;
    let (from_ms, to_ms) = (ask.window.from_ms, ask.window.to_ms);
    let day = |ms: i64| int(ms.div_euclid(DAY_MS) as i32);
    let cells = Params::from([
        ("from_cell", bigint(from_ms.div_euclid(CELL_MS))),
        ("to_cell", bigint((to_ms - 1).div_euclid(CELL_MS) + 1)),
        ("from_day", day(from_ms)),
        ("to_day", day(to_ms - 1)),
    ]);
    let window = Params::from([("from_ms", bigint(from_ms)), ("to_ms", bigint(to_ms))]);
    let at = Params::from([("at_ms", bigint(to_ms - 1))]);
    let none = Params::new();
    let engine = reader.engine();
    for (step, params) in [
        ("waste/20_card_evidence", &cells),
        ("waste/21_evidence", &window),
        ("waste/22_limits", &at),
        ("waste/23_idle_cell", &none),
        ("waste/24_idle_spell", &cells),
        ("waste/25_card_part", &none),
        ("waste/26_usual_power", &none),
        ("waste/27_place_price", &none),
    ] {
        engine.step(step, params).await?;
    }
    // every statement that gives hits is a rule, and the names of the statements are their order
    for statement in statement::all().iter().filter(|s| s.header().is_ok_and(|h| h.output.starts_with("hit_"))) {
        engine.step(statement.name, if BY_CELL.contains(&statement.name) { &cells } else { &none }).await?;
    }
    for step in ["waste/51_hit", "waste/52_claimed", "waste/53_gap_line", "waste/54_finding", "waste/55_not_judged"] {
        engine.step(step, &none).await?;
    }
    Ok(())
}

/// A line of the list: a finding, or its part for one of the teams that pay.
struct Line {
    texts: Vec<String>,
    from_ms: i128,
    to_ms: i128,
    seen_ms: Option<i128>,
    idle_ms: i128,
    gap_ms: i128,
    counted_ms: i128,
    exact: [i128; 3],
    count: i128,
    coverage: Option<i128>,
    measure: [Option<i128>; 2],
}

/// Text columns of a finding, in the order of a line.
const TEXTS: &[&str] = &[
    "rule",
    "layer",
    "cause",
    "subject",
    "job",
    "cluster",
    "node",
    "account",
    "user",
    "team",
    "cost_center",
    "task_type",
    "queue",
    "pool",
    "tier",
    "model",
    "unit",
    "note",
    "note_reason",
    "evidence",
    "remedy_en",
    "remedy_zh",
    "currency",
];

fn at(column: &str) -> usize {
    TEXTS.iter().position(|t| *t == column).unwrap_or(0)
}

async fn lines(reader: &Reader) -> Result<Vec<Line>, ReportError> {
    let fail = |e| ReportError::Group { table: "finding".to_owned(), source: Box::new(e) };
    let frame = reader.engine().context().table("finding").await.map_err(fail)?;
    let mut lines = Vec::new();
    for b in &frame.collect().await.map_err(fail)? {
        let words = TEXTS.iter().map(|t| texts(b, t)).collect::<Result<Vec<_>, _>>()?;
        let number = |n: &str| whole(b, n);
        let (from, to, seen) = (number("from_ms")?, number("to_ms")?, number("first_seen_ms")?);
        let (idle, gap, counted) = (number("idle_ms")?, number("gap_ms")?, number("counted_gap_ms")?);
        let (waste, gaps, count_cost) = (number("waste_cost")?, number("gap_cost")?, number("counted_gap_cost")?);
        let (count, coverage) = (number("findings")?, number("coverage_ppm")?);
        let (value, threshold) = (number("value")?, number("threshold")?);
        for i in 0..b.num_rows() {
            let sum = |of: &[Option<i128>]| of[i].unwrap_or(0);
            lines.push(Line {
                texts: words.iter().map(|w| w[i].clone()).collect(),
                from_ms: sum(&from),
                to_ms: sum(&to),
                seen_ms: seen[i],
                idle_ms: sum(&idle),
                gap_ms: sum(&gap),
                counted_ms: sum(&counted),
                exact: [sum(&waste), sum(&gaps), sum(&count_cost)],
                count: sum(&count),
                coverage: coverage[i],
                measure: [value[i], threshold[i]],
            });
        }
    }
    let money_of = |l: &Line| std::cmp::Reverse(l.exact[0] + l.exact[1]);
    let time_of = |l: &Line| std::cmp::Reverse(l.idle_ms + l.gap_ms);
    lines.sort_by_cached_key(|l| (money_of(l), time_of(l), l.texts.clone(), l.from_ms));
    Ok(lines)
}

fn columns(lang: Lang) -> Vec<Column> {
    let text = |name, heading| Column::new(name, heading, Kind::Text);
    let mut all = vec![
        text("rule", lang.of("finding", "问题")),
        text("subject", lang.of("job", "作业")),
        text("user", lang.of("user", "用户")),
        text("from", lang.of("from", "起始")),
        Column::new("duration_hours", lang.of("h", "时长 h"), Kind::Hours),
        Column::new("idle_hours", lang.of("idle h", "空闲 h"), Kind::Hours),
        Column::new("waste", lang.of("waste", "浪费"), Kind::Money),
        Column::new("gap_hours", lang.of("gap h", "超申请 h"), Kind::Hours),
        Column::new("gap_cost", lang.of("gap cost", "超申请费用"), Kind::Money),
        text("state", lang.of("state", "状态")),
    ];
    for name in [
        "layer",
        "cause",
        "job",
        "cluster",
        "node",
        "account",
        "team",
        "cost_center",
        "task_type",
        "queue",
        "pool",
        "tier",
        "model",
        "to",
        "first_seen",
    ] {
        all.push(text(name, ""));
    }
    all.push(Column::new("coverage", "", Kind::Percent));
    all.push(Column::new("value", "", Kind::Count));
    all.push(Column::new("threshold", "", Kind::Count));
    all.extend(["unit", "reason", "evidence", "remedy_en", "remedy_zh"].map(|name| text(name, "")));
    all.push(Column::new("counted_gap_hours", "", Kind::Hours));
    all.push(Column::new("counted_gap_cost", "", Kind::Money));
    all
}

fn values(line: &Line, cost: [i128; 3], ask: &Ask) -> Vec<Value> {
    let word = |column: &str| Value::Text(line.texts[at(column)].clone());
    let instant = |ms: i128| Value::Text(show_ms(ms as i64, ask.zone));
    let known = |n: Option<i128>, make: fn(i128) -> Value| n.map_or(Value::Unknown, make);
    // time without a price costs nobody knows what
    let priced = line.texts[at("currency")] != "-";
    let paid = |i: usize| if priced { Value::Money(cost[i]) } else { Value::Unknown };
    let mut all = vec![
        word("rule"),
        word("subject"),
        word("user"),
        instant(line.from_ms),
        Value::Ms(line.to_ms - line.from_ms),
        Value::Ms(line.idle_ms),
        paid(0),
        Value::Ms(line.gap_ms),
        paid(1),
        word("note"),
    ];
    for name in [
        "layer",
        "cause",
        "job",
        "cluster",
        "node",
        "account",
        "team",
        "cost_center",
        "task_type",
        "queue",
        "pool",
        "tier",
        "model",
    ] {
        all.push(word(name));
    }
    all.push(instant(line.to_ms));
    all.push(line.seen_ms.map_or(Value::Unknown, instant));
    all.push(known(line.coverage, Value::Ppm));
    all.extend(line.measure.map(|n| known(n, Value::Count)));
    all.extend(["unit", "note_reason", "evidence", "remedy_en", "remedy_zh"].map(word));
    all.push(Value::Ms(line.counted_ms));
    all.push(paid(2));
    all
}

/// The first line: how many, how much.
fn sentence(lang: Lang, ask: &Ask, count: i128, ms: [i128; 2], cost: [i128; 2]) -> String {
    let m = |v: i128| format!("{} {}", money(v, ask.currency.digits(), true), ask.currency.code());
    let (idle, gap) = (hours(ms[0], 1), hours(ms[1], 1));
    match lang {
        Lang::En => format!(
            "{count} findings: {idle} GPU-hours held and not used, worth {}; {gap} more asked for and not needed, worth {}",
            m(cost[0]),
            m(cost[1])
        ),
        Lang::Zh => format!(
            "{count} 项问题：{idle} GPU 小时被占用而未使用，价值 {}；另有 {gap} GPU 小时申请过多，价值 {}",
            m(cost[0]),
            m(cost[1])
        ),
    }
}

/// Of how many runs too little was measured.
async fn not_judged(reader: &Reader, lang: Lang) -> Result<Option<String>, ReportError> {
    let fail = |e| ReportError::Group { table: "not_judged".to_owned(), source: Box::new(e) };
    let frame = reader.engine().context().table("not_judged").await.map_err(fail)?;
    let batches = frame.collect().await.map_err(fail)?;
    let mut sums = [0, 0];
    for b in &batches {
        for (sum, name) in sums.iter_mut().zip(["runs", "held_ms"]) {
            *sum += whole(b, name)?.into_iter().flatten().sum::<i128>();
        }
    }
    let held = hours(sums[1], 1);
    Ok((sums[0] > 0).then(|| match lang {
        Lang::En => format!("not enough to judge: too little of {} runs ({held} GPU-hours) was measured", sums[0]),
        Lang::Zh => format!("无法判断：{} 个作业（{held} GPU 小时）测量不足", sums[0]),
    }))
}

/// The findings of a window, most money first, or their sums by dimensions.
pub async fn findings(reader: &Reader, ask: &Ask, asked: &Asked) -> Result<Report, ReportError> {
    judge(reader, ask).await?;
    let mut report = if asked.grouped { sums(reader, ask, asked).await? } else { list(reader, ask, asked).await? };
    if reader.narrow().is_all() {
        report.notes.extend(not_judged(reader, asked.lang).await?);
    }
    Ok(report)
}

/// The lines that may be selected.
fn meant(reader: &Reader, all: &[Line]) -> Result<Vec<usize>, ReportError> {
    let narrow = reader.narrow();
    let column = |d: Dimension| TEXTS.iter().position(|t| *t == d.word());
    if let Some(missing) = narrow.wide(&[]).into_iter().find(|d| column(*d).is_none()) {
        return Err(ReportError::Dimension(missing));
    }
    let is_meant = |i: &usize| narrow.has(|d| column(d).map(|at| all[*i].texts[at].as_str()));
    Ok((0..all.len()).filter(is_meant).collect())
}

async fn list(reader: &Reader, ask: &Ask, asked: &Asked) -> Result<Report, ReportError> {
    let all = lines(reader).await?;
    let amounts = |i: usize| all.iter().map(|l| l.exact[i]).collect::<Vec<_>>();
    let measures: Vec<Amounts> = vec![("waste", amounts(0)), ("gap", amounts(1)), ("counted", amounts(2))];
    let cost = round(reader.engine(), &ask.currency, &measures).await?;
    let wanted = |rule: &String| if asked.rules.is_empty() { rule != REST } else { asked.rules.contains(rule) };
    let meant = meant(reader, &all)?;
    let (listed, left): (Vec<usize>, Vec<usize>) = meant.into_iter().partition(|i| wanted(&all[*i].texts[0]));
    let sum = |f: fn(&Line) -> i128| listed.iter().map(|i| f(&all[*i])).sum::<i128>();
    let paid_for = |of: usize| listed.iter().map(|i| cost[of][*i]).sum::<i128>();
    let ms = [sum(|l| l.idle_ms), sum(|l| l.counted_ms)];
    let paid = [paid_for(0), paid_for(2)];
    let mut total: Vec<Value> = columns(asked.lang).iter().map(|_| Value::Text(String::new())).collect();
    total[0] = Value::Text("total".to_owned());
    total[5..9].clone_from_slice(&[Value::Ms(ms[0]), Value::Money(paid[0]), Value::Ms(ms[1]), Value::Money(paid[1])]);
    let mut notes: Vec<String> = Vec::new();
    let remedy = at(asked.lang.of("remedy_en", "remedy_zh"));
    for (n, i) in listed.iter().enumerate().take(asked.top.unwrap_or(TOLD)) {
        let told = ["rule", "subject", "evidence"].map(|column| all[*i].texts[at(column)].as_str());
        notes.push(format!("{}. {} {}: {}. {}", n + 1, told[0], told[1], told[2], all[*i].texts[remedy]));
    }
    let kept = asked.top.unwrap_or(listed.len()).min(listed.len());
    if kept < listed.len() {
        notes.push(format!("the first {kept} of {} rows; the total is of all", listed.len()));
    }
    let rest: Vec<usize> = left.into_iter().filter(|i| all[*i].texts[0] == REST).collect();
    let rest_ms = rest.iter().map(|i| all[*i].idle_ms).sum::<i128>();
    if rest_ms > 0 {
        let worth = money(rest.iter().map(|i| cost[0][*i]).sum(), ask.currency.digits(), true);
        notes.push(unexplained(asked.lang, &hours(rest_ms, 1), &format!("{worth} {}", ask.currency.code())));
    }
    Ok(Report {
        sentence: sentence(asked.lang, ask, sum(|l| l.count), ms, paid),
        columns: columns(asked.lang),
        rows: listed[..kept].iter().map(|i| values(&all[*i], [0, 1, 2].map(|of| cost[of][*i]), ask)).collect(),
        total: Some(total),
        notes,
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    })
}

fn unexplained(lang: Lang, hours: &str, worth: &str) -> String {
    match lang {
        Lang::En => format!("{hours} idle GPU-hours more, worth {worth}, no rule explains (`--by rule`: {REST})"),
        Lang::Zh => format!("另有 {hours} GPU 小时空闲（价值 {worth}）没有规则解释（`--by rule`：{REST}）"),
    }
}

const MEASURES: &[Measure] = &[
    Measure::Sum("findings"),
    Measure::Sum("idle_ms"),
    Measure::Sum("counted_gap_ms"),
    Measure::Sum("waste_cost"),
    Measure::Sum("counted_gap_cost"),
];

async fn sums(reader: &Reader, ask: &Ask, asked: &Asked) -> Result<Report, ReportError> {
    let narrow = reader.narrow();
    let wide = narrow.wide(&ask.by);
    let groups = grouped(reader.engine(), "finding", &wide, MEASURES).await?;
    let amounts = |i: usize| groups.iter().map(|g| g.sums[i].unwrap_or(0)).collect::<Vec<_>>();
    let measures: Vec<Amounts> = vec![("waste", amounts(3)), ("gap", amounts(4))];
    let rounded = round(reader.engine(), &ask.currency, &measures).await?;
    let chosen = narrow.select(&groups, &wide, ask.by.len(), MEASURES);
    let sum_of = |m: usize| chosen.iter().map(|(_, of)| of.iter().map(|i| rounded[m][*i]).sum::<i128>()).collect();
    let cost: [Vec<i128>; 2] = [sum_of(0), sum_of(1)];
    let groups: Vec<Group> = chosen.into_iter().map(|(group, _)| group).collect();
    let line = |sums: &[Option<i128>], cost: [i128; 2]| {
        let ms = |i: usize| Value::Ms(sums[i].unwrap_or(0));
        vec![Value::Count(sums[0].unwrap_or(0)), ms(1), Value::Money(cost[0]), ms(2), Value::Money(cost[1])]
    };
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(cost[0][*i] + cost[1][*i]), groups[*i].key.clone()));
    let kept = asked.top.unwrap_or(groups.len()).min(groups.len());
    let total = total_of(&groups, MEASURES);
    let paid = [cost[0].iter().sum(), cost[1].iter().sum()];
    let mut shown = key_columns(&ask.by);
    let lang = asked.lang;
    shown.extend([
        Column::new("findings", lang.of("findings", "问题数"), Kind::Count),
        Column::new("idle_hours", lang.of("idle h", "空闲 h"), Kind::Hours),
        Column::new("waste", lang.of("waste", "浪费"), Kind::Money),
        Column::new("gap_hours", lang.of("gap h", "超申请 h"), Kind::Hours),
        Column::new("gap_cost", lang.of("gap cost", "超申请费用"), Kind::Money),
    ]);
    let ms = [total[1].unwrap_or(0), total[2].unwrap_or(0)];
    Ok(Report {
        sentence: sentence(lang, ask, total[0].unwrap_or(0), ms, paid),
        columns: shown,
        rows: order[..kept]
            .iter()
            .map(|i| row(&groups[*i].key, line(&groups[*i].sums, [cost[0][*i], cost[1][*i]])))
            .collect(),
        total: Some(total_row(ask.by.len(), line(&total, paid))),
        notes: Vec::new(),
        currency: Some(ask.currency.clone()),
        table_decimals: 1,
    })
}
