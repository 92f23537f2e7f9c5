//! Where things lie: the lake, the control file, and the settings a command runs with.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use chrono_tz::Tz;
use gpuledger_aggregator::lake::{Lake, LakeError, WriterLock};
use gpuledger_aggregator::report::{Currency, Narrow, Reader, ReportError};
use gpuledger_aggregator::{ingest, ledger};
use gpuledger_control::{Control, ControlError};
use gpuledger_schema::table::reference::RateRow;
use gpuledger_schema::window;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::args::Global;
use crate::clock;
use crate::config::Config;
use crate::outcome::usage;
use crate::serve::lend;

/// Data folder where neither `--data` nor the configuration names one.
pub(crate) const DEFAULT_DATA: &str = "gpuledger-data";

/// Settings of this run.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) data: String,
    pub(crate) config: Config,
    pub(crate) cut: Option<u64>,
    /// In a server: the right to write, which it holds, and what it has open.
    pub(crate) held: Option<Held>,
}

impl Place {
    pub(crate) fn of(global: &Global) -> anyhow::Result<Self> {
        let config = Config::read(global.config.as_deref())?;
        let data = global.data.clone().or_else(|| config.data.clone()).unwrap_or_else(|| DEFAULT_DATA.to_owned());
        Ok(Self { data, config, cut: global.cut, held: None })
    }

    pub(crate) fn partitions(&self) -> usize {
        self.config
            .partitions
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get))
    }

    /// The lake for writing; its folder is made where it is absent.
    pub(crate) fn lake_to_write(&self) -> anyhow::Result<Lake> {
        Ok(Lake::open(&self.data, true)?)
    }

    /// The lake for reading.
    pub(crate) fn lake(&self) -> anyhow::Result<Lake> {
        Lake::open(&self.data, false)
            .with_context(|| format!("there is no data at `{}` (see --data); import something first", self.data))
    }

    /// Where the control file lies.
    pub(crate) fn control_path(&self, lake: &Lake) -> anyhow::Result<PathBuf> {
        let folder = match (&self.config.control_dir, lake.folder()) {
            (Some(dir), _) => PathBuf::from(dir),
            (None, Some(folder)) => folder.to_owned(),
            (None, None) => {
                return Err(usage("the data is not a folder of this machine: set `control_dir` in the configuration"));
            }
        };
        Ok(folder.join("control.sqlite"))
    }

    /// The control file for writing; the folder that the configuration names for it is made where it is absent.
    #[allow(
        clippy::disallowed_methods,
        reason = "a data folder is made with the lake; this one is beside a lake elsewhere"
    )]
    pub(crate) fn control_to_write(&self, lake: &Lake) -> anyhow::Result<Control> {
        if let Some(dir) = &self.config.control_dir {
            std::fs::create_dir_all(dir).with_context(|| format!("cannot make `{dir}` (control_dir)"))?;
        }
        Ok(Control::open(&self.control_path(lake)?)?)
    }

    /// The control file for reading; none where nothing was ever imported into it.
    pub(crate) fn control(&self, lake: &Lake) -> anyhow::Result<Option<Control>> {
        let path = self.control_path(lake)?;
        if !path.exists() {
            return Ok(None);
        }
        match Control::open_read_only(&path) {
            // a file of an older gpuledger is brought up to date where it can be written
            Err(ControlError::Format { found, known, .. }) if found < known && Control::open(&path).is_ok() => {
                Ok(Some(Control::open_read_only(&path)?))
            }
            other => Ok(Some(other?)),
        }
    }

    /// The zone a user gave, else the billing zone.
    pub(crate) fn zone(&self, typed: Option<&str>) -> anyhow::Result<Option<Tz>> {
        let name = typed.or(self.config.billing_zone.as_deref());
        name.map(|n| window::zone(n).map_err(|e| usage(e.to_string()))).transpose()
    }

    /// The zone, which this command needs.
    pub(crate) fn zone_needed(&self, typed: Option<&str>) -> anyhow::Result<Tz> {
        self.zone(typed)?.ok_or_else(|| {
            usage("days and months need a zone: give --zone (an IANA name such as Europe/Berlin) or set billing_zone in the configuration")
        })
    }

    /// The currency of the configuration, else the one of the rates.
    pub(crate) fn currency(&self, lake: &Lake) -> anyhow::Result<Currency> {
        let code = match &self.config.currency {
            Some(code) => code.clone(),
            None => {
                let rates = self.control(lake)?.map(|c| c.rows::<RateRow>()).transpose()?.unwrap_or_default();
                rates.first().map(|r| r.currency.clone()).ok_or_else(|| {
                    usage("there are no rates yet and no currency in the configuration: import rates (`gpuledger rates import FILE`)")
                })?
            }
        };
        code.parse().map_err(|e: gpuledger_aggregator::report::UnknownCurrency| usage(e.to_string()))
    }

    /// The right to write: of a server that is asked itself, of one that lends it, or of the lake.
    pub(crate) async fn writer(&self, lake: &Lake) -> anyhow::Result<Right> {
        if let Some(held) = &self.held {
            return Ok(Right::Own { _guard: Arc::clone(&held.writing).lock_owned().await });
        }
        match lake.lock() {
            Ok(lock) => Ok(Right::Lake { _lock: lock }),
            Err(LakeError::Locked { at, lock }) => match lend::borrow(lake).await? {
                Some(lent) => Ok(Right::Lent { _from: lent }),
                None => Err(LakeError::Locked { at, lock }.into()),
            },
            Err(other) => Err(other.into()),
        }
    }

    /// The lake for a report: its ledger is brought up to date first where that is needed and possible.
    pub(crate) async fn reader(&self, lake: &Lake) -> anyhow::Result<Reader> {
        if let Some(base) = self.held.as_ref().and_then(|held| held.base.as_ref()) {
            let narrow = self.held.as_ref().map(|held| held.narrow.clone()).unwrap_or_default();
            return Ok(base.narrowed(narrow).await?);
        }
        match Reader::open(lake, self.partitions(), self.cut).await {
            Err(ReportError::Stale) if self.cut.is_none() => {
                let _right = self
                    .writer(lake)
                    .await
                    .context("the ledger is not up to date, and cannot be brought up to date here")?;
                build(lake, self.partitions()).await?;
                Ok(Reader::open(lake, self.partitions(), self.cut).await?)
            }
            other => Ok(other?),
        }
    }
}

