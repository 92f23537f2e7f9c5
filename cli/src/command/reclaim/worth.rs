//! `reclaim sweep`, `free` and `value`: the report of the day, what could be had back, and what it all was worth.

use anyhow::Context;
use gpuledger_aggregator::report::{self, Format, Won};
use gpuledger_control::Control;
use gpuledger_reclaim::recoverable::{Recoverable, order, recoverable};
use gpuledger_reclaim::value::{History, Line, month};
use gpuledger_schema::unit::CARD_UNITS;
use gpuledger_schema::window::{self, Window};

use super::super::reference::actor;
use super::super::{print, reports, sql::text_table};
use super::rounds::lead;
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::{Place, take_in};
use crate::reclaim::{Daily, Reclaimer, facts};

pub(super) async fn sweep(place: &Place, mail: bool, zone: Option<&str>, format: Format) -> anyhow::Result<Outcome> {
    let zone = super::zone(place, zone)?;
    let lake = place.lake_to_write()?;
    if let Ok(_lock) = lake.lock() {
        take_in(&lake).await?;
    }
    let mut reclaimer = Reclaimer::open(place, lake.clone(), false).await?;
    let (plan, snapshot) = reclaimer.engine.plan().await?;
    let daily = Daily::of(place, &lake, &plan, &snapshot, zone).await?;
    if mail {
        daily.mail(&reclaimer.engine.notifier).await?;
    }
    match format {
        Format::Json => print(format!("{:#}\n", daily.json()).as_bytes())?,
        Format::Table => print(daily.text().as_bytes())?,
        _ => return Err(usage("a sweep is text for people, or json")),
    }
    Ok(Outcome::Done)
}

pub(super) async fn free(
    place: &Place,
    gpus: i64,
    pool: &str,
    approve: bool,
    format: Format,
) -> anyhow::Result<Outcome> {
    if gpus < 1 {
        return Err(usage("--gpus is 1 or more"));
    }
    let mut reclaimer = Reclaimer::open(place, place.lake_to_write()?, true).await?;
    let (_, snapshot) = reclaimer.engine.plan().await?;
    let now_ms = clock::now_ms();
    let wanted = recoverable(&snapshot, &reclaimer.engine.book, gpus, pool, now_ms);
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(wanted)).as_bytes())?,
        Format::Table => print(offered(&wanted, gpus).as_bytes())?,
        _ => return Err(usage("an order is a table for people, or json")),
    }
    if approve {
        let fence = lead(&mut reclaimer, now_ms)?;
        let engine = &mut reclaimer.engine;
        let opened = order(&mut engine.store, fence, &snapshot, &engine.book, &wanted, &actor(), now_ms)?;
        reclaimer.step_down();
        eprintln!("{} cases opened: their owners are warned from the next round on", opened.len());
    }
    Ok(if wanted.is_enough { Outcome::Done } else { Outcome::Failed })
}

/// GPU-hours with one decimal.
fn gpu_hours(ms: i64) -> String {
    format!("{}.{}", ms / 3_600_000, ms % 3_600_000 / 360_000)
}

fn offered(of: &Recoverable, gpus: i64) -> String {
    let have: i64 = of.take.iter().map(|c| c.gpu_units).sum();
    let head = format!(
        "{gpus} GPUs of pool {} are wanted: {} could be had back from {} holders{}\n",
        of.pool,
        have / CARD_UNITS,
        of.take.len(),
        if of.is_enough { "" } else { ", which is not enough" }
    );
    let header = ["what", "user", "team", "GPUs", "priority", "borrowed", "preemptible", "checkpoint", "lost GPU-h"];
    let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
    let rows: Vec<Vec<String>> = of
        .take
        .iter()
        .map(|c| {
            vec![
                c.shown.clone(),
                c.user.clone(),
                c.team.clone(),
                (c.gpu_units / CARD_UNITS).max(1).to_string(),
                c.priority.map_or_else(|| "-".to_owned(), |p| p.to_string()),
                yes(c.borrowed),
                yes(c.preemptible),
                yes(c.checkpoint_ms.is_some()),
                gpu_hours(c.lost_gpu_ms),
            ]
        })
        .collect();
    let spared: String = of.spared.iter().map(|(what, why)| format!("not offered: {what}: {why}\n")).collect();
    let table = if rows.is_empty() { String::new() } else { text_table(&header.map(str::to_owned), &rows) };
    format!("{head}{table}{spared}")
}

/// Every case that anything happened to, with its events.
fn histories(control: &Control) -> anyhow::Result<Vec<History>> {
    let mut out = Vec::new();
    for case in control.cases_since(i64::MIN)? {
        let events = control.case_events(case.case_id)?;
        out.push(History { case, events });
    }
    Ok(out)
}

