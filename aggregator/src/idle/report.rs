//! What a look found, for people: a row each, why nobody can say where nobody can, and how much of what is held is not used.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use gpuledger_schema::reclaim::{Reason, Verdict};
use gpuledger_schema::unit::{CARD_UNITS, DAY_MS};
use gpuledger_schema::window::show_ms;

use super::{Judged, Rules, Seen};
use crate::engine::{Params, bigint};
use crate::report::{Column, Kind, Lang, Reader, Report, ReportError, Value};
use crate::rows::Columns;

/// Days of the week that is shown.
const WEEK_MS: i64 = 7 * DAY_MS;

/// Ineffective occupancy: held and measured to be idle, of what was held and measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// The first instant of which something held was measured, epoch ms; absent: nothing was.
    pub first_ms: Option<i64>,
    /// Idle since then, ms.
    pub idle_ms: i64,
    /// Measured since then, ms.
    pub measured_ms: i64,
    /// Idle in the last seven days, ms.
    pub week_idle_ms: i64,
    /// Measured in the last seven days, ms.
    pub week_measured_ms: i64,
}

impl Occupancy {
    /// A part in ppm; absent where nothing was measured.
    fn part(idle_ms: i64, of_ms: i64) -> Option<i64> {
        (of_ms > 0).then(|| i64::try_from(i128::from(idle_ms) * 1_000_000 / i128::from(of_ms)).unwrap_or(i64::MAX))
    }

    /// Of the last seven days, ppm.
    pub fn week_ppm(&self) -> Option<i64> {
        Self::part(self.week_idle_ms, self.week_measured_ms)
    }

    /// Of all the time there is, ppm.
    pub fn all_ppm(&self) -> Option<i64> {
        Self::part(self.idle_ms, self.measured_ms)
    }
}

/// Ineffective occupancy up to an instant, from the cells of the ledger.
///
/// # Errors
/// Where the statement fails.
pub async fn occupancy(reader: &Reader, to_ms: i64) -> Result<Occupancy, ReportError> {
    let params = Params::from([("week_ms", bigint(to_ms - WEEK_MS)), ("to_ms", bigint(to_ms))]);
    let (_, rows) = reader.engine().run("idle/90_ineffective", &params).await?;
    let Some(batch) = rows.iter().find(|b| b.num_rows() > 0) else { return Ok(Occupancy::default()) };
    let c = Columns(batch);
    Ok(Occupancy {
        first_ms: c.long("first_ms")?[0],
        idle_ms: c.number("idle_ms")?[0],
        measured_ms: c.number("measured_ms")?[0],
        week_idle_ms: c.number("week_idle_ms")?[0],
        week_measured_ms: c.number("week_measured_ms")?[0],
    })
}

fn columns(lang: Lang) -> Vec<Column> {
    let text = |name, heading| Column::new(name, heading, Kind::Text);
    let mut all = vec![
        text("subject", lang.of("what", "对象")),
        text("user", lang.of("user", "用户")),
        text("team", lang.of("team", "团队")),
        text("nodes", lang.of("nodes", "节点")),
        Column::new("gpus", lang.of("GPUs", "GPU"), Kind::Count),
        text("verdict", lang.of("verdict", "判定")),
        text("why", lang.of("class or why not", "类别或原因")),
        Column::new("rest_hours", lang.of("rest h", "空闲 h"), Kind::Hours),
        Column::new("coverage", lang.of("measured", "覆盖率"), Kind::Percent),
    ];
    all.extend(
        ["cluster", "task_type", "queue", "pool", "policy", "rest_from", "newest", "alerts", "label"]
            .map(|n| text(n, "")),
    );
    all.push(Column::new("window_hours", "", Kind::Hours));
    all.push(Column::new("peak", "", Kind::Percent));
    for name in ["power_mw", "floor_mw", "apart_ms"] {
        all.push(Column::new(name, "", Kind::Count));
    }
    all
}

fn known<T>(value: Option<T>, make: impl Fn(T) -> Value) -> Value {
    value.map_or(Value::Unknown, make)
}

