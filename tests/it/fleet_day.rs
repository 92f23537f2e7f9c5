//! A simulated day of a small fleet: Slurm and Kubernetes nodes, restarts, drained nodes, a card that is cut into instances,
//! clocks that jump, lost and doubled and late segments, collectors that are away or lose their state, runs that vanish.
//! After each step every check holds, and wherever the day was observed the classes are the simulator's own truth.
//!
//! `GPULEDGER_FLEET_DAYS=20` runs so many seeds, `GPULEDGER_FLEET_DAYS=17..18` seed 17.

pub(crate) mod blank;
mod sim;
mod tell;

use std::collections::BTreeMap;

use chrono_tz::Tz;
use gpuledger_aggregator::check::check;
use gpuledger_aggregator::report::Reader;
use gpuledger_schema::id::device_id;
use gpuledger_schema::unit::{CARD_UNITS, CELL_MS};

use crate::worlds::drive::{Site, rows};
use crate::worlds::rng::Rng;
use sim::{DAY, Fleet, Job, Told};
use tell::{PARCEL, Parcel, card_uuid, looked, ms, parcels, run_id};

/// Steps of a day.
const STEPS: usize = 4;
/// Minutes of a cell.
const CELL: usize = 15;
const MINUTE: i64 = 60_000;

/// What is in the lake.
struct Known<'a> {
    fleet: &'a Fleet,
    ends: &'a [Option<usize>],
    /// Parcels of ticks, by node and number.
    ticks: Vec<Vec<bool>>,
    /// Until when everything about a cluster is in.
    told: BTreeMap<&'static str, usize>,
    /// Nothing will come any more.
    last: bool,
}

/// Busy, held idle, held unmeasured, unallocated, unavailable and unobserved time.
type Classes = [i64; 6];

impl Known<'_> {
    fn has_tick(&self, at: usize, minute: usize) -> bool {
        self.fleet.nodes[at].minutes[minute].watched && self.ticks[at][minute / PARCEL]
    }

    fn lost(&self, at: usize, card: usize, minute: usize) -> bool {
        self.fleet.nodes[at].lost.is_some_and(|(c, from, to)| c == card && from <= minute && minute < to)
    }

    /// Until when the ledger can know that a job ran.
    fn end(&self, number: usize) -> usize {
        self.ends[number].unwrap_or(0).min(DAY)
    }

    /// From when on the devices of a job are known; before that they are counted.
    fn named_from(&self, number: usize) -> usize {
        let job = &self.fleet.jobs[number];
        let node = self.fleet.node_of(job);
        match node.told {
            Told::Minor | Told::Pci => job.start,
            Told::Claim => match looked(node, job.start).filter(|m| *m < self.end(number)) {
                Some(first) if (first - job.start) * 60_000 + 20_000 <= 900_000 => job.start,
                Some(first) => first + 1,
                None => DAY,
            },
            Told::Found => {
                let minutes = job.start..self.end(number);
                let seen =
                    |card: usize| minutes.clone().any(|m| self.has_tick(job.node, m) && !self.lost(job.node, card, m));
                if job.things.iter().all(|t| seen(t.card)) { job.start } else { DAY }
            }
        }
    }

    /// Whether everything about a card in a cell was seen, and is in.
    fn observed(&self, at: usize, card: usize, cell: usize) -> bool {
        let node = &self.fleet.nodes[at];
        let (from, to) = (cell * CELL, (cell + 1) * CELL);
        let looks = &self.fleet.looks_at(node.cluster)[from..=to];
        let watched = looks.iter().all(|l| l.is_some() && *l == looks[0]) && to <= self.told[node.cluster];
        let measured = (from..to).all(|m| self.has_tick(at, m) && !self.lost(at, card, m));
        let boot = node.minutes[from].boot;
        let placed = (0..DAY).any(|m| {
            let of = node.minutes[m];
            of.boot == boot && of.wrong_ms == 0 && self.has_tick(at, m)
        });
        let of_node = self.fleet.jobs.iter().enumerate().filter(|(_, j)| j.node == at && j.start < to && j.end > from);
        let clear = of_node.into_iter().all(|(number, job)| {
            let on_card = job.things.iter().any(|t| t.card == card);
            let (named, end) = (self.named_from(number), self.end(number));
            let counted = named > job.start && job.start < to && named.min(end) > from;
            let unseen = on_card && end < job.end.min(DAY) && end < to;
            !counted && !unseen
        });
        watched && measured && placed && clear && (self.last || node.told != Told::Found)
    }

    /// What truly was in a cell of a card, by holder.
    fn truth(&self, at: usize, card: usize, cell: usize) -> BTreeMap<i64, Classes> {
        let node = &self.fleet.nodes[at];
        let mut out: BTreeMap<i64, Classes> = BTreeMap::new();
        for minute in cell * CELL..(cell + 1) * CELL {
            let mut free = CARD_UNITS;
            for job in self.fleet.jobs.iter().filter(|j| j.node == at && j.start <= minute && minute < j.end) {
                for thing in job.things.iter().filter(|t| t.card == card) {
                    let sum = out.entry(run_id(self.fleet, job)).or_default();
                    let busy = job.busy_ms(thing, minute);
                    sum[0] += busy * CARD_UNITS;
                    sum[1] += MINUTE * thing.share - busy * CARD_UNITS;
                    free -= thing.share;
                }
            }
            let nobody = out.entry(0).or_default();
            nobody[if node.minutes[minute].up { 3 } else { 4 }] += MINUTE * free;
        }
        for sum in out.values_mut().flatten() {
            *sum /= CARD_UNITS;
        }
        out.retain(|_, c| c.iter().any(|v| *v > 0));
        out
    }
}

