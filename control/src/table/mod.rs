//! The reference tables as people type them. One file a table: its CSV columns, what makes two rows about the
//! same thing, and the rules that one row or the whole table must keep.

use std::fmt;
use std::str::FromStr;

use chrono_tz::Tz;
use gpuledger_schema::table::{Row, Table};

use crate::cell::{Cell, Record};
use crate::error::Problems;
use crate::kind::{Kind, show_instant};
use crate::plan::Placed;

pub(crate) mod budget;
pub(crate) mod contact;
pub(crate) mod cost_center;
pub(crate) mod cost_pool;
pub(crate) mod discount;
pub(crate) mod energy_price;
pub(crate) mod inventory;
pub(crate) mod manual_line;
pub(crate) mod money;
pub(crate) mod note;
pub(crate) mod owner;
pub(crate) mod pool;
pub(crate) mod quota;
pub(crate) mod rate;
pub(crate) mod rule;
pub(crate) mod spec;
pub(crate) mod terms;
pub(crate) mod threshold;
pub(crate) mod tier;
pub(crate) mod weight;

/// A reference table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferenceTable {
    /// GPUs a node or a cluster has.
    Inventory,
    /// Named sets of devices.
    Pools,
    /// Capability classes.
    Tiers,
    /// Rules that give runs their task types.
    Rules,
    /// Weights of the composite.
    Weights,
    /// Prices.
    Rates,
    /// Who pays.
    Owners,
    /// What a team may hold before it borrows.
    Quotas,
    /// Numbers that findings go by.
    Thresholds,
    /// What runs should ask for.
    Specs,
    /// What people say of findings.
    FindingNotes,
    /// How pools are billed.
    Terms,
    /// Multipliers on prices.
    Discounts,
    /// What pools really cost.
    CostPools,
    /// What energy costs.
    EnergyPrices,
    /// What teams may spend.
    Budgets,
    /// The tree of cost centres.
    CostCenters,
    /// Credits and adjustments booked by hand.
    ManualLines,
    /// Where people are reached.
    Contacts,
}

/// A word that is no reference table's command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown reference table `{0}`; it is one of inventory, pools, tiers, rules, weights, rates, owners, quotas, \
     thresholds, specs, finding-notes, terms, discounts, cost-pools, energy-prices, budgets, cost-centers, manual-lines, \
     contacts"
)]
pub struct UnknownTable(pub String);

impl ReferenceTable {
    /// Every reference table, in the order in which they are published.
    pub const ALL: [Self; 19] = [
        Self::Inventory,
        Self::Pools,
        Self::Tiers,
        Self::Rules,
        Self::Weights,
        Self::Rates,
        Self::Owners,
        Self::Quotas,
        Self::Thresholds,
        Self::Specs,
        Self::FindingNotes,
        Self::Terms,
        Self::Discounts,
        Self::CostPools,
        Self::EnergyPrices,
        Self::Budgets,
        Self::CostCenters,
        Self::ManualLines,
        Self::Contacts,
    ];

