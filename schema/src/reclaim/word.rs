//! The closed lists of reclaiming: verdicts and why there is none, classes, states and moves of a case, acts and bounds.

use serde::{Serialize, Serializer};

use crate::state::words;

words! {
    /// What was seen of an allocation in its window. Unknown is never idle.
    Verdict, "verdict" {
        /// It worked.
        Busy = "busy",
        /// Every card of it was at rest for the window, by two witnesses.
        Idle = "idle",
        /// Nobody can say; the reasons say why.
        Unknown = "unknown",
    }
}

words! {
    /// Why a verdict is unknown.
    Reason, "reason" {
        /// It is younger than its window.
        TooYoung = "too_young",
        /// At rest, but not yet for its window since a hole in what was seen.
        ClockRestarted = "clock_restarted",
        /// Under 90 % of the window was measured.
        LowCoverage = "low_coverage",
        /// The newest tick is too old.
        Stale = "stale",
        /// Nothing was ever measured.
        NeverMeasured = "never_measured",
        /// Only one of the two witnesses spoke.
        OneWitness = "one_witness",
        /// The witnesses contradict each other.
        Disagreement = "disagreement",
        /// The power of the card is not its own: others worked on it.
        SharedPower = "shared_power",
        /// Not every granted GPU is known by name.
        DevicesUnnamed = "devices_unnamed",
        /// A card is lost, or its readings fail.
        DeviceNotOk = "device_not_ok",
        /// The scheduler was not read successfully for too long.
        SchedulerStale = "scheduler_stale",
    }
}

words! {
    /// What kind of waste a case is about. Some are for people alone.
    Class, "class" {
        /// Held since its start and never used.
        NeverTouched = "never_touched",
        /// Used, and at rest since.
        IdleSince = "idle_since",
        /// GPU memory is held and the process that holds it is gone.
        MemoryHeld = "memory_held",
        /// A process outside every allocation.
        OutsideAllocation = "outside_allocation",
        /// An allocation whose job the scheduler no longer has.
        JobGone = "job_gone",
        /// A process that is defunct or cannot be interrupted holds the card.
        DeadHolder = "dead_holder",
        /// Works so little that its owner is asked.
        LowUse = "low_use",
        /// Runs longer than its kind may.
        OverLimit = "over_limit",
        /// Wanted back by an order for capacity.
        Capacity = "capacity",
    }
}

impl Class {
    /// Whether a scheduler can be asked to free it. The others are for an operator: no signal is ever sent to a process.
    pub const fn can_act(self) -> bool {
        matches!(self, Self::NeverTouched | Self::IdleSince | Self::LowUse | Self::OverLimit | Self::Capacity)
    }

    /// Whether it is about rest, so that the clock of rest is its clock.
    pub const fn is_rest(self) -> bool {
        matches!(self, Self::NeverTouched | Self::IdleSince)
    }
}

words! {
    /// State of a case.
    CaseState, "case state" {
        /// Seen for its window; nobody was told.
        Observed = "observed",
        /// The owner was told, and that was delivered.
        Warned = "warned",
        /// The owner was told for the last time, and that was delivered.
        Final = "final",
        /// Its deadline has passed.
        Due = "due",
        /// Whoever has to approve did.
        Approved = "approved",
        /// Something was asked of the scheduler; its effect is waited for.
        Acting = "acting",
        /// The GPUs were seen free.
        Freed = "freed",
        /// What was asked did not work; it is tried again within bounds.
        Failed = "failed",
        /// A person has to look.
        NeedsOperator = "needs_operator",
        /// The owner keeps it, to a date.
        Kept = "kept",
        /// Exempt, to a date.
        Exempt = "exempt",
        /// It worked again, for a whole window.
        ActiveAgain = "active_again",
    }
}

impl CaseState {
    /// Whether nothing comes after it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Freed | Self::ActiveAgain)
    }

    /// Whether it waits to be acted upon: more looks at its nodes are worth their cost.
    pub const fn is_near(self) -> bool {
        matches!(self, Self::Final | Self::Due | Self::Approved | Self::Acting | Self::Failed)
    }
}

words! {
    /// What happened to a case.
    EventKind, "case event" {
        /// It began.
        Opened = "opened",
        /// The first warning was delivered.
        Warned = "warned",
        /// The last warning was delivered.
        FinalWarned = "final_warned",
        /// A delivery turned out not to be one.
        Bounced = "bounced",
        /// The deadline was put off, because the clock had to start again.
        Postponed = "postponed",
        /// The deadline passed.
        DuePassed = "due_passed",
        /// Approved, by the policy or a person.
        Approved = "approved",
        /// The owner wants it back now.
        Released = "released",
        /// The owner keeps it.
        Kept = "kept",
        /// The owner says that it is inefficient and as it should be.
        Normal = "normal",
        /// An operator (or the policy) exempts it.
        Exempted = "exempted",
        /// An operator holds it: nothing is done until it is released.
        Held = "held",
        /// What kept it is over; it is looked at from the beginning.
        Resumed = "resumed",
        /// About to ask: written before anything is done.
        Intended = "intended",
        /// Asked: the scheduler took it.
        Asked = "asked",
        /// The scheduler asks to wait.
        Waiting = "waiting",
        /// It did not work.
        Failed = "failed",
        /// A person has to look.
        Escalated = "escalated",
        /// Seen free.
        Freed = "freed",
        /// It worked again.
        Recovered = "recovered",
    }
}

