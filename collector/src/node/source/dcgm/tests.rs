//! Pages as exporters write them, with the values a reader sees.

use std::path::PathBuf;
use std::time::Duration;

use super::minute::{FROZEN_MS, Minute};
use super::scrape::{ScrapeError, Scraper};
use super::*;

/// A recorded page, or nothing (and a word) where the shared folder is not there.
fn recorded(name: &str) -> Option<String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let path = std::env::var_os("GPULEDGER_SHARED").map_or_else(beside, PathBuf::from).join("samples/dcgm").join(name);
    let page = std::fs::read_to_string(&path).ok();
    if page.is_none() {
        println!("skipped: {} is not there", path.display());
    }
    page
}

fn one(page: &str) -> DcgmDevice {
    let scrape = parse(page, None);
    assert_eq!(scrape.devices.len(), 1, "{scrape:?}");
    scrape.devices[0].clone()
}

/// What is read of one field of card `GPU-a`.
fn sm(value: &str) -> (Measure<i64>, BTreeMap<(Option<Field>, Reject), u64>) {
    let scrape = parse(&format!("DCGM_FI_PROF_SM_ACTIVE{{gpu=\"0\",UUID=\"GPU-a\"}} {value}\n"), None);
    (scrape.devices[0].sm_ppm.clone(), scrape.rejects)
}

const NOT_EXPORTED: &str = "not exported by dcgm-exporter";

fn not_exported() -> Measure<i64> {
    Err(Absent::Failed(NOT_EXPORTED.to_owned()))
}

#[test]
fn the_recorded_busy_t4_reads_as_a_reader_sees_it() {
    let Some(page) = recorded("t4_busy.prom") else { return };
    let scrape = parse(&page, None);
    assert_eq!((scrape.samples, scrape.ignored, scrape.repeated, scrape.rejects.len()), (20, 9, 0, 0));
    let t4 = one(&page);
    assert_eq!(t4.uuid, "GPU-6d5c0ac5-74d7-3130-46f1-e93ed57f469a");
    assert_eq!((t4.gpu_instance, t4.mig_profile), (None, None));
    assert_eq!((t4.gr_ppm, t4.tensor_ppm, t4.dram_ppm), (Ok(156_205), Ok(5_822), Ok(92_781)));
    assert_eq!((t4.sm_ppm, t4.sm_occupancy_ppm), (not_exported(), not_exported()));
    assert_eq!((t4.gpu_util_ppm, t4.mem_util_ppm), (Ok(910_000), Ok(730_000)));
    assert_eq!((t4.mem_used_bytes, t4.mem_free_bytes), (Ok(5_120 << 20), Ok(9_791 << 20)));
    assert_eq!(t4.mem_reserved_bytes, Ok(447 << 20));
    assert_eq!((t4.power_mw, t4.energy_mj, t4.temperature_c), (Ok(68_244), Ok(15_152_422_938), Ok(74)));
    assert_eq!(t4.last_xid, not_exported());
}

#[test]
fn the_recorded_idle_l4_has_measured_zeros_and_no_invented_ones() {
    let Some(page) = recorded("l4_idle_full.prom") else { return };
    let scrape = parse(&page, None);
    // 69 lines: 23 samples, each with two lines of comment before it.
    assert_eq!((scrape.samples, scrape.ignored, scrape.rejects.len()), (23, 12, 0));
    let l4 = one(&page);
    assert_eq!((l4.gr_ppm, l4.tensor_ppm, l4.dram_ppm, l4.gpu_util_ppm), (Ok(0), Ok(0), Ok(0), Ok(0)));
    assert_eq!(l4.sm_ppm, not_exported());
    assert_eq!((l4.power_mw, l4.energy_mj, l4.temperature_c), (Ok(16_365), Ok(4_742_776), Ok(31)));
    assert_eq!((l4.mem_used_bytes, l4.mem_reserved_bytes), (Ok(0), Ok(470 << 20)));
}

