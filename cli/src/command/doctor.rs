//! `doctor`: is this place set up so that it can be relied on, and what is to be done where it is not.

use std::path::Path;
use std::time::UNIX_EPOCH;

use gpuledger_aggregator::lake::{Lake, LakeError};
use gpuledger_aggregator::report::{self, Format, Reader, ReportError};
use gpuledger_control::Control;
use gpuledger_notify::doctor::{Examination, Health, examine};
use gpuledger_notify::{At, Texts};
use gpuledger_schema::path;
use gpuledger_schema::table::ContactRow;
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};
use gpuledger_schema::window::show_ms;
use serde::Serialize;

use super::{print, serve};
use crate::args::Doctor;
use crate::clock;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::serve::lend;

/// Growth is looked at over so many days.
const GROWTH_DAYS: i64 = 7;
/// A disk that is full sooner is bad, and doubtful.
const FULL_DAYS: [u64; 2] = [7, 30];
/// What was seen in the future by more is a clock that is wrong.
const AHEAD_MS: i64 = 5 * 60_000;
/// Data is late after so long.
const LATE_MS: i64 = 2 * HOUR_MS;

/// What was found of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Found {
    /// The thing.
    what: String,
    /// `good`, `doubtful` or `bad`.
    health: &'static str,
    /// What was found.
    found: String,
    /// What to do.
    advice: Option<String>,
}

impl Found {
    fn good(what: &str, found: impl Into<String>) -> Self {
        Self { what: what.to_owned(), health: "good", found: found.into(), advice: None }
    }

    fn doubtful(what: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.to_owned(), health: "doubtful", found: found.into(), advice: Some(advice.into()) }
    }

    fn bad(what: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { health: "bad", ..Self::doubtful(what, found, advice) }
    }
}

pub(super) async fn run(place: &Place, asked: &Doctor, format: Format) -> anyhow::Result<Outcome> {
    let now_ms = clock::now_ms();
    let mut found = configuration(place);
    match place.lake() {
        Err(e) => found.push(Found::bad("data folder", crate::chain(&e), "give --data, or import something first")),
        Ok(lake) => {
            found.push(writer(&lake).await);
            found.extend(disk(&lake, now_ms));
            found.extend(inbox(&lake, now_ms).await);
            found.extend(ledger(place, &lake, now_ms).await);
            found.extend(control(place, &lake, now_ms)?);
        }
    }
    found.extend(messages(place, asked, now_ms).await?);
    let bad = found.iter().any(|f| f.health == "bad");
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(found)).as_bytes())?,
        _ => print(text(&found).as_bytes())?,
    }
    Ok(if bad { Outcome::Failed } else { Outcome::Done })
}