words! {
    /// What an action has come to.
    Phase, "phase" {
        /// A checkpoint was asked for.
        Signal = "signal",
        /// The scheduler was asked to free it.
        Order = "order",
    }
}

words! {
    /// Who has to approve.
    Approval, "approval" {
        /// Nobody: the warnings were enough.
        Automatic = "automatic",
        /// The owner.
        Owner = "owner",
        /// An operator.
        Operator = "operator",
    }
}

words! {
    /// What a scheduler is asked.
    ActKind, "act" {
        /// Slurm: put back into the queue.
        Requeue = "requeue",
        /// Slurm: end.
        Cancel = "cancel",
        /// Kubernetes: evict the pod.
        Evict = "evict",
        /// Kubernetes: suspend the Job that owns it.
        SuspendOwner = "suspend_owner",
        /// Kubernetes: scale the workload that owns it to none.
        ScaleOwner = "scale_owner",
    }
}

words! {
    /// Which kind of look a snapshot came from.
    Mode, "mode" {
        /// Now.
        Live = "live",
        /// Of the past, for a backtest: nothing of it moves a case.
        Past = "past",
    }
}

words! {
    /// What people are told without any case being moved.
    AlertKind, "alert" {
        /// Looks hung.
        Hung = "hung",
        /// A node or card was lost.
        NodeLost = "node_lost",
        /// A little load now and then: looks kept alive.
        TokenLoad = "token_load",
        /// More memory than granted.
        MemoryOverQuota = "memory_over_quota",
        /// Witnesses contradict each other.
        Disagreement = "disagreement",
        /// Some of its GPUs are used and some never.
        PartlyIdle = "partly_idle",
        /// A bound stopped something.
        Stopped = "stopped",
        /// A delivery failed or bounced.
        NotDelivered = "not_delivered",
        /// An action failed.
        ActionFailed = "action_failed",
        /// A case needs an operator.
        NeedsOperator = "needs_operator",
    }
}

words! {
    /// What stops acting.
    StopKind, "stop" {
        /// The switch `act` is off.
        ActOff = "act_off",
        /// The switch `notify` is off.
        NotifyOff = "notify_off",
        /// The kill switch was thrown, by command or file.
        Killed = "killed",
        /// Many allocations became idle at once.
        ManyNewlyIdle = "many_newly_idle",
        /// Less of the fleet is measured than before.
        CoverageFalls = "coverage_falls",
        /// Witnesses disagree on many cards.
        WitnessesDisagree = "witnesses_disagree",
        /// A scheduler could not be read.
        SchedulerUnreadable = "scheduler_unreadable",
        /// A scheduler shows far fewer jobs than before.
        SchedulerShort = "scheduler_short",
        /// The breaker tripped earlier, and nobody has reset it.
        BreakerOpen = "breaker_open",
    }
}

words! {
    /// Why nothing was done with an allocation or a case in a round.
    NotDone, "reason for not acting" {
        /// It works.
        Busy = "busy",
        /// Nobody can say whether it works.
        Unknown = "unknown",
        /// At rest, not long enough for the next step.
        NotYet = "not_yet",
        /// Exempt by the policy.
        Exempt = "exempt",
        /// Protected: told about, never acted upon.
        Protected = "protected",
        /// Its owner keeps it.
        Kept = "kept",
        /// An operator holds it.
        Held = "held",
        /// A bound stops the engine.
        Stopped = "stopped",
        /// It waits for its approval.
        NotApproved = "not_approved",
        /// Outside the hours in which the policy acts.
        OutsideHours = "outside_hours",
        /// The cap of this round is used.
        CapRound = "cap_round",
        /// The cap of an hour is used.
        CapHour = "cap_hour",
        /// The cap of its team is used.
        CapTeam = "cap_team",
        /// The cap of its node is used.
        CapNode = "cap_node",
        /// The newest tick is too old to act upon.
        TickTooOld = "tick_too_old",
        /// The scheduler's newest reading is too old to act upon.
        ReadingTooOld = "reading_too_old",
        /// Its owner is asked, and has not answered.
        OwnerAsked = "owner_asked",
        /// A person has to look; the engine does nothing.
        ForOperator = "for_operator",
        /// A checkpoint was asked for and is waited for.
        AwaitsCheckpoint = "awaits_checkpoint",
        /// It was asked for and its effect is waited for.
        AwaitsFree = "awaits_free",
        /// It failed and is tried again later.
        AwaitsRetry = "awaits_retry",
        /// Nobody can act there: a bare host.
        NoScheduler = "no_scheduler",
        /// A sibling of its workload is busy.
        SiblingBusy = "sibling_busy",
        /// It is no longer there.
        Gone = "gone",
        /// Another server leads.
        NotLeader = "not_leader",
        /// No policy speaks of it.
        NoPolicy = "no_policy",
    }
}

macro_rules! as_word {
    ($($name:ident),+) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        })+
    };
}

/// Nobody can say: what was not judged.
impl Default for Verdict {
    fn default() -> Self {
        Self::Unknown
    }
}

as_word!(ActKind, AlertKind, Approval, CaseState, Class, EventKind, Mode, NotDone, Phase, Reason, StopKind, Verdict);