#[test]
fn every_line_of_the_recorded_pages_is_a_sample_or_a_comment() {
    for name in ["t4_busy.prom", "l4_idle_full.prom"] {
        let Some(page) = recorded(name) else { return };
        let (samples, bad) = text::samples(&page);
        assert_eq!(bad, []);
        let comments = page.lines().filter(|l| l.starts_with('#')).count();
        assert_eq!(samples.len() + comments, page.lines().count());
        for (sample, line) in samples.iter().zip(page.lines().filter(|l| !l.starts_with('#'))) {
            // Written back, each sample is its line.
            let labels: Vec<String> = sample.labels.iter().map(|(k, v)| format!("{k}=\"{v}\"")).collect();
            assert_eq!(format!("{}{{{}}} {}", sample.name, labels.join(","), sample.value), line);
        }
    }
}

#[test]
fn a_page_cut_anywhere_gives_only_what_stands_there() {
    let Some(page) = recorded("t4_busy.prom") else { return };
    for end in (0..page.len()).step_by(7) {
        let scrape = parse(&page[..end], None);
        let lines = page[..end].lines().count();
        let bad = scrape.rejects.get(&(None, Reject::BadLine)).copied().unwrap_or(0);
        assert_eq!(scrape.samples as u64 + bad, lines as u64, "{end}");
        assert!(bad <= 1);
    }
}

#[test]
fn c01_impossible_values_are_absent_and_counted() {
    for (value, why) in [
        ("26.19", Reject::OutOfRange),
        ("371.00", Reject::OutOfRange),
        ("-0.1", Reject::OutOfRange),
        ("9223372036854775792", Reject::Blank),
        ("140737488355328.0", Reject::Blank),
        ("9223372036854775793", Reject::NotSupported),
        ("9223372036854775794", Reject::NotSupported),
        ("9223372036854775795", Reject::NotPermitted),
        ("140737488355330.0", Reject::NotSupported),
        ("NaN", Reject::NotANumber),
        ("+Inf", Reject::NotANumber),
        ("N/A", Reject::NotANumber),
    ] {
        let (read, rejects) = sm(value);
        let absent = match why {
            Reject::NotSupported => Absent::NotSupported,
            Reject::NotPermitted => Absent::NotPermitted,
            _ => Absent::Rejected,
        };
        assert_eq!(read, Err(absent), "{value}");
        assert_eq!(rejects, BTreeMap::from([((Some(Field::Sm), why), 1)]), "{value}");
    }
    let page = "DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-a\"} 2619\nDCGM_FI_DEV_FB_USED{UUID=\"GPU-a\"} 17592186044134\n\
                DCGM_FI_DEV_MEM_COPY_UTIL{UUID=\"GPU-a\"} 37100\n";
    let device = one(page);
    assert_eq!((device.gpu_util_ppm, device.mem_util_ppm), (Err(Absent::Rejected), Err(Absent::Rejected)));
    assert_eq!(device.mem_used_bytes, Err(Absent::Rejected));
}

#[test]
fn a_ratio_a_hair_above_one_is_one() {
    assert_eq!(sm("1.004").0, Ok(1_000_000));
    assert_eq!(sm("1.006").0, Err(Absent::Rejected));
}

#[test]
fn old_and_new_names_are_the_same_fields() {
    let old = "DCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} 0.5\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE{UUID=\"GPU-a\"} 0.25\n\
               DCGM_FI_PROF_DRAM_ACTIVE{UUID=\"GPU-a\"} 0.125\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID=\"GPU-a\"} 0.75\n";
    let new = "DCGM_FI_PROF_SM_UTIL_RATIO{uuid=\"GPU-a\"} 0.5\nDCGM_FI_PROF_TENSOR_UTIL_RATIO{uuid=\"GPU-a\"} 0.25\n\
               DCGM_FI_PROF_DRAM_UTIL_RATIO{uuid=\"GPU-a\"} 0.125\nDCGM_FI_PROF_GR_ENGINE_UTIL_RATIO{uuid=\"GPU-a\"} 0.75\n";
    assert_eq!(one(old), one(new));
    let both = parse(&format!("{old}{new}"), None);
    assert_eq!((both.devices, both.repeated, both.rejects.len()), (vec![one(old)], 4, 0));
    assert_eq!(one(old).sm_ppm, Ok(500_000));
}

