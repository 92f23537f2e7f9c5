//! What can be typed after `report`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// Jobs ended; wall, CPU, node and GPU hours; waits
    #[command(
        after_help = "Example:\n  gpuledger report accounting --month 2016-12 --zone UTC --by cluster --step day --format csv"
    )]
    Accounting(Asked),
    /// The six classes of every GPU-hour, effective time and coverage
    #[command(after_help = "Example:\n  gpuledger report usage --month 2026-10 --zone UTC --by cluster,model")]
    Usage(Asked),
    /// Money beside held, busy and waste
    #[command(
        after_help = "Example:\n  gpuledger report charge --month 2026-10 --zone Europe/Berlin --by team,task_type"
    )]
    Charge(Asked),
    /// Asked for against used, priced, greatest first
    #[command(after_help = "Example:\n  gpuledger report gaps --month 2026-10 --zone UTC --by team --top 5")]
    Gaps(Gaps),
    /// What should change: waste by its cause, each with evidence, price and a remedy
    #[command(
        after_help = "Examples:\n  gpuledger report findings --month 2026-10 --zone UTC --top 10\n  gpuledger report findings --month 2026-10 --zone UTC --by team,rule"
    )]
    Findings(FindingsAsked),
    /// A run on one screen: asked, given, used, charged, found
    #[command(after_help = "Example:\n  gpuledger report job alpha/163485 --zone UTC")]
    Job(Job),
    /// How much of the fleet is allocated, busy and effective, what waits, fails and is lost
    #[command(
        after_help = "Examples:\n  gpuledger report fleet --month 2026-10 --zone UTC --by pool\n  gpuledger report fleet --month 2026-10 --zone UTC --by team --split week"
    )]
    Fleet(Fleet),
    /// Free cards that cannot be used as they lie: six kinds, with the requests that each blocks
    #[command(
        after_help = "Examples:\n  gpuledger report fragmentation --month 2026-10 --zone UTC\n  gpuledger report fragmentation --jobs --month 2026-10 --zone UTC"
    )]
    Fragmentation(Fragmentation),
    /// Quota used, borrowed, lent and unmet by team and pool
    #[command(after_help = "Example:\n  gpuledger report quota --month 2026-10 --zone UTC")]
    Quota(Quota),
    /// GPUs registered, seen by the driver and offered by the scheduler, differences first
    #[command(after_help = "Example:\n  gpuledger report assets --zone UTC --at 2026-10-31")]
    Assets(Assets),
    /// What each card did over a week
    #[command(
        after_help = "Examples:\n  gpuledger report census --zone UTC\n  gpuledger report census --from 2026-10-05 --to 2026-10-12 --zone UTC --hours"
    )]
    Census(Census),
    /// What each card was most of the time in each hour, a character an hour
    #[command(after_help = "Example:\n  gpuledger report hours --from 2026-10-05 --to 2026-10-12 --zone UTC")]
    Hours(Asked),
    /// When in the week runs that held GPUs for a day or more were busy
    #[command(
        after_help = "Examples:\n  gpuledger report week --month 2026-10 --zone UTC\n  gpuledger report week --from 2026-10-05 --to 2026-10-12 --zone UTC --format csv"
    )]
    Week(Asked),
    /// The period in words: six trends, whether to grow or shrink, what would save most
    #[command(after_help = "Example:\n  gpuledger report health --period month --month 2026-10 --zone UTC")]
    Health(Health),
    /// What stands wrong: nodes late or lost, gaps, conflicts, cards not registered or compared, runs that hang
    #[command(after_help = "Example:\n  gpuledger report watch --zone Europe/Berlin")]
    Watch(Watch),
    /// A half-year in a word, its figures beside those before, and what to change
    #[command(
        after_help = "Example:\n  gpuledger report assessment --from 2026-01-01 --to 2026-07-01 --zone Europe/Berlin"
    )]
    Assessment(Asked),
    /// What teams may spend, have spent and will have spent; quota beside
    #[command(after_help = "Example:\n  gpuledger report budgets --zone Europe/Berlin --at 2026-10-15")]
    Budgets(super::Budgets),
    /// What pools really cost against what was billed for them; energy beside
    #[command(after_help = "Example:\n  gpuledger report cost --month 2026-10 --zone Europe/Berlin")]
    Cost(super::Cost),
    /// Means and peaks of sampled jobs
    #[command(after_help = "Example:\n  gpuledger report samples --format csv")]
    Samples {
        /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
        #[arg(long)]
        zone: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Asked {
    /// First instant: a date (midnight in the zone) or RFC 3339 with an offset
    #[arg(long, requires = "to", conflicts_with = "month")]
    pub(crate) from: Option<String>,
    /// First instant after
    #[arg(long, requires = "from", conflicts_with = "month")]
    pub(crate) to: Option<String>,
    /// A calendar month of the zone, YYYY-MM
    #[arg(long)]
    pub(crate) month: Option<String>,
    /// IANA zone of days and months [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// A row per local day or month
    #[arg(long, value_name = "day|month")]
    pub(crate) step: Option<String>,
    /// Group by: team, cost_center, account, user, task_type, pool, tier, queue, qos, model, gpus, cluster, node, device,
    /// job, state, kind, workload_kind
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) by: Option<Vec<String>>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Gaps {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Only the first rows
    #[arg(long)]
    pub(crate) top: Option<usize>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FindingsAsked {
    /// `--by` also takes rule, layer, cause and note here; without it, a row a finding
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Only these rules
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) rule: Vec<String>,
    /// Only the first rows
    #[arg(long)]
    pub(crate) top: Option<usize>,
    /// Language: en or zh
    #[arg(long, default_value = "en")]
    pub(crate) lang: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Job {
    /// A raw job id, `cluster/id`, or an allocation id as other commands show it
    pub(crate) job: String,
    /// Zone of instants [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Language: en or zh
    #[arg(long, default_value = "en")]
    pub(crate) lang: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Fleet {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// A row per local week, or per part of the week (workday, night, weekend), with the classes alone
    #[arg(long, value_name = "week|part")]
    pub(crate) split: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Fragmentation {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Instead: the requests that are blocked, by kind
    #[arg(long)]
    pub(crate) jobs: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Quota {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Instead: the runs that hold what their teams borrow
    #[arg(long)]
    pub(crate) runs: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Assets {
    /// When: a date (midnight in the zone) or RFC 3339 with an offset [default: the end of what is known]
    #[arg(long)]
    pub(crate) at: Option<String>,
    /// IANA zone of dates [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Watch {
    /// When: a date (midnight in the zone) or RFC 3339 with an offset [default: the end of what is known]
    #[arg(long)]
    pub(crate) at: Option<String>,
    /// IANA zone in which instants are shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Census {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Instead: the hours of the week, over all cards
    #[arg(long)]
    pub(crate) hours: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Health {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Length of a period: a calendar month, with --month; or as long as --from to --to
    #[arg(long, value_name = "month|window", default_value = "month")]
    pub(crate) period: String,
}