    /// Its name in commands: `gpuledger rates import`.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Pools => "pools",
            Self::Tiers => "tiers",
            Self::Rules => "rules",
            Self::Weights => "weights",
            Self::Rates => "rates",
            Self::Owners => "owners",
            Self::Quotas => "quotas",
            Self::Thresholds => "thresholds",
            Self::Specs => "specs",
            Self::FindingNotes => "finding-notes",
            Self::Terms => "terms",
            Self::Discounts => "discounts",
            Self::CostPools => "cost-pools",
            Self::EnergyPrices => "energy-prices",
            Self::Budgets => "budgets",
            Self::CostCenters => "cost-centers",
            Self::ManualLines => "manual-lines",
            Self::Contacts => "contacts",
        }
    }

    /// Its name in the lake, in SQL and in the control file.
    pub fn table(self) -> &'static str {
        self.spec().table.name
    }

    /// Its CSV columns, in the order in which they are listed.
    pub fn header(self) -> Vec<&'static str> {
        self.spec().header()
    }

    /// Whether a row changes what is billed for the time in which it holds: once that is closed, only by force.
    pub const fn bills(self) -> bool {
        matches!(
            self,
            Self::Inventory
                | Self::Pools
                | Self::Tiers
                | Self::Rules
                | Self::Rates
                | Self::Owners
                | Self::Quotas
                | Self::Terms
                | Self::Discounts
                | Self::EnergyPrices
        )
    }

    pub(crate) fn spec(self) -> &'static Spec {
        match self {
            Self::Inventory => &inventory::SPEC,
            Self::Pools => &pool::SPEC,
            Self::Tiers => &tier::SPEC,
            Self::Rules => &rule::SPEC,
            Self::Weights => &weight::SPEC,
            Self::Rates => &rate::SPEC,
            Self::Owners => &owner::SPEC,
            Self::Quotas => &quota::SPEC,
            Self::Thresholds => &threshold::SPEC,
            Self::Specs => &spec::SPEC,
            Self::FindingNotes => &note::SPEC,
            Self::Terms => &terms::SPEC,
            Self::Discounts => &discount::SPEC,
            Self::CostPools => &cost_pool::SPEC,
            Self::EnergyPrices => &energy_price::SPEC,
            Self::Budgets => &budget::SPEC,
            Self::CostCenters => &cost_center::SPEC,
            Self::ManualLines => &manual_line::SPEC,
            Self::Contacts => &contact::SPEC,
        }
    }
}

impl fmt::Display for ReferenceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command())
    }
}

impl FromStr for ReferenceTable {
    type Err = UnknownTable;

    fn from_str(word: &str) -> Result<Self, UnknownTable> {
        Self::ALL.into_iter().find(|t| t.command() == word).ok_or_else(|| UnknownTable(word.to_owned()))
    }
}

/// A row of a reference table that can be read from the control file.
pub trait ReferenceRow: Row {
    /// The table.
    const REFERENCE: ReferenceTable;

    /// Reads a row of `SELECT *` by its columns' names.
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;

    /// What is published for these stored rows; a table with built-in rows adds them here.
    fn published(stored: Vec<Self>) -> Vec<Self> {
        stored
    }
}

/// Implements [`ReferenceRow`] for a schema row by listing its fields.
macro_rules! reference_row {
    ($row:ident, $table:ident $(, published $published:path)?; $($field:ident),+) => {
        impl $crate::table::ReferenceRow for $row {
            const REFERENCE: $crate::table::ReferenceTable = $crate::table::ReferenceTable::$table;

            fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self { $($field: row.get(stringify!($field))?,)+ })
            }

            $(fn published(stored: Vec<Self>) -> Vec<Self> { $published(stored) })?
        }
    };
}
pub(crate) use reference_row;

/// A CSV column.
#[derive(Debug)]
pub(crate) struct Column {
    /// Name in the CSV header.
    pub(crate) name: &'static str,
    /// Column of the stored table, in its unit.
    pub(crate) stored: &'static str,
    pub(crate) kind: Kind,
    /// Whether the header and every row must have it.
    pub(crate) required: bool,
}

/// A column that may be left out or empty.
pub(crate) const fn optional(name: &'static str, stored: &'static str, kind: Kind) -> Column {
    Column { name, stored, kind, required: false }
}

/// A column that must be filled.
pub(crate) const fn required(name: &'static str, stored: &'static str, kind: Kind) -> Column {
    Column { name, stored, kind, required: true }
}

/// The column in which every table's interval starts.
pub(crate) const FROM: Column = optional("from", "from_ms", Kind::From);
/// The column in which every table's interval ends.
pub(crate) const TO: Column = optional("to", "to_ms", Kind::To);