#[test]
fn the_unit_of_field_203_is_what_the_exporter_shows() {
    let page = |a: &str, b: &str| {
        format!("DCGM_FI_DEV_GPU_UTIL_RATIO{{UUID=\"GPU-a\"}} {a}\nDCGM_FI_DEV_GPU_UTIL_RATIO{{UUID=\"GPU-b\"}} {b}\n")
    };
    let read = |page: &str, scale| {
        let scrape = parse(page, scale);
        (scrape.devices.iter().map(|d| d.gpu_util_ppm.clone()).collect::<Vec<_>>(), scrape.scale)
    };
    // 1 beside 42 is one percent; 1 beside 0.42 is a whole.
    assert_eq!(read(&page("1", "42"), None), (vec![Ok(10_000), Ok(420_000)], Some(Scale::Percent)));
    assert_eq!(read(&page("1", "0.42"), None), (vec![Ok(1_000_000), Ok(420_000)], Some(Scale::Ratio)));
    // Alone it is neither; zero is zero in both.
    assert_eq!(read(&page("1", "0"), None), (vec![Err(Absent::Rejected), Ok(0)], None));
    // What an earlier page showed holds.
    assert_eq!(read(&page("1", "0"), Some(Scale::Percent)).0, [Ok(10_000), Ok(0)]);
    // Under the old name it is percent.
    assert_eq!(one("DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-a\"} 1\n").gpu_util_ppm, Ok(10_000));
}

#[test]
fn c15_pods_that_share_a_card_see_one_value_never_a_sum() {
    let mut page = String::new();
    for pod in ["a", "b", "c"] {
        page += &format!("DCGM_FI_PROF_SM_ACTIVE{{gpu=\"0\",UUID=\"GPU-a\",pod=\"{pod}\"}} 0.714\n");
        page += &format!("DCGM_FI_DEV_POWER_USAGE{{gpu=\"0\",UUID=\"GPU-a\",pod=\"{pod}\"}} 60\n");
    }
    let scrape = parse(&page, None);
    assert_eq!((scrape.devices.len(), scrape.repeated), (1, 4));
    assert_eq!((scrape.devices[0].sm_ppm.clone(), scrape.devices[0].power_mw.clone()), (Ok(714_000), Ok(60_000)));
}

#[test]
fn series_of_one_card_that_disagree_are_no_value() {
    let page =
        "DCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\",pod=\"x\"} 0.2\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\",pod=\"y\"} 0.3\n";
    assert_eq!(one(page).sm_ppm, Err(Absent::Rejected));
    assert_eq!(parse(page, None).rejects, BTreeMap::from([((Some(Field::Sm), Reject::Contradictory), 1)]));
}

/// Two instances of one card, each with its own SM activity and the card's power and memory.
fn mig(first: &str, second: &str) -> String {
    let mut page = String::new();
    for (id, profile, sm) in [("1", "3g.40gb", first), ("9", "1g.10gb", second)] {
        let labels = format!("gpu=\"0\",UUID=\"GPU-a\",GPU_I_PROFILE=\"{profile}\",GPU_I_ID=\"{id}\"");
        page += &format!("DCGM_FI_PROF_SM_ACTIVE{{{labels}}} {sm}\nDCGM_FI_DEV_POWER_USAGE{{{labels}}} 300.5\n");
        page += &format!("DCGM_FI_DEV_FB_USED{{{labels}}} 4096\n");
    }
    page
}

