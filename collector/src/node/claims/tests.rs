//! Claims from records of the kubelet and of Slurm, look by look.

use super::*;
use crate::node::attribute::Site;
use crate::node::integrate::CardUse;
use crate::node::seen::{Absent, Boot, Moment};
use crate::node::source::card::{Card, Instance};
use crate::node::source::kubelet::device::DeviceId;
use crate::node::source::kubelet::pods::PodUid;
use crate::node::source::kubelet::{Holder, Record, Share};
use crate::node::source::nvml::look::{CardFacts, CardMinute, InstanceFacts, InstanceMinute, RatesPpm, Rejects};
use crate::node::source::slurm::{Gpu, IndexMeaning, Mapped};
use crate::node::tick::{CardState, CardTick};
use gpuledger_schema::id::hint_of_job;
use gpuledger_schema::state::SchedulerKind;
use gpuledger_schema::unit::CARD_UNITS;

const UIDS: [&str; 3] = ["aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002", "u3"];

fn boot() -> Boot {
    Boot { node: "n1".to_owned(), boot: "b1".to_owned() }
}

fn node() -> NodeFacts {
    NodeFacts {
        cluster: "west".to_owned(),
        boot: boot(),
        queue: None,
        scheduler: SchedulerKind::Kubernetes,
        interconnect: None,
        collector_id: 7,
    }
}

fn site() -> Site {
    Site { cluster: "west".to_owned(), scheduler: SchedulerKind::Kubernetes, boot: boot() }
}

/// A card, cut into instances of so many of seven slices each.
fn tick(uuid: &str, instances: &[(&str, Option<i64>)]) -> CardTick {
    let none: Result<i64, Absent> = Err(Absent::NotSupported);
    let instance = |(at, (uuid, slices)): (usize, &(&str, Option<i64>))| InstanceMinute {
        facts: InstanceFacts {
            uuid: (*uuid).to_owned(),
            gpu_instance: u32::try_from(at).unwrap() + 7,
            profile: None,
            slices: *slices,
            memory_bytes: None,
            whole_gpu_instance: true,
        },
        memory: Err(Absent::NotSupported),
        activity: Err(Absent::NotSupported),
    };
    let minute = CardMinute {
        at: Moment { wall_ms: 0, boot_ms: 0, awake_ms: 0, synchronised: true },
        facts: CardFacts {
            uuid: uuid.to_owned(),
            model: None,
            memory_bytes: None,
            compute_capability: None,
            driver: None,
            minor: Some(0),
            pci: None,
            mig: !instances.is_empty(),
            card_slices: Some(7).filter(|_| !instances.is_empty()),
        },
        memory: Err(Absent::NotSupported),
        power_mw: none.clone(),
        power_limit_mw: none.clone(),
        energy_mj: none.clone(),
        temperature_c: none.clone(),
        limit_reasons: Err(Absent::NotSupported),
        ecc_uncorrected: none.clone(),
        xid: Err(Absent::NotSupported),
        remapped: Err(Absent::NotSupported),
        activity: Err(Absent::NotSupported),
        accounts: Err(Absent::NotSupported),
        instances: instances.iter().enumerate().map(instance).collect(),
    };
    let used = CardUse {
        covered_ms: 0,
        listed: Ok(()),
        rates: RatesPpm { gpu_ppm: none.clone(), memory_ppm: none },
        processes: BTreeMap::new(),
        rejects: Rejects::default(),
    };
    CardTick { uuid: uuid.to_owned(), state: CardState::Ok, used, minute: Some(minute), last_xid: None }
}

fn cards(ticks: &[CardTick]) -> Vec<Card> {
    let card = |tick: &CardTick| {
        let instances = tick.minute.iter().flat_map(|m| &m.instances).map(|i| Instance {
            uuid: i.facts.uuid.clone(),
            gi: i.facts.gpu_instance,
            ci: None,
            start: None,
        });
        Card { uuid: tick.uuid.clone(), nvml_index: Some(0), minor: Some(0), instances: instances.collect() }
    };
    ticks.iter().map(card).collect()
}

