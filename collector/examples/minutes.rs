//! Segments of a fleet whose nodes bring every minute on its own: `minutes OUT NODES MINUTES [CARDS]` writes `OUT/<minute>/<node>/<segment>`
//! for `tests/bench/serve.py`. One process keeps each card busy for half of every minute.

use std::error::Error;
use std::path::Path;

use gpuledger_collector::segment::{Segment, pair, segment};
use gpuledger_schema::id::{boot_id, device_id, hint_of_session};
use gpuledger_schema::table::{DeviceMinuteRow, DeviceRow, ProcessMinuteRow, ReadingRow};
use gpuledger_schema::window::day_of;

const MINUTE_MS: i64 = 60_000;
/// 2026-03-31 12:00 UTC: the end of the month of the demo.
const NOON_MS: i64 = 1_774_958_400_000;
const CLUSTER: &str = "load";

struct Node {
    name: String,
    cards: Vec<String>,
}

impl Node {
    fn new(n: usize, cards: usize) -> Self {
        Self { name: format!("load-{n:04}"), cards: (0..cards).map(|c| format!("GPU-load-{n:04}-{c}")).collect() }
    }

    /// What the node is: brought with its first minute.
    fn facts(&self, minutes: i64) -> Result<Vec<Segment>, Box<dyn Error>> {
        let devices: Vec<DeviceRow> = self.cards.iter().map(|uuid| self.device(uuid)).collect();
        let reading = ReadingRow {
            source: self.name.clone(),
            kind: "node".into(),
            cluster: CLUSTER.into(),
            node: Some(self.name.clone()),
            read_at_ms: NOON_MS + minutes * MINUTE_MS,
            from_ms: NOON_MS,
            to_ms: NOON_MS + minutes * MINUTE_MS,
            ok: true,
            rows: minutes,
            error: None,
        };
        let made = [segment(&self.name, &devices)?, segment(&self.name, &[reading])?];
        Ok(made.into_iter().flatten().collect())
    }

    fn device(&self, uuid: &str) -> DeviceRow {
        DeviceRow {
            device_id: device_id(uuid),
            first_seen_ms: NOON_MS,
            retired_ms: None,
            cluster: CLUSTER.into(),
            node: self.name.clone(),
            uuid: uuid.into(),
            parent_id: None,
            model: Some("A100".into()),
            memory_bytes: Some(80 << 30),
            mig_profile: None,
            compute_slices: None,
            card_slices: None,
            interconnect: None,
            compute_capability: None,
            driver: None,
            minor: None,
            pci: None,
            queue: None,
            scheduler: "none".into(),
        }
    }

    fn minute(&self, seq: i64) -> Result<Vec<Segment>, Box<dyn Error>> {
        let tick_ms = NOON_MS + seq * MINUTE_MS;
        let devices: Vec<DeviceMinuteRow> =
            self.cards.iter().map(|uuid| self.device_minute(uuid, seq, tick_ms)).collect();
        let processes: Vec<ProcessMinuteRow> =
            self.cards.iter().map(|uuid| self.process_minute(uuid, seq, tick_ms)).collect();
        Ok(pair(&self.name, &processes, &devices)?)
    }

    fn device_minute(&self, uuid: &str, seq: i64, tick_ms: i64) -> DeviceMinuteRow {
        DeviceMinuteRow {
            day: day_of(tick_ms) as i32,
            device_id: device_id(uuid),
            boot_id: boot_id(&self.name, "b"),
            seq,
            collector_id: 1,
            tick_ms,
            mono_ms: 3_600_000 + seq * MINUTE_MS,
            dur_ms: MINUTE_MS,
            synchronised: true,
            state: "ok".into(),
            reason: None,
            process_count: 1,
            gpu_util_ppm: Some(500_000),
            mem_util_ppm: None,
            sm_ppm: Some(480_000),
            dram_ppm: Some(200_000),
            tensor_ppm: None,
            activity_source: None,
            mem_used_bytes: Some(40 << 30),
            mem_reserved_bytes: None,
            mem_total_bytes: Some(80 << 30),
            power_mw: Some(250_000),
            power_limit_mw: Some(400_000),
            energy_mj: None,
            temperature_c: Some(60),
            limit_reasons: None,
            ecc_uncorrected: None,
            xid: None,
        }
    }

    fn process_minute(&self, uuid: &str, seq: i64, tick_ms: i64) -> ProcessMinuteRow {
        ProcessMinuteRow {
            day: day_of(tick_ms) as i32,
            device_id: device_id(uuid),
            instance_id: None,
            boot_id: boot_id(&self.name, "b"),
            seq,
            tick_ms,
            hint_id: hint_of_session(&self.name, "b", "42", "7"),
            hint: "session:42".into(),
            evidence: "session".into(),
            pid: 42,
            start_ticks: 7,
            user: "ann".into(),
            command: Some("train".into()),
            busy_ms: Some(MINUTE_MS / 2),
            covered_ms: MINUTE_MS,
            peak_ppm: None,
            mem_peak_bytes: Some(40 << 30),
            mem_peak_source: None,
            sm_ppm: None,
            dram_ppm: None,
            tensor_ppm: None,
            composite_ppm: None,
            weights_version: None,
            apportionment: "exclusive".into(),
            cpu_ms: None,
            host_rss_bytes: None,
            read_bytes: None,
            io_wait_ms: None,
            state: None,
            reason: None,
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a tool that writes the folder it is given")]
fn put(folder: &Path, segments: &[Segment]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    segments.iter().try_for_each(|s| std::fs::write(folder.join(s.name.file_name()), &s.bytes))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [out, nodes, minutes, rest @ ..] = words.as_slice() else {
        return Err("minutes OUT NODES MINUTES [CARDS]".into());
    };
    let (nodes, minutes): (usize, i64) = (nodes.parse()?, minutes.parse()?);
    let cards = rest.first().map_or(Ok(8), |c| c.parse::<usize>())?;
    for n in 0..nodes {
        let node = Node::new(n, cards);
        put(&Path::new(out).join("0").join(&node.name), &node.facts(minutes)?)?;
        for seq in 0..minutes {
            put(&Path::new(out).join(seq.to_string()).join(&node.name), &node.minute(seq)?)?;
        }
    }
    println!("{nodes} nodes of {cards} cards, {minutes} minutes");
    Ok(())
}
