//! Recorded output of Slurm, through the command: read to what a person sees in it, or refused by name.

use crate::site::{Site, shared};

#[test]
fn recorded_accounting_is_read() {
    let Some(folder) = shared("recorded_accounting_is_read", "samples/slurm") else { return };
    let site = Site::new();
    let sample = |name: &str| format!("{folder}/{name}");
    let zone = "America/New_York";
    site.ok(&["import", "sacct", "--cluster", "multi", "--zone", zone, &sample("sacct_multiline_fields.txt")]);
    for version in ["22_5_9", "23_2_6"] {
        let file = sample(&format!("sacct_json.slurm_{version}.json"));
        site.ok(&["import", "sacct", "--cluster", &format!("json-{version}"), &file]);
    }
    let runs = site.sql("SELECT cluster, job_raw, state, gpu_count FROM allocation ORDER BY cluster, job_raw");
    let shown: Vec<String> = runs.rows.iter().map(|r| r.join(" ")).collect();
    assert_eq!(
        shown,
        [
            "json-22_5_9 20247445 FAILED 16",
            "json-23_2_6 4 RUNNING 2",
            "multi 201729 FAILED 1024",
            "multi 201844 REQUEUED 256"
        ]
    );
    assert!(!site.ok(&["check"]).contains("VIOLATED"));
}

/// What is not accounting is refused with its name and what to do, and nothing of it goes in.
#[test]
fn recorded_output_of_other_commands_is_refused() {
    let Some(folder) = shared("recorded_output_of_other_commands_is_refused", "samples/slurm") else { return };
    let site = Site::new();
    for name in [
        "gres_idx_lines.txt",
        "scontrol_show_job_d.main_array_job.txt",
        "scontrol_show_job_d.multi_node.txt",
        "scontrol_show_job_d.some_gpus.txt",
        "scontrol_show_job_o.pending_reqtres.txt",
        "scontrol_show_partition_o.billing_weights.txt",
        "squeue_custom_format_gpu.txt",
    ] {
        let file = format!("{folder}/{name}");
        let done = site.run(&["import", "sacct", "--cluster", "alpha", "--zone", "UTC", &file]);
        done.fails(1, &[name, "line 1 is no header"]);
        assert_eq!(done.out, "");
    }
    assert!(!site.data().join("tables").exists());
}
