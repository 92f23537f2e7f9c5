//! The columns of the data set: those of FOCUS 1.2 that apply, then our own (`x_`), each with its type and where it comes from.

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::row::Row;

/// Digits after the point of money: a price in millionths times hours with 12 digits is exact.
pub(super) const MONEY_SCALE: u32 = 18;
/// Digits after the point of prices.
const PRICE_SCALE: u32 = 6;
/// Digits after the point of GPU-hours.
pub(super) const HOURS_SCALE: u32 = 12;
/// Digits after the point of seconds.
const SECONDS_SCALE: u32 = 3;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// A decimal of so many digits after the point.
    Decimal(u32),
    /// An instant, UTC.
    Time,
}

/// A value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Null,
    Text(&'a str),
    Decimal(i128),
    /// Epoch ms.
    Time(i64),
}

/// A column.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Whether a row may lack it.
    pub(super) nullable: bool,
    pub(super) of: for<'a> fn(&'a Row<'_>) -> Value<'a>,
}

const fn text(name: &'static str, nullable: bool, of: for<'a> fn(&'a Row<'_>) -> Value<'a>) -> Column {
    Column { name, kind: Kind::Text, nullable, of }
}

const fn time(name: &'static str, of: for<'a> fn(&'a Row<'_>) -> Value<'a>) -> Column {
    Column { name, kind: Kind::Time, nullable: false, of }
}

const fn decimal(name: &'static str, scale: u32, nullable: bool, of: for<'a> fn(&'a Row<'_>) -> Value<'a>) -> Column {
    Column { name, kind: Kind::Decimal(scale), nullable, of }
}

fn word(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::Text)
}

fn number(n: Option<i128>) -> Value<'static> {
    n.map_or(Value::Null, Value::Decimal)
}

/// Milliseconds as thousandths of a second.
fn seconds(ms: Option<i64>) -> Value<'static> {
    number(ms.map(i128::from))
}

/// Service of every row.
const SERVICE: &str = "GPU Cluster";

