//! What can be typed to keep a lake: upkeep, backup, restore.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Maintain {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Hours for which cuts stay readable after newer ones came
    #[arg(long, default_value_t = 168, value_name = "HOURS")]
    pub(crate) keep_cuts: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Backup {
    /// Folder or URL; one that has a backup of this lake gets what is new
    pub(crate) to: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Restore {
    /// Folder or URL of a backup
    pub(crate) from: String,
}
