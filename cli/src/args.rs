//! What can be typed. Every command has an example in its help.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

mod close;
mod demo;
mod export;
mod keep;
mod money;
pub(crate) mod notify;
mod reclaim;
mod report;
mod serve;

pub(crate) use close::{Close, Correct, LineAnswer, Periods, Statement, StatementAnswer, Uncharged, Verify};
pub(crate) use demo::{Demo, Record};
pub(crate) use export::Export;
pub(crate) use keep::{Backup, Maintain, Restore};
pub(crate) use money::{
    Audit, AuditVerify, Budgets, Cost, Forced, ManualLine, ManualLines, Memory, Quote, Rates, Reference, Withdraw,
};
pub(crate) use reclaim::{Backtest, Exempt, Idle, Loose, OfCase, OwnerAnswer, Plan, Policy, Reclaim};
pub(crate) use report::{
    Asked, Assets, Census, FindingsAsked, Fleet, Fragmentation, Gaps, Health, Job, Quota, Report, Watch,
};
pub(crate) use serve::{Doctor, Serve, TokenDo};

const EXAMPLES: &str = "Examples:
  gpuledger demo
  sacct -P -a -X -S 2026-10-01 -E 2026-11-01 -o ALL | gpuledger import sacct --cluster alpha --zone UTC -
  gpuledger rates import rates.csv --zone Europe/Berlin
  gpuledger report charge --month 2026-10 --zone Europe/Berlin --by team

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but with quarantined input.";

