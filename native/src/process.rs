//! Who uses a device: utilization of each process, and lists of processes with their memory.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessUtilizationSample_t};

use crate::device::Device;
use crate::error::{Code, Error};
use crate::library::call;

/// Rows of utilization that there is room for at first: the driver's ring holds 72 samples, garbage up to 100 rows.
const UTILIZATION_ROWS: usize = 128;
/// Rows of a list that there is room for at first.
const LIST_ROWS: usize = 128;
/// How often a call is repeated with a larger buffer before it counts as failed.
const RETRIES: usize = 3;
/// Most rows that there is ever room for: an absurd count must not become a request for memory.
const ROWS_MAX: usize = 16_384;
/// A byte that stands where the driver has written nothing.
const SENTINEL: u8 = 0xA5;
/// "Not available" for memory.
const NO_MEMORY: u64 = u64::MAX;
/// "Not an instance".
const NO_INSTANCE: u32 = u32::MAX;

/// A process that used a device, as the driver wrote it: impossible rows occur and are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utilization {
    /// Process id; 0 occurs.
    pub pid: u32,
    /// When it was last seen using the device, in microseconds by the wall clock.
    pub at_us: u64,
    /// Percent of the samples in which it had work on the graphics and compute engine.
    pub sm_percent: u32,
    /// Percent of time in which its memory traffic was active.
    pub memory_percent: u32,
    /// Percent of the encoder.
    pub encoder_percent: u32,
    /// Percent of the decoder.
    pub decoder_percent: u32,
}

/// A process that has a context on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Process id, in the process-id namespace of the caller where the driver can translate it.
    pub pid: u32,
    /// Memory it holds; absent where the driver cannot tell.
    pub memory_bytes: Option<u64>,
    /// GPU instance, on a device that is cut into them.
    pub gpu_instance: Option<u32>,
    /// Compute instance inside it.
    pub compute_instance: Option<u32>,
}

/// A list of processes that the driver keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// Those with a compute context.
    Compute,
    /// Those with a graphics context; a process with both stands in both lists with the same memory.
    Graphics,
    /// Clients of an MPS server.
    Mps,
}

/// The layout of a row; drivers changed it under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Process id and memory.
    Bytes16,
    /// The same with instances.
    Bytes24,
    /// The same with protected memory: 535.43 to 535.86 and 535.104 to before 535.154.
    Bytes32,
}

impl Layout {
    const fn bytes(self) -> usize {
        match self {
            Self::Bytes16 => 16,
            Self::Bytes24 => 24,
            Self::Bytes32 => 32,
        }
    }
}

/// All forms of a list call have this shape.
type ListCall = unsafe extern "C" fn(nvmlDevice_t, *mut u32, *mut u8) -> u32;

impl List {
    /// Names of the call, newest first, each with the layout of its rows where that is certain.
    const fn calls(self) -> &'static [(&'static str, Option<Layout>)] {
        match self {
            Self::Compute => &[
                ("nvmlDeviceGetComputeRunningProcesses_v3", None),
                ("nvmlDeviceGetComputeRunningProcesses_v2", Some(Layout::Bytes24)),
                ("nvmlDeviceGetComputeRunningProcesses", Some(Layout::Bytes16)),
            ],
            Self::Graphics => &[
                ("nvmlDeviceGetGraphicsRunningProcesses_v3", None),
                ("nvmlDeviceGetGraphicsRunningProcesses_v2", Some(Layout::Bytes24)),
                ("nvmlDeviceGetGraphicsRunningProcesses", Some(Layout::Bytes16)),
            ],
            Self::Mps => &[
                ("nvmlDeviceGetMPSComputeRunningProcesses_v3", None),
                ("nvmlDeviceGetMPSComputeRunningProcesses_v2", Some(Layout::Bytes24)),
                ("nvmlDeviceGetMPSComputeRunningProcesses", Some(Layout::Bytes16)),
            ],
        }
    }
}

