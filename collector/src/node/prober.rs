//! The outside health probe, run beside the polls as often as configured; its result goes into the next tick.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::Duration;

use gpuledger_schema::table::ReadingRow;

use super::config::NodeConfig;
use super::seen::Moment;
use super::source::probe::ProbeReading;
use super::source::probe::run::Probe;
use super::tick::NodeFacts;

/// Runs the probe in a thread of its own: it may hang.
#[derive(Debug)]
pub(super) struct Prober {
    every_ms: i64,
    /// Away while it runs.
    probe: Option<Probe>,
    running: Option<Receiver<(Probe, ProbeReading)>>,
    last_boot_ms: Option<i64>,
    asked_wall_ms: i64,
}

impl Prober {
    /// The probe of the configuration, where there is one.
    pub(super) fn of(config: &NodeConfig) -> Option<Self> {
        (!config.probe_command.is_empty()).then(|| Self {
            every_ms: i64::try_from(config.probe_every_s).unwrap_or(i64::MAX / 1_000) * 1_000,
            probe: Some(Probe::new(
                config.probe_command.clone(),
                Duration::from_secs(config.probe_deadline_s),
                config.probe_max_bytes,
            )),
            running: None,
            last_boot_ms: None,
            asked_wall_ms: 0,
        })
    }

    /// Starts the probe where it is due, and gives the row of one that has ended.
    pub(super) fn row(&mut self, node: &NodeFacts, now: Moment) -> Option<ReadingRow> {
        let mut row = None;
        match self.running.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => return None,
            Some(Ok((probe, reading))) => {
                // a clock that was put back while it ran must not turn the look around
                let read_at_ms = now.wall_ms.max(self.asked_wall_ms);
                row = Some(reading.row(&node.cluster, &node.boot.node, read_at_ms, self.asked_wall_ms));
                (self.probe, self.running) = (Some(probe), None);
            }
            Some(Err(TryRecvError::Disconnected)) | None => self.running = None,
        }
        if self.last_boot_ms.is_none_or(|at| now.boot_ms - at >= self.every_ms) {
            self.last_boot_ms = Some(now.boot_ms);
            self.asked_wall_ms = now.wall_ms;
            self.running = self.probe.take().and_then(start);
        }
        row
    }
}

fn start(mut probe: Probe) -> Option<Receiver<(Probe, ProbeReading)>> {
    let (tell, told) = mpsc::channel();
    let started = std::thread::Builder::new().name("probe".to_owned()).spawn(move || {
        let reading = ProbeReading::of(probe.run());
        let _ = tell.send((probe, reading));
    });
    started.inspect_err(|e| tracing::warn!(error = e as &dyn std::error::Error, "the probe's thread")).ok()?;
    Some(told)
}
