//! Real accounting: two clusters of the XDMoD project with published totals, and recorded Slurm outputs.

use std::path::PathBuf;

use gpuledger_schema::unit::CARD_UNITS;

use super::*;
use crate::input;

/// The columns of the XDMoD logs, which have no header.
const XDMOD: &str = "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,\
elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname";

/// An input of the shared folder, or nothing (and a word) where it is not there.
fn shared(path: &str) -> Option<Input> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let path = std::env::var_os("GPULEDGER_SHARED").map_or_else(beside, PathBuf::from).join(path);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(input::read(&path.to_string_lossy(), &mut std::io::empty()).unwrap())
}

fn options(cluster: &str, zone: Tz, fields: Option<&str>) -> SacctOptions {
    let fields = fields.map(|f| f.split(',').map(str::to_owned).collect());
    SacctOptions { cluster: cluster.to_owned(), zone: Some(zone), fields, as_of_ms: None }
}

/// Records, never-ran requests, zero-length runs, GPU ms, CPU ms, node ms, wall ms.
fn sums(cluster: &str) -> Option<(u64, usize, usize, i64, i64, i64, i64)> {
    let input = shared(&format!("data/xdmod-sacct/{cluster}.log.gz"))?;
    let out = import(&[input], &options(cluster, Tz::UTC, Some(XDMOD))).unwrap();
    assert_eq!(out.quarantine, []);
    assert_eq!((out.skipped, out.readings.len(), out.jobs.len() as u64), (0, 1, out.records));
    assert!(out.allocations.iter().all(|a| a.terminal && a.nodes.is_some()));
    let wall = |a: &gpuledger_schema::table::AllocationRow| a.end_ms.unwrap() - a.start_ms;
    let sum = |weight: fn(&gpuledger_schema::table::AllocationRow) -> i64| {
        out.allocations.iter().map(|a| weight(a) * wall(a)).sum::<i64>()
    };
    let held: i64 = out.allocation_devices.iter().map(|d| d.share_units).sum();
    assert_eq!(held, out.allocations.iter().map(|a| a.gpu_units).sum::<i64>());
    Some((
        out.records,
        out.jobs.len() - out.allocations.len(),
        out.allocations.iter().filter(|a| wall(a) == 0).count(),
        sum(|a| a.gpu_units / CARD_UNITS),
        sum(|a| a.cpus.unwrap()),
        sum(|a| a.node_count.unwrap()),
        sum(|_| 1),
    ))
}

/// Ten-thousandths of an hour, as published (each month is rounded for itself, so sums of two may differ by one).
fn hours(ms: i64) -> i64 {
    (ms + 180) / 360
}

#[test]
fn phillips_gives_the_published_totals() {
    let Some((records, waited, zero, gpu, cpu, node, wall)) = sums("phillips") else { return };
    assert_eq!((records, waited, zero), (4_285, 239, 22));
    assert_eq!((gpu, hours(gpu)), (1_824_886_000, 4_654_928 + 414_200));
    assert!((hours(cpu) - 99_947_011 - 17_732_872).abs() <= 1, "{}", hours(cpu));
    assert!((hours(node) - 11_329_644 - 2_119_042).abs() <= 1, "{}", hours(node));
    assert!((hours(wall) - 3_737_078 - 651_125).abs() <= 1, "{}", hours(wall));
}

#[test]
fn pozidriv_gives_the_published_totals() {
    let Some((records, waited, zero, gpu, cpu, node, wall)) = sums("pozidriv") else { return };
    assert_eq!((records, waited, zero, gpu), (11_704, 419, 612, 0));
    assert!((hours(cpu) - 662_583_922 - 57_258_841).abs() <= 1, "{}", hours(cpu));
    assert!((hours(node) - 62_218_125 - 7_010_669).abs() <= 1, "{}", hours(node));
    assert!((hours(wall) - 60_169_192 - 7_010_669).abs() <= 1, "{}", hours(wall));
}

#[test]
fn the_long_gpu_job_has_its_two_gpus_on_its_node() {
    let Some(input) = shared("data/xdmod-sacct/phillips.log.gz") else { return };
    let out = import(&[input], &options("phillips", Tz::UTC, Some(XDMOD))).unwrap();
    let run = out.allocations.iter().find(|a| a.job_raw == "163485").unwrap();
    let job = out.jobs.iter().find(|j| j.job_id == run.job_id).unwrap();
    assert_eq!((run.gpu_count, run.gpu_units, run.gpu_exact), (2, 2 * CARD_UNITS, true));
    assert_eq!((job.account.as_deref(), job.user.as_deref()), (Some("chaff"), Some("noror")));
    assert_eq!((job.queue.as_deref(), job.qos.as_deref()), (Some("focaccia"), Some("chestnut")));
    let held: Vec<_> = out.allocation_devices.iter().filter(|d| d.allocation_id == run.allocation_id).collect();
    assert_eq!((held.len(), held[0].node.as_deref()), (1, Some("cpn-f11-31")));
}

#[test]
fn recorded_text_with_line_breaks() {
    let Some(input) = shared("samples/slurm/sacct_multiline_fields.txt") else { return };
    let out = import(&[input], &options("alpha", Tz::America__New_York, None)).unwrap();
    assert_eq!(out.quarantine, []);
    assert_eq!((out.records, out.skipped), (6, 2));
    let shown: Vec<_> = out.allocations.iter().map(|a| (a.job_raw.as_str(), a.state.as_str(), a.gpu_count)).collect();
    assert_eq!(shown, [("201729", "FAILED", 1_024), ("201844", "REQUEUED", 256)], "the same record thrice is one");
    assert_eq!(out.allocation_devices.len(), 128 + 32);
    assert!(out.allocation_devices.iter().all(|d| d.share_units == 8 * CARD_UNITS));
    assert_eq!(out.readings[0].rows, 4);
}

#[test]
fn recorded_json() {
    let Some(old) = shared("samples/slurm/sacct_json.slurm_22_5_9.json") else { return };
    let Some(new) = shared("samples/slurm/sacct_json.slurm_23_2_6.json") else { return };
    let options = SacctOptions { cluster: "alpha".to_owned(), zone: None, fields: None, as_of_ms: None };
    let out = import(&[old, new], &options).unwrap();
    assert_eq!(out.quarantine, []);
    let shown: Vec<_> =
        out.allocations.iter().map(|a| (a.job_raw.as_str(), a.terminal, a.gpu_count, a.node_count)).collect();
    assert_eq!(shown, [("20247445", true, 16, Some(4)), ("4", false, 2, Some(1))]);
    assert_eq!((out.jobs[0].array_job.as_deref(), out.jobs[0].array_task), (Some("20247445"), Some(100)));
    assert_eq!(out.allocation_devices.len(), 4 + 1);
    let as_of: Vec<_> = out.readings.iter().map(|r| r.read_at_ms).collect();
    assert_eq!(as_of, [1_693_865_044_000, 1_613_725_209_000], "each file speaks for its own time");
}