fn holder(uid: PodUid, container: &str, id: &str, share: Option<(u32, u32)>) -> Holder {
    Holder {
        namespace: "ml".to_owned(),
        pod: "p".to_owned(),
        uid,
        container: container.to_owned(),
        resource: "nvidia.com/gpu".to_owned(),
        device: DeviceId::of_plugin(id).device,
        share: share.map(|(held, of)| Share { held, of }),
    }
}

fn known(uid: &str) -> PodUid {
    PodUid::Known(uid.to_owned())
}

fn looked(at_ms: i64, holders: Vec<Holder>, ticks: &[CardTick]) -> Looked {
    let mut looked = Looked::default();
    looked.add_pods(&site(), &Record { holders }, at_ms, &cards(ticks), ticks);
    looked
}

/// Device, holder, share, from and to of rows.
fn shown(rows: &ClaimRows) -> Vec<(i64, i64, i64, i64, Option<i64>)> {
    rows.claims.iter().map(|r| (r.device_id, r.hint_id, r.share_units, r.from_ms, r.to_ms)).collect()
}

fn pod(uid: &str) -> i64 {
    hint_of_job("west", uid)
}

#[test]
fn a_claim_is_written_when_it_begins_every_six_hours_and_when_it_ends() {
    let ticks = [tick("GPU-a", &[])];
    let held = |at| looked(at, vec![holder(known(UIDS[0]), "main", "GPU-a", Some((1, 1)))], &ticks);
    let mut claims = Claims::default();
    let first = claims.take(&node(), &held(1_000));
    assert_eq!(shown(&first), [(device_id("GPU-a"), pod(UIDS[0]), CARD_UNITS, 1_000, None)]);
    let row = &first.claims[0];
    assert_eq!(
        (row.hint.as_str(), row.evidence.as_str()),
        ("pod:west:aaaaaaaa-0000-4000-8000-000000000001", "kubelet")
    );
    assert_eq!((row.container.as_deref(), row.resource.as_deref()), (Some("main"), Some("nvidia.com/gpu")));
    assert!(first.changed);
    assert_eq!(claims.take(&node(), &held(61_000)), ClaimRows::default());
    assert_eq!(claims.take(&node(), &held(61_000)), ClaimRows::default(), "the same look again");
    let again = claims.take(&node(), &held(1_000 + AGAIN_MS));
    assert_eq!(
        (shown(&again), again.changed),
        (vec![(device_id("GPU-a"), pod(UIDS[0]), CARD_UNITS, 1_000, None)], false)
    );
    assert_eq!(again.claims[0].claim_id, row.claim_id);
    let end_ms = 61_000 + AGAIN_MS;
    let over = claims.take(&node(), &looked(end_ms, vec![], &ticks));
    assert_eq!(shown(&over), [(device_id("GPU-a"), pod(UIDS[0]), CARD_UNITS, 1_000, Some(end_ms))]);
    assert_eq!(over.claims[0].claim_id, row.claim_id);
}

#[test]
fn c15_copies_of_a_card_are_parts_that_add_up_to_no_more_than_the_card() {
    let ticks = [tick("GPU-a", &[])];
    let holders =
        UIDS.iter().enumerate().map(|(i, uid)| holder(known(uid), "main", &format!("GPU-a::{i}"), Some((1, 4))));
    let rows = Claims::default().take(&node(), &looked(1_000, holders.collect(), &ticks));
    assert_eq!(rows.claims.iter().map(|r| r.share_units).collect::<Vec<_>>(), vec![CARD_UNITS / 4; 3]);
    assert!(rows.claims.iter().map(|r| r.share_units).sum::<i64>() <= CARD_UNITS);
}

#[test]
fn containers_of_a_pod_on_one_card_are_one_claim() {
    let ticks = [tick("GPU-a", &[])];
    let holders = vec![
        holder(known(UIDS[0]), "b", "GPU-a::0", Some((1, 4))),
        holder(known(UIDS[0]), "a", "GPU-a::1", Some((2, 4))),
    ];
    let rows = Claims::default().take(&node(), &looked(1_000, holders, &ticks));
    assert_eq!(shown(&rows), [(device_id("GPU-a"), pod(UIDS[0]), CARD_UNITS / 4 * 3, 1_000, None)]);
    assert_eq!(rows.claims[0].container.as_deref(), Some("a,b"));
    // the same whole device in two containers is one device
    let twice = ["a", "b"].map(|c| holder(known(UIDS[0]), c, "GPU-a", Some((1, 1)))).to_vec();
    let rows = Claims::default().take(&node(), &looked(1_000, twice, &ticks));
    assert_eq!(rows.claims[0].share_units, CARD_UNITS);
}