/// Usage by device, cell and holder.
async fn found(reader: &Reader) -> BTreeMap<(i64, i64), BTreeMap<i64, Classes>> {
    let sql = "SELECT unit_id, cell, holder, sum(busy_ms), sum(held_idle_ms), sum(held_unmeasured_ms), \
        sum(unallocated_ms), sum(unavailable_ms), sum(unobserved_ms) FROM usage GROUP BY unit_id, cell, holder";
    let mut out: BTreeMap<(i64, i64), BTreeMap<i64, Classes>> = BTreeMap::new();
    for row in rows(reader.engine(), sql).await {
        let v: Vec<i64> = row.iter().map(|v| v.as_ref().expect("a value").parse().expect("a number")).collect();
        let classes = [v[3], v[4], v[5], v[6], v[7], v[8]];
        if classes.iter().any(|c| *c != 0) {
            out.entry((v[0], v[1])).or_default().insert(v[2], classes);
        }
    }
    out
}

/// Cells that were observed, and those of them that are not as they were.
fn compare(known: &Known<'_>, usage: &BTreeMap<(i64, i64), BTreeMap<i64, Classes>>) -> (usize, Vec<String>) {
    let (mut cells, mut wrong) = (0, Vec::new());
    let nothing = BTreeMap::new();
    for (at, node) in known.fleet.nodes.iter().enumerate() {
        for (card, cell) in (0..node.cards).flat_map(|c| (0..DAY / CELL).map(move |cell| (c, cell))) {
            if !known.observed(at, card, cell) {
                continue;
            }
            cells += 1;
            let key = (device_id(&card_uuid(node, card)), ms(cell * CELL) / CELL_MS);
            let (truth, is) = (known.truth(at, card, cell), usage.get(&key).unwrap_or(&nothing));
            // parts of a card settle to whole milliseconds
            let shared = card == 1 && node.replicas > 1 || card == 0 && node.cut.is_some();
            let near =
                |a: &Classes, b: &Classes| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= if shared { 1 } else { 0 });
            let same = truth.len() == is.len() && truth.iter().all(|(h, c)| is.get(h).is_some_and(|i| near(c, i)));
            if !same {
                wrong.push(format!("{} card {card} cell {cell}\n  was {truth:?}\n  is  {is:?}", node.name));
            }
        }
    }
    (cells, wrong)
}

/// Jobs that hold another time than they were known to hold, whether their devices are known or not.
fn held(known: &Known<'_>, usage: &BTreeMap<(i64, i64), BTreeMap<i64, Classes>>) -> Vec<String> {
    let mut sums: BTreeMap<i64, i64> = BTreeMap::new();
    for (holder, c) in usage.values().flatten() {
        *sums.entry(*holder).or_default() += c[0] + c[1] + c[2] + c[4];
    }
    let wrong = |(number, job): (usize, &Job)| {
        let units: i64 = job.things.iter().map(|t| t.share).sum();
        let minutes = known.end(number).saturating_sub(job.start) as i64;
        let was = (i128::from(minutes * MINUTE) * i128::from(units) / i128::from(CARD_UNITS)) as i64;
        let is = sums.get(&run_id(known.fleet, job)).copied().unwrap_or(0);
        let whole = units % CARD_UNITS == 0;
        ((was - is).abs() > if whole { 0 } else { 96 })
            .then(|| format!("{} held {was} ms and has {is}: {job:?}", job.raw))
    };
    known.fleet.jobs.iter().enumerate().filter_map(wrong).collect()
}

