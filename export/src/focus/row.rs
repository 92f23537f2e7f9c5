//! A row of the data set, made of a line and a charge of it, or of what a statement's rounding leaves.

use std::fmt::Write as _;

use gpuledger_schema::bill::LineKind;
use gpuledger_schema::table::StatementLineRow;

use super::charge::{Charge, Time};
use super::column::{HOURS_SCALE, MONEY_SCALE};
use crate::number::scaled;
use crate::text::Lang;

/// Exact money is ms x millionths: units of the currency times this.
const EXACT_PER_UNIT: i128 = 3_600_000 * 1_000_000;
const HOUR_MS: i128 = 3_600_000;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    Usage,
    Credit,
    Adjustment,
}

impl Category {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "Usage",
            Self::Credit => "Credit",
            Self::Adjustment => "Adjustment",
        }
    }

    pub(super) fn frequency(self) -> &'static str {
        match self {
            Self::Usage => "Usage-Based",
            Self::Credit | Self::Adjustment => "One-Time",
        }
    }
}

/// What is priced: a model in a pool and tier, at a version of a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sku {
    pub(super) id: String,
    pub(super) price_id: String,
    pub(super) details: String,
}

impl Sku {
    /// The unit of a line; a line without a price has none.
    pub(super) fn of(line: &StatementLineRow) -> Option<Self> {
        let price = line.price_micros?;
        let part = |t: &Option<String>| t.clone().unwrap_or_else(|| "-".to_owned());
        let id = format!("{}/{}/{}", part(&line.pool), part(&line.tier), part(&line.model));
        let version = line.rate_id.map_or_else(|| format!("price-{price}"), |rate| format!("rate-{rate}"));
        let details = serde_json::json!({
            "GpuCount": 1,
            "InstanceType": line.model,
            "x_Pool": line.pool,
            "x_Tier": line.tier,
        });
        Some(Self { price_id: format!("{id}#{version}"), id, details: details.to_string() })
    }
}

/// What all rows of a line have in common, made once.
pub(super) struct LineFacts<'a> {
    pub(super) line: &'a StatementLineRow,
    pub(super) id: String,
    pub(super) sku: Option<Sku>,
    pub(super) category: Category,
    pub(super) description: String,
    pub(super) sub_account_name: Option<&'a str>,
    pub(super) invoice: Option<String>,
    /// Instants of the period that the line is of: of the one it corrects, or of the bill's.
    pub(super) period: (i64, i64),
}

impl LineFacts<'_> {
    pub(super) fn kind(&self) -> Option<LineKind> {
        self.line.kind.parse().ok()
    }
}

/// What a line is: what a person wrote is a credit or an adjustment; what has a price and time is usage.
pub(super) fn category(line: &StatementLineRow) -> Category {
    match line.kind.parse() {
        Ok(LineKind::Credit) => Category::Credit,
        Ok(LineKind::Adjustment | LineKind::Rounding) | Err(_) => Category::Adjustment,
        Ok(_) if line.price_micros.is_none() => Category::Adjustment,
        Ok(_) => Category::Usage,
    }
}

/// What a line is called: names, separated by commas.
pub(super) fn description(line: &StatementLineRow) -> String {
    let mut out = Lang::En.kind(&line.kind);
    let names = [&line.pool, &line.tier, &line.model, &line.task_type, &line.discount, &line.reason];
    for name in names.into_iter().flatten() {
        let _ = write!(out, ", {name}");
    }
    if let Some(period) = &line.corrects {
        let _ = write!(out, " ({period})");
    }
    out
}

