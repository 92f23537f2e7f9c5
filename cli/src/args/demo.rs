//! What can be typed to see a demo.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {
    /// Seed of the generated fleet
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
    /// GPUs of the fleet, 64 or more
    #[arg(long, default_value_t = 64)]
    pub(crate) gpus: u32,
    /// Only the first days of the month
    #[arg(long)]
    pub(crate) days: Option<u32>,
    /// Instead: the node collector on a simulated driver, watching real processes for two minutes
    #[arg(long, conflicts_with_all = ["seed", "gpus", "days"])]
    pub(crate) live: bool,
    /// How long `--live` records
    #[arg(long, hide = true, default_value_t = 120, requires = "live")]
    pub(crate) seconds: u64,
    /// Afterwards serve it: pages and API, until it is stopped
    #[arg(long, conflicts_with = "live")]
    pub(crate) serve: bool,
    /// Address and port of `--serve`
    #[arg(long, requires = "serve", value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Record {
    /// Configuration of the node
    #[arg(long)]
    pub(crate) node_config: std::path::PathBuf,
    /// Ends at the first full minute of the boot clock after so many seconds
    #[arg(long)]
    pub(crate) seconds: u64,
}
