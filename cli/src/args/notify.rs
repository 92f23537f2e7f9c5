//! `notify`: messages to people.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Notify {
    /// Send a test message by mail or to a webhook, and say what became of it
    #[command(
        after_help = "Examples:\n  gpuledger notify test --mail anna@example.org --config gpuledger.toml\n  gpuledger notify test --webhook ops --config gpuledger.toml"
    )]
    Test(Test),
    /// Examine the mail server, webhooks, the Alertmanager, calendars and contacts, and say what to do
    #[command(after_help = "Example:\n  gpuledger notify doctor --config gpuledger.toml")]
    Doctor(Doctor),
    /// Messages and what became of them, newest first
    #[command(after_help = "Example:\n  gpuledger notify outbox --state failed")]
    Outbox(Outbox),
    /// Deliver what is due, once (a server does it all the time)
    #[command(after_help = "Example:\n  gpuledger notify deliver --config gpuledger.toml")]
    Deliver,
    /// Look once at what stands wrong and which reports are due, and post what is to be told (a server does it all the time)
    #[command(after_help = "Example:\n  gpuledger notify tell --config gpuledger.toml")]
    Tell(Tell),
    /// Put messages aside for a while: of a kind, about something, or to somebody
    #[command(
        after_help = "Example:\n  gpuledger notify silence --kind late_node --subject 'alpha/*' --until 2026-11-04T18:00:00+01:00 --reason 'switch is replaced'"
    )]
    Silence(Silence),
    /// Silences, newest first; `--end N` ends one
    #[command(after_help = "Example:\n  gpuledger notify silences --end 3")]
    Silences(Silences),
}

#[derive(Debug, ClapArgs)]
#[group(required = true, multiple = false)]
pub(crate) struct To {
    /// Mail address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) mail: Option<String>,
    /// Name of a webhook of the configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) webhook: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) to: To,
    /// Language: en or zh
    #[arg(long, default_value = "en")]
    pub(crate) lang: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Also send a test message: a mail to the sender itself, and one to each webhook
    #[arg(long)]
    pub(crate) send: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Outbox {
    /// Only messages in this state: waiting, claimed, sending, delivered, bounced, failed, silenced, cooled
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    pub(crate) top: usize,
    /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tell {
    /// As if it were this instant: RFC 3339 with an offset, or a date (midnight in the billing zone) [default: now]
    #[arg(long, value_name = "INSTANT")]
    pub(crate) at: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Silence {
    /// Kind of messages, with * and ?
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// What they are about, with * and ?
    #[arg(long)]
    pub(crate) subject: Option<String>,
    /// Whom they are for, with * and ?, e.g. lead:nlp
    #[arg(long)]
    pub(crate) person: Option<String>,
    /// Until when: RFC 3339 with an offset, or a date (midnight in the billing zone)
    #[arg(long)]
    pub(crate) until: String,
    /// Why
    #[arg(long)]
    pub(crate) reason: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Silences {
    /// End this one now
    #[arg(long, value_name = "N")]
    pub(crate) end: Option<i64>,
    /// Zone in which instants are shown [default: billing_zone of the configuration, else UTC]
    #[arg(long)]
    pub(crate) zone: Option<String>,
}