#[test]
fn mig_devices_are_slices_of_their_card_in_every_form_of_their_name() {
    let ticks = [tick("GPU-a", &[("MIG-one", Some(3)), ("MIG-two", Some(1))])];
    for id in ["MIG-one", "nvidia0/gi7", "MIG-GPU-a/7/0"] {
        let rows = Claims::default()
            .take(&node(), &looked(1_000, vec![holder(known(UIDS[0]), "c", id, Some((1, 1)))], &ticks));
        assert_eq!(shown(&rows), [(device_id("GPU-a"), pod(UIDS[0]), 30_888_000, 1_000, None)], "{id}");
        assert_eq!(rows.claims[0].instance_id, Some(device_id("MIG-one")));
    }
    let shared = vec![holder(known(UIDS[0]), "c", "MIG-two::1", Some((1, 2)))];
    let rows = Claims::default().take(&node(), &looked(1_000, shared, &ticks));
    assert_eq!(rows.claims[0].share_units, 5_148_000);
}

#[test]
fn what_nobody_tells_is_no_claim_and_is_said_once() {
    let ticks = [tick("GPU-a", &[("MIG-one", None)])];
    let unclear = |at| {
        let holders = vec![
            holder(known(UIDS[0]), "a", "GPU-a::0", None),
            holder(PodUid::Unknown, "b", "GPU-a", Some((1, 1))),
            holder(known(UIDS[1]), "c", "MIG-one", Some((1, 1))),
            holder(known(UIDS[2]), "d", "GPU-elsewhere", Some((1, 1))),
        ];
        looked(at, holders, &ticks)
    };
    let mut claims = Claims::default();
    let rows = claims.take(&node(), &unclear(1_000));
    assert_eq!(rows.claims, vec![]);
    let reading = rows.reading.unwrap();
    assert_eq!((reading.ok, reading.node.as_deref(), reading.kind.as_str()), (false, Some("n1"), "node"));
    let why = reading.error.unwrap();
    for part in
        ["ml/p a: nothing says as how many", "ml/p b: its UID", "how many slices", "GPU-elsewhere: this node has no"]
    {
        assert!(why.contains(part), "{part}: {why}");
    }
    assert_eq!(claims.take(&node(), &unclear(61_000)).reading, None);
    assert_eq!(claims.take(&node(), &looked(121_000, vec![], &ticks)).reading, None);
    assert!(claims.take(&node(), &unclear(181_000)).reading.is_some(), "it was gone, and is there again");
}

#[test]
fn ended_pods_that_are_listed_still_hold_nothing() {
    let ticks = [tick("GPU-a", &[])];
    let mut claims = Claims::default();
    claims.take(&node(), &looked(1_000, vec![holder(known(UIDS[0]), "c", "GPU-a", Some((1, 1)))], &ticks));
    // a name that is used again: the old pod has ended, the new one holds the card under its own UID
    let both =
        vec![holder(PodUid::Ended, "c", "GPU-a", Some((1, 1))), holder(known(UIDS[1]), "c", "GPU-a", Some((1, 1)))];
    let rows = claims.take(&node(), &looked(61_000, both, &ticks));
    let card = device_id("GPU-a");
    let wanted =
        [(card, pod(UIDS[0]), CARD_UNITS, 1_000, Some(61_000)), (card, pod(UIDS[1]), CARD_UNITS, 61_000, None)];
    assert_eq!(shown(&rows), wanted);
}