#[test]
fn instances_have_their_own_activity_and_the_card_its_power_once() {
    let scrape = parse(&mig("0.9", "0.1"), None);
    let names: Vec<_> = scrape.devices.iter().map(|d| (d.gpu_instance, d.mig_profile.as_deref())).collect();
    assert_eq!(names, [(None, None), (Some(1), Some("3g.40gb")), (Some(9), Some("1g.10gb"))]);
    let [card, first, second] = &scrape.devices[..] else { panic!("three devices") };
    assert_eq!((&card.power_mw, &card.sm_ppm), (&Ok(300_500), &not_exported()));
    assert_eq!((&first.sm_ppm, &first.power_mw), (&Ok(900_000), &Err(Absent::Mig)));
    assert_eq!((&second.sm_ppm, &second.mem_used_bytes), (&Ok(100_000), &Err(Absent::Mig)));
    assert_eq!(card.mem_used_bytes, not_exported());
}

#[test]
fn a_value_of_the_card_under_every_instance_is_no_instances() {
    let scrape = parse(&mig("0.437211", "0.437211"), None);
    assert!(scrape.devices.iter().all(|d| d.sm_ppm.is_err()), "{:?}", scrape.devices);
    assert_eq!(scrape.rejects[&(Some(Field::Sm), Reject::Contradictory)], 2);
    // Nothing to doubt where all rest, or all are full.
    for (value, ppm) in [("0.000000", 0), ("1.000000", 1_000_000)] {
        let scrape = parse(&mig(value, value), None);
        assert_eq!(scrape.devices[1].sm_ppm, Ok(ppm));
        assert_eq!(scrape.devices[2].sm_ppm, Ok(ppm));
    }
}

#[test]
fn lines_that_are_no_samples_are_counted_and_the_rest_is_read() {
    let page = "\n# HELP x y\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} 0.5 1700000000000\nDCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-b} 0.5\n\
                DCGM_FI_PROF_SM_ACTIVE{gpu=\"2\"} 0.5\nDCGM_FI_PROF_DRAM_ACTIVE{UUID=\"GPU-a\"}\n\
                odd{label=\"a\\\"b\\\\,}\\n\"} 1\n17 5\nDCGM_FI_PROF_DRAM_ACTIVE{UUID=\"GPU-c\"} 0.1 x\n";
    let scrape = parse(page, None);
    assert_eq!(scrape.devices.iter().map(|d| d.uuid.as_str()).collect::<Vec<_>>(), ["GPU-a"]);
    assert_eq!((scrape.samples, scrape.ignored), (3, 1));
    let rejects = BTreeMap::from([((None, Reject::BadLine), 4), ((Some(Field::Sm), Reject::NoDevice), 1)]);
    assert_eq!(scrape.rejects, rejects);
    let (samples, _) = text::samples("odd{label=\"a\\\"b\\\\,}\\n\"} 1\n");
    assert_eq!(samples[0].labels, [("label".to_owned(), "a\"b\\,}\n".to_owned())]);
}

fn page(sm: &str, energy: &str) -> String {
    format!(
        "DCGM_FI_PROF_SM_ACTIVE{{UUID=\"GPU-a\"}} {sm}\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{UUID=\"GPU-a\"}} {energy}\n"
    )
}

#[test]
fn a_tick_is_the_mean_of_its_pages_and_the_newest_counter() {
    let mut minute = Minute::default();
    minute.take(&page("0.2", "1000"), 0);
    minute.take(&page("0.5", "2000"), 30_000);
    let (ticks, rejects) = minute.tick(60_000);
    assert_eq!((ticks.len(), ticks[0].pages, ticks[0].unmoved_ms), (1, 2, Some(30_000)));
    assert_eq!((&ticks[0].device.sm_ppm, &ticks[0].device.energy_mj), (&Ok(350_000), &Ok(2_000)));
    assert!(rejects.is_empty());
    assert_eq!(minute.tick(120_000).0, []);
}

