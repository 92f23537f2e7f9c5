//! Real processes of the machine that a scenario names by a file.

use super::Sim;
use crate::scenario::Who;

/// How often the files are looked at, in microseconds of the scenario.
const LOOK_US: i64 = 100_000;

impl Sim {
    /// Finds the processes whose files have come, and lets go those that the kernel no longer has.
    pub(super) fn find_processes(&mut self, now: i64) {
        if now < self.looked.saturating_add(LOOK_US) {
            return;
        }
        self.looked = now;
        let Self { world, clock, .. } = self;
        for task in world.tasks.iter_mut().flatten() {
            let Who::PidFile(path) = &task.who else { continue };
            match task.pid {
                None => {
                    let Some(pid) = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()) else {
                        continue;
                    };
                    let Some(start) = start_boot_us(pid) else { continue };
                    let from = clock.at_boot_us(start).unwrap_or(now);
                    task.pid = Some(pid);
                    task.life = (from.max(task.planned.0), task.planned.1);
                }
                Some(pid) if task.life.1 > now && start_boot_us(pid).is_none() => task.life.1 = now.max(task.life.0),
                Some(_) => {}
            }
        }
    }
}

/// When a process started, in microseconds since boot; None: there is no such process, or it is a zombie.
fn start_boot_us(pid: u32) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may hold spaces and brackets: fields count from behind the last bracket, where field 3 is.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let ticks: i64 = fields.nth(18)?.parse().ok()?;
    // SAFETY: `sysconf` takes a number and touches no memory of ours.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
    Some(ticks * 1_000_000 / per_second)
}
