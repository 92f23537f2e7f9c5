//! `report job`: a run on one screen: who, where, when, asked, given and used, what it cost and what should change. What is not
//! known is `?` with the reason, never 0.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use gpuledger_schema::unit::{CARD_UNITS, CELL_MS};
use gpuledger_schema::window::{Window, show_ms};
use serde::Serialize;

use super::findings::{REST, judge};
use super::grouped::{texts, whole};
use super::lang::{Lang, width};
use super::money::{Amounts, round};
use super::render::{hours, money};
use super::{Ask, Currency, Reader, ReportError};
use crate::engine::{Params, bigint, text};

/// Columns of a terminal for labels.
const LABEL: usize = 12;

/// A run on one screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobReport {
    /// The first line.
    pub title: String,
    /// Label and text of each line.
    pub lines: Vec<(String, String)>,
    /// Every fact behind the lines by its column's name, in the unit that the name carries; absent: not known.
    pub facts: BTreeMap<String, Option<String>>,
}

/// The facts of a run, by column.
struct Facts(BTreeMap<String, Option<String>>);

impl Facts {
    fn read(batches: &[RecordBatch]) -> Result<Option<Self>, ReportError> {
        let Some(b) = batches.iter().find(|b| b.num_rows() > 0) else { return Ok(None) };
        let mut all = BTreeMap::new();
        for (field, column) in b.schema().fields().iter().zip(b.columns()) {
            let shown = ArrayFormatter::try_new(column, &FormatOptions::default())
                .map_err(|e| ReportError::Shape(e.to_string()))?;
            let value = column.is_valid(0).then(|| shown.value(0).to_string());
            all.insert(field.name().clone(), value);
        }
        Ok(Some(Self(all)))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref()
    }

    fn number(&self, name: &str) -> Option<i128> {
        self.text(name)?.parse().ok()
    }

    /// A value made readable, or `?` with the reason.
    fn told(&self, name: &str, make: impl Fn(i128) -> String, reason: &str) -> String {
        self.number(name).map_or_else(|| format!("? ({reason})"), make)
    }

    fn word(&self, name: &str) -> String {
        self.text(name).unwrap_or("?").to_owned()
    }
}

fn percent(ppm: i128) -> String {
    format!("{}.{} %", ppm / 10_000, ppm % 10_000 / 1_000)
}

fn gib(bytes: i128) -> String {
    format!("{} GiB", money((bytes * 10 + (1 << 29)) / (1 << 30), 1, true))
}

fn gpus(units: i128) -> String {
    let card = i128::from(CARD_UNITS);
    if units % card == 0 { (units / card).to_string() } else { money((units * 100 + card / 2) / card, 2, false) }
}

fn hour(ms: i128) -> String {
    format!("{} h", hours(ms, 1))
}

fn minutes(ms: i128) -> String {
    format!("{} min", money((ms * 10 + 30_000) / 60_000, 1, false))
}

/// One run, or none where there is no such holder. `currency` is how its money is written.
pub async fn job(
    reader: &Reader,
    holder: i64,
    zone: Tz,
    currency: &Currency,
    lang: Lang,
) -> Result<Option<JobReport>, ReportError> {
    let engine = reader.engine();
    let who = Params::from([("holder", bigint(holder))]);
    let (_, life) = engine.run("read/61_explain_facts", &who).await?;
    let Some(life) = Facts::read(&life)? else { return Ok(None) };
    let at = |name| life.number(name).unwrap_or(0) as i64;
    let (start, end) = (at("start_ms"), at("end_ms"));
    let window =
        Window { from_ms: start.div_euclid(CELL_MS) * CELL_MS, to_ms: (end.div_euclid(CELL_MS) + 1) * CELL_MS };
    let ask = Ask { window, zone, by: Vec::new(), step: None, currency: currency.clone() };
    judge(reader, &ask).await?;
    if !reader.sees(holder).await? {
        return Ok(None);
    }
    let mut of = who.clone();
    of.insert("teams", text(&reader.narrow().teams().join("\n")));
    let (_, rows) = engine.run("waste/58_job", &of).await?;
    let Some(facts) = Facts::read(&rows)? else { return Ok(None) };
    let amounts: Vec<Amounts> = ["charge_cost", "waste_cost"].map(|n| (n, vec![facts.number(n).unwrap_or(0)])).into();
    let cost = round(engine, currency, &amounts).await?;
    let paid = [cost[0][0], cost[1][0]].map(|v| format!("{} {}", money(v, currency.digits(), true), currency.code()));
    let mut lines: Vec<(String, String)> = described(&facts, zone, lang);
    lines.extend(asked(&facts, lang));
    lines.extend(measured(&facts, lang));
    lines.push((lang.of("charge", "费用").to_owned(), charged(&facts, &paid, lang)));
    lines.extend(found(reader, holder, lang).await?);
    Ok(Some(JobReport { title: title(&facts, lang), lines, facts: facts.0 }))
}