/// A row.
pub(super) struct Row<'a> {
    pub(super) id: String,
    /// Absent: what rounding leaves of a statement.
    pub(super) line: Option<&'a StatementLineRow>,
    pub(super) line_text: Option<&'a str>,
    pub(super) charge: Charge<'a>,
    pub(super) category: Category,
    pub(super) kind: &'a str,
    pub(super) sku: Option<&'a Sku>,
    pub(super) description: String,
    pub(super) account: &'a str,
    pub(super) sub_account: Option<&'a str>,
    pub(super) sub_account_name: Option<&'a str>,
    pub(super) invoice: Option<String>,
    pub(super) corrects: Option<&'a str>,
    pub(super) reservation: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) tags: Option<String>,
    pub(super) issuer: &'a str,
    pub(super) currency: &'a str,
    pub(super) zone: &'a str,
    /// First instant of the billing period and first after it, epoch ms.
    pub(super) period: (i64, i64),
    /// The same of the charge.
    pub(super) charge_period: (i64, i64),
    /// Priced GPU-hours times 10^12.
    pub(super) hours: Option<i128>,
    /// Metered GPU-ms.
    pub(super) consumed_ms: Option<i64>,
    /// Billed, units of the currency times 10^18; so are the next two.
    pub(super) billed: i128,
    pub(super) contracted: i128,
    pub(super) list: i128,
}

impl Row<'_> {
    /// Whether the row is of GPU time at all.
    pub(super) fn has_time(&self) -> bool {
        self.category == Category::Usage
    }

    /// A part of held time that only measuring gives; unknown where nothing of it was measured.
    pub(super) fn measured(&self, of: fn(&Time) -> i64) -> Option<i64> {
        let time = &self.charge.time;
        let unknown = time.held_ms != 0 && time.held_ms == time.held_unmeasured_ms;
        (self.has_time() && !unknown).then(|| of(time))
    }

    /// Price in millionths, where the row has a quantity.
    pub(super) fn price(&self) -> Option<i128> {
        self.hours.and(self.line).and_then(|l| l.price_micros).map(i128::from)
    }

    /// List price in millionths; without one the price is the list's.
    pub(super) fn list_price(&self) -> Option<i128> {
        let list = self.line.and_then(|l| l.list_price_micros).map(i128::from);
        self.hours.and(list.or_else(|| self.price()))
    }

    pub(super) fn line_id(&self) -> Option<&str> {
        self.line_text
    }

    /// Whether reserved capacity was held.
    pub(super) fn reservation_status(&self) -> Option<&'static str> {
        self.reservation.as_ref().map(|_| if self.charge.time.held_ms > 0 { "Used" } else { "Unused" })
    }

    /// Fills quantity and money from time and price: the price times hours of 12 digits, exactly.
    pub(super) fn price_usage(&mut self) {
        let hours = scaled(self.charge.time.quantity_ms.into(), HOUR_MS, HOURS_SCALE);
        self.hours = Some(hours);
        self.contracted = hours * self.price().unwrap_or(0);
        self.list = hours * self.list_price().unwrap_or(0);
        self.billed = self.contracted;
        let time = &self.charge.time;
        // what was metered: the time that was held; of what nobody held, the time that is priced
        self.consumed_ms = Some(if time.held_ms == 0 { time.quantity_ms } else { time.held_ms });
    }

    /// Fills money that has no quantity.
    pub(super) fn set_money(&mut self, billed: i128) {
        (self.billed, self.contracted, self.list) = (billed, billed, billed);
    }
}

/// Exact money in units of the currency times 10^18, rounded half away from zero.
pub(super) fn units(exact: i128) -> i128 {
    // whole units and the rest apart, so that the product stays within 127 bits
    let (whole, rest) = (exact / EXACT_PER_UNIT, exact % EXACT_PER_UNIT);
    whole * 10_i128.pow(MONEY_SCALE) + scaled(rest, EXACT_PER_UNIT, MONEY_SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_money_becomes_units() {
        assert_eq!(units(EXACT_PER_UNIT), 10_i128.pow(18));
        assert_eq!(units(-EXACT_PER_UNIT / 2), -5 * 10_i128.pow(17));
        assert_eq!(units(1), 277_778);
        assert_eq!(units(1_000_000_000 * EXACT_PER_UNIT + 1), 10_i128.pow(27) + 277_778);
    }
}