/// The columns, in the order of the file: those of FOCUS by name, then ours.
pub(super) const COLUMNS: [Column; 66] = [
    decimal("BilledCost", MONEY_SCALE, false, |r| Value::Decimal(r.billed)),
    text("BillingAccountId", false, |r| Value::Text(r.account)),
    text("BillingAccountName", true, |r| Value::Text(r.account)),
    text("BillingAccountType", false, |_| Value::Text("Team")),
    text("BillingCurrency", false, |r| Value::Text(r.currency)),
    time("BillingPeriodEnd", |r| Value::Time(r.period.1)),
    time("BillingPeriodStart", |r| Value::Time(r.period.0)),
    text("CapacityReservationId", true, |r| word(r.reservation.as_deref())),
    text("CapacityReservationStatus", true, |r| word(r.reservation_status())),
    text("ChargeCategory", false, |r| Value::Text(r.category.as_str())),
    text("ChargeClass", true, |r| word(r.corrects.map(|_| "Correction"))),
    text("ChargeDescription", true, |r| Value::Text(&r.description)),
    text("ChargeFrequency", false, |r| Value::Text(r.category.frequency())),
    time("ChargePeriodEnd", |r| Value::Time(r.charge_period.1)),
    time("ChargePeriodStart", |r| Value::Time(r.charge_period.0)),
    // nothing here is committed; validators ask for the column wherever quantities are consumed
    text("CommitmentDiscountStatus", true, |_| Value::Null),
    decimal("ConsumedQuantity", SECONDS_SCALE, true, |r| seconds(r.consumed_ms)),
    text("ConsumedUnit", true, |r| word(r.consumed_ms.map(|_| "GPU-Seconds"))),
    decimal("ContractedCost", MONEY_SCALE, false, |r| Value::Decimal(r.contracted)),
    decimal("ContractedUnitPrice", PRICE_SCALE, true, |r| number(r.price())),
    decimal("EffectiveCost", MONEY_SCALE, false, |r| Value::Decimal(r.billed)),
    text("InvoiceId", true, |r| word(r.invoice.as_deref())),
    text("InvoiceIssuerName", false, |r| Value::Text(r.issuer)),
    decimal("ListCost", MONEY_SCALE, false, |r| Value::Decimal(r.list)),
    decimal("ListUnitPrice", PRICE_SCALE, true, |r| number(r.list_price())),
    text("PricingCategory", true, |r| word(r.sku.map(|_| "Standard"))),
    // prices are in the currency of the bill
    text("PricingCurrency", false, |r| Value::Text(r.currency)),
    decimal("PricingCurrencyContractedUnitPrice", PRICE_SCALE, true, |r| number(r.price())),
    decimal("PricingCurrencyEffectiveCost", MONEY_SCALE, false, |r| Value::Decimal(r.billed)),
    decimal("PricingCurrencyListUnitPrice", PRICE_SCALE, true, |r| number(r.list_price())),
    decimal("PricingQuantity", HOURS_SCALE, true, |r| number(r.hours)),
    text("PricingUnit", true, |r| word(r.hours.map(|_| "GPU-Hours"))),
    text("ProviderName", false, |r| Value::Text(r.issuer)),
    text("PublisherName", false, |r| Value::Text(r.issuer)),
    text("RegionId", true, |r| word(r.charge.cluster)),
    text("RegionName", true, |r| word(r.charge.cluster)),
    text("ResourceId", true, |r| word(r.resource.as_deref())),
    text("ResourceName", true, |r| word(r.resource.as_ref().and(r.charge.node))),
    text("ResourceType", true, |r| word(r.resource.as_ref().map(|_| "GPU"))),
    text("ServiceCategory", false, |_| Value::Text("Compute")),
    text("ServiceName", false, |_| Value::Text(SERVICE)),
    text("ServiceSubcategory", false, |_| Value::Text("Other (Compute)")),
    text("SkuId", true, |r| word(r.sku.map(|s| s.id.as_str()))),
    text("SkuMeter", true, |r| word(r.sku.map(|_| "GPU Hours"))),
    text("SkuPriceDetails", true, |r| word(r.sku.map(|s| s.details.as_str()))),
    text("SkuPriceId", true, |r| word(r.sku.map(|s| s.price_id.as_str()))),
    text("SubAccountId", true, |r| word(r.sub_account)),
    text("SubAccountName", true, |r| word(r.sub_account_name)),
    text("SubAccountType", true, |r| word(r.sub_account.map(|_| "Cost Centre"))),
    text("Tags", true, |r| word(r.tags.as_deref())),
    text("x_Approver", true, |r| word(r.line.and_then(|l| l.approver.as_deref()))),
    text("x_BillingMode", true, |r| word(r.line.and_then(|l| l.mode.as_deref()))),
    decimal("x_BusySeconds", SECONDS_SCALE, true, |r| seconds(r.measured(|t| t.busy_ms))),
    text("x_ChargeId", false, |r| Value::Text(&r.id)),
    text("x_CloseId", true, |r| word(r.line.map(|l| l.close_id.as_str()))),
    text("x_CorrectsBillingPeriod", true, |r| word(r.corrects)),
    text("x_Discounts", true, |r| word(r.line.and_then(|l| l.discount.as_deref()))),
    decimal("x_EnergyMillijoules", 0, true, |r| number(r.charge.time.energy_mj.map(i128::from))),
    decimal("x_ExactCostNumerator", 0, true, |r| number(r.line.map(|_| r.charge.exact))),
    decimal("x_HeldSeconds", SECONDS_SCALE, true, |r| seconds(r.has_time().then_some(r.charge.time.held_ms))),
    decimal("x_IdleSeconds", SECONDS_SCALE, true, |r| seconds(r.measured(|t| t.held_idle_ms))),
    text("x_LineId", true, |r| word(r.line_id())),
    text("x_LineKind", false, |r| Value::Text(r.kind)),
    text("x_Reason", true, |r| word(r.line.and_then(|l| l.reason.as_deref()))),
    decimal("x_UnmeasuredSeconds", SECONDS_SCALE, true, |r| {
        seconds(r.has_time().then_some(r.charge.time.held_unmeasured_ms))
    }),
    text("x_Zone", false, |r| Value::Text(r.zone)),
];

impl Column {
    fn data_type(&self) -> DataType {
        match self.kind {
            Kind::Text => DataType::Utf8,
            Kind::Decimal(scale) => DataType::Decimal128(38, scale as i8),
            Kind::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        }
    }
}

/// The Arrow schema of the file.
pub(super) fn schema() -> Schema {
    Schema::new(COLUMNS.iter().map(|c| Field::new(c.name, c.data_type(), c.nullable)).collect::<Vec<_>>())
}
