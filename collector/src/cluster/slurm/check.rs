//! Whether a record of `scontrol show job` is what the controller wrote.
//!
//! Users choose names and comments, line breaks among them, and can so write lines that look like records, or like fields
//! of their own. `squeue` tells the same of each job in fields that they cannot write.

use gpuledger_scheduler::slurm::scontrol::job::ScontrolJob;
use gpuledger_scheduler::slurm::tres::tres;
use gpuledger_schema::state::RunState;

use super::Seen;

/// What a record is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The controller says the same.
    Believed,
    /// It changed, or went, between the two commands: the next look, or accounting, tells.
    Passing,
    /// It is not what the controller says.
    Refused(String),
}

/// Compares a record with what `squeue` says of its job.
pub(super) fn verdict(job: &ScontrolJob, submit_ms: i64, seen: Option<&Seen>) -> Verdict {
    let refused = |why: &str| Verdict::Refused(format!("{why}: the record was not written by the controller alone"));
    let is_over = job.state.is_terminal();
    let Some(seen) = seen else {
        return if is_over { Verdict::Passing } else { refused("squeue knows no such job") };
    };
    if job.uid != Some(seen.uid) {
        return refused("squeue knows the job as another user's");
    }
    if seen.submit_ms > submit_ms {
        return Verdict::Passing;
    }
    if seen.submit_ms < submit_ms {
        return refused("squeue knows an earlier submission only");
    }
    // RESIZING and REQUEUED are passing states, too
    if is_over && !seen.state.is_terminal() && job.state != RunState::Requeued {
        return refused("it is over, and still there for squeue");
    }
    if job.state != seen.state {
        return Verdict::Believed;
    }
    if job.state != RunState::Pending && job.start_ms != seen.start_ms {
        return refused("squeue knows another start");
    }
    let granted = job.granted.as_ref().filter(|_| job.state != RunState::Pending);
    match (granted, tres(&seen.tres)) {
        (Some(granted), Ok(told)) if told != *granted => refused("squeue knows other resources"),
        _ => Verdict::Believed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuledger_scheduler::slurm::scontrol::job::read;

    const RUNNING: &str = "JobId=7 JobName=x\n   UserId=ann(1000) JobState=RUNNING\n   SubmitTime=1795998400 StartTime=1795998460 EndTime=1796002060\n   NodeList=n1 NumNodes=1\n   TRES=cpu=6,node=1,billing=6,gres/gpu=2\n";

    fn seen(state: RunState, uid: i64, submit_s: i64, tres: &str) -> Seen {
        let start_ms = Some(1_795_998_460_000);
        Seen { state, uid, submit_ms: submit_s * 1_000, start_ms, tres: tres.to_owned() }
    }

    fn of(text: &str, seen: Option<&Seen>) -> Verdict {
        let job = read(text, Some(chrono_tz::UTC)).facts.remove(0);
        verdict(&job, job.submit_ms.unwrap(), seen)
    }

    #[test]
    fn a_record_is_believed_where_the_controller_says_the_same() {
        let tres = "cpu=6,node=1,billing=6,gres/gpu=2";
        let good = seen(RunState::Running, 1_000, 1_795_998_400, tres);
        assert_eq!(of(RUNNING, Some(&good)), Verdict::Believed);
        let ended = seen(RunState::Completed, 1_000, 1_795_998_400, tres);
        assert_eq!(of(RUNNING, Some(&ended)), Verdict::Believed, "it ended between the two");
        let again = seen(RunState::Pending, 1_000, 1_795_998_500, tres);
        assert_eq!(of(RUNNING, Some(&again)), Verdict::Passing, "it was put back between the two");
        let over = RUNNING.replace("RUNNING", "COMPLETED");
        assert_eq!(of(&over, None), Verdict::Passing);

        for (text, seen, says) in [
            (RUNNING.to_owned(), None, "squeue knows no such job"),
            (RUNNING.replace("(1000)", "(0)"), Some(&good), "another user's"),
            (RUNNING.replace("1795998400", "1795998401"), Some(&good), "an earlier submission"),
            (RUNNING.replace("1795998460", "1795998461"), Some(&good), "another start"),
            (RUNNING.replace("gpu=2", "gpu=0"), Some(&good), "other resources"),
            (over, Some(&good), "it is over, and still there"),
        ] {
            let Verdict::Refused(why) = of(&text, seen) else { panic!("{says}: believed") };
            assert!(why.contains(says), "{why}");
        }
    }
}
