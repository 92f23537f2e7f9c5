//! What can be typed to write documents of a bill.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct Export {
    /// Billing month YYYY-MM, quarter YYYY-Q1 to YYYY-Q4, or months YYYY-MM..YYYY-MM
    pub(crate) period: String,
    /// table, json, csv, xlsx, pdf, posting, parquet, focus or focus-csv
    #[arg(long = "as", value_name = "DOCUMENT")]
    pub(crate) document: String,
    /// The statement of this team alone (pdf, table); pdf without it writes one for each team
    #[arg(long)]
    pub(crate) team: Option<String>,
    /// File, or folder for a file of the usual name [default: standard output; pdf: this folder]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<String>,
    /// Language of documents for people: en or zh
    #[arg(long, default_value = "en")]
    pub(crate) lang: String,
    /// Begin text files with a byte order mark, by which Excel knows UTF-8
    #[arg(long)]
    pub(crate) bom: bool,
    /// Zone of days, where a month is not closed [default: billing_zone of the configuration]
    #[arg(long)]
    pub(crate) zone: Option<String>,
    /// Account that cost centres are debited on (posting)
    #[arg(long, value_name = "CODE")]
    pub(crate) expense_account: Option<String>,
    /// Account that the platform is credited on (posting)
    #[arg(long, value_name = "CODE")]
    pub(crate) recovery_account: Option<String>,
    /// Cost centre of the platform (posting)
    #[arg(long, value_name = "CODE")]
    pub(crate) platform_cost_center: Option<String>,
}
