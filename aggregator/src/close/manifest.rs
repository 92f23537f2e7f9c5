//! The document of a closed period. Writing it is what closes the period: it is created if absent, by one writer, once.
//! It names everything that the figures came from, so that they can be derived again, and a hash of what came out.

use std::collections::BTreeMap;

use gpuledger_schema::bill::{Conservation, CostCenter};
use gpuledger_schema::hash::sha256_hex;
use gpuledger_schema::path;
use serde::{Deserialize, Serialize};

use crate::lake::{Lake, LakeError};
use crate::statement;

/// Folders whose rules make the money of a close.
const RULES_OF_MONEY: [&str; 3] = ["ledger", "charge", "close"];

/// A closed period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Id of the close; its rows carry it.
    pub close_id: String,
    /// Billing month, YYYY-MM.
    pub period: String,
    /// First instant of the period, epoch ms.
    pub from_ms: i64,
    /// First instant after it, epoch ms.
    pub to_ms: i64,
    /// Zone in which its days and months are cut (IANA name).
    pub zone: String,
    /// ISO 4217 code.
    pub currency: String,
    /// Who issues the bill.
    pub issuer: String,
    /// When it was closed, epoch ms.
    pub closed_ms: i64,
    /// Who closed it.
    pub closed_by: String,
    /// Version of the program.
    pub program: String,
    /// The cut that was closed.
    pub cut: u64,
    /// Version of every observed and reference table.
    pub tables: BTreeMap<String, u64>,
    /// Version of every derived table.
    pub derived: BTreeMap<String, u64>,
    /// Versions of the tables that have the rows of this close.
    pub written: BTreeMap<String, u64>,
    /// First and last UTC day that had usage.
    pub days: Option<(i32, i32)>,
    /// Hash of the rules that the ledger was built with.
    pub ledger_rules: String,
    /// SHA-256 of every rule that makes the money, by its file under `sql/`.
    pub rules: BTreeMap<String, String>,
    /// SHA-256 over all of them.
    pub rules_sha256: String,
    /// The closes that were there before, by period: corrections are against them.
    pub earlier: Vec<Earlier>,
    /// Periods that this close corrects.
    pub corrects: Vec<String>,
    /// What the close list showed and somebody waived by name.
    pub waived: Vec<Waived>,
    /// Head of the audit log when it was closed, where there is one.
    pub audit_head: Option<String>,
    /// Every data file that the figures came from, and those of the rows written.
    pub files: Vec<DataFile>,
    /// Number of lines.
    pub lines: u64,
    /// Number of charges.
    pub charges: u64,
    /// SHA-256 over lines and charges in key order, in a fixed text form.
    pub output_sha256: String,
    /// Billed to teams, minor units, corrections included.
    pub billed_minor: i64,
    /// Of it corrections of earlier periods, minor units.
    pub corrections_minor: i64,
    /// Classes and money of the fleet, without corrections.
    pub conservation: Conservation,
    /// Cost centres at the end of the period.
    pub cost_centers: Vec<CostCenter>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

/// A close that was there before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// Its period.
    pub period: String,
    /// Its id.
    pub close_id: String,
    /// Hash of what it wrote.
    pub output_sha256: String,
}

/// An item of the close list that was waived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waived {
    /// The item.
    pub item: String,
    /// What was wrong.
    pub what: String,
    /// Why it was waived.
    pub reason: String,
    /// Who answers for it.
    pub approver: String,
    /// When, epoch ms.
    pub at_ms: i64,
}

/// A data file that a close used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// The table.
    pub table: String,
    /// Path inside the lake.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// The rules of today that make money: SHA-256 by file.
pub(super) fn rules() -> BTreeMap<String, String> {
    let of_money = |name: &str| RULES_OF_MONEY.iter().any(|f| name.starts_with(&format!("{f}/")));
    let found = statement::all().iter().filter(|s| of_money(s.name));
    found.map(|s| (s.name.to_owned(), sha256_hex(s.text.as_bytes()))).collect()
}

/// Hash over all of them.
pub(super) fn rules_sha256(rules: &BTreeMap<String, String>) -> String {
    let text: Vec<String> = rules.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
    sha256_hex(text.concat().as_bytes())
}

impl Manifest {
    /// The document of a period; none: it is not closed.
    ///
    /// # Errors
    /// When it is there and cannot be read as one of this version.
    pub async fn find(lake: &Lake, period: &str) -> Result<Option<Self>, LakeError> {
        let object = path::close(period);
        let Some(bytes) = lake.get(&object).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|source| LakeError::Document { object, source })
    }

    /// Every closed period, in order of months.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub async fn all(lake: &Lake) -> Result<Vec<Self>, LakeError> {
        let mut found = Vec::new();
        for (name, _) in lake.list(path::CLOSES).await? {
            if let Some(period) = path::closed_period(&name) {
                found.extend(Self::find(lake, period).await?);
            }
        }
        found.sort_by(|a, b| a.period.cmp(&b.period));
        Ok(found)
    }

    /// As one that a later close knows of.
    pub(super) fn earlier(&self) -> Earlier {
        Earlier {
            period: self.period.clone(),
            close_id: self.close_id.clone(),
            output_sha256: self.output_sha256.clone(),
        }
    }
}