/// A stored column that follows from the others.
#[derive(Debug)]
pub(crate) struct Derived {
    pub(crate) stored: &'static str,
    pub(crate) make: fn(&Fields<'_>) -> Cell,
}

/// What is particular to a reference table.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) table: Table,
    /// CSV columns; the last two are [`FROM`] and [`TO`].
    pub(crate) columns: &'static [Column],
    /// Stored columns that say what a row is about: a later row of the same selector ends an open one.
    pub(crate) selector: &'static [&'static str],
    /// Stored columns in which rows of one selector may differ to stand side by side at one time.
    pub(crate) beside: &'static [&'static str],
    pub(crate) derived: &'static [Derived],
    /// What is wrong with a row by itself: CSV column and reason.
    pub(crate) check: fn(&Fields<'_>) -> Option<(&'static str, String)>,
    /// What would be wrong with the table as it would be after the import.
    pub(crate) check_whole: fn(&Whole<'_>, &mut Problems<'_>),
}

impl Spec {
    pub(crate) fn header(&self) -> Vec<&'static str> {
        self.columns.iter().map(|c| c.name).collect()
    }

    /// The stored columns, first those that are typed, then those that follow from them.
    pub(crate) fn stored(&self) -> Vec<&'static str> {
        self.columns.iter().map(|c| c.stored).chain(self.derived.iter().map(|d| d.stored)).collect()
    }

    pub(crate) fn position(&self, stored: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.stored == stored)
    }

    /// The cells of the named stored columns.
    pub(crate) fn pick(&self, record: &Record, stored: &[&str]) -> Vec<Cell> {
        let at = |name: &&str| self.position(name).map_or(Cell::Absent, |at| record.0[at].clone());
        stored.iter().map(at).collect()
    }

    /// A row in words, for messages: what is filled, as it would be typed, and its interval.
    pub(crate) fn describe(&self, record: &Record, zone: Tz) -> String {
        let cells = self.columns.iter().zip(&record.0).take(self.columns.len() - 2);
        let mut words: Vec<String> = cells
            .filter(|(_, cell)| **cell != Cell::Absent)
            .map(|(column, cell)| format!("{}={}", column.name, column.kind.show(cell, zone)))
            .collect();
        let from = match record.start_ms() {
            0 => "from the beginning".to_owned(),
            ms => format!("from {}", show_instant(ms, zone)),
        };
        words.push(record.end_ms().map_or(from.clone(), |ms| format!("{from} to {}", show_instant(ms, zone))));
        words.join(" ")
    }
}

/// A row with its cells by stored name.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) record: &'a Record,
}

impl<'a> Fields<'a> {
    pub(crate) fn text(&self, stored: &str) -> Option<&'a str> {
        self.spec.position(stored).and_then(|at| self.record.0[at].text())
    }

    pub(crate) fn int(&self, stored: &str) -> Option<i64> {
        self.spec.position(stored).and_then(|at| self.record.0[at].int())
    }
}

/// A table as it would be after an import.
#[derive(Debug)]
pub(crate) struct Whole<'a> {
    pub(crate) spec: &'a Spec,
    /// Every row, those that were there before those of the file.
    pub(crate) rows: Vec<&'a Placed>,
    /// Zone in which instants are shown.
    pub(crate) zone: Tz,
    /// Another table that has amounts, and the currency they are in.
    pub(crate) ledger_currency: Option<(&'static str, String)>,
}

/// The time that none of these intervals covers, as intervals. They must be sorted and apart.
pub(crate) fn uncovered(taken: impl Iterator<Item = (i64, Option<i64>)>) -> Vec<(i64, Option<i64>)> {
    let mut free = Vec::new();
    let mut next = Some(0);
    for (from_ms, to_ms) in taken {
        let Some(at) = next else { break };
        if from_ms > at {
            free.push((at, Some(from_ms)));
        }
        next = to_ms;
    }
    free.extend(next.map(|at| (at, None)));
    free
}

pub(crate) fn no_check(_: &Fields<'_>) -> Option<(&'static str, String)> {
    None
}

pub(crate) fn no_check_whole(_: &Whole<'_>, _: &mut Problems<'_>) {}

/// The regular expression of a pattern column.
pub(crate) fn regex_of(fields: &Fields<'_>, pattern: &str) -> Cell {
    fields.text(pattern).map_or(Cell::Absent, |p| Cell::Text(crate::pattern::to_regex(p)))
}

#[cfg(test)]
mod tests;
