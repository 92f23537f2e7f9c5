//! Rows as text that a reader can check against a scenario's story.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpuledger_collector::node::tick::Rows;
use gpuledger_schema::table::{DeviceMinuteRow, ProcessMinuteRow};

/// Names of device ids, as they were first seen: `gpu0`, `gpu1`, ..., `mig0`, ...
#[derive(Default)]
pub(crate) struct Names {
    by_id: BTreeMap<i64, String>,
}

impl Names {
    /// The rows of a minute as text.
    pub(crate) fn show(&mut self, minute: usize, rows: &Rows) -> String {
        let mut out = format!("minute {minute}\n");
        let mut cards: Vec<_> = rows.devices.iter().collect();
        cards.sort_by_key(|d| (d.parent_id.is_some(), d.minor, d.mig_profile.clone(), d.uuid.clone()));
        for device in cards {
            let kind = if device.parent_id.is_some() { "mig" } else { "gpu" };
            let number = self.by_id.values().filter(|n| n.starts_with(kind)).count();
            let name = self.by_id.entry(device.device_id).or_insert_with(|| format!("{kind}{number}")).clone();
            write!(out, "  {name} is {}", device.model.as_deref().unwrap_or("?")).unwrap();
            if let Some(profile) = &device.mig_profile {
                let of = |v: Option<i64>| v.map_or("?".to_owned(), |v| v.to_string());
                write!(out, " {profile}, {} of {} slices", of(device.compute_slices), of(device.card_slices)).unwrap();
            }
            writeln!(out, ", driver {}", device.driver.as_deref().unwrap_or("?")).unwrap();
        }
        let mut minutes: Vec<_> = rows.minutes.iter().collect();
        minutes.sort_by_key(|m| self.name(m.device_id));
        for minute in minutes {
            out.push_str(&self.device(minute));
            let own = rows.processes.iter().filter(|p| self.is_of(p, minute));
            let (mut known, nobody): (Vec<_>, Vec<_>) = own.partition(|p| p.hint != "unattributed");
            known.sort_by_key(|p| (p.pid, p.start_ticks));
            for process in known {
                out.push_str(&self.process(process));
            }
            if nobody.len() > 3 {
                let busy: i64 = nobody.iter().filter_map(|p| p.busy_ms).sum();
                writeln!(out, "    {} unattributed, together busy {busy} ms", nobody.len()).unwrap();
            } else {
                nobody.into_iter().for_each(|process| out.push_str(&self.process(process)));
            }
        }
        out
    }

    fn name(&self, id: i64) -> String {
        self.by_id.get(&id).cloned().unwrap_or_else(|| "never written".to_owned())
    }

    fn is_of(&self, process: &ProcessMinuteRow, minute: &DeviceMinuteRow) -> bool {
        process.device_id == minute.device_id
    }

    fn device(&self, m: &DeviceMinuteRow) -> String {
        let mut out = format!("  {} {}", self.name(m.device_id), m.state);
        let percent = |v: i64| format!("{}.{:02}%", v / 10_000, v % 10_000 / 100);
        for (word, value) in [
            ("util", m.gpu_util_ppm),
            ("mem_util", m.mem_util_ppm),
            ("sm", m.sm_ppm),
            ("dram", m.dram_ppm),
            ("tensor", m.tensor_ppm),
        ] {
            if let Some(value) = value {
                write!(out, " {word} {}", percent(value)).unwrap();
            }
        }
        let mib = |v: i64| v >> 20;
        if let (Some(used), Some(total)) = (m.mem_used_bytes, m.mem_total_bytes) {
            write!(out, " mem {}/{} MiB", mib(used), mib(total)).unwrap();
        }
        if let Some(reserved) = m.mem_reserved_bytes {
            write!(out, " reserved {} MiB", mib(reserved)).unwrap();
        }
        if let Some(energy_mj) = m.energy_mj {
            write!(out, " energy {} J", energy_mj / 1_000).unwrap();
        }
        if let Some(power_mw) = m.power_mw {
            write!(out, " power {} W", power_mw / 1_000).unwrap();
        }
        if let Some(limit_mw) = m.power_limit_mw {
            write!(out, " of {} W", limit_mw / 1_000).unwrap();
        }
        for (word, value) in [("ecc", m.ecc_uncorrected), ("xid", m.xid)] {
            if let Some(value) = value {
                write!(out, " {word} {value}").unwrap();
            }
        }
        writeln!(out, " processes {}", m.process_count).unwrap();
        if let Some(reason) = &m.reason {
            writeln!(out, "    because {reason}").unwrap();
        }
        out
    }

    fn process(&self, p: &ProcessMinuteRow) -> String {
        let ms = |v: Option<i64>| v.map_or("-".to_owned(), |v| v.to_string());
        let percent = |v: Option<i64>| v.map_or("-".to_owned(), |v| format!("{}%", v / 10_000));
        let mut out = format!("    {}", p.pid);
        if let Some(instance) = p.instance_id {
            write!(out, " in {}", self.name(instance)).unwrap();
        }
        write!(out, " busy {} of {} ms, peak {}", ms(p.busy_ms), p.covered_ms, percent(p.peak_ppm)).unwrap();
        if let (Some(bytes), Some(source)) = (p.mem_peak_bytes, &p.mem_peak_source) {
            write!(out, ", mem {} MiB {source}", bytes >> 20).unwrap();
        }
        write!(out, ", {}", p.apportionment).unwrap();
        if p.sm_ppm.is_some() {
            write!(out, " sm {} dram {} tensor {}", percent(p.sm_ppm), percent(p.dram_ppm), percent(p.tensor_ppm))
                .unwrap();
        }
        writeln!(out, ", {}", p.hint).unwrap();
        if let Some(reason) = &p.reason {
            writeln!(out, "      because {reason}").unwrap();
        }
        out
    }
}
