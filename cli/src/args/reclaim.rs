//! What can be typed after `idle` and `reclaim`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Idle {
    /// As it was known at this instant of the past (RFC 3339, or a date or local time in the zone) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// By this policy file [default: the policy in force]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<String>,
    /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Language of the report: en or zh
    #[arg(long, default_value = "en")]
    pub(crate) lang: String,
    #[command(flatten)]
    pub(crate) advice: Loose,
}

/// What may be looser where the past is asked about, for advice; nothing is ever acted upon by it.
#[derive(Debug, ClapArgs)]
pub(crate) struct Loose {
    /// Advice only: witnesses that are enough, 1 or 2
    #[arg(long, value_name = "N")]
    pub(crate) witnesses: Option<i64>,
    /// Advice only: holes between looks that do not start the clock again, in minutes
    #[arg(long, value_name = "MINUTES")]
    pub(crate) hole_minutes: Option<i64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Reclaim {
    /// Policies: what is idle, who is told when, who approves, what is asked of schedulers
    #[command(subcommand)]
    Policy(Policy),
    /// What a round would do now, and why it leaves the rest alone; changes nothing
    #[command(
        after_help = "Examples:\n  gpuledger reclaim plan\n  gpuledger reclaim plan --format json > plan.json\n  gpuledger reclaim plan --at 2026-10-12T09:00 --zone UTC"
    )]
    Plan(Plan),
    /// Read a plan as a stranger would: what of it may not be done, and by which rule
    #[command(after_help = "Example:\n  gpuledger reclaim check plan.json")]
    Check {
        /// A plan as `reclaim plan --format json` wrote it
        file: String,
    },
    /// One round: look, plan, check, and take each step against the world as it is then
    #[command(after_help = "Examples:\n  gpuledger reclaim apply\n  gpuledger reclaim apply plan.json")]
    Apply {
        /// A plan as `reclaim plan --format json` wrote it, at most five minutes old [default: one is made now]
        file: Option<String>,
    },
    /// Rounds until told to stop, a minute apart
    #[command(after_help = "Example:\n  gpuledger reclaim watch --every 60")]
    Watch {
        /// Seconds between rounds [default: round_seconds of the configuration, else 60]
        #[arg(long, value_name = "SECONDS")]
        every: Option<u64>,
        /// Ends after so many rounds
        #[arg(long, value_name = "N")]
        rounds: Option<u64>,
    },
    /// Cases that are not over, or everything that happened to one
    #[command(after_help = "Examples:\n  gpuledger reclaim cases\n  gpuledger reclaim cases 4711 --zone Europe/Berlin")]
    Cases {
        /// Number of a case: its story
        case: Option<String>,
        /// Those that are over, too
        #[arg(long)]
        all: bool,
        /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
        #[arg(long)]
        zone: Option<String>,
    },
    /// Answer for the owner: keep it for a while, it is normal, or take it back
    #[command(
        after_help = "Examples:\n  gpuledger reclaim answer 4711 keep --for 12h --reason \"evaluation tonight\"\n  gpuledger reclaim answer 4711 normal --reason \"a demo that must stay up\"\n  gpuledger reclaim answer 4711 release"
    )]
    Answer(OwnerAnswer),
    /// Approve what is, or will be, due
    #[command(after_help = "Example:\n  gpuledger reclaim approve 4711")]
    Approve(OfCase),
    /// Hold a case: nothing is done until it is lifted
    #[command(after_help = "Example:\n  gpuledger reclaim hold 4711 --reason \"talking to the owner\"")]
    Hold(OfCase),
    /// Lift a hold, or end what keeps or exempts a case
    #[command(after_help = "Example:\n  gpuledger reclaim lift 4711")]
    Lift(OfCase),
    /// Leave a run alone until an instant
    #[command(
        after_help = "Example:\n  gpuledger reclaim exempt 4711 --until 2026-11-01 --zone UTC --reason \"hardware test\""
    )]
    Exempt(Exempt),
    /// The kill switch: from now on nothing is told and nothing is asked of any scheduler (a file does the same)
    #[command(after_help = "Example:\n  gpuledger reclaim stop --reason \"maintenance of the controller\"")]
    Stop {
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Release the kill switch, and the breaker where it tripped
    #[command(after_help = "Example:\n  gpuledger reclaim resume --reason \"looked at it: the list was cut\"")]
    Resume {
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Switch `notify` or `act` on or off (the policy must say yes, too)
    #[command(after_help = "Example:\n  gpuledger reclaim switch act off --reason \"first weeks: alerts only\"")]
    Switch {
        /// notify or act
        name: String,
        /// on or off
        to: String,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// The report of the day: scanned, busy, idle, low, unknown and why, not judged and why; how much of what is held is not used
    #[command(after_help = "Examples:\n  gpuledger reclaim sweep\n  gpuledger reclaim sweep --mail")]
    Sweep {
        /// Mail it to on-call, once a day
        #[arg(long)]
        mail: bool,
        /// Zone of the day [default: billing_zone of the configuration, else UTC]
        #[arg(long)]
        zone: Option<String>,
    },
    /// What could be had back when GPUs are wanted, in the order in which it is missed least, with the work each would lose
    #[command(
        after_help = "Examples:\n  gpuledger reclaim free --gpus 8 --pool train\n  gpuledger reclaim free --gpus 8 --pool train --approve"
    )]
    Free {
        /// GPUs wanted
        #[arg(long)]
        gpus: i64,
        /// Pool
        #[arg(long, default_value = "default")]
        pool: String,
        /// Make cases of it: owners are warned, and nothing is done before both warnings were delivered
        #[arg(long)]
        approve: bool,
    },
    /// Which cases a policy would have made of stored history; moves none
    #[command(
        after_help = "Examples:\n  gpuledger reclaim backtest policy.toml --from 2026-10-01 --to 2026-11-01 --zone UTC --every 15\n  gpuledger reclaim backtest - --from 2026-10-01 --to 2026-10-08 --zone UTC --witnesses 1 --hole-minutes 10 < policy.toml"
    )]
    Backtest(Backtest),
    /// Everything that proves a case, as one document with its hash
    #[command(after_help = "Example:\n  gpuledger reclaim proof 4711 > case-4711.json")]
    Proof {
        /// Number of the case
        case: String,
    },
    /// What reclaiming was worth in a month: GPU-hours and money won back (an estimate), time to free, false alarms
    #[command(after_help = "Example:\n  gpuledger reclaim value --month 2026-10 --zone Europe/Berlin")]
    Value {
        /// Billing month, YYYY-MM
        #[arg(long)]
        month: String,
        /// Zone of its days [default: billing_zone of the configuration]
        #[arg(long)]
        zone: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Say in words what a policy means; a dangerous one is refused unless it says why
    #[command(after_help = "Example:\n  gpuledger reclaim policy check examples/reclaim/policy.toml")]
    Check {
        /// Policy file (TOML; unknown keys stop the program); `-` is standard input
        file: String,
        /// Language: en or zh
        #[arg(long, default_value = "en")]
        lang: String,
    },
    /// Check a policy and put it into force
    #[command(after_help = "Example:\n  gpuledger reclaim policy import policy.toml")]
    Import {
        /// Policy file; `-` is standard input
        file: String,
    },
    /// Every policy that was put into force, the newest last
    #[command(after_help = "Example:\n  gpuledger reclaim policy list --zone Europe/Berlin")]
    List {
        /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
        #[arg(long)]
        zone: Option<String>,
    },
    /// The text of the policy in force, or of one by the beginning of its hash
    #[command(after_help = "Example:\n  gpuledger reclaim policy show > policy.toml")]
    Show {
        /// Beginning of a hash
        hash: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Plan {
    /// As it was known at this instant of the past; such a plan is never applied [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Zone of `--at` and of what is shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OfCase {
    /// Number of the case
    pub(crate) case: String,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Who says so [default: the user of this session]
    #[arg(long)]
    pub(crate) by: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Exempt {
    #[command(flatten)]
    pub(crate) of: OfCase,
    /// Until when: a date (midnight in the zone) or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) until: String,
    /// Zone of dates [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OwnerAnswer {
    #[command(flatten)]
    pub(crate) of: OfCase,
    /// keep, normal or release
    pub(crate) answer: String,
    /// For how long it is kept: 90m, 12h, 2d
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) duration: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Backtest {
    /// Policy file; `-` is standard input
    pub(crate) policy: String,
    /// From: a date (midnight in the zone) or RFC 3339
    #[arg(long, value_name = "TIME")]
    pub(crate) from: String,
    /// To (exclusive)
    #[arg(long, value_name = "TIME")]
    pub(crate) to: String,
    /// Minutes between looks
    #[arg(long, value_name = "MINUTES", default_value_t = 5)]
    pub(crate) every: i64,
    /// Zone of dates and of what is shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    #[command(flatten)]
    pub(crate) advice: Loose,
}