/// In which step a parcel comes, and in which again; none: never.
fn delivery(rng: &mut Rng, parcel: &Parcel) -> (Option<usize>, Option<usize>) {
    let on_time = parcel.number * PARCEL * STEPS / DAY;
    let at = |rng: &mut Rng| (on_time + rng.range(0, 3) as usize).min(STEPS - 1);
    let ticks = parcel.node.is_some();
    let first = match rng.range(0, 100) {
        0..3 if ticks => None,
        0..12 if ticks || parcel.cluster.is_some() => Some(at(rng)),
        _ => Some(on_time),
    };
    let again = rng.chance(10).then(|| at(rng).max(first.unwrap_or(0)));
    (first, again.filter(|_| first.is_some()))
}

async fn day(seed: u64) -> (usize, usize) {
    let fleet = Fleet::new(seed);
    let (all, ends) = parcels(&fleet);
    let mut rng = Rng::new(seed + 7);
    let plan: Vec<_> = all.iter().map(|p| delivery(&mut rng, p)).collect();
    let site = Site::new();
    let zone: Tz = "Asia/Shanghai".parse().expect("a zone");
    let mut observed = 0;
    for step in 0..STEPS {
        let now = all.iter().zip(&plan).filter(|(_, (first, again))| *first == Some(step) || *again == Some(step));
        let segments: Vec<_> = now.flat_map(|(p, _)| p.segments.clone()).collect();
        site.take_in(&segments).await;
        site.build(2).await;
        let reader = Reader::open(&site.lake, 2, None).await.expect("readable");
        let findings = check(&reader, zone).await.unwrap_or_else(|e| panic!("{e:?}"));
        let bad: Vec<_> = findings.iter().filter(|f| f.violated).collect();
        assert!(bad.is_empty(), "seed {seed}, step {step}: {bad:#?}");
        let of = |cluster: &'static str| {
            let late = |(p, (first, _)): &(&Parcel, &(Option<usize>, _))| {
                p.cluster == Some(cluster) && first.is_none_or(|f: usize| f > step)
            };
            let missing = all.iter().zip(&plan).filter(late).map(|(p, _)| p.number * PARCEL);
            (cluster, missing.min().unwrap_or(DAY))
        };
        let mut ticks = vec![vec![false; DAY / PARCEL]; fleet.nodes.len()];
        for (p, (first, _)) in all.iter().zip(&plan) {
            if let Some(at) = p.node {
                ticks[at][p.number] = first.is_some_and(|f| f <= step);
            }
        }
        let told = fleet.looks.iter().map(|l| of(l.0)).collect();
        let known = Known { fleet: &fleet, ends: &ends, ticks, told, last: step + 1 == STEPS };
        let usage = found(&reader).await;
        let (cells, wrong) = compare(&known, &usage);
        assert!(
            wrong.is_empty(),
            "seed {seed}, step {step}: {} of {cells} cells\n{}",
            wrong.len(),
            wrong[..wrong.len().min(5)].join("\n")
        );
        if known.last {
            observed = cells;
            let wrong = held(&known, &usage);
            assert!(wrong.is_empty(), "seed {seed}: {} jobs\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
            let listed = findings.iter().find(|f| f.id == "L4").expect("a check");
            assert_eq!(listed.rows, 0, "seed {seed}: {}", listed.shown);
        }
    }
    (observed, fleet.nodes.iter().map(|n| n.cards * DAY / CELL).sum())
}

#[tokio::test]
async fn fleet_day_holds_every_check_and_is_as_it_was_wherever_it_was_seen() {
    let asked = std::env::var("GPULEDGER_FLEET_DAYS").unwrap_or_else(|_| "0..2".to_owned());
    let (from, to) = asked.split_once("..").unwrap_or(("0", asked.as_str()));
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("GPULEDGER_FLEET_DAYS={asked}: {e}"));
    for seed in number(from)..number(to) {
        let (observed, all) = day(seed).await;
        assert!(observed * 2 > all, "seed {seed}: {observed} of {all} cells were observed: too little to say anything");
    }
}