#[test]
fn what_could_not_be_read_ends_nothing() {
    let mig = [tick("GPU-a", &[("MIG-one", Some(3))])];
    let held = |at, ticks: &[CardTick]| looked(at, vec![holder(known(UIDS[0]), "c", "MIG-one", Some((1, 1)))], ticks);
    let mut claims = Claims::default();
    assert_eq!(claims.take(&node(), &held(1_000, &mig)).claims.len(), 1);
    // no record at all, then a card that hangs, then a pod whose UID is not found for a moment
    assert_eq!(claims.take(&node(), &Looked::default()).claims, vec![]);
    let hung = [CardTick { minute: None, state: CardState::Hung, ..tick("GPU-a", &[]) }];
    assert_eq!(claims.take(&node(), &held(61_000, &hung)).claims, vec![]);
    let nameless = vec![holder(PodUid::Unknown, "c", "MIG-one", Some((1, 1)))];
    assert_eq!(claims.take(&node(), &looked(121_000, nameless, &mig)).claims, vec![]);
    assert_eq!(claims.take(&node(), &held(181_000, &mig)).claims, vec![], "it went on all the time");
}

#[test]
fn a_claim_with_another_part_is_another_claim() {
    let ticks = [tick("GPU-a", &[])];
    let of = |at, n| looked(at, vec![holder(known(UIDS[0]), "c", "GPU-a::0", Some((n, 4)))], &ticks);
    let mut claims = Claims::default();
    claims.take(&node(), &of(1_000, 1));
    let rows = claims.take(&node(), &of(61_000, 2));
    let (card, quarter) = (device_id("GPU-a"), CARD_UNITS / 4);
    assert_eq!(
        shown(&rows),
        [(card, pod(UIDS[0]), quarter, 1_000, Some(61_000)), (card, pod(UIDS[0]), 2 * quarter, 61_000, None)]
    );
    assert_ne!(rows.claims[0].claim_id, rows.claims[1].claim_id);
}

#[test]
fn a_restart_goes_on_with_what_lasts_and_closes_what_ended() {
    let ticks = [tick("GPU-a", &[]), tick("GPU-b", &[]), tick("GPU-c", &[])];
    let on = |uid: &str, id: &str| holder(known(uid), "c", id, Some((1, 1)));
    let mut before = Claims::default();
    let all = vec![on(UIDS[0], "GPU-a"), on(UIDS[1], "GPU-b"), on(UIDS[2], "GPU-c")];
    before.take(&node(), &looked(1_000, all, &ticks));
    before.take(&node(), &looked(61_000, vec![on(UIDS[0], "GPU-a"), on(UIDS[1], "GPU-b")], &ticks));
    let mut after: Claims = serde_json::from_slice(&serde_json::to_vec(&before).unwrap()).unwrap();
    let rows = after.take(&node(), &looked(301_000, vec![on(UIDS[0], "GPU-a")], &ticks));
    let of = |id: &str, uid: &str, to: Option<i64>| (device_id(id), pod(uid), CARD_UNITS, 1_000, to);
    let mut seen = shown(&rows);
    seen.sort_unstable();
    // the row that closed GPU-c may have been in the tick that was lost
    let mut wanted =
        vec![of("GPU-a", UIDS[0], None), of("GPU-b", UIDS[1], Some(301_000)), of("GPU-c", UIDS[2], Some(61_000))];
    wanted.sort_unstable();
    assert_eq!(seen, wanted);
}

#[test]
fn slurms_folder_gives_whole_devices_and_shared_ones_no_part() {
    let ticks = [tick("GPU-a", &[]), tick("GPU-b", &[])];
    let line = |gpu: &str, job: &str| Mapped { gpu: Gpu::named(gpu).unwrap(), job: job.to_owned(), uid: None };
    let lines = [line("GPU-a", "4711"), line("GPU-b", "1"), line("GPU-b", "2"), line("5", "9")];
    let mut looked = Looked::default();
    let site = Site { scheduler: SchedulerKind::Slurm, ..site() };
    looked.add_jobs(&site, &lines, &IndexMeaning::Minor, 1_000, &cards(&ticks), &ticks);
    let rows = Claims::default().take(&node(), &looked);
    assert_eq!(shown(&rows), [(device_id("GPU-a"), hint_of_job("west", "4711"), CARD_UNITS, 1_000, None)]);
    assert_eq!((rows.claims[0].hint.as_str(), rows.claims[0].evidence.as_str()), ("slurm:west:4711", "slurm"));
    let why = rows.reading.unwrap().error.unwrap();
    assert!(why.contains("several jobs share it") && why.contains("no device of this node is meant"), "{why}");
}