fn text(found: &[Found]) -> String {
    let wide = found.iter().map(|f| f.what.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for f in found {
        out.push_str(&format!("{:<8} {:<wide$}  {}\n", f.health, f.what, f.found));
        if let Some(advice) = &f.advice {
            out.push_str(&format!("{:<8} {:<wide$}  -> {advice}\n", "", ""));
        }
    }
    out
}

fn configuration(place: &Place) -> Vec<Found> {
    let config = &place.config;
    let mut out = vec![match place.zone(None) {
        Ok(Some(zone)) => Found::good("billing zone", zone.name()),
        Ok(None) => Found::doubtful("billing zone", "not set", "set billing_zone, so that days and months have a zone"),
        Err(e) => Found::bad("billing zone", e.to_string(), "correct billing_zone"),
    }];
    out.push(match &config.currency {
        Some(code) => Found::good("currency", code.as_str()),
        None => Found::doubtful("currency", "not set: that of the first rate is used", "set currency"),
    });
    out.push(match serve::check(&config.server, config.server.listen) {
        Ok(()) => Found::good("server", format!("listens on {}", config.server.listen)),
        Err(e) => Found::bad("server", e.to_string(), "correct the table [server]"),
    });
    let reachable = !config.server.listen.ip().is_loopback();
    if reachable && config.server.tls_certificate.is_none() && config.server.proxy.is_none() {
        let text = "others can reach it, and tokens go over the network as they are";
        out.push(Found::doubtful(
            "TLS",
            text,
            "set server.tls_certificate and server.tls_key, or stand it behind a proxy",
        ));
    }
    if let (Some(certificate), Some(key)) = (&config.server.tls_certificate, &config.server.tls_key) {
        out.push(match gpuledger_api::server::tls(certificate, key) {
            Ok(_) => Found::good("TLS", "certificate and key fit"),
            Err(e) => {
                Found::bad("TLS", gpuledger_api::state::chain(&e), "correct server.tls_certificate and server.tls_key")
            }
        });
    }
    out
}

async fn writer(lake: &Lake) -> Found {
    if lend::answers(lake).await {
        return Found::good("data folder", format!("`{}`, held by a server that runs", lake.shown()));
    }
    match lake.lock() {
        Ok(_) => Found::good("data folder", format!("`{}` can be written; no server runs", lake.shown())),
        Err(LakeError::Locked { .. }) => {
            Found::good("data folder", format!("`{}`, a command is writing", lake.shown()))
        }
        Err(e) => Found::bad("data folder", gpuledger_api::state::chain(&e), "let this user write it"),
    }
}

/// Bytes of a folder: all, and those written since an instant.
fn sizes(folder: &Path, since_ms: i64) -> (u64, u64) {
    let (mut all, mut young) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(entry.path());
                continue;
            }
            all += meta.len();
            let written = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            if written.is_some_and(|t| i64::try_from(t.as_millis()).is_ok_and(|ms| ms >= since_ms)) {
                young += meta.len();
            }
        }
    }
    (all, young)
}

fn disk(lake: &Lake, now_ms: i64) -> Option<Found> {
    let folder = lake.folder()?;
    let free = match fs4::available_space(folder) {
        Ok(free) => free,
        Err(e) => return Some(Found::doubtful("disk", format!("free space is unknown: {e}"), "look at it with df")),
    };
    let (all, young) = sizes(folder, now_ms - GROWTH_DAYS * DAY_MS);
    let gib = |bytes: u64| {
        let tenths = (bytes * 10) >> 30;
        format!("{}.{} GiB", tenths / 10, tenths % 10)
    };
    let said = format!("{} used, {} free, {} written in {GROWTH_DAYS} days", gib(all), gib(free), gib(young));
    let days = free.checked_mul(GROWTH_DAYS.unsigned_abs()).and_then(|n| n.checked_div(young));
    let advice = "make room, or let `gpuledger maintain` compact and remove what is not needed";
    Some(match days {
        Some(days) if days < FULL_DAYS[0] => Found::bad("disk", format!("{said}: full in {days} days"), advice),
        Some(days) if days < FULL_DAYS[1] => Found::doubtful("disk", format!("{said}: full in {days} days"), advice),
        Some(days) => Found::good("disk", format!("{said}: room for {days} days at this rate")),
        None => Found::good("disk", said),
    })
}

async fn inbox(lake: &Lake, now_ms: i64) -> Vec<Found> {
    let mut out = Vec::new();
    if let Ok(waiting) = lake.list_nested(path::INBOX).await {
        let segments: Vec<i64> =
            waiting.iter().filter(|o| o.name.ends_with(".parquet")).map(|o| o.written_ms).collect();
        let oldest_ms = segments.iter().min().map_or(0, |at| now_ms - at);
        let said = format!("{} segments wait, the oldest for {} minutes", segments.len(), oldest_ms / 60_000);
        out.push(match segments.len() {
            0 => Found::good("inbox", "nothing waits"),
            _ if oldest_ms > HOUR_MS => {
                Found::doubtful("inbox", said, "run `gpuledger serve`, or `gpuledger ingest` every few minutes")
            }
            _ => Found::good("inbox", said),
        });
    }
    if let Ok(refused) = lake.list_nested(path::QUARANTINE).await {
        let refused = refused.iter().filter(|o| o.name.ends_with(".parquet")).count();
        if refused > 0 {
            let text = format!("{refused} segments could not go in");
            out.push(Found::doubtful("quarantine", text, "each lies beside its reason in quarantine/"));
        }
    }
    out
}

