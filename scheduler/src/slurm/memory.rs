//! Memory sizes: `31000M`, `62.50G`, and `31000Mn` or `4Gc` as in ReqMem (per node, per CPU).

use super::{is_blank, number};

/// Slurm's older versions mark "per CPU" by the 32nd bit of a number of MiB, and some print it with the mark in.
const PER_CPU_BIT_MIB: i64 = 1 << 31;
const MIB: i64 = 1 << 20;
/// 32 PiB: more than any machine has.
const BYTES_MAX: i64 = 1 << 55;

/// What a size is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// Not said.
    Unsaid,
    /// Each node.
    Node,
    /// Each CPU.
    Cpu,
}

/// A size of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes, rounded down.
    pub bytes: i64,
    /// What it is counted for.
    pub per: Per,
}

/// Not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no memory size such as 31000M or 62.50G")]
pub struct MemoryError(String);

/// Reads a size; without a suffix it is in MiB, Slurm's unit of memory.
pub fn memory(text: &str) -> Result<Option<Memory>, MemoryError> {
    let text = text.trim();
    if is_blank(text) {
        return Ok(None);
    }
    size(text).filter(|m| m.bytes <= BYTES_MAX).map(Some).ok_or_else(|| MemoryError(text.to_owned()))
}

fn size(text: &str) -> Option<Memory> {
    let (rest, per) = match text.as_bytes().last()? {
        b'n' => (&text[..text.len() - 1], Per::Node),
        b'c' => (&text[..text.len() - 1], Per::Cpu),
        _ => (text, Per::Unsaid),
    };
    let (digits, unit) = match rest.as_bytes().last()? {
        b'K' => (&rest[..rest.len() - 1], 1 << 10),
        b'M' => (&rest[..rest.len() - 1], MIB),
        b'G' => (&rest[..rest.len() - 1], 1 << 30),
        b'T' => (&rest[..rest.len() - 1], 1 << 40),
        b'P' => (&rest[..rest.len() - 1], 1 << 50),
        _ => (rest, MIB),
    };
    if unit == MIB
        && let Some(mib) = number::count(digits)
        && (PER_CPU_BIT_MIB..2 * PER_CPU_BIT_MIB).contains(&mib)
    {
        return Some(Memory { bytes: (mib - PER_CPU_BIT_MIB) * MIB, per: Per::Cpu });
    }
    number::scaled(digits, unit).map(|bytes| Memory { bytes, per })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_bytes() {
        for (text, bytes, per) in [
            ("31000M", 32_505_856_000, Per::Unsaid),
            ("31000Mn", 32_505_856_000, Per::Node),
            ("4Gc", 4_294_967_296, Per::Cpu),
            ("62.50G", 67_108_864_000, Per::Unsaid),
            ("1280.50G", 1_374_926_405_632, Per::Unsaid),
            ("1.50Gn", 1_610_612_736, Per::Node),
            ("60T", 65_970_697_666_560, Per::Unsaid),
            ("6972K", 7_139_328, Per::Unsaid),
            ("32768", 34_359_738_368, Per::Unsaid),
            ("0", 0, Per::Unsaid),
        ] {
            assert_eq!(memory(text), Ok(Some(Memory { bytes, per })), "{text}");
        }
        assert_eq!(memory(""), Ok(None));
    }

    #[test]
    fn the_marked_number_of_old_versions_is_per_cpu() {
        let expected = Memory { bytes: 3_000 * MIB, per: Per::Cpu };
        assert_eq!(memory("2147486648Mn"), Ok(Some(expected)), "the job had 8 CPUs and mem=24000M");
    }

    #[test]
    fn what_is_no_size() {
        for bad in ["?", "M", "n", "Mn", "-1M", "12X", "1.M", "99999999999999999999G", "9999999P", "é"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
