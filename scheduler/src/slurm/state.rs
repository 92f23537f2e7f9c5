//! Job states as Slurm prints them, long or short, and the flags that come with them in JSON.

use gpuledger_schema::state::{RunState, UnknownWord};

/// Reads a state: `COMPLETED`, `CANCELLED by 1000`, `CG`. A word that Slurm does not print is an error.
pub fn state(text: &str) -> Result<RunState, UnknownWord> {
    let text = text.trim();
    let unknown = || UnknownWord { list: "Slurm job state", word: text.to_owned() };
    let word = match text.split_once(' ') {
        Some(("CANCELLED", rest)) if rest.starts_with("by ") => "CANCELLED",
        Some(_) => return Err(unknown()),
        None => text,
    };
    Ok(match word {
        // Held in the queue for one reason or another.
        "PENDING" | "PD" | "REQUEUE_HOLD" | "RH" | "RESV_DEL_HOLD" | "RD" | "SPECIAL_EXIT" | "SE" => RunState::Pending,
        "RUNNING" | "R" | "SIGNALING" | "SI" => RunState::Running,
        // STOPPED is SIGSTOP: the allocation stays, as with a suspended job.
        "SUSPENDED" | "S" | "STOPPED" | "ST" => RunState::Suspended,
        "COMPLETING" | "CG" | "STAGE_OUT" | "SO" => RunState::Completing,
        "CONFIGURING" | "CF" => RunState::Configuring,
        "RESIZING" | "RS" => RunState::Resizing,
        "REQUEUED" | "RQ" | "REQUEUE_FED" | "RF" => RunState::Requeued,
        "COMPLETED" | "CD" => RunState::Completed,
        "CANCELLED" | "CA" => RunState::Cancelled,
        "FAILED" | "F" => RunState::Failed,
        "TIMEOUT" | "TO" => RunState::Timeout,
        "NODE_FAIL" | "NF" => RunState::NodeFail,
        "PREEMPTED" | "PR" => RunState::Preempted,
        "BOOT_FAIL" | "BF" => RunState::BootFail,
        "DEADLINE" | "DL" => RunState::Deadline,
        "OUT_OF_MEMORY" | "OOM" => RunState::OutOfMemory,
        "REVOKED" | "RV" => RunState::Revoked,
        _ => return Err(unknown()),
    })
}

/// The state of a base state and its flags: a flag tells more only of a job that still runs.
pub fn with_flags(words: &[&str]) -> Result<RunState, UnknownWord> {
    let states = words.iter().map(|w| state(w)).collect::<Result<Vec<_>, _>>()?;
    let base = *states.first().ok_or_else(|| UnknownWord { list: "Slurm job state", word: String::new() })?;
    let flag = states
        .iter()
        .find(|s| matches!(s, RunState::Completing | RunState::Configuring | RunState::Resizing | RunState::Requeued));
    Ok(match (base, flag) {
        (RunState::Running, Some(flag)) => *flag,
        _ => base,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_short_and_cancelled_by() {
        for s in RunState::ALL.iter().filter(|s| **s != RunState::Ended) {
            assert_eq!(state(s.as_str()), Ok(*s));
        }
        assert_eq!(state("CANCELLED by 1000"), Ok(RunState::Cancelled));
        assert_eq!(state("PD"), Ok(RunState::Pending));
        assert_eq!(state("OOM"), Ok(RunState::OutOfMemory));
        for bad in ["", "ENDED", "SLEEPING", "CANCELLED+", "OUT_OF_ME+", "completed", "RUNNING by 3", "CANCELLED by"] {
            assert!(state(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_tell_more_only_of_a_job_that_runs() {
        assert_eq!(with_flags(&["RUNNING", "COMPLETING"]), Ok(RunState::Completing));
        assert_eq!(with_flags(&["COMPLETED", "COMPLETING"]), Ok(RunState::Completed));
        assert_eq!(with_flags(&["PENDING", "REQUEUED"]), Ok(RunState::Pending));
        assert!(with_flags(&[]).is_err());
        assert!(with_flags(&["RUNNING", "DREAMING"]).is_err());
    }
}