pub(super) async fn value(place: &Place, name: &str, zone: Option<&str>, format: Format) -> anyhow::Result<Outcome> {
    let zone = place.zone_needed(zone)?;
    let window = window::month(name, zone).map_err(|e| usage(e.to_string()))?;
    let lake = place.lake()?;
    let control = place.control(&lake)?.context("there is no case yet")?;
    let all = histories(&control)?;
    let (lines, won) = month(&all, window.from_ms, window.to_ms);
    let reader = place.reader(&lake).await?;
    let currency = reports::currency_or_none(place, &lake)?;
    let of_case = |id: i64| all.iter().find(|h| h.case.case_id == id).and_then(|h| facts(&h.case));
    let priced: Vec<Won> = won
        .iter()
        .filter_map(|w| {
            Some(Won {
                case_id: w.case_id,
                team: w.team.clone(),
                task_type: of_case(w.case_id).map_or_else(|| "unknown".to_owned(), |a| a.work.task_type),
                pool: w.pool.clone(),
                model: w.model.clone(),
                freed_ms: w.freed_ms,
                gpu_ms: w.gpu_ms?,
            })
        })
        .collect();
    let money = report::recovered(&reader, &priced, &currency).await?;
    let lost = report::preempted(&reader, window).await?;
    let amount = |rule: &str, team: &str| -> (i128, usize) {
        let mine = won.iter().filter(|w| w.class.as_str() == rule && w.team == team).map(|w| w.case_id);
        let ids: Vec<i64> = mine.collect();
        let of = priced.iter().zip(&money).filter(|(p, _)| ids.contains(&p.case_id));
        of.fold((0, 0), |(sum, none), (_, m)| (sum + m.unwrap_or(0), none + usize::from(m.is_none())))
    };
    let worth =
        Worth { name, window, lines: &lines, currency: currency.code(), digits: currency.digits(), lost: &lost };
    match format {
        Format::Json => print(format!("{:#}\n", worth.json(&amount, &won)).as_bytes())?,
        Format::Table => print(worth.text(&amount).as_bytes())?,
        _ => return Err(usage("the worth of a month is a table for people, or json")),
    }
    Ok(Outcome::Done)
}

/// What a month came to.
struct Worth<'a> {
    name: &'a str,
    window: Window,
    lines: &'a std::collections::BTreeMap<(String, String), Line>,
    currency: &'a str,
    digits: u32,
    lost: &'a [report::Preempted],
}

/// Money by rule and team, and cases without a price.
type Amount<'a> = dyn Fn(&str, &str) -> (i128, usize) + 'a;

impl Worth<'_> {
    fn decimal(&self, minor: i128) -> String {
        let width = self.digits as usize + 1;
        let text = format!("{:0>width$}", minor.unsigned_abs());
        let (whole, part) = text.split_at(text.len() - self.digits as usize);
        let sign = if minor < 0 { "-" } else { "" };
        if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
    }

    fn text(&self, amount: &Amount<'_>) -> String {
        let header = [
            "rule",
            "team",
            "opened",
            "freed",
            "ended",
            "won GPU-h",
            self.currency,
            "h to free",
            "false alarms",
            "failed",
        ];
        let mut total = (0_i128, 0_i64);
        let rows: Vec<Vec<String>> = self
            .lines
            .iter()
            .map(|((rule, team), l)| {
                let (minor, unpriced) = amount(rule, team);
                total = (total.0 + minor, total.1 + l.gpu_ms);
                let mean = if l.freed > 0 { gpu_hours(l.time_to_free_ms / l.freed) } else { "-".to_owned() };
                let money = if unpriced > 0 { format!("{} + ?", self.decimal(minor)) } else { self.decimal(minor) };
                vec![
                    rule.clone(),
                    team.clone(),
                    l.opened.to_string(),
                    l.freed.to_string(),
                    l.ended.to_string(),
                    gpu_hours(l.gpu_ms),
                    money,
                    mean,
                    l.false_alarms.to_string(),
                    l.failures.to_string(),
                ]
            })
            .collect();
        let mut out = format!(
            "{}: won back {} GPU-hours, worth {} {} (an estimate: from seen free to the run's limit, else its type's \
             longest, at most 72 h)\n",
            self.name,
            gpu_hours(total.1),
            self.decimal(total.0),
            self.currency
        );
        if !rows.is_empty() {
            out.push_str(&text_table(&header.map(str::to_owned), &rows));
        }
        let unknown: i64 = self.lines.values().map(|l| l.not_estimated).sum();
        if unknown > 0 {
            out.push_str(&format!(
                "{unknown} freed cases are not in it: nobody says how long they would have gone on\n"
            ));
        }
        for p in self.lost {
            out.push_str(&format!(
                "{}: {} runs lost {} GPU-hours of work\n",
                p.state,
                p.runs,
                gpu_hours(p.lost_gpu_ms)
            ));
        }
        out
    }

    fn json(&self, amount: &Amount<'_>, won: &[gpuledger_reclaim::value::Won]) -> serde_json::Value {
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|((rule, team), line)| {
                let (minor, unpriced) = amount(rule, team);
                serde_json::json!({
                    "rule": rule, "team": team, "figures": line, "amount": self.decimal(minor), "unpriced_cases": unpriced,
                })
            })
            .collect();
        let lost: Vec<_> = self
            .lost
            .iter()
            .map(|p| serde_json::json!({"state": p.state, "runs": p.runs, "lost_gpu_ms": p.lost_gpu_ms}))
            .collect();
        serde_json::json!({
            "month": self.name,
            "from_ms": self.window.from_ms,
            "to_ms": self.window.to_ms,
            "currency": self.currency,
            "estimate": true,
            "lines": lines,
            "cases": won,
            "preempted": lost,
        })
    }
}