fn title(f: &Facts, lang: Lang) -> String {
    let state = f.text("state").map_or_else(|| f.word("kind"), str::to_owned);
    let exit = f.text("exit_code").map(|e| format!(", {} {e}", lang.of("exit", "退出码"))).unwrap_or_default();
    let reason = f.text("end_reason").map(|e| format!(" ({e})")).unwrap_or_default();
    let attempt = f
        .text("attempt")
        .map_or_else(String::new, |n| format!(", {} {n} / {}", lang.of("attempt", "第几次运行"), f.word("attempts")));
    let open = if f.text("open") == Some("true") { lang.of(", no end recorded", "，未记录结束") } else { "" };
    format!(
        "{}  {}  ({})  {state}{exit}{reason}{attempt}{open}",
        f.word("subject"),
        f.word("name"),
        f.word("task_type")
    )
}

/// Who, where and when.
fn described(f: &Facts, zone: Tz, lang: Lang) -> Vec<(String, String)> {
    let instant = |name| f.number(name).map_or_else(|| "?".to_owned(), |ms| show_ms(ms as i64, zone));
    let no_eligible = lang.of("when it could have started is not recorded", "未记录可开始时间");
    let pairs = |parts: &[(&str, String)]| {
        parts.iter().map(|(label, value)| format!("{label} {value}")).collect::<Vec<_>>().join(", ")
    };
    let who = [
        (lang.of("account", "账户"), f.word("account")),
        (lang.of("team", "团队"), f.word("team")),
        (lang.of("cost centre", "成本中心"), f.word("cost_center")),
    ];
    let place = [
        (lang.of("queue", "队列"), f.word("queue")),
        ("QoS", f.word("qos")),
        (lang.of("pool", "资源池"), f.word("pool")),
        (lang.of("tier", "档位"), f.word("tier")),
        (lang.of("nodes", "节点"), f.word("nodes")),
    ];
    let when = [
        (lang.of("submitted", "提交"), instant("submit_ms")),
        (lang.of("started", "开始"), instant("start_ms")),
        (lang.of("ended", "结束"), instant("end_ms")),
        (lang.of("waited", "等待"), f.told("wait_ms", hour, no_eligible)),
    ];
    let line = |label: &str, text: String| (label.to_owned(), text);
    vec![
        line(lang.of("who", "谁"), format!("{}, {}", f.word("user"), pairs(&who))),
        line(lang.of("where", "哪里"), pairs(&place)),
        line(lang.of("when", "何时"), pairs(&when)),
    ]
}

/// What was asked for, what was given, and what of it was used.
fn asked(f: &Facts, lang: Lang) -> Vec<(String, String)> {
    let limit = f.told("time_limit_ms", hour, lang.of("no limit is recorded", "未记录时限"));
    let requested = f.told("req_gpu_units", gpus, lang.of("not said", "未说明"));
    let given = f.told("gpu_units", gpus, lang.of("no scheduler granted it", "非调度器分配"));
    let used = match (f.number("gpus_used"), f.number("cards")) {
        (Some(used), _) => used.to_string(),
        (None, None | Some(0)) => format!("? ({})", lang.of("no card is named", "未指明 GPU")),
        (None, _) => format!("? ({})", lang.of("not all cards are named or measured", "部分 GPU 未指明或未测量")),
    };
    let quota_of = match f.text("quota_of") {
        Some("granted") => lang.of("granted", "调度器授予"),
        _ => lang.of("share x card", "份额 x 整卡"),
    };
    let quota = f.told("quota_bytes", gib, lang.of("the card's memory is not known", "未知整卡显存"));
    let peak = f.told("mem_peak_bytes", gib, lang.of("memory was not measured", "未测量显存"));
    let ran = f.told("run_ms", hour, "");
    let (ask, give, use_) = (lang.of("asked", "申请"), lang.of("given", "分配"), lang.of("used", "实际使用"));
    let line = |label: &str, text: String| (label.to_owned(), text);
    vec![
        line("GPU", format!("{ask} {requested} / {give} {given} / {use_} {used}   {}", f.word("model"))),
        line(
            lang.of("memory", "显存"),
            format!("{} {quota} ({quota_of}) / {} {peak}", lang.of("quota", "配额"), lang.of("peak", "峰值")),
        ),
        line(
            lang.of("time", "时间"),
            format!("{} {limit} / {} {ran}", lang.of("limit", "时限"), lang.of("ran", "运行")),
        ),
    ]
}