/// Meters, bills and explains GPU time: every GPU-millisecond is accounted for exactly once.
#[derive(Debug, Parser)]
#[command(name = "gpuledger", version, about, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Global {
    /// Data folder, or URL of an object store [default: gpuledger-data]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<String>,
    /// Configuration file (TOML; unknown keys stop the program)
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How results are written: table, csv, json or parquet
    #[arg(long, global = true, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: String,
    /// Read the lake as of this cut (a number as `gpuledger check` shows it) instead of the newest
    #[arg(long, global = true, value_name = "N")]
    pub(crate) cut: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a month of a generated fleet, bill it, and show the bill
    #[command(after_help = "Example:\n  gpuledger demo --data /tmp/demo")]
    Demo(Demo),
    /// Take in accounting, job tables or samples
    #[command(subcommand)]
    Import(Import),
    /// Take segments from the lake's inbox and bring the ledger up to date
    #[command(after_help = "Example:\n  gpuledger ingest --data gpuledger-data")]
    Ingest,
    /// GPUs that nodes have
    #[command(subcommand, after_help = "Example:\n  gpuledger inventory import inventory.csv --zone UTC")]
    Inventory(Reference),
    /// Named sets of devices
    #[command(subcommand, after_help = "Example:\n  gpuledger pools import pools.csv --zone UTC")]
    Pools(Reference),
    /// Capability classes
    #[command(subcommand, after_help = "Example:\n  gpuledger tiers import tiers.csv --zone UTC")]
    Tiers(Reference),
    /// Rules that give runs their task type
    #[command(subcommand, after_help = "Example:\n  gpuledger rules import rules.csv --zone UTC")]
    Rules(Reference),
    /// Weights of the composite utilization
    #[command(subcommand, after_help = "Example:\n  gpuledger weights import weights.csv --zone UTC")]
    Weights(Reference),
    /// Prices, and what GPUs would cost
    #[command(
        subcommand,
        after_help = "Examples:\n  gpuledger rates import rates.csv --zone Europe/Berlin\n  gpuledger rates end model=\"NVIDIA H200\" --at 2026-11-01 --zone Europe/Berlin\n  gpuledger rates quote --gpus 8 --model \"NVIDIA H100\" --for 3d --from 2026-10-02T18:00 --team vision --zone Europe/Berlin"
    )]
    Rates(Rates),
    /// Who pays
    #[command(subcommand, after_help = "Example:\n  gpuledger owners import owners.csv --zone UTC")]
    Owners(Reference),
    /// What teams may hold before they borrow
    #[command(subcommand, after_help = "Example:\n  gpuledger quotas import quotas.csv --zone UTC")]
    Quotas(Reference),
    /// Numbers that findings go by
    #[command(subcommand, after_help = "Example:\n  gpuledger thresholds import thresholds.csv --zone UTC")]
    Thresholds(Reference),
    /// What runs should ask for
    #[command(subcommand, after_help = "Example:\n  gpuledger specs import specs.csv --zone UTC")]
    Specs(Reference),
    /// What people say of findings, as a table (`findings` writes it one by one)
    #[command(subcommand, after_help = "Example:\n  gpuledger finding-notes import notes.csv --zone UTC")]
    FindingNotes(Reference),
    /// How pools are billed, and who bears what nobody used
    #[command(subcommand, after_help = "Example:\n  gpuledger terms import terms.csv --zone UTC")]
    Terms(Reference),
    /// Multipliers on prices: off-peak, borrowed, preemptible, agreed
    #[command(subcommand, after_help = "Example:\n  gpuledger discounts import discounts.csv --zone UTC")]
    Discounts(Reference),
    /// What pools really cost
    #[command(subcommand, after_help = "Example:\n  gpuledger cost-pools import cost-pools.csv --zone UTC")]
    CostPools(Reference),
    /// What energy costs
    #[command(subcommand, after_help = "Example:\n  gpuledger energy-prices import energy-prices.csv --zone UTC")]
    EnergyPrices(Reference),
    /// What teams may spend
    #[command(subcommand, after_help = "Example:\n  gpuledger budgets import budgets.csv --zone UTC")]
    Budgets(Reference),
    /// The tree of cost centres
    #[command(subcommand, after_help = "Example:\n  gpuledger cost-centers import cost-centers.csv --zone UTC")]
    CostCenters(Reference),
    /// Credits and adjustments booked by hand
    #[command(
        subcommand,
        after_help = "Example:\n  gpuledger manual-lines add --period 2026-10 --team vision --kind credit --amount -1250.00 --reason \"outage\" --approver grace"
    )]
    ManualLines(ManualLines),
    /// Who changed what, when, from what to what, and why
    #[command(
        after_help = "Examples:\n  gpuledger audit --table rate --from 2026-10-01 --zone UTC\n  gpuledger audit verify"
    )]
    Audit(Audit),
    /// Where people are reached
    #[command(subcommand, after_help = "Example:\n  gpuledger contacts import contacts.csv --zone UTC")]
    Contacts(Reference),
    /// Accounting, usage, charge, gaps, findings and samples
    #[command(subcommand)]
    Report(Report),
    /// Say what became of a finding, and see what was saved
    #[command(
        subcommand,
        after_help = "Examples:\n  gpuledger findings done idle_since alpha/4711 --reason \"idle limit set\"\n  gpuledger findings dismiss low_use alpha/4711 --reason \"as intended\"\n  gpuledger findings verify --zone UTC"
    )]
    Findings(Findings),
    /// Who holds GPUs and whether they are used: busy, idle, or unknown and why
    #[command(
        after_help = "Examples:\n  gpuledger idle\n  gpuledger idle --at 2026-10-12T09:00 --zone Europe/Berlin\n  gpuledger idle --at 2023-06-24T06:00:00Z --witnesses 1 --hole-minutes 10"
    )]
    Idle(Idle),
    /// Find GPUs that are held and not used, warn, free them, and prove it
    #[command(subcommand)]
    Reclaim(Reclaim),
    /// Why a run costs what it costs: its holdings, cells, minutes, rates and owners
    #[command(
        after_help = "Examples:\n  gpuledger explain 163485 --zone UTC\n  gpuledger explain alpha/163485 --zone UTC --cells --minutes\n  gpuledger explain line 2026-03 vision"
    )]
    Explain(Explain),
    /// Make a billing month final: its lines, charges and corrections of earlier months, with everything that proves them
    #[command(
        after_help = "Examples:\n  gpuledger close 2026-03 --dry-run\n  gpuledger close 2026-03 --waive coverage --reason \"no telemetry yet\" --approver grace"
    )]
    Close(Close),
    /// Billing months, their state, totals and hashes
    #[command(after_help = "Example:\n  gpuledger periods --zone Europe/Berlin")]
    Periods(Periods),
    /// Prove a closed month: derive it again from what it names, and compare
    #[command(after_help = "Example:\n  gpuledger verify 2026-03")]
    Verify(Verify),
    /// What became known of closed months since
    #[command(subcommand)]
    Correct(Correct),
    /// The lines of a month, of all teams or one; a lead accepts or disputes those of a draft
    #[command(
        after_help = "Examples:\n  gpuledger statement 2026-03 --team vision\n  gpuledger statement dispute 2026-03 4711 --by ada --reason \"the node was down\""
    )]
    Statement(Statement),
    /// What nobody was charged for, and why
    #[command(after_help = "Example:\n  gpuledger uncharged --month 2026-03")]
    Uncharged(Uncharged),
    /// Documents of a bill: spreadsheet, statements, CSV, JSON, posting file, Parquet, FOCUS
    #[command(
        after_help = "Examples:\n  gpuledger export 2026-10 --as xlsx --out .\n  gpuledger export 2026-10 --as pdf --team nlp --lang zh\n  gpuledger export 2026-Q4 --as csv --bom --out q4.csv\n  gpuledger export 2026-10 --as focus --out focus.parquet"
    )]
    Export(Export),
    /// Daily upkeep of the lake: small files become large ones, old minutes go, files that nothing names go
    #[command(after_help = "Examples:\n  gpuledger maintain --dry-run\n  gpuledger maintain")]
    Maintain(Maintain),
    /// Copy lake and control file to another folder or object store, while others read and write
    #[command(after_help = "Example:\n  gpuledger backup s3://backups/gpuledger")]
    Backup(Backup),
    /// Bring back a backup into an empty data folder
    #[command(after_help = "Example:\n  gpuledger restore s3://backups/gpuledger --data gpuledger-data")]
    Restore(Restore),
    /// Run everything on one machine: take in, build, check, tell, and serve pages and API
    #[command(
        after_help = "Examples:\n  gpuledger serve --data gpuledger-data --config gpuledger.toml\n  gpuledger serve --listen 127.0.0.1:9000"
    )]
    Serve(Serve),
    /// Messages to people: is the way open, what became of them, silences
    #[command(subcommand)]
    Notify(notify::Notify),
    /// Who may ask the server: tokens are made, listed, rotated and taken back
    #[command(
        subcommand,
        after_help = "Examples:\n  gpuledger token create grace --role lead --team nlp --days 90\n  gpuledger token create gpu01 --role node --node gpu01 --days 366\n  gpuledger token revoke 3fa94c01d2e7"
    )]
    Token(TokenDo),
    /// Look at configuration, disk, clocks, collectors and mail, and say what to do
    #[command(after_help = "Example:\n  gpuledger doctor --config gpuledger.toml")]
    Doctor(Doctor),
    /// Every invariant that applies, a line each
    #[command(after_help = "Example:\n  gpuledger check --zone Europe/Berlin")]
    Check(Check),
    /// Ask the lake in SQL (read-only)
    #[command(
        after_help = "Examples:\n  gpuledger sql \"SELECT cluster, count(*) FROM run GROUP BY cluster\"\n  gpuledger sql \"SELECT table_name FROM information_schema.tables\" --cut 3"
    )]
    Sql(Sql),
    /// The collector of `demo --live`, as a process of its own
    #[command(hide = true)]
    CollectFor(Record),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// Slurm accounting: `sacct --parsable2` text or `sacct --json`
    #[command(after_help = "Examples:
  sacct -P -a -X -D -S 2026-10-01 -o ALL | gpuledger import sacct --cluster alpha --zone UTC -
  gpuledger import sacct --cluster alpha --zone Europe/Berlin --fields JobID,User,Account,State,Submit,Start,End,AllocTRES,NodeList log.gz

