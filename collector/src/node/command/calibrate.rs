//! `calibrate -- COMMAND`: runs a known load and compares busy time from independent sources.

use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gpuledger_schema::id::device_id;
use gpuledger_schema::table::{CalibrationRow, DeviceMinuteRow, DeviceRow};

use super::{CommandError, once};
use crate::node::config::NodeConfig;
use crate::node::spool::{FolderInbox, Inbox, RealDisk, Tick};
use crate::segment::segment;

/// Parts per million in one.
const PPM: i64 = 1_000_000;

/// A calibration that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calibration {
    /// The load: program and arguments.
    pub command: Vec<String>,
    /// Part of the time in which the load says that it computes, where it is known.
    pub duty_ppm: Option<i64>,
    /// Seconds that it runs at most; it is ended then.
    pub duration_s: u64,
}

/// Runs it, puts the result into the lake, and gives the comparison as a table.
pub async fn run(config: &NodeConfig, calibration: &Calibration) -> Result<String, CommandError> {
    let mut load = Load::start(&calibration.command)?;
    let tick = once::minute(config, Duration::from_secs(calibration.duration_s)).await;
    let ended_early = load.end();
    let tick = tick?;
    let rows: Vec<CalibrationRow> =
        tick.minutes.iter().filter_map(|m| compared(&tick, m, calibration.duty_ppm)).collect();
    let mut page = table(&rows, &tick);
    if ended_early {
        page.push_str("the load ended before its time: its busy time is compared with the whole time all the same\n");
    }
    let node = config.node.as_deref().unwrap_or_default();
    // a comparison that gave no figure is none
    let rows: Vec<CalibrationRow> = rows.into_iter().filter(|r| r.error_ppm.is_some()).collect();
    match segment(node, &rows) {
        Ok(None) => page.push_str("nothing could be compared: nothing is recorded\n"),
        Ok(Some(found)) => {
            let put = FolderInbox::new(RealDisk, &config.lake, node).put(&found.name.file_name(), &found.bytes);
            let _ = match put {
                Ok(_) => writeln!(page, "recorded: reports know this model and driver as calibrated"),
                Err(e) => writeln!(page, "not recorded: {e}"),
            };
        }
        Err(e) => _ = writeln!(page, "not recorded: {e}"),
    }
    Ok(page)
}

/// The measures of one device, where there are any.
fn compared(tick: &Tick, minute: &DeviceMinuteRow, duty_ppm: Option<i64>) -> Option<CalibrationRow> {
    let device = tick.devices.iter().find(|d| device_id(&d.uuid) == minute.device_id && d.parent_id.is_none())?;
    let own: Vec<_> = tick.processes.iter().filter(|p| p.device_id == minute.device_id).collect();
    let covered_ms = own.iter().map(|p| p.covered_ms).max()?;
    let busy_ms = own.iter().map(|p| p.busy_ms).sum::<Option<i64>>();
    let part = |ppm: i64| covered_ms * ppm / PPM;
    let device_busy_ms = minute.gpu_util_ppm.map(part);
    // a load that the collector saw nowhere was on another device
    let load_busy_ms = duty_ppm.map(part).filter(|_| busy_ms != Some(0));
    let error_ppm = busy_ms.filter(|_| covered_ms > 0).and_then(|own| {
        let others = [device_busy_ms, load_busy_ms];
        others.into_iter().flatten().map(|other| (own - other).abs() * PPM / covered_ms).max()
    });
    Some(CalibrationRow {
        device_id: minute.device_id,
        at_ms: minute.tick_ms + minute.dur_ms,
        cluster: device.cluster.clone(),
        node: device.node.clone(),
        model: device.model.clone(),
        driver: device.driver.clone(),
        covered_ms,
        busy_ms,
        device_busy_ms,
        load_busy_ms,
        error_ppm,
    })
}

fn table(rows: &[CalibrationRow], tick: &Tick) -> String {
    let mut out = String::new();
    let ms = |v: Option<i64>| v.map_or_else(|| "unknown".to_owned(), |v| format!("{v} ms"));
    for row in rows {
        let uuid = tick.devices.iter().find(|d: &&DeviceRow| d.device_id == row.device_id).map_or("?", |d| &d.uuid);
        let _ = writeln!(
            out,
            "{uuid}  {}  driver {}\n  looked at {} ms: processes {}, device {}, load {}; greatest difference {}",
            row.model.as_deref().unwrap_or("unknown model"),
            row.driver.as_deref().unwrap_or("unknown"),
            row.covered_ms,
            ms(row.busy_ms),
            ms(row.device_busy_ms),
            ms(row.load_busy_ms),
            row.error_ppm.map_or_else(|| "unknown".to_owned(), |e| format!("{}.{} %", e / 10_000, e % 10_000 / 1_000)),
        );
    }
    out
}

/// The load, ended when it is dropped: a calibration that fails leaves nothing behind.
struct Load {
    child: Child,
}

impl Load {
    #[allow(clippy::disallowed_methods, reason = "the load is what the operator asked to run")]
    fn start(command: &[String]) -> Result<Self, CommandError> {
        let program = command.first().cloned().unwrap_or_default();
        let child = Command::new(&program).args(command.get(1..).unwrap_or_default()).stdin(Stdio::null()).spawn();
        child.map(|child| Self { child }).map_err(|source| CommandError::Load { program, source })
    }

    /// Ends it; says whether it had ended by itself.
    fn end(&mut self) -> bool {
        let early = self.child.try_wait().ok().flatten().is_some();
        let _ = self.child.kill();
        let _ = self.child.wait();
        early
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}
