//! Kubernetes: who is meant is asked again, and only that one is touched (C56).

use std::sync::Arc;

use gpuledger_reclaim::actuator::kubernetes::Kubernetes;
use gpuledger_reclaim::port::{ActError, Actuator, Clock, Said};
use gpuledger_schema::reclaim::{ActKind, Allocation, Identity, Judgement, Owner, Verdict, Work, Workload};
use serde_json::json;

use super::kube_server::{Api, Fault};

const POD: &str = "/api/v1/namespaces/nlp/pods/db-0";
const JOB: &str = "/apis/batch/v1/namespaces/nlp/jobs/fit";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/nlp/deployments/web";

struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> i64 {
        1_791_187_200_000
    }
}

fn pod(owner: Option<Workload>) -> Allocation {
    Allocation {
        allocation_id: 1,
        identity: Identity::Kubernetes {
            cluster: "beta".to_owned(),
            namespace: "nlp".to_owned(),
            pod: "db-0".to_owned(),
            uid: "u1".to_owned(),
            owner,
            start_ms: 0,
        },
        owner: Owner::default(),
        work: Work::default(),
        nodes: vec!["n1".to_owned()],
        device_ids: vec![1],
        gpu_units: 72_072_000,
        judgement: Judgement { verdict: Verdict::Idle, ..Judgement::default() },
    }
}

fn workload(kind: &str, name: &str, uid: &str, busy_siblings: Option<i64>) -> Option<Workload> {
    Some(Workload { kind: kind.to_owned(), name: name.to_owned(), uid: uid.to_owned(), busy_siblings })
}

async fn start() -> (Api, Kubernetes) {
    let api = Api::start().await;
    api.put(POD, "u1", json!({}));
    let kubernetes = Kubernetes::connect(api.config(), Arc::new(Noon)).unwrap();
    (api, kubernetes)
}

/// A server with a pod and both workloads, whose answer to the call of that number is wrong, and a client that waits for 0.3 s.
async fn faulty(call: usize, fault: Fault) -> (Api, Kubernetes) {
    let api = Api::start().await;
    api.put(POD, "u1", json!({}));
    put_workloads(&api);
    api.state.lock().unwrap().fault = Some((call, fault));
    let mut config = api.config();
    config.read_timeout = Some(std::time::Duration::from_millis(300));
    let kubernetes = Kubernetes::connect(config, Arc::new(Noon)).unwrap();
    (api, kubernetes)
}

fn put_workloads(api: &Api) {
    api.put(JOB, "j1", json!({"suspend": false}));
    api.put(DEPLOYMENT, "d1", json!({"replicas": 3}));
}

#[tokio::test]
async fn a_pod_is_evicted_with_its_uid_and_version_and_an_event_stands_on_it() {
    let (api, mut kubernetes) = start().await;
    let said = kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap();
    assert_eq!(said, Said::Taken { proof: "evicted pod nlp/db-0 (u1)".to_owned() });
    assert_eq!(api.changes(), [format!("POST {POD}/eviction"), "POST /api/v1/namespaces/nlp/events".to_owned()]);
    let state = api.state.lock().unwrap();
    let event = &state.changes[1].2;
    assert_eq!(event["involvedObject"]["uid"], "u1");
    assert_eq!(event["reason"], "IdleReclaimed");
    assert_eq!(event["lastTimestamp"], "2026-10-05T08:00:00Z");
}

#[tokio::test]
async fn another_pod_of_the_same_name_is_left_alone() {
    let (api, mut kubernetes) = start().await;
    api.put(POD, "u2", json!({}));
    let said = kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap();
    assert_eq!(said, Said::Changed { why: "pod nlp/db-0 is another one now".to_owned() });
    // replaced, or changed, after it was looked at
    for (uid, version) in [("u2", "10"), ("u1", "11")] {
        api.put(POD, "u1", json!({}));
        let other = json!({"metadata": {"name": "db-0", "namespace": "nlp", "uid": uid, "resourceVersion": version}});
        api.state.lock().unwrap().before_change = Some(other);
        let said = kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap();
        assert!(matches!(said, Said::Changed { .. }), "{said:?}");
    }
    assert!(api.changes().is_empty());
}

#[tokio::test]
async fn a_disruption_budget_is_waited_for() {
    let (api, mut kubernetes) = start().await;
    api.state.lock().unwrap().budget = vec![0, 7];
    let wait = |said: Said| match said {
        Said::Wait { pause_ms, why } => (pause_ms, why.contains("disruption budget")),
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap()), (7_000, true));
    assert_eq!(wait(kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap()), (30_000, true));
    assert!(api.changes().is_empty());
    assert!(matches!(kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap(), Said::Taken { .. }));
    // and what is gone is not evicted twice
    let said = kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap();
    assert_eq!(said, Said::Changed { why: "pod nlp/db-0 is not there any more".to_owned() });
}

