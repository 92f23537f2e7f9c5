//! The pages, asked as Prometheus and the kubelet ask.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::serve::Pages;
use super::*;
use crate::node::seen::Clock;

/// A clock that is told the time.
struct Told(AtomicI64);

impl Clock for Told {
    fn now(&self) -> Moment {
        at(self.0.load(Ordering::Relaxed))
    }
}

fn at(boot_ms: i64) -> Moment {
    Moment { wall_ms: 1_700_000_000_000 + boot_ms, boot_ms, awake_ms: boot_ms, synchronised: true }
}

fn covered(uuid: &str, covered_ppm: i64) -> DeviceCoverage {
    DeviceCoverage { uuid: uuid.to_owned(), covered_ppm }
}

async fn get(metrics: &Arc<NodeMetrics>, path: &str, boot_ms: i64) -> (StatusCode, String) {
    let pages = serve::pages(Arc::clone(metrics), Arc::new(Told(AtomicI64::new(boot_ms))));
    let answer = pages.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn it_is_ready_for_three_minutes_after_a_tick() {
    let metrics = Arc::new(NodeMetrics::new("1"));
    let (status, words) = get(&metrics, "/ready", 5_000).await;
    assert_eq!((status.as_u16(), words.as_str()), (503, "not ready: no tick was written since the start\n"));
    metrics.set_problem(Some("the driver's library is not there".to_owned()));
    let (_, words) = get(&metrics, "/ready", 5_000).await;
    assert_eq!(words, "not ready: no tick was written since the start: the driver's library is not there\n");

    metrics.tick_written(at(60_000), &[]);
    let (status, words) = get(&metrics, "/ready", 61_500).await;
    assert_eq!((status.as_u16(), words.as_str()), (200, "ready: the newest tick was written 1 s ago\n"));
    assert_eq!(get(&metrics, "/ready", 240_000).await.0.as_u16(), 200, "180 s is still ready");
    metrics.set_problem(Some("the disk is full".to_owned()));
    let (status, words) = get(&metrics, "/ready", 240_001).await;
    assert_eq!(
        (status.as_u16(), words.as_str()),
        (503, "not ready: no tick was written for 180 s: the disk is full\n")
    );
    assert_eq!(get(&metrics, "/live", 240_001).await, (StatusCode::OK, "live\n".to_owned()));
    assert_eq!(get(&metrics, "/", 0).await.0.as_u16(), 404);
}

#[tokio::test]
async fn the_page_counts_what_happened() {
    let metrics = Arc::new(NodeMetrics::new("0.1.0"));
    metrics.looked("nvml", Duration::from_millis(3), false);
    metrics.looked("dcgm", Duration::from_secs(5), true);
    metrics.rejected("dcgm", "blank", 2);
    metrics.nvml_called("process_utilization", 96);
    metrics.tick_written(at(60_000), &[covered("GPU-a", 1_000_000), covered("GPU-b", 500_000)]);
    metrics.ticks_dropped(7);
    metrics.segment_delivered(false);
    metrics.segment_delivered(true);
    metrics.set_spool(3, 4_096);
    metrics.set_devices(1, 0);
    metrics.set_rss_bytes(20 << 20);
    let (status, page) = get(&metrics, "/metrics", 75_000).await;
    assert_eq!(status.as_u16(), 200);
    for line in [
        "build_info{version=\"0.1.0\"} 1",
        "source_seconds_count{source=\"nvml\"} 1",
        "source_seconds_bucket{le=\"0.001\",source=\"nvml\"} 0",
        "source_seconds_bucket{le=\"0.005\",source=\"nvml\"} 1",
        "source_errors_total{source=\"nvml\"} 0",
        "source_errors_total{source=\"dcgm\"} 1",
        "rejects_total{source=\"dcgm\",reason=\"blank\"} 2",
        "nvml_calls_total{kind=\"process_utilization\"} 96",
        "ticks_written_total 1",
        "ticks_dropped_total 7",
        "segments_delivered_total 1",
        "segments_conflicting_total 1",
        "spool_segments 3",
        "spool_bytes 4096",
        "coverage_ppm{uuid=\"GPU-b\"} 500000",
        "devices 2",
        "devices_stuck 1",
        "devices_lost 0",
        "rss_bytes 20971520",
        "lag_ms 15000",
        "clock_synchronised 1",
    ] {
        let whole = format!("gpuledger_collector_{line}");
        assert!(page.lines().any(|l| l == whole), "{whole} is not in\n{page}");
    }
    assert!(page.ends_with("# EOF\n"));
}

#[test]
fn a_device_that_is_gone_leaves_no_series() {
    let metrics = NodeMetrics::new("1");
    metrics.tick_written(at(60_000), &[covered("MIG-a", 1_000_000)]);
    metrics.tick_written(at(120_000), &[covered("MIG-b", 1_000_000)]);
    let page = metrics.page(at(120_000)).unwrap();
    assert!(page.contains("MIG-b") && !page.contains("MIG-a"), "{page}");
}

#[test]
fn what_is_not_known_yet_has_no_series() {
    let page = NodeMetrics::new("1").page(at(60_000)).unwrap();
    for name in ["lag_ms", "spool_bytes", "devices_lost", "rss_bytes", "clock_synchronised", "coverage_ppm"] {
        assert!(!page.lines().any(|l| l.starts_with(&format!("gpuledger_collector_{name}"))), "{page}");
    }
    assert!(page.contains("gpuledger_collector_ticks_written_total 0\n"), "counters begin at zero");
}

#[test]
fn own_memory_is_read_from_the_kernels_words() {
    assert_eq!(rss_bytes("Name:\tx\nVmRSS:\t   20480 kB\nThreads:\t1\n"), Some(20_971_520));
    assert_eq!(rss_bytes("Name:\tx\n"), None);
}
