//! Accounting mode: what the driver itself sums up for each process.

use nvml_wrapper_sys::bindings::{nvmlAccountingStats_t, nvmlDevice_t};

use crate::device::Device;
use crate::error::{Code, Error};
use crate::library::call;

/// Pids that there is room for: 3872 live and 128 dead ones, as the driver keeps them, with room to spare.
const PIDS_MAX: usize = 4_096;
/// Times that the count may change between two calls before it is given up.
const RETRIES: usize = 3;
/// "Not available", for fields of 32 bits.
const NONE_32: u32 = u32::MAX;
/// "Not available", for fields of 64 bits.
const NONE_64: u64 = u64::MAX;

/// What the driver summed up for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Process id. After a pid came again the driver may still speak of the earlier, dead process.
    pub pid: u32,
    /// Start, in microseconds by the wall clock.
    pub start_us: u64,
    /// Life of its context in ms; 0 while it runs.
    pub time_ms: u64,
    /// Whether it still runs.
    pub running: bool,
    /// Mean percent of its life in which its kernels ran, cut to whole percents.
    pub gpu_percent: Option<u32>,
    /// Most memory that it ever held.
    pub memory_peak_bytes: Option<u64>,
    /// Sums that later readings can be compared with; from driver 610 on.
    pub sums: Option<Sums>,
}

/// Sums over the driver's samples of one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sums {
    /// Samples since the process started.
    pub samples: u32,
    /// Sum of engine use, in hundredths of a percent a sample.
    pub gpu_centi_percent: u64,
}

/// `nvmlAccountingStats_v2_t` of driver 610 on, which the bindings do not have yet.
#[repr(C)]
#[derive(Clone, Copy)]
struct StatsV2 {
    pid: u32,
    is_running: u32,
    gpu_utilization: u32,
    memory_utilization: u32,
    max_memory_usage: u64,
    sample_count: u32,
    sum_gpu_util: u64,
    sum_fb_util: u64,
    time: u64,
    start_time: u64,
}

type StatsV2Call = unsafe extern "C" fn(nvmlDevice_t, *mut StatsV2) -> u32;

impl Device {
    /// Whether the driver keeps accounts of this device.
    pub fn is_accounting(self) -> Result<bool, Error> {
        let mut mode = 0;
        call!(self.library, nvmlDeviceGetAccountingMode(self.handle, &mut mode))?;
        Ok(mode == 1)
    }

    /// Tells the driver to keep accounts, or not; for root. It forgets when it is unloaded.
    pub fn set_accounting(self, on: bool) -> Result<(), Error> {
        call!(self.library, nvmlDeviceSetAccountingMode(self.handle, u32::from(on)))
    }

    /// Processes with an account, live and dead, each once: the driver pads the list with zeroes when it shrinks.
    pub fn accounting_pids(self) -> Result<Vec<u32>, Error> {
        let mut room = PIDS_MAX;
        for _ in 0..RETRIES {
            let mut pids = vec![0u32; room];
            let mut count = room as u32;
            match call!(self.library, nvmlDeviceGetAccountingPids(self.handle, &mut count, pids.as_mut_ptr())) {
                Ok(()) => {
                    pids.truncate(count as usize);
                    pids.retain(|pid| *pid != 0);
                    pids.sort_unstable();
                    pids.dedup();
                    return Ok(pids);
                }
                Err(error) if error.code() == Some(Code::NOT_FOUND) => return Ok(Vec::new()),
                Err(error) if error.code() == Some(Code::INSUFFICIENT_SIZE) => room *= 2,
                Err(error) => return Err(error),
            }
        }
        Err(Error::Refused { call: "nvmlDeviceGetAccountingPids", code: Code::INSUFFICIENT_SIZE })
    }

    /// The account of a process, or `None` where the driver has none; by the newer call where there is one.
    pub fn account(self, pid: u32) -> Result<Option<Account>, Error> {
        let account = match self.account_v2(pid) {
            Err(error) if error.is_unsupported() => self.account_v1(pid),
            answer => answer,
        };
        match account {
            Ok(account) => Ok(Some(account)),
            Err(error) if error.code() == Some(Code::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn account_v1(self, pid: u32) -> Result<Account, Error> {
        // SAFETY: a structure of numbers, for which zeroes are valid.
        let mut stats: nvmlAccountingStats_t = unsafe { std::mem::zeroed() };
        call!(self.library, nvmlDeviceGetAccountingStats(self.handle, pid, &mut stats))?;
        Ok(Account {
            pid,
            start_us: stats.startTime,
            time_ms: stats.time,
            running: stats.isRunning != 0,
            gpu_percent: Some(stats.gpuUtilization).filter(|v| *v != NONE_32),
            memory_peak_bytes: Some(stats.maxMemoryUsage).filter(|v| *v != NONE_64),
            sums: None,
        })
    }

    fn account_v2(self, pid: u32) -> Result<Account, Error> {
        let name = "nvmlDeviceGetAccountingStats_v2";
        let function: StatsV2Call = self.library.symbol(name)?;
        let mut stats = StatsV2 {
            pid,
            is_running: 0,
            gpu_utilization: 0,
            memory_utilization: 0,
            max_memory_usage: 0,
            sample_count: 0,
            sum_gpu_util: 0,
            sum_fb_util: 0,
            time: 0,
            start_time: 0,
        };
        self.library.counted(name, || {
            // SAFETY: `stats` is live and laid out as the driver's header has it.
            unsafe { function(self.handle, &mut stats) }
        })?;
        let sums = Sums { samples: stats.sample_count, gpu_centi_percent: stats.sum_gpu_util };
        Ok(Account {
            pid,
            start_us: stats.start_time,
            time_ms: stats.time,
            running: stats.is_running != 0,
            gpu_percent: Some(stats.gpu_utilization).filter(|v| *v != NONE_32),
            memory_peak_bytes: Some(stats.max_memory_usage).filter(|v| *v != NONE_64),
            sums: (stats.sample_count != NONE_32 && stats.sum_gpu_util != NONE_64).then_some(sums),
        })
    }
}