#[tokio::test]
async fn an_owner_is_stopped_only_if_no_sibling_is_busy() {
    let (api, mut kubernetes) = start().await;
    put_workloads(&api);
    for busy in [Some(1), None] {
        let whom = pod(workload("Deployment", "web", "d1", busy));
        let refused = kubernetes.order(&whom, ActKind::ScaleOwner, None).await.unwrap_err();
        assert!(matches!(&refused, ActError::NotDone(why) if why.contains("sibling")), "{refused}");
    }
    // another workload under the same name
    let whom = pod(workload("Deployment", "web", "d0", Some(0)));
    let said = kubernetes.order(&whom, ActKind::ScaleOwner, None).await.unwrap();
    assert_eq!(said, Said::Changed { why: "Deployment web is another one now".to_owned() });
    assert!(api.changes().is_empty());
    let whom = pod(workload("Deployment", "web", "d1", Some(0)));
    let said = kubernetes.order(&whom, ActKind::ScaleOwner, None).await.unwrap();
    assert_eq!(said, Said::Taken { proof: "scale_owner: Deployment nlp/web (d1)".to_owned() });
    let whom = pod(workload("Job", "fit", "j1", Some(0)));
    assert!(matches!(kubernetes.order(&whom, ActKind::SuspendOwner, None).await.unwrap(), Said::Taken { .. }));
    let state = api.state.lock().unwrap();
    assert_eq!(state.objects[DEPLOYMENT]["spec"]["replicas"], 0);
    assert_eq!(state.objects[JOB]["spec"]["suspend"], true);
    drop(state);
    let refused = kubernetes.order(&pod(workload("DaemonSet", "x", "y", Some(0))), ActKind::ScaleOwner, None).await;
    assert!(matches!(refused, Err(ActError::NotDone(_))));
}

#[tokio::test]
async fn what_the_server_refuses_is_not_done_and_what_it_breaks_at_may_be() {
    let (api, mut kubernetes) = start().await;
    for (code, maybe) in [(403, false), (422, false), (500, true), (504, true)] {
        api.state.lock().unwrap().refuse = vec![code];
        let error = kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap_err();
        assert_eq!(matches!(error, ActError::Maybe(_)), maybe, "{code}: {error}");
    }
    assert!(api.changes().is_empty());
    // a server that is not there is asked nothing
    drop(api);
    let error = kubernetes.order(&pod(None), ActKind::Evict, None).await.unwrap_err();
    assert!(matches!(error, ActError::NotDone(_)), "{error}");
    let error = kubernetes.signal(&pod(None), "USR1", false).await.unwrap_err();
    assert!(matches!(error, ActError::NotDone(_)), "{error}");
}

/// What an answer may be called, by what was wrong with it: a change that was made is never said not to have been made.
fn is_right(said: &Result<Said, ActError>, fault: Fault, is_read: bool, is_done: bool) -> bool {
    match (fault, said) {
        // a read harms nobody: without its answer nothing is asked
        (Fault::Code(404), Ok(Said::Changed { .. })) => !is_done,
        (_, Err(ActError::NotDone(_))) if is_read => !is_done,
        (Fault::Code(409), Ok(Said::Changed { .. })) | (Fault::Code(429), Ok(Said::Wait { .. })) => !is_done,
        (Fault::Code(code), Err(ActError::NotDone(_))) => code < 500 && !is_done,
        (_, Err(ActError::Maybe(_))) => !is_read,
        // what did its work and answers nonsense may be taken at its word: the GPU is looked at before anybody is told
        (Fault::Garbage | Fault::DoneThen(_), Ok(Said::Taken { .. })) => !is_read,
        _ => false,
    }
}

#[tokio::test]
async fn each_error_at_each_call_is_told_as_what_it_is_and_nothing_is_done_twice() {
    let codes = [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 501, 502, 503, 504];
    let faults: Vec<Fault> = codes
        .into_iter()
        .flat_map(|code| [Fault::Code(code), Fault::DoneThen(code)])
        .chain([Fault::Garbage, Fault::Cut, Fault::Hang])
        .collect();
    let ways = [
        (ActKind::Evict, None, 2),
        (ActKind::SuspendOwner, workload("Job", "fit", "j1", Some(0)), 3),
        (ActKind::ScaleOwner, workload("Deployment", "web", "d1", Some(0)), 3),
    ];
    let mut tried = 0;
    for (act, owner, calls) in ways {
        for at in 0..calls {
            let is_read = at + 1 < calls;
            for fault in faults.iter().copied() {
                // nothing is done by a read, and a change that was made is not refused by a server that knows of it
                if matches!(fault, Fault::DoneThen(code) if is_read || code < 500) {
                    continue;
                }
                let (api, mut kubernetes) = faulty(at, fault).await;
                let said = kubernetes.order(&pod(owner.clone()), act, None).await;
                let what = format!("{act} call {at} {fault:?}: {said:?}");
                let changes = || api.changes().iter().filter(|c| !c.ends_with("/events")).count();
                assert!(changes() <= 1, "{what}");
                assert!(is_right(&said, fault, is_read, changes() == 1), "{what}");
                // asked again when it answers, it is done once in all, or found to have been done
                let again = kubernetes.order(&pod(owner.clone()), act, None).await;
                let is_owner = act != ActKind::Evict;
                assert!(matches!(again, Ok(Said::Taken { .. } | Said::Changed { .. })), "{what}, then {again:?}");
                assert!(is_owner || changes() == 1, "{what}, then {again:?}: {:?}", api.changes());
                tried += 1;
            }
        }
        // the event is for people: whatever becomes of it, the order stands
        for fault in faults.iter().copied() {
            let (_api, mut kubernetes) = faulty(calls, fault).await;
            let said = kubernetes.order(&pod(owner.clone()), act, None).await;
            assert!(matches!(said, Ok(Said::Taken { .. })), "{act} event {fault:?}: {said:?}");
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried} answers were tried");
}