Times of sacct are local without a zone: give the zone of the machine that printed them.")]
    Sacct(Sacct),
    /// Any table of jobs, by a column map
    #[command(
        after_help = "Example:\n  gpuledger import jobs --cluster philly --map examples/maps/philly.toml philly_jobs.csv.gz"
    )]
    Jobs(Jobs),
    /// A series of quota, held and queued GPUs by team, by a column map
    #[command(
        after_help = "Example:\n  gpuledger import series --cluster earth --map examples/maps/helios.toml --as-of 2020-06-01T00:00:00+08:00 changes.csv.gz"
    )]
    Series(Jobs),
    /// Per-process samples as sonar prints them
    #[command(after_help = "Example:\n  gpuledger import sonar samples1.csv samples2.csv")]
    Sonar(Sonar),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Sacct {
    /// Name of the cluster
    #[arg(long)]
    pub(crate) cluster: String,
    /// IANA zone of the times in the file
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Field names, comma-separated, where the file has no header line
    #[arg(long, value_delimiter = ',')]
    pub(crate) fields: Option<Vec<String>>,
    /// Instant the records were true at (RFC 3339) [default: the greatest time in the file]
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
    #[command(flatten)]
    pub(crate) files: Files,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Jobs {
    /// Name of the cluster
    #[arg(long)]
    pub(crate) cluster: String,
    /// Column map (TOML; see examples/maps)
    #[arg(long, value_name = "MAP.toml")]
    pub(crate) map: String,
    /// IANA zone of naive times, where the map does not say it
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Instant the records were true at (RFC 3339) [default: the greatest time in the file]
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
    #[command(flatten)]
    pub(crate) files: Files,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Sonar {
    /// Name under which the hosts are shown
    #[arg(long, default_value = "hosts")]
    pub(crate) cluster: String,
    #[command(flatten)]
    pub(crate) files: Files,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Files {
    /// Leave the segments in the inbox; `gpuledger ingest` takes them in
    #[arg(long)]
    pub(crate) no_ingest: bool,
    /// Files; `-` is standard input, `.gz` is unpacked
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Findings {
    /// Every note, in the columns that `finding-notes import` reads
    List {
        /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
        #[arg(long)]
        zone: Option<String>,
    },
    /// It is right, and somebody works on it
    Accept(Note),
    /// It was mended: from now on savings are verified
    Done(Note),
    /// It is as intended (needs a reason)
    Dismiss(Note),
    /// What was said no longer holds
    Reopen(Note),
    /// What the findings marked done have saved
    Verify {
        /// Zone of days [default: billing_zone of the configuration]
        #[arg(long)]
        zone: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Note {
    /// Rule of the finding
    pub(crate) rule: String,
    /// What it is about, as the finding shows it: cluster/job, or cluster/account/name of a service
    pub(crate) subject: String,
    /// Why
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Who says so [default: the user of this session]
    #[arg(long)]
    pub(crate) by: Option<String>,
    /// When it was so (RFC 3339) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Explain {
    /// A raw job id, `cluster/id`, or an allocation id as other commands show it; or `line`
    pub(crate) allocation: String,
    /// After `line`: a billing month and a line of it, or a team
    #[arg(value_name = "PERIOD LINE", num_args = 0..=2)]
    pub(crate) line: Vec<String>,
    /// Zone of days [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Every 15-minute cell
    #[arg(long)]
    pub(crate) cells: bool,
    /// Every minute that was measured
    #[arg(long)]
    pub(crate) minutes: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    /// Zone of days [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Sql {
    /// One SELECT
    pub(crate) query: String,
}
