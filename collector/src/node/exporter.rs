//! The exporter's pages of a tick: scraped twice a minute beside the polls, and used only where the driver gives less.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::config::NodeConfig;
use super::metrics::NodeMetrics;
use super::seen::{Absent, Clock};
use super::source::dcgm::minute::{DcgmTick, Minute};
use super::source::dcgm::scrape::{ScrapeError, Scraper};
use super::source::dcgm::{DcgmDevice, SOURCE};
use super::source::nvml::look::Activity;
use super::stopwatch::Stopwatch;
use super::tick::Outside;

/// How often a page is asked for.
const EVERY: Duration = Duration::from_secs(30);

/// The pages of the tick in progress, filled by a task.
#[derive(Debug)]
pub(super) struct Exporter {
    minute: Arc<Mutex<Minute>>,
    metrics: Arc<NodeMetrics>,
}

impl Exporter {
    /// Starts to scrape, where an exporter is configured.
    pub(super) fn start(
        config: &NodeConfig,
        clock: Arc<dyn Clock>,
        metrics: Arc<NodeMetrics>,
    ) -> Result<Option<Self>, ScrapeError> {
        let Some(url) = &config.dcgm_url else { return Ok(None) };
        let deadline = Duration::from_millis(config.dcgm_deadline_ms);
        let scraper = Scraper::new(url, deadline, config.dcgm_max_bytes)?;
        let minute = Arc::<Mutex<Minute>>::default();
        tokio::spawn(scrape(scraper, Arc::downgrade(&minute), clock, Arc::clone(&metrics)));
        Ok(Some(Self { minute, metrics }))
    }

    /// What the tick's pages say of each device.
    pub(super) fn tick(&self, boot_ms: i64) -> Vec<Outside> {
        let (devices, rejects) = self.minute.lock().unwrap_or_else(PoisonError::into_inner).tick(boot_ms);
        for (reason, count) in rejects {
            self.metrics.rejected(SOURCE, &format!("{reason:?}"), count);
        }
        devices.into_iter().map(outside).collect()
    }
}

fn outside(tick: DcgmTick) -> Outside {
    let DcgmDevice { uuid, gpu_instance, sm_ppm, dram_ppm, tensor_ppm, gr_ppm, .. } = tick.device;
    // the exporter's utilization is a spot sample; the engine's activity is a mean
    let gpu_ppm = gr_ppm.or(Err(Absent::NotSupported));
    Outside { uuid, gpu_instance, activity: Activity { gpu_ppm, sm_ppm, dram_ppm, tensor_ppm, source: SOURCE } }
}

async fn scrape(
    scraper: Scraper,
    minute: std::sync::Weak<Mutex<Minute>>,
    clock: Arc<dyn Clock>,
    metrics: Arc<NodeMetrics>,
) {
    loop {
        let took = Stopwatch::start();
        let page = scraper.page().await;
        metrics.looked(SOURCE, took.read(), page.is_err());
        // whoever reads the pages is gone
        let Some(minute) = minute.upgrade() else { return };
        match page {
            Ok(page) => _ = minute.lock().unwrap_or_else(PoisonError::into_inner).take(&page, clock.now().boot_ms),
            Err(e) => tracing::warn!(error = &e as &dyn std::error::Error, "the exporter's page"),
        }
        drop(minute);
        tokio::time::sleep(EVERY).await;
    }
}