async fn ledger(place: &Place, lake: &Lake, now_ms: i64) -> Vec<Found> {
    let reader = match Reader::open(lake, place.partitions(), None).await {
        Ok(reader) => reader,
        Err(ReportError::Stale) => {
            return vec![Found::doubtful("ledger", "older than what was taken in", "run `gpuledger ingest`")];
        }
        Err(e) => {
            return vec![Found::bad(
                "ledger",
                gpuledger_api::state::chain(&e),
                "import something, or restore a backup",
            )];
        }
    };
    let zone = place.zone(None).ok().flatten().unwrap_or(chrono_tz::UTC);
    let mut out = Vec::new();
    if let Ok(week) = report::last_week(&reader).await {
        let (at, behind) = (show_ms(week.to_ms, zone), now_ms - week.to_ms);
        out.push(if behind < -AHEAD_MS {
            let text = format!("something was seen at {at}, which is not yet");
            Found::bad("clocks", text, "this machine or a collector has the wrong time: let NTP set both")
        } else if behind > LATE_MS {
            let text = format!("the newest that is known is of {at}");
            Found::doubtful("collectors", text, "look at the collectors: `gpuledger-collector doctor` on a node")
        } else {
            Found::good("collectors", format!("the newest that is known is of {at}"))
        });
    }
    match report::watch(&reader, None, zone, report::WatchLimits::default()).await {
        Ok(watched) if watched.rows.is_empty() => out.push(Found::good("watch", watched.sentence)),
        Ok(watched) => out.push(Found::doubtful("watch", watched.sentence, "`gpuledger report watch` lists them")),
        Err(e) => out.push(Found::doubtful("watch", gpuledger_api::state::chain(&e), "`gpuledger check`")),
    }
    out
}

fn control(place: &Place, lake: &Lake, now_ms: i64) -> anyhow::Result<Vec<Found>> {
    let advice = "gpuledger token create NAME --role ROLE";
    let Some(control) = place.control(lake)? else {
        return Ok(vec![Found::doubtful(
            "reference tables",
            "nothing was imported yet",
            "import rates, owners and pools",
        )]);
    };
    let tokens = control.tokens()?;
    let count = tokens.iter().filter(|t| t.counts(now_ms)).count();
    let soon = tokens.iter().filter(|t| t.counts(now_ms) && !t.counts(now_ms + 7 * DAY_MS)).count();
    Ok(vec![match (count, soon) {
        (0, _) if place.config.server.proxy.is_none() => Found::doubtful("tokens", "there is none that counts", advice),
        (_, 0) => Found::good("tokens", format!("{count} count")),
        _ => Found::doubtful("tokens", format!("{soon} of {count} expire within a week"), "gpuledger token rotate ID"),
    }])
}

async fn messages(place: &Place, asked: &Doctor, now_ms: i64) -> anyhow::Result<Vec<Found>> {
    let zone = place.zone(None).ok().flatten().unwrap_or(chrono_tz::UTC);
    let contacts = match place.lake().and_then(|lake| place.control(&lake)) {
        Ok(Some(control)) => Control::rows::<ContactRow>(&control)?,
        _ => Vec::new(),
    };
    let texts = Texts::new()?;
    let examination = Examination { contacts: &contacts, now: At { ms: now_ms, zone }, send: asked.send };
    let found = examine(&texts, &place.config.notify, examination).await;
    let health = |h: Health| match h {
        Health::Good => "good",
        Health::Doubtful => "doubtful",
        Health::Bad => "bad",
    };
    let as_ours = |f: gpuledger_notify::doctor::Finding| Found {
        what: f.what,
        health: health(f.health),
        found: f.found,
        advice: f.advice,
    };
    Ok(found.into_iter().map(as_ours).collect())
}
