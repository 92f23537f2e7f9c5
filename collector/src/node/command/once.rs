//! `once`: records one minute and gives it as text; writes nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use gpuledger_schema::id::device_id;
use gpuledger_schema::table::{DeviceMinuteRow, DeviceRow, ProcessMinuteRow};
use serde::Serialize;

use super::CommandError;
use crate::node::clock::KernelClock;
use crate::node::config::NodeConfig;
use crate::node::metrics::NodeMetrics;
use crate::node::seen::{Clock, TICK_MS};
use crate::node::spool::Tick;
use crate::node::watch::Watch;

/// How the minute is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A table for a person.
    Table,
    /// A line of JSON for each row: its columns by name, `table` with the table's name, `uuid` with the device's;
    /// what is absent is null. `tests/gpu/compare.py` reads it.
    Json,
}

/// Records one minute and gives its rows as text; writes nothing.
pub async fn run(config: &NodeConfig, form: Form) -> Result<String, CommandError> {
    let tick = minute(config, Duration::from_millis(TICK_MS.unsigned_abs())).await?;
    match form {
        Form::Table => Ok(table(&tick)),
        Form::Json => json(&tick).map_err(CommandError::Text),
    }
}

/// Watches from now for so long, as one tick.
pub(super) async fn minute(config: &NodeConfig, length: Duration) -> Result<Tick, CommandError> {
    let clock: Arc<dyn Clock> = Arc::new(KernelClock);
    let metrics = Arc::new(NodeMetrics::new(env!("CARGO_PKG_VERSION")));
    let mut watch = Watch::open(config, Arc::clone(&clock), metrics).map_err(CommandError::Watch)?;
    let end = watch.stretch(i64::try_from(length.as_millis()).unwrap_or(TICK_MS));
    watch.poll();
    loop {
        let left = end - clock.now().boot_ms;
        if left <= 0 {
            break;
        }
        let pause = left.min(i64::try_from(config.poll_s).map_or(TICK_MS, |s| s * 1_000));
        tokio::time::sleep(Duration::from_millis(pause.unsigned_abs() + 1)).await;
        watch.poll();
    }
    Ok(watch.close())
}

/// UUIDs by device id.
fn names(tick: &Tick) -> BTreeMap<i64, &DeviceRow> {
    tick.devices.iter().map(|d| (device_id(&d.uuid), d)).collect()
}

fn table(tick: &Tick) -> String {
    let devices = names(tick);
    let mut out = String::new();
    let uuid = |id: i64| devices.get(&id).map_or("?", |d| d.uuid.as_str());
    for m in &tick.minutes {
        let model = devices.get(&m.device_id).and_then(|d| d.model.as_deref()).unwrap_or("unknown model");
        let _ = writeln!(out, "{}  {model}  {}{}", uuid(m.device_id), m.state, why(m.reason.as_deref()));
        let _ = writeln!(
            out,
            "  utilization {}  SM {}  DRAM {}  tensor {}  memory {}  power {}  energy {}",
            percent(m.gpu_util_ppm),
            percent(m.sm_ppm),
            percent(m.dram_ppm),
            percent(m.tensor_ppm),
            mib(m.mem_used_bytes),
            unit(m.power_mw.map(|p| p / 1_000), "W"),
            unit(m.energy_mj.map(|e| e / 1_000), "J"),
        );
        for p in tick.processes.iter().filter(|p| p.device_id == m.device_id || p.instance_id == Some(m.device_id)) {
            if p.instance_id.is_some_and(|i| i != m.device_id) {
                continue;
            }
            let _ = writeln!(
                out,
                "    {:>8} {:<12} {:<20} {:<28} busy {:>9} of {:>6} ms  peak {:>6}  memory {:>10}{}",
                p.pid,
                p.user,
                p.command.as_deref().unwrap_or("?"),
                p.hint,
                p.busy_ms.map_or_else(|| "unknown".to_owned(), |b| format!("{b} ms")),
                p.covered_ms,
                percent(p.peak_ppm),
                mib(p.mem_peak_bytes),
                why(p.reason.as_deref()),
            );
        }
    }
    if tick.minutes.is_empty() {
        out.push_str("no GPU answered\n");
    }
    out
}

fn why(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |r| format!("  ({r})"))
}

fn percent(ppm: Option<i64>) -> String {
    ppm.map_or_else(|| "unknown".to_owned(), |p| format!("{}.{} %", p / 10_000, p % 10_000 / 1_000))
}

fn mib(bytes: Option<i64>) -> String {
    unit(bytes.map(|b| b >> 20), "MiB")
}

fn unit(value: Option<i64>, unit: &str) -> String {
    value.map_or_else(|| "unknown".to_owned(), |v| format!("{v} {unit}"))
}

/// A row with what its table and device are called.
#[derive(Serialize)]
struct Named<'a, R> {
    table: &'static str,
    uuid: Option<&'a str>,
    #[serde(flatten)]
    row: &'a R,
}

fn json(tick: &Tick) -> Result<String, serde_json::Error> {
    let devices = names(tick);
    let uuid = |id: i64| devices.get(&id).map(|d| d.uuid.as_str());
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    for row in &tick.devices {
        line(serde_json::to_string(&serde_json::json!({ "table": "device", "row": row }))?);
    }
    for row in &tick.minutes {
        let named: Named<'_, DeviceMinuteRow> = Named { table: "device_minute", uuid: uuid(row.device_id), row };
        line(serde_json::to_string(&named)?);
    }
    for row in &tick.processes {
        let named: Named<'_, ProcessMinuteRow> =
            Named { table: "process_minute", uuid: uuid(row.instance_id.unwrap_or(row.device_id)), row };
        line(serde_json::to_string(&named)?);
    }
    Ok(out)
}
