//! The C interface. Every exported function is an entrance: it names itself, and the simulation decides whether it
//! goes on. Pointers are the caller's, as NVML's contract says: null, or room for what the function writes.

#![allow(non_snake_case, reason = "the names are NVML's")]

mod absent;
mod accounting;
mod control;
mod device;
mod events;
mod fields;
mod gpm;
mod health;
mod mig;
mod out;
mod process;
mod system;
mod utilization;

use std::time::Duration;

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::sim::{Answer, Device, Held, Sim, Target, Verdict, code, lock};

/// A call that may go on, with the lock held.
struct Call<'a> {
    sim: &'a mut Sim,
    /// Scenario time, in microseconds.
    now: i64,
    /// What it is about; GPU 0 for calls about none.
    device: Device,
}

impl Call<'_> {
    fn gpu(&self) -> usize {
        self.device.gpu
    }
}

/// A call about the library as a whole.
fn on_library(symbol: &'static str, body: impl FnOnce(Call<'_>) -> Answer) -> u32 {
    enter(symbol, Target::Library, body)
}

/// A call about a device.
fn on_device(symbol: &'static str, device: nvmlDevice_t, body: impl FnOnce(Call<'_>) -> Answer) -> u32 {
    enter(symbol, Target::Device(device.addr()), body)
}

/// Lets a call in, makes it wait outside the lock where it hangs, and gives its return code.
fn enter(symbol: &'static str, target: Target, body: impl FnOnce(Call<'_>) -> Answer) -> u32 {
    let mut held = Held::default();
    loop {
        {
            let mut guard = lock();
            let Some(sim) = guard.as_mut() else { return code::UNINITIALIZED };
            match sim.admit(symbol, target, &mut held) {
                Verdict::Go(admitted) => {
                    let call = Call { sim, now: admitted.now, device: admitted.device };
                    return match body(call) {
                        Ok(()) => 0,
                        Err(refused) => refused,
                    };
                }
                Verdict::Refuse(refused) => return refused,
                Verdict::Wait => {}
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