/// What a server holds for the commands that it runs.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// One of them writes at a time; the lake's own lock is the server's.
    pub(crate) writing: Arc<Mutex<()>>,
    /// What is open already, priced for the window that is asked for; absent: open what is newest.
    pub(crate) base: Option<Arc<Reader>>,
    /// Which rows may be selected of it.
    pub(crate) narrow: Narrow,
}

/// The right to write, held until it is dropped.
#[derive(Debug)]
pub(crate) enum Right {
    /// The lake's lock.
    Lake { _lock: WriterLock },
    /// Of the server that runs this command.
    Own { _guard: OwnedMutexGuard<()> },
    /// Lent by a server for as long as the connection stands.
    Lent { _from: lend::Lent },
}

/// Takes in what waits, showing progress.
pub(crate) async fn take_in(lake: &Lake) -> anyhow::Result<ingest::IngestReport> {
    let mut progress = Progress::new("ingested", "segments");
    let report = ingest::ingest(lake, &mut |done, all| progress.show(done, all)).await?;
    progress.end();
    Ok(report)
}

/// Builds the ledger, showing progress.
pub(crate) async fn build(lake: &Lake, partitions: usize) -> anyhow::Result<ledger::BuildReport> {
    let mut progress = Progress::new("built", "days");
    let report = ledger::build(lake, partitions, &mut |done, all| progress.show(done, all)).await?;
    progress.end();
    Ok(report)
}

/// Progress on stderr: what, how much, rate and time left, once the work has taken a second.
struct Progress {
    verb: &'static str,
    noun: &'static str,
    since: std::time::Instant,
    shown: bool,
}

impl Progress {
    fn new(verb: &'static str, noun: &'static str) -> Self {
        Self { verb, noun, since: clock::started(), shown: false }
    }

    fn show(&mut self, done: usize, all: usize) {
        let seconds = self.since.elapsed().as_secs();
        if seconds == 0 || done == 0 || !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            return;
        }
        let left = seconds * (all.saturating_sub(done) as u64) / done as u64;
        eprint!("\r{} {done} of {all} {} ({}/s, {left} s left)   ", self.verb, self.noun, done as u64 / seconds);
        self.shown = true;
    }

    fn end(&self) {
        if self.shown {
            eprintln!();
        }
    }
}
