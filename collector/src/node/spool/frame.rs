//! Frames of the journal: length u32, CRC32C u32, payload; both numbers little-endian. Pure.
//!
//! The payload is JSON that names its version. A reader believes a frame only if its length is possible and its
//! checksum right, and stops at the first that it cannot believe: zeros of a torn page must never become rows.

use serde::{Deserialize, Serialize};

use super::tick::Tick;

/// Bytes before a payload.
pub(super) const HEADER_BYTES: usize = 8;
/// A longer payload is garbage: a tick of 16 devices and 1 000 processes has about 600 KiB.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;
/// The version of the payload that this code writes, and the only one it reads.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct PayloadOut<'a> {
    version: u32,
    tick: &'a Tick,
}

#[derive(Deserialize)]
struct PayloadIn {
    version: u32,
    tick: Tick,
}

/// Why a tick cannot be framed.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// JSON refused it.
    #[error("cannot write a tick as JSON")]
    Json(#[source] serde_json::Error),
    /// It is longer than any reader would believe.
    #[error("a tick of {bytes} bytes is longer than a frame may be ({PAYLOAD_BYTES_MAX})")]
    TooLong {
        /// Its payload.
        bytes: usize,
    },
}

/// What stands behind the last whole frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing: the file ends with a whole frame.
    None,
    /// One frame that was in flight when the writer died: it was never acknowledged to anybody.
    Torn,
    /// Something that one frame in flight does not explain: frames that were acknowledged may lie in it.
    Damaged,
}

/// A journal file, read as far as it can be believed.
#[derive(Debug)]
pub(super) struct Scan {
    /// The whole frames.
    pub(super) ticks: Vec<Tick>,
    /// Bytes that they take.
    pub(super) good_bytes: usize,
    /// What is behind them.
    pub(super) tail: Tail,
}

/// A tick as a frame.
pub(super) fn encode(tick: &Tick) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEADER_BYTES];
    serde_json::to_writer(&mut frame, &PayloadOut { version: VERSION, tick }).map_err(FrameError::Json)?;
    let payload = &frame[HEADER_BYTES..];
    let too_long = FrameError::TooLong { bytes: payload.len() };
    let (length, crc) = (u32::try_from(payload.len()), crc32c::crc32c(payload));
    match length {
        Ok(length) if payload.len() <= PAYLOAD_BYTES_MAX => {
            frame[..4].copy_from_slice(&length.to_le_bytes());
            frame[4..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
            Ok(frame)
        }
        _ => Err(too_long),
    }
}

/// Reads frames up to the first that cannot be believed.
pub(super) fn scan(bytes: &[u8]) -> Scan {
    let mut ticks = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match first(&bytes[at..]) {
            Some((tick, length)) => {
                ticks.push(tick);
                at += length;
            }
            None => return Scan { ticks, good_bytes: at, tail: kind_of(&bytes[at..]) },
        }
    }
    Scan { ticks, good_bytes: at, tail: Tail::None }
}

/// The frame at the start of some bytes and its whole length.
fn first(bytes: &[u8]) -> Option<(Tick, usize)> {
    let (length, crc) = header(bytes)?;
    let payload = bytes.get(HEADER_BYTES..HEADER_BYTES + length)?;
    if crc32c::crc32c(payload) != crc {
        return None;
    }
    let PayloadIn { version, tick } = serde_json::from_slice(payload).ok()?;
    (version == VERSION).then_some((tick, HEADER_BYTES + length))
}

/// A length that a writer could have written, and a checksum. Zero is no length: the checksum of nothing is zero too,
/// so that a zeroed page would read as a row of good empty frames.
fn header(bytes: &[u8]) -> Option<(usize, u32)> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let crc = rest.first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    (1..=PAYLOAD_BYTES_MAX).contains(&length).then_some((length, u32::from_le_bytes(*crc)))
}

/// One frame in flight leaves its beginning, with zeros behind it or not, or its whole length with pages that were not
/// written; it never leaves a whole frame behind it.
fn kind_of(tail: &[u8]) -> Tail {
    // JSON ends with a brace: zeros at the end are never written
    let written = tail.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    let in_flight = match header(tail) {
        _ if written < HEADER_BYTES => true,
        Some((length, _)) if written < HEADER_BYTES + length => true,
        Some((length, crc)) => tail.len() == HEADER_BYTES + length && crc32c::crc32c(&tail[HEADER_BYTES..]) != crc,
        None => false,
    };
    if in_flight && !holds_a_frame(tail) { Tail::Torn } else { Tail::Damaged }
}

/// Whether a whole frame begins anywhere behind the first byte. JSON text read as a length is far too large, so that
/// few places need their checksum computed.
fn holds_a_frame(tail: &[u8]) -> bool {
    (1..tail.len()).any(|at| first(&tail[at..]).is_some())
}

#[cfg(test)]
mod tests;
