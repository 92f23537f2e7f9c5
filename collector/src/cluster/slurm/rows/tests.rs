//! Rows of recorded and invented records.

use gpuledger_scheduler::slurm::scontrol::job::read;
use gpuledger_schema::unit::CARD_UNITS;

use super::*;

const HEAD: &str = "JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=train x\n   UserId=ann(1000) Account=phys QOS=normal\n   Priority=9 JobState=RUNNING Reason=None\n   TimeLimit=01:00:00 Reservation=r1\n   SubmitTime=1795998400 EligibleTime=1795998401 StartTime=1795998460 EndTime=1796002060\n   Partition=gpu NodeList=n[1-2] NumNodes=2 NumCPUs=8\n";

fn config(text: &str) -> SlurmConfig {
    toml::from_str(text).unwrap()
}

/// Request, run and holdings of a running job with these lines.
fn rows(lines: &str, config: &SlurmConfig) -> (JobRow, AllocationRow, Vec<AllocationDeviceRow>) {
    let job = read(&format!("{HEAD}{lines}"), Some(chrono_tz::UTC));
    assert_eq!(job.problems, []);
    let job = &job.facts[0];
    let request = super::job("c", job, job.submit_ms.unwrap());
    let run = allocation(job, &request).unwrap();
    let held = holdings(job, &run, config);
    (request, run, held)
}

fn shown(held: &[AllocationDeviceRow]) -> Vec<(&str, Option<i64>, Option<&str>, i64, &str)> {
    let node = |h: &AllocationDeviceRow| h.node.as_deref().map_or("", |n| if n == "n1" { "n1" } else { "n2" });
    held.iter().map(|h| (node(h), h.gres_index, h.index_rule.as_deref(), h.share_units, h.evidence.as_str())).collect()
}

#[test]
fn each_index_is_a_card_of_its_node() {
    let lines = "   ReqTRES=cpu=8,mem=4G,node=2,gres/gpu=3 AllocTRES=cpu=8,mem=4G,node=2,gres/gpu=3,gres/gpu:h100=3\n     Nodes=n1 CPU_IDs=0-3 Mem=0 GRES=gpu:h100:2(IDX:0,3)\n     Nodes=n2 CPU_IDs=0-3 Mem=0 GRES=gpu:h100:1(IDX:1)\n";
    let (request, run, held) = rows(lines, &SlurmConfig::default());
    assert_eq!((request.state.as_str(), request.array_job.as_deref()), ("RUNNING", Some("5")));
    assert_eq!((request.array_task, request.tasks, request.req_gpu_units), (Some(2), 1, Some(3 * CARD_UNITS)));
    assert_eq!((request.user.as_deref(), request.qos.as_deref()), (Some("ann"), Some("normal")));
    assert_eq!((request.reservation.as_deref(), request.pending_reason.clone()), (Some("r1"), None));
    assert_eq!((run.gpu_units, run.gpu_count, run.gpu_exact), (3 * CARD_UNITS, 3, true));
    assert_eq!((run.model.as_deref(), run.end_ms, run.terminal), (Some("h100"), None, false));
    assert_eq!(run.hint_id, hint_of_job("c", "7"));
    assert_eq!(
        shown(&held),
        [
            ("n1", Some(0), Some("nvml"), CARD_UNITS, "gres"),
            ("n1", Some(3), Some("nvml"), CARD_UNITS, "gres"),
            ("n2", Some(1), Some("nvml"), CARD_UNITS, "gres"),
        ]
    );
    let minor = rows(lines, &config("gres_index = \"minor\"")).2;
    assert_eq!(minor[1].index_rule.as_deref(), Some("minor"));
    assert_eq!(minor[1].holding_id, held[1].holding_id);
    let named = config("gres_index = \"explicit\"\n[gres_uuids]\nn1 = [\"GPU-a\", \"GPU-b\", \"GPU-c\", \"GPU-d\"]\n");
    let (_, _, held) = rows(lines, &named);
    assert_eq!(held[1].device_id, Some(device_id("GPU-d")));
    assert_eq!((held[1].evidence.as_str(), held[1].index_rule.clone()), ("gres", None));
    assert_eq!((held[2].device_id, held[2].evidence.as_str()), (None, "count"), "nobody says what n2 has");
}

#[test]
fn what_slurm_does_not_list_is_held_by_count() {
    let tres = "   AllocTRES=cpu=8,node=2,gres/gpu=4\n";
    for (lines, expected) in [
        // no files: a count; index unknown; fewer indices than GPUs
        ("     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:2(CNT:2)\n", 2),
        ("     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:N/A)\n", 2),
        ("     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0)\n", 2),
        // no GRES at all: evenly over the nodes
        ("     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=\n", 2),
        ("", 2),
    ] {
        let (_, run, held) = rows(&format!("{tres}{lines}"), &SlurmConfig::default());
        assert_eq!(held.len(), expected, "{lines}");
        assert!(held.iter().all(|h| h.share_units == 2 * CARD_UNITS && h.evidence == "count"), "{lines}");
        assert_eq!(held.iter().map(|h| h.share_units).sum::<i64>(), run.gpu_units, "{lines}");
        assert!(held.iter().all(|h| h.gres_index.is_none() && h.index_rule.is_none()), "{lines}");
    }
    let (_, _, held) = rows("   AllocTRES=cpu=8,node=2,gres/gpu=3\n", &SlurmConfig::default());
    assert_eq!((held.len(), held[0].node.clone()), (1, None), "3 GPUs on 2 nodes: somewhere");
}

