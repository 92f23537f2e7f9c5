//! From the texts of `/proc/PID` to plain values. Pure.

use procfs::FromRead;
use procfs::process::{Io, Stat};

use crate::node::attribute::Environ;
use crate::node::attribute::cgroup::is_sluid;

/// Longest job id that is believed: Slurm's are 32 bits wide.
const JOB_DIGITS_MAX: usize = 10;

/// `/proc/PID/stat`; none where it is cut or garbled.
pub(super) fn stat(text: &str) -> Option<Stat> {
    // The command is in parentheses and may hold any of them. The library takes their places for granted.
    let text = text.trim_end();
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let bytes = text.as_bytes();
    let framed = open >= 2 && bytes[open - 1] == b' ' && bytes.get(close + 1) == Some(&b' ');
    let headed = text[..open].trim_end().bytes().all(|b| b.is_ascii_digit());
    if !(framed && headed && open < close) {
        return None;
    }
    Stat::from_read(bytes).ok()
}

/// The real user's number and the pids of all namespaces, outermost first, of `/proc/PID/status`.
///
/// Two lines of some sixty: the library would keep them all, for every process in every minute.
pub(super) fn status(text: &str) -> Option<(u32, Vec<u32>)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let uid = field("Uid")?.split_whitespace().next()?.parse().ok()?;
    // kernels before 4.1 have no such line
    let pids = field("NSpid").unwrap_or_default().split_whitespace();
    Some((uid, pids.map_while(|pid| pid.parse().ok()).collect()))
}

/// Bytes fetched from storage, of `/proc/PID/io`.
pub(super) fn read_bytes(text: &str) -> Option<u64> {
    Io::from_read(text.as_bytes()).ok().map(|io| io.read_bytes)
}

/// The wanted keys of `/proc/PID/environ`, and only those: the rest may hold secrets.
///
/// The first of a key counts, as for the C library. Values of another shape than an id's are dropped.
pub(super) fn environ(bytes: &[u8]) -> Environ {
    let value =
        |key: &str| bytes.split(|b| *b == 0).find_map(|entry| entry.strip_prefix(key.as_bytes())?.strip_prefix(b"="));
    let job = |key: &str| {
        let text = std::str::from_utf8(value(key)?).ok()?;
        let id = !text.is_empty() && text.len() <= JOB_DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit());
        id.then(|| text.to_owned())
    };
    let sluid = value("SLURM_JOB_SLUID").and_then(|v| std::str::from_utf8(v).ok()).filter(|v| is_sluid(v));
    Environ { slurm_job: job("SLURM_JOB_ID").or_else(|| job("SLURM_JOBID")), slurm_sluid: sluid.map(str::to_owned) }
}

#[cfg(test)]
mod tests;