impl Device {
    /// Who used the device since `last_seen_us` (0: since the driver's ring begins). Nobody is an empty list.
    pub fn process_utilization(self, last_seen_us: u64) -> Result<Vec<Utilization>, Error> {
        let empty =
            nvmlProcessUtilizationSample_t { pid: 0, timeStamp: 0, smUtil: 0, memUtil: 0, encUtil: 0, decUtil: 0 };
        // With its own buffer the call needs no count first, so nothing can change between the two.
        let rows = with_room(UTILIZATION_ROWS, |room| {
            let mut rows = vec![empty; room];
            let mut count = room as u32;
            let answer = call!(
                self.library,
                nvmlDeviceGetProcessUtilization(self.handle, rows.as_mut_ptr(), &mut count, last_seen_us)
            );
            rows.truncate(count as usize);
            (answer.map(|()| rows), count)
        });
        match rows {
            Ok(rows) => Ok(rows.iter().map(Utilization::from_c).collect()),
            Err(error) if error.code() == Some(Code::NOT_FOUND) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Processes of a list, by the newest form of the call that the driver has.
    pub fn processes(self, list: List) -> Result<Vec<Listed>, Error> {
        let mut missing = None;
        for (name, layout) in list.calls() {
            match self.processes_by(name, *layout) {
                Err(error @ Error::Missing { .. }) => missing = Some(error),
                Err(error) if error.code() == Some(Code::FUNCTION_NOT_FOUND) => missing = Some(error),
                answer => return answer,
            }
        }
        Err(missing.unwrap_or(Error::Missing { call: "nvmlDeviceGetComputeRunningProcesses" }))
    }

    fn processes_by(self, name: &'static str, layout: Option<Layout>) -> Result<Vec<Listed>, Error> {
        let function: ListCall = self.library.symbol(name)?;
        // Room for the largest layout: a driver that counts in rows writes no more than 32 bytes for each.
        let (bytes, count) = with_room(LIST_ROWS, |room| {
            let mut bytes = vec![SENTINEL; room * Layout::Bytes32.bytes()];
            let mut count = room as u32;
            let answer = self.library.counted(name, || {
                // SAFETY: `bytes` has room for `count` rows of the largest layout; `count` is live.
                unsafe { function(self.handle, &mut count, bytes.as_mut_ptr()) }
            });
            let written = (count as usize).min(room);
            (answer.map(|()| (bytes, written)), count)
        })?;
        let layout = layout.unwrap_or_else(|| layout_of(&bytes, count));
        Ok(bytes.chunks_exact(layout.bytes()).take(count).map(Listed::from_bytes).collect())
    }
}

/// Makes a call with more and more room, until it no longer says that the room was too small.
fn with_room<T>(first: usize, mut attempt: impl FnMut(usize) -> (Result<T, Error>, u32)) -> Result<T, Error> {
    let mut room = first;
    let mut tries = 0;
    loop {
        let (answer, count) = attempt(room);
        match answer {
            Err(error) if error.code() == Some(Code::INSUFFICIENT_SIZE) && tries < RETRIES => {
                // What it asks for, and as much again: the list may have grown by the next call.
                room = (count as usize).saturating_mul(2).max(room * 2).min(ROWS_MAX);
                tries += 1;
            }
            answer => return answer,
        }
    }
}

/// Which layout `count` rows were written in: the shorter one leaves the end of the longer one untouched.
fn layout_of(bytes: &[u8], count: usize) -> Layout {
    let end = |layout: Layout| (count * layout.bytes()).min(bytes.len());
    let beyond = &bytes[end(Layout::Bytes24)..end(Layout::Bytes32)];
    if beyond.iter().all(|b| *b == SENTINEL) { Layout::Bytes24 } else { Layout::Bytes32 }
}

impl Listed {
    /// A row of any layout: they share their first fields.
    fn from_bytes(row: &[u8]) -> Self {
        let u32_at = |at: usize| row.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes);
        let memory = row.get(8..16).and_then(|b| b.try_into().ok()).map(u64::from_ne_bytes);
        Self {
            pid: u32_at(0).unwrap_or(0),
            memory_bytes: memory.filter(|m| *m != NO_MEMORY),
            gpu_instance: u32_at(16).filter(|i| *i != NO_INSTANCE),
            compute_instance: u32_at(20).filter(|i| *i != NO_INSTANCE),
        }
    }
}

impl Utilization {
    fn from_c(row: &nvmlProcessUtilizationSample_t) -> Self {
        Self {
            pid: row.pid,
            at_us: row.timeStamp,
            sm_percent: row.smUtil,
            memory_percent: row.memUtil,
            encoder_percent: row.encUtil,
            decoder_percent: row.decUtil,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as a driver of a layout writes them into a buffer of sentinels.
    fn written(layout: Layout, rows: &[(u32, u64)]) -> Vec<u8> {
        let mut bytes = vec![SENTINEL; 8 * Layout::Bytes32.bytes()];
        for (row, (pid, memory)) in bytes.chunks_exact_mut(layout.bytes()).zip(rows) {
            row[0..4].copy_from_slice(&pid.to_ne_bytes());
            row[8..16].copy_from_slice(&memory.to_ne_bytes());
            if layout != Layout::Bytes16 {
                row[16..20].copy_from_slice(&NO_INSTANCE.to_ne_bytes());
                row[20..24].copy_from_slice(&3u32.to_ne_bytes());
            }
            if layout == Layout::Bytes32 {
                row[24..32].copy_from_slice(&0u64.to_ne_bytes());
            }
        }
        bytes
    }

    #[test]
    fn layout_is_told_from_what_was_written() {
        for rows in [vec![(1, 2)], vec![(1, 2), (3, 4), (5, 6)]] {
            for layout in [Layout::Bytes24, Layout::Bytes32] {
                assert_eq!(layout_of(&written(layout, &rows), rows.len()), layout, "{} rows", rows.len());
            }
        }
        assert_eq!(layout_of(&written(Layout::Bytes24, &[]), 0), Layout::Bytes24);
    }

    #[test]
    fn a_row_reads_the_same_in_every_layout_and_all_ones_are_absent() {
        let row = Listed::from_bytes(&written(Layout::Bytes32, &[(4242, NO_MEMORY)])[..32]);
        let none = Listed { pid: 4242, memory_bytes: None, gpu_instance: None, compute_instance: Some(3) };
        assert_eq!(row, none);
        let old = Listed::from_bytes(&written(Layout::Bytes16, &[(7, 1 << 30)])[..16]);
        assert_eq!(old, Listed { pid: 7, memory_bytes: Some(1 << 30), gpu_instance: None, compute_instance: None });
    }

    #[test]
    fn a_list_that_grows_between_calls_is_asked_again_with_room_to_spare() {
        let too_small = Error::Refused { call: "nvmlX", code: Code::INSUFFICIENT_SIZE };
        let mut asked = Vec::new();
        let answer = with_room(128, |room| {
            asked.push(room);
            if room < 700 { (Err(too_small.clone()), 200) } else { (Ok(room), 0) }
        });
        // 200 wanted: room for 400; still too small: twice 400
        assert_eq!((answer, asked), (Ok(800), vec![128, 400, 800]));
        let never = with_room(128, |_| (Err::<(), _>(too_small.clone()), u32::MAX));
        assert_eq!(never, Err(too_small));
    }
}