#[test]
fn mig_types_are_slices_and_shards_parts_of_a_card() {
    let mig = "   AllocTRES=cpu=8,node=2,gres/gpu=4,gres/gpu:1g.10gb=4\n     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:1g.10gb:2(IDX:2-3)\n";
    let (_, run, held) = rows(mig, &SlurmConfig::default());
    assert_eq!((run.gpu_units, run.gpu_count, run.gpu_exact), (CARD_UNITS * 4 / 7, 4, true));
    assert_eq!(shown(&held)[0], ("n1", None, None, CARD_UNITS * 2 / 7, "count"));
    assert_eq!(held[0].model.as_deref(), Some("1g.10gb"));

    let shard = "   AllocTRES=cpu=8,node=2,gres/shard=6\n     Nodes=n1 CPU_IDs=0 Mem=0 GRES=shard:6(2/8,-/8,4/8)\n";
    let (_, run, held) = rows(shard, &SlurmConfig::default());
    assert_eq!((run.gpu_units, run.gpu_count, run.gpu_exact), (CARD_UNITS * 6 / 8, 2, true));
    let rule = Some("nvml");
    assert_eq!(
        shown(&held),
        [("n1", Some(0), rule, CARD_UNITS / 4, "gres"), ("n1", Some(2), rule, CARD_UNITS / 2, "gres")]
    );
    let (request, run, held) =
        rows("   ReqTRES=cpu=1,gres/shard=6 AllocTRES=cpu=8,gres/shard=6\n", &SlurmConfig::default());
    assert_eq!((request.req_gpu_units, run.gpu_units, run.gpu_exact), (None, 0, false), "nobody says how large");
    assert_eq!(held, []);
}

#[test]
fn versions_before_23_02_say_one_tres_for_both() {
    let lines =
        "   TRES=cpu=8,node=2,billing=8,gres/gpu=4\n     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:h100:2(IDX:0-1)\n";
    let (request, run, held) = rows(lines, &SlurmConfig::default());
    assert_eq!((request.req_gpu_units, run.gpu_units, held.len()), (None, 4 * CARD_UNITS, 4));
    let asked = "   TRES=cpu=8,node=2,billing=8,gres/gpu=4\n   TresPerNode=gres:gpu:2\n";
    assert_eq!(rows(asked, &SlurmConfig::default()).0.req_gpu_units, Some(4 * CARD_UNITS));
    let none = read(HEAD, Some(chrono_tz::UTC));
    assert_eq!((none.facts.len(), none.problems[0].field.as_deref()), (0, Some("AllocTRES")));
}

#[test]
fn a_job_that_waits_has_no_run_and_one_that_is_over_has_its_end() {
    let pending = "JobId=5 ArrayJobId=5 ArrayTaskId=3-9:2%2 JobName=x\n   UserId=(null)(1234) JobState=PENDING Reason=QOSMaxGRESPerUser\n   SubmitTime=1795998400 EligibleTime=Unknown StartTime=1795999999 EndTime=Unknown\n   NodeList= NumNodes=1-1 ReqTRES=cpu=1,gres/gpu=2 AllocTRES=(null)\n";
    let job = &read(pending, Some(chrono_tz::UTC)).facts[0];
    let request = super::job("c", job, job.submit_ms.unwrap());
    assert_eq!((request.tasks, request.array_task, request.state.as_str()), (4, None, "PENDING"));
    assert_eq!((request.pending_reason.as_deref(), request.eligible_ms), (Some("QOSMaxGRESPerUser"), None));
    assert_eq!((request.user.as_deref(), request.req_gpu_units), (Some("uid:1234"), Some(2 * CARD_UNITS)));
    assert_eq!(allocation(job, &request), None);

    let over = format!("{HEAD}   AllocTRES=cpu=8,node=2,gres/gpu=2\n     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=\n");
    let over = over.replace("RUNNING", "TIMEOUT").replace("Reason=None", "Reason=TimeLimit ExitCode=0:15");
    let job = &read(&over, Some(chrono_tz::UTC)).facts[0];
    let run = allocation(job, &super::job("c", job, 1)).unwrap();
    assert_eq!((run.terminal, run.end_ms, run.state.as_str()), (true, Some(1_796_002_060_000), "TIMEOUT"));
    assert_eq!((run.exit_code.as_deref(), run.end_reason.as_deref()), (Some("0:15"), Some("TimeLimit")));

    // cancelled while it waited: it has a start, and no nodes
    let cancelled =
        pending.replace("PENDING", "CANCELLED").replace("1-1", "1").replace("EndTime=Unknown", "EndTime=1795999999");
    let job = &read(&cancelled, Some(chrono_tz::UTC)).facts[0];
    assert_eq!(allocation(job, &super::job("c", job, 1)), None);
}