/// What was measured: use, energy, cold start, coverage.
fn measured(f: &Facts, lang: Lang) -> Vec<(String, String)> {
    let nothing = lang.of("nothing was measured", "没有测量");
    let part = |name: &str, whole: &str| match (f.number(name), f.number(whole)) {
        (Some(part), Some(whole)) if whole > 0 => percent(part * 1_000_000 / whole),
        _ => format!("? ({nothing})"),
    };
    let activity = |name| f.told(name, percent, lang.of("under 90 % known", "已知不足 90 %"));
    let energy = f.told(
        "energy_mj",
        |mj| format!("{} kWh", money((mj + 1_800_000) / 3_600_000, 3, true)),
        lang.of("no energy was measured", "未测量能耗"),
    );
    let line = |label: &str, text: String| (label.to_owned(), text);
    vec![
        line(
            lang.of("use", "利用"),
            format!(
                "{} {}, {} {} (SM {}, DRAM {}, tensor {})",
                lang.of("busy", "忙碌"),
                part("busy_ms", "covered_ms"),
                lang.of("composite", "综合"),
                part("effective_ms", "judged_ms"),
                activity("sm_ppm"),
                activity("dram_ppm"),
                activity("tensor_ppm")
            ),
        ),
        line(lang.of("energy", "能耗"), energy),
        line(lang.of("cold start", "冷启动"), cold_start(f, lang)),
        line(
            lang.of("coverage", "覆盖率"),
            format!(
                "{}; {} {}",
                f.told("coverage_ppm", percent, nothing),
                lang.of("not measured", "未测量"),
                f.told("held_unmeasured_ms", hour, lang.of("it held nothing", "未占用 GPU"))
            ),
        ),
    ]
}

/// Scheduled -> images -> container -> first kernel, each step from the one before it that is known.
fn cold_start(f: &Facts, lang: Lang) -> String {
    if f.text("kind") != Some("scheduler") {
        return format!("? ({})", lang.of("no scheduler started it", "非调度器启动"));
    }
    let mut before = f.number("start_ms");
    let mut text = lang.of("scheduled", "调度").to_owned();
    let steps = [
        ("image_ready_ms", lang.of("images", "镜像"), lang.of("not recorded", "未记录")),
        ("container_start_ms", lang.of("container", "容器"), lang.of("not recorded", "未记录")),
        ("first_active_ms", lang.of("first kernel", "首个内核"), lang.of("none was seen", "未见")),
    ];
    for (name, label, reason) in steps {
        let took = match (before, f.number(name)) {
            (Some(a), Some(b)) => minutes(b - a),
            _ => format!("? ({reason})"),
        };
        text.push_str(&format!(" -> {label} {took}"));
        before = f.number(name).or(before);
    }
    text
}

fn charged(f: &Facts, paid: &[String; 2], lang: Lang) -> String {
    let Some(unpriced) = f.number("unpriced_ms") else {
        return format!("? ({})", lang.of("it held nothing", "未占用 GPU"));
    };
    if f.text("currency").is_none() {
        return format!("? ({})", lang.of("no price", "没有价格"));
    }
    let waste = match f.number("covered_ms") {
        Some(covered) if covered > 0 => paid[1].clone(),
        _ => format!("? ({})", lang.of("nothing was measured", "没有测量")),
    };
    let mut text = format!(
        "{} {}; {} {waste}",
        paid[0],
        f.told("held_ms", |ms| format!("({} GPU-h)", hours(ms, 1)), ""),
        lang.of("of it idle", "其中空闲")
    );
    if unpriced > 0 {
        text.push_str(&format!("; {} {}", hour(unpriced), lang.of("without a price", "没有价格")));
    }
    text
}

/// The findings about a run, in the order of the rules.
async fn found(reader: &Reader, holder: i64, lang: Lang) -> Result<Vec<(String, String)>, ReportError> {
    let fail = |e| ReportError::Group { table: "finding".to_owned(), source: Box::new(e) };
    let frame = reader.engine().context().table("finding").await.map_err(fail)?;
    let mut told = BTreeMap::new();
    for b in &frame.collect().await.map_err(fail)? {
        let (holders, ranks) = (whole(b, "holder")?, whole(b, "rank")?);
        let (rule, evidence) = (texts(b, "rule")?, texts(b, "evidence")?);
        let remedy = texts(b, lang.of("remedy_en", "remedy_zh"))?;
        for i in 0..b.num_rows() {
            if holders[i] == Some(i128::from(holder)) && rule[i] != REST {
                told.insert(ranks[i], format!("{}: {}. {}", rule[i], evidence[i], remedy[i]));
            }
        }
    }
    let label = lang.of("findings", "问题");
    if told.is_empty() {
        return Ok(vec![(label.to_owned(), lang.of("none", "无").to_owned())]);
    }
    let first = std::iter::once(label).chain(std::iter::repeat(""));
    Ok(first.zip(told.into_values()).map(|(label, text)| (label.to_owned(), text)).collect())
}

impl JobReport {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.title);
        for (label, text) in &self.lines {
            let pad = " ".repeat(LABEL.saturating_sub(width(label)));
            out.push_str(&format!("  {label}{pad}{text}\n"));
        }
        out
    }
}