#[test]
fn a_rejected_page_is_left_out_of_the_mean() {
    let mut minute = Minute::default();
    minute.take(&page("NaN", "1000"), 0);
    minute.take(&page("0.5", "2000"), 30_000);
    let (ticks, rejects) = minute.tick(60_000);
    assert_eq!(ticks[0].device.sm_ppm, Ok(500_000));
    assert_eq!(rejects, BTreeMap::from([(Reject::NotANumber, 1)]));
}

#[test]
fn a_frozen_page_is_no_measurement() {
    let mut minute = Minute::default();
    minute.take(&page("0.2", "1000"), 0);
    minute.take(&page("0.2", "1000"), FROZEN_MS);
    let (ticks, _) = minute.tick(FROZEN_MS);
    assert_eq!(ticks[0].unmoved_ms, Some(FROZEN_MS));
    assert_eq!(ticks[0].device.sm_ppm, Err(Absent::Failed("dcgm-exporter is frozen".to_owned())));
    // It moves again, and is believed again.
    minute.take(&page("0.2", "1001"), FROZEN_MS + 30_000);
    assert_eq!(minute.tick(FROZEN_MS + 30_000).0[0].device.sm_ppm, Ok(200_000));
}

#[test]
fn where_nothing_moves_the_age_is_unknown() {
    let mut minute = Minute::default();
    let still = "DCGM_FI_PROF_SM_ACTIVE{UUID=\"GPU-a\"} 0\n";
    minute.take(still, 0);
    minute.take(still, 10 * FROZEN_MS);
    let (ticks, _) = minute.tick(10 * FROZEN_MS);
    assert_eq!((ticks[0].unmoved_ms, &ticks[0].device.sm_ppm), (None, &Ok(0)));
}

/// Serves `body` after `delay` on loopback, and gives the address.
async fn serve(body: String, delay: Duration) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = move || async move {
        tokio::time::sleep(delay).await;
        body
    };
    let app = axum::Router::new().route("/metrics", axum::routing::get(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/metrics")
}

#[tokio::test]
async fn a_page_is_fetched_whole_or_not_at_all() {
    let second = Duration::from_secs(1);
    let url = serve(page("0.2", "1"), Duration::ZERO).await;
    assert_eq!(Scraper::new(&url, 30 * second, 1 << 20).unwrap().page().await.unwrap(), page("0.2", "1"));
    let short = Scraper::new(&url, 30 * second, 10).unwrap().page().await.unwrap_err();
    assert!(matches!(short, ScrapeError::TooLong { bytes_max: 10 }), "{short:?}");
    let elsewhere = Scraper::new(&url.replace("metrics", "x"), 30 * second, 10).unwrap().page().await.unwrap_err();
    assert!(matches!(elsewhere, ScrapeError::Status { status: 404 }), "{elsewhere:?}");
    let slow = serve(String::new(), 600 * second).await;
    let late = Scraper::new(&slow, Duration::from_millis(20), 10).unwrap().page().await.unwrap_err();
    assert_eq!(late.to_string(), "dcgm-exporter did not answer within 20 ms");
}

#[tokio::test]
async fn what_is_no_address_or_does_not_answer_says_so() {
    for url in ["localhost:9400", "https://127.0.0.1:9400/metrics", "unix:/x"] {
        let error = Scraper::new(url, Duration::from_secs(1), 10).unwrap_err();
        assert!(
            error.to_string().contains(url) && error.to_string().contains("http://127.0.0.1:9400/metrics"),
            "{error}"
        );
    }
    // A port that was free a moment ago: nobody listens there.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = Scraper::new(&format!("http://{free}/metrics"), Duration::from_secs(30), 10).unwrap().page().await;
    assert!(matches!(error, Err(ScrapeError::NoAnswer { .. })), "{error:?}");
}