fn list<T: ToString>(words: &[T]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn row(j: &Judged, zone: Tz) -> Vec<Value> {
    let (a, judged) = (&j.allocation, &j.allocation.judgement);
    let words = |text: &str| Value::Text(text.to_owned());
    let maybe = |text: &Option<String>| Value::Text(text.clone().unwrap_or_else(|| "-".to_owned()));
    let instant = |ms: Option<i64>| known(ms, |ms| Value::Text(show_ms(ms, zone)));
    let ppm = |n: Option<i64>| known(n, |n| Value::Ppm(i128::from(n)));
    let count = |n: Option<i64>| known(n, |n| Value::Count(i128::from(n)));
    let why = if judged.verdict == Verdict::Unknown { list(&judged.reasons) } else { list(&judged.classes) };
    let rest = judged.newest_ms.zip(judged.rest_from_ms).map(|(newest, from)| i128::from(newest - from));
    vec![
        Value::Text(a.identity.shown()),
        words(if a.owner.user.is_empty() { "-" } else { &a.owner.user }),
        words(&a.owner.team),
        Value::Text(if a.nodes.is_empty() { "-".to_owned() } else { a.nodes.join(",") }),
        Value::Count(i128::from(a.gpu_units.div_euclid(CARD_UNITS).max(1))),
        Value::Text(judged.verdict.to_string()),
        Value::Text(if why.is_empty() { "-".to_owned() } else { why }),
        known(rest, Value::Ms),
        ppm(judged.coverage_ppm),
        words(&j.cluster),
        words(&a.work.task_type),
        maybe(&a.work.queue),
        words(&a.work.pool),
        maybe(&judged.policy),
        instant(judged.rest_from_ms),
        instant(judged.newest_ms),
        Value::Text(list(&judged.alerts)),
        maybe(&j.label),
        known(j.window_ms, |ms| Value::Ms(i128::from(ms))),
        ppm(judged.peak_ppm),
        count(judged.power_mw),
        count(judged.floor_mw),
        count(j.apart_ms),
    ]
}

/// Minutes with one decimal.
fn minutes(ms: i64) -> String {
    format!("{}.{}", ms / 60_000, ms % 60_000 / 6_000)
}

/// Why nobody can say, in a sentence.
fn because(reason: Reason, apart_ms: Option<i64>, rules: &Rules, lang: Lang) -> String {
    let tick = minutes(rules.tick_ms);
    match reason {
        Reason::TooYoung => lang.of("younger than its window", "时间还不够长").to_owned(),
        Reason::ClockRestarted => {
            let (apart, hole) = (apart_ms.map_or_else(|| "?".to_owned(), minutes), minutes(rules.hole_ms));
            match lang {
                Lang::En => format!("looks up to {apart} min apart; a hole over {hole} min starts the clock again"),
                Lang::Zh => format!("两次观测相隔最长 {apart} 分钟；超过 {hole} 分钟则重新计时"),
            }
        }
        Reason::LowCoverage => match lang {
            Lang::En => format!("under {} % of its window was measured", rules.coverage_ppm / 10_000),
            Lang::Zh => format!("窗口内测量不足 {} %", rules.coverage_ppm / 10_000),
        },
        Reason::Stale => match lang {
            Lang::En => format!("its newest tick is older than {tick} min"),
            Lang::Zh => format!("最新测量早于 {tick} 分钟前"),
        },
        Reason::NeverMeasured => lang.of("nothing was ever measured", "从未测量").to_owned(),
        Reason::OneWitness => lang
            .of(
                "only one of the two witnesses spoke (polls of its processes; power against the floor of its model)",
                "两个证据（进程轮询；功率与该型号基线）中只有一个",
            )
            .to_owned(),
        Reason::Disagreement => lang.of("the witnesses contradict each other", "证据互相矛盾").to_owned(),
        Reason::SharedPower => lang
            .of("others worked on the card, so that its power proves nothing", "同卡有他人工作，功率不能作证")
            .to_owned(),
        Reason::DevicesUnnamed => lang.of("not every granted GPU is known by name", "并非每个 GPU 都已知").to_owned(),
        Reason::DeviceNotOk => lang.of("a card is lost, or its readings fail", "显卡丢失或读数失败").to_owned(),
        Reason::SchedulerStale => match lang {
            Lang::En => format!("its scheduler was not read for {} min", minutes(rules.reading_ms)),
            Lang::Zh => format!("调度器已有 {} 分钟未读取", minutes(rules.reading_ms)),
        },
    }
}

/// Everything that holds GPUs at the instant of a look, with its verdict; below it, why some have none.
pub fn idle_report(seen: &Seen, rules: &Rules, zone: Tz, lang: Lang) -> Report {
    let mut counts = [0_usize; 3];
    let mut unknown: BTreeMap<&'static str, (usize, Reason, Option<i64>)> = BTreeMap::new();
    for j in &seen.judged {
        let judged = &j.allocation.judgement;
        counts[match judged.verdict {
            Verdict::Busy => 0,
            Verdict::Idle => 1,
            Verdict::Unknown => 2,
        }] += 1;
        for reason in &judged.reasons {
            let of = unknown.entry(reason.as_str()).or_insert((0, *reason, None));
            of.0 += 1;
            of.2 = of.2.max(j.apart_ms);
        }
    }
    let at = show_ms(seen.snapshot.at_ms, zone);
    let [busy, idle, none] = counts;
    let all = seen.judged.len();
    let sentence = match lang {
        Lang::En => format!("{all} hold GPUs at {at}: {busy} busy, {idle} idle, {none} unknown"),
        Lang::Zh => format!("{at} 有 {all} 个占用 GPU：{busy} 忙，{idle} 空闲，{none} 未知"),
    };
    let mut notes: Vec<String> = Vec::new();
    for (word, (n, reason, apart)) in &unknown {
        notes.push(format!("{word} ({n}): {}", because(*reason, *apart, rules, lang)));
    }
    for s in seen.snapshot.sources.iter().filter(|s| s.failed_ms.is_some()) {
        let error = s.error.as_deref().unwrap_or("-");
        notes.push(match lang {
            Lang::En => format!("{} cannot be read: {error}", s.cluster),
            Lang::Zh => format!("无法读取 {}：{error}", s.cluster),
        });
    }
    let order = |j: &&Judged| {
        let judged = &j.allocation.judgement;
        let first = match judged.verdict {
            Verdict::Idle => 0,
            Verdict::Unknown => 1,
            Verdict::Busy => 2,
        };
        (first, judged.rest_from_ms.unwrap_or(i64::MAX), j.allocation.allocation_id)
    };
    let mut sorted: Vec<&Judged> = seen.judged.iter().collect();
    sorted.sort_by_key(order);
    Report { notes, ..Report::table(sentence, columns(lang), sorted.into_iter().map(|j| row(j, zone)).collect()) }
}
