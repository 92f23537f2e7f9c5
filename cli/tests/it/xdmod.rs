//! XDMoD's accounting of two clusters: every figure its authors publish, to four decimals.

use crate::site::{Site, shared, text_of};
use crate::table::{Table, decimal};

/// Columns of the logs, which have no header.
const FIELDS: &str = "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,\
elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname";
/// The two clusters whose logs are there.
const CLUSTERS: [&str; 2] = ["phillips", "pozidriv"];
/// Published table, and our column for it.
const BY_TIME: [(&str, &str); 6] = [
    ("job_count", "jobs_ended"),
    ("total_cpu_hours", "cpu_hours"),
    ("total_gpu_hours", "gpu_hours"),
    ("total_node_hours", "node_hours"),
    ("total_waitduration_hours", "wait_from_submit_hours"),
    ("total_wallduration_hours", "wall_hours"),
];
/// Published table, our dimension, and the one name with GPU hours as published and as the log writes it.
const BY_NAME: [(&str, &str, &str, &str); 5] = [
    ("by-person", "user", "Oriole, Baltimore", "noror"),
    ("by-pi", "account", "Chaffinch", "chaff"),
    ("by-qos", "qos", "chestnut", "chestnut"),
    ("by-queue", "queue", "focaccia", "focaccia"),
    ("by-gpucount", "gpus", "2", "2"),
];

/// The CSV between the dashes of an XDMoD export.
fn published(folder: &str, name: &str) -> Table {
    let text = text_of(&format!("{folder}/expected/{name}.csv"));
    Table::read(text.split("---------\n").nth(1).unwrap())
}

fn accounting(site: &Site, by: &str, step: &[&str]) -> Table {
    let window = ["report", "accounting", "--from", "2016-12-22", "--to", "2017-01-02", "--zone", "UTC", "--by", by];
    site.table(&[&window[..], step].concat())
}

#[test]
fn xdmod_every_published_figure() {
    let Some(folder) = shared("xdmod_every_published_figure", "data/xdmod-sacct") else { return };
    let site = Site::new();
    for cluster in CLUSTERS {
        let log = format!("{folder}/{cluster}.log.gz");
        site.ok(&["import", "sacct", "--cluster", cluster, "--zone", "UTC", "--fields", FIELDS, &log]);
    }
    for (step, key) in [("day", "Day"), ("month", "Month")] {
        by_time(&site, &folder, step, key);
    }
    by_name(&site, &folder);
    bill_agrees_with_accounting(&site);
}

/// Days on which nothing happened have no row here, and zero there.
fn by_time(site: &Site, folder: &str, step: &str, key: &str) {
    let ours = accounting(site, "cluster", &["--step", step]);
    let mut compared = 0;
    for (name, column) in BY_TIME {
        let theirs = published(folder, &format!("{name}.by-resource.{step}"));
        for cluster in CLUSTERS {
            let head = theirs.header.iter().position(|h| h.starts_with(&format!("[{cluster}]"))).unwrap();
            for row in &theirs.rows {
                let found = ours.find(&[(step, &row[theirs.at(key)]), ("cluster", cluster)], column).unwrap_or("0");
                assert_eq!(decimal(found), decimal(&row[head]), "{name} of {cluster} in {row:?}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 6 * 2 * if step == "day" { 11 } else { 2 });
}

/// One name has GPU hours, every other has none; queues and QoS are written alike on both sides.
fn by_name(site: &Site, folder: &str) {
    for (file, dimension, name, code) in BY_NAME {
        let theirs = published(folder, &format!("total_gpu_hours.{file}"));
        let gpu_hours = |r: &&Vec<String>| decimal(&r[1]) != 0;
        let with: Vec<_> = theirs.rows.iter().filter(gpu_hours).map(|r| (r[0].as_str(), r[1].as_str())).collect();
        assert_eq!(with, [(name, "506.9128")], "{file}");

        let ours = accounting(site, dimension, &[]);
        let key = ours.at(dimension);
        let with: Vec<_> = ours.rows.iter().filter(|r| decimal(&r[ours.at("gpu_hours")]) != 0).collect();
        assert_eq!(with.len(), 1, "{dimension}");
        assert_eq!((with[0][key].as_str(), with[0][ours.at("gpu_hours")].as_str()), (code, "506.9128"));
        if matches!(dimension, "queue" | "qos") {
            for row in &ours.rows {
                assert!(theirs.find(&[(&theirs.header[0], &row[key])], "GPU Hours: Total").is_some(), "{row:?}");
            }
        }
    }
}

/// What the scheduler says passed is what the ledger holds, day by day.
fn bill_agrees_with_accounting(site: &Site) {
    site.reference("rates", "price,currency\n10,USD\n");
    let window = ["--from", "2016-12-22", "--to", "2017-01-02", "--zone", "UTC", "--step", "day"];
    let charge = site.table(&[&["report", "charge"][..], &window, &["--by", "account"]].concat());
    let hours: Vec<_> = charge.column("held_hours");
    assert_eq!(hours, [&["33.4928"][..], &["48.0000"; 9], &["41.4200"]].concat());
    assert!(charge.column("account").iter().all(|a| *a == "chaff"));
    assert_eq!(charge.sum("charge"), decimal("5069.13"), "506.91277... hours at 10.00");
}
