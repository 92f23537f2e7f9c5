//! FOCUS rows against the bill: what a validator of the format skips. Sums of statements and of the fleet, price times
//! quantity, uniqueness, periods, formats.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMillisecondType};
use gpuledger_export::{ExportError, focus};
use gpuledger_schema::table::{self as tables, ChargeRow};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

mod fixture;

use fixture::{FROM_MS, Money, TEAMS, TO_MS, World, world};

const CURRENCIES: [Money; 3] = [Money("EUR", 2), Money("JPY", 0), Money("KWD", 3)];

fn batches(charges: &[ChargeRow]) -> Vec<RecordBatch> {
    charges.chunks(100).map(|rows| tables::batch(rows).unwrap()).collect()
}

fn csv_rows(world: &World) -> Vec<BTreeMap<String, String>> {
    let mut bytes = Vec::new();
    focus::write(&world.bill, &batches(&world.charges), focus::Format::Csv { bom: false }, &mut bytes).unwrap();
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    reader.records().map(|r| heads.iter().cloned().zip(r.unwrap().iter().map(str::to_owned)).collect()).collect()
}

/// A decimal times 10^18.
fn units(text: &str) -> i128 {
    scaled(text, 18)
}

fn scaled(text: &str, scale: usize) -> i128 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    assert!(part.len() <= scale, "{text} has more than {scale} digits");
    format!("{whole}{part:0<scale$}").parse().unwrap()
}

#[test]
fn statements_add_up_to_the_minor_unit() {
    for money in CURRENCIES {
        let world = world(&TEAMS, money);
        let rows = csv_rows(&world);
        let minor = 10_i128.pow(18 - money.1);
        let mut expected: BTreeMap<(String, String), i128> = BTreeMap::new();
        for line in &world.bill.lines {
            let key = (line.team.clone(), line.cost_center.clone().unwrap_or_default());
            *expected.entry(key).or_default() += i128::from(line.amount_minor) * minor;
        }
        let mut found: BTreeMap<(String, String), i128> = BTreeMap::new();
        for row in &rows {
            let key = (row["BillingAccountId"].clone(), row["SubAccountId"].clone());
            *found.entry(key).or_default() += units(&row["BilledCost"]);
        }
        assert_eq!(found, expected);
        // at most one adjustment a statement carries what rounding leaves, and it is small
        let rounding: Vec<_> = rows.iter().filter(|r| r["x_LineId"].is_empty()).collect();
        assert!(!rounding.is_empty() && rounding.len() <= expected.len());
        for row in rounding {
            assert_eq!(row["ChargeCategory"], "Adjustment");
            let lines = i128::try_from(world.bill.lines.len()).unwrap();
            assert!(units(&row["BilledCost"]).abs() < lines * minor, "{}", row["BilledCost"]);
        }
        let invoices: BTreeSet<&String> = rows.iter().map(|r| &r["InvoiceId"]).collect();
        assert_eq!(invoices.len(), TEAMS.len() + 1, "one a team, one of the platform");
    }
}

#[test]
fn all_rows_together_are_what_the_fleet_cost() {
    let world = world(&TEAMS, Money("EUR", 2));
    let beside = ["Credit", "Adjustment"];
    let own = |row: &&BTreeMap<String, String>| {
        row["ChargeClass"].is_empty()
            && !(beside.contains(&row["ChargeCategory"].as_str())
                && ["credit", "adjustment"].contains(&row["x_LineKind"].as_str()))
    };
    let rows = csv_rows(&world);
    let sum: i128 = rows.iter().filter(own).map(|r| units(&r["BilledCost"])).sum();
    let fleet = i128::from(world.bill.conservation.fleet_minor) * 10_i128.pow(16);
    // the rounding of statements with corrections and credits is in the sum, and is less than a minor unit each
    assert!((sum - fleet).abs() < 30 * 10_i128.pow(16), "{sum} {fleet}");
    let all: i128 = rows.iter().map(|r| units(&r["BilledCost"])).sum();
    let lines: i128 = world.bill.lines.iter().map(|l| i128::from(l.amount_minor)).sum();
    assert_eq!(all, lines * 10_i128.pow(16));
    let platform: Vec<_> = rows.iter().filter(|r| r["BillingAccountId"] == "(platform)").collect();
    for kind in ["unallocated", "unavailable", "unobserved", "unbilled_held", "shared_out"] {
        assert!(platform.iter().any(|r| r["x_LineKind"] == kind), "no row of {kind}");
    }
}

#[test]
fn price_times_quantity_is_the_cost_exactly() {
    for money in CURRENCIES {
        for row in csv_rows(&world(&TEAMS, money)) {
            let usage = row["ChargeCategory"] == "Usage";
            for column in ["PricingQuantity", "PricingUnit", "SkuId", "SkuPriceId", "ListUnitPrice", "ConsumedQuantity"]
            {
                assert_eq!(usage, !row[column].is_empty(), "{column} of a row of {}", row["ChargeCategory"]);
            }
            assert_eq!(row["BilledCost"], row["EffectiveCost"]);
            if usage {
                let hours = scaled(&row["PricingQuantity"], 12);
                assert_eq!(hours * scaled(&row["ContractedUnitPrice"], 6), units(&row["ContractedCost"]));
                assert_eq!(hours * scaled(&row["ListUnitPrice"], 6), units(&row["ListCost"]));
                assert_eq!(row["BilledCost"], row["ContractedCost"]);
                assert!(scaled(&row["ListUnitPrice"], 6) >= 0 && scaled(&row["ContractedUnitPrice"], 6) >= 0);
                // and it is the exact money of the charge, to half of a millionth of a millionth of an hour
                let exact: i128 = row["x_ExactCostNumerator"].parse().unwrap();
                let price = scaled(&row["ContractedUnitPrice"], 6);
                let error = units(&row["BilledCost"]) * 3_600_000 - exact * 10_i128.pow(12);
                assert!(error.abs() <= price * 1_800_000 + 3_600_000, "{error}");
            } else {
                assert_eq!(row["BilledCost"], row["ContractedCost"]);
                assert_eq!(row["BilledCost"], row["ListCost"]);
            }
        }
    }
}

#[test]
fn rows_are_unique_and_every_millisecond_is_in_one() {
    let world = world(&TEAMS, Money("EUR", 2));
    let rows = csv_rows(&world);
    let ids: BTreeSet<&String> = rows.iter().map(|r| &r["x_ChargeId"]).collect();
    assert_eq!(ids.len(), rows.len());
    assert!(rows.len() > world.charges.len());
    let mut held: BTreeMap<String, i128> = BTreeMap::new();
    let mut exact: BTreeMap<String, i128> = BTreeMap::new();
    for row in rows.iter().filter(|r| !r["x_LineId"].is_empty()) {
        if !row["x_HeldSeconds"].is_empty() {
            *held.entry(row["x_LineId"].clone()).or_default() += scaled(&row["x_HeldSeconds"], 3);
        }
        *exact.entry(row["x_LineId"].clone()).or_default() += row["x_ExactCostNumerator"].parse::<i128>().unwrap();
    }
    for line in &world.bill.lines {
        let id = line.line_id.to_string();
        assert_eq!(held.get(&id).copied().unwrap_or(0), i128::from(line.held_ms), "held of {}", line.kind);
        assert_eq!(exact[&id], line.exact, "exact money of {}", line.kind);
    }
    // what was not measured is not 0
    let unmeasured =
        rows.iter().filter(|r| r["x_HeldSeconds"] != "0" && r["x_HeldSeconds"] == r["x_UnmeasuredSeconds"]);
    let mut count = 0;
    for row in unmeasured.filter(|r| !r["x_HeldSeconds"].is_empty()) {
        assert_eq!((row["x_BusySeconds"].as_str(), row["x_IdleSeconds"].as_str()), ("", ""));
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn periods_are_those_of_the_bill_and_of_local_days() {
    let world = world(&TEAMS, Money("EUR", 2));
    let mut longest = BTreeSet::new();
    for row in csv_rows(&world) {
        assert_eq!(row["BillingPeriodStart"], "2026-09-30T22:00:00Z");
        assert_eq!(row["BillingPeriodEnd"], "2026-10-31T23:00:00Z");
        let (start, end) = (row["ChargePeriodStart"].clone(), row["ChargePeriodEnd"].clone());
        for text in [&start, &end] {
            let bytes = text.as_bytes();
            assert!(bytes.len() == 20 && bytes[10] == b'T' && bytes[19] == b'Z', "{text}");
        }
        assert!(start < end);
        let correction = row["ChargeClass"] == "Correction";
        assert_eq!(correction, !row["x_CorrectsBillingPeriod"].is_empty());
        if correction {
            assert!(
                start.as_str() >= "2026-08-31T22:00:00Z" && end.as_str() <= "2026-09-30T22:00:00Z",
                "{start} {end}"
            );
        } else {
            assert!(start >= row["BillingPeriodStart"] && end <= row["BillingPeriodEnd"], "{start} {end}");
        }
        if start.starts_with("2026-10-24T22") {
            longest.insert(end);
        }
    }
    // the day on which clocks go back has 25 hours
    assert_eq!(longest.into_iter().collect::<Vec<_>>(), ["2026-10-25T23:00:00Z"]);
}

#[test]
fn identifiers_belong_to_one_parent_and_come_with_their_names() {
    let world = world(&TEAMS, Money("EUR", 2));
    let mut parents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in csv_rows(&world) {
        if !row["SkuPriceId"].is_empty() {
            parents.entry(row["SkuPriceId"].clone()).or_default().insert(row["SkuId"].clone());
        }
        for (a, b) in [
            ("SubAccountId", "SubAccountName"),
            ("SubAccountId", "SubAccountType"),
            ("RegionId", "RegionName"),
            ("ResourceId", "ResourceType"),
            ("ConsumedQuantity", "ConsumedUnit"),
            ("PricingQuantity", "PricingUnit"),
            ("CapacityReservationId", "CapacityReservationStatus"),
            ("SkuId", "SkuMeter"),
        ] {
            assert_eq!(row[a].is_empty(), row[b].is_empty(), "{a} and {b}");
        }
        assert!(row["ResourceName"].is_empty() || !row["ResourceId"].is_empty());
        assert_ne!((&row["ResourceName"], true), (&row["ResourceId"], !row["ResourceId"].is_empty()));
        assert_eq!(row["CapacityReservationId"].is_empty(), row["x_LineKind"] != "reserved");
        for column in ["Tags", "SkuPriceDetails"] {
            if !row[column].is_empty() {
                let value: serde_json::Value = serde_json::from_str(&row[column]).unwrap();
                assert!(value.as_object().unwrap().values().all(|v| !v.is_object() && !v.is_array()));
            }
        }
        assert!(TEAMS.contains(&row["BillingAccountId"].as_str()) || row["BillingAccountId"] == "(platform)");
    }
    assert!(parents.len() > 2 && parents.values().all(|p| p.len() == 1));
}

#[test]
fn parquet_has_the_same_rows_as_csv() {
    let world = world(&TEAMS, Money("EUR", 2));
    let rows = csv_rows(&world);
    let mut bytes = Vec::new();
    focus::write(&world.bill, &batches(&world.charges), focus::Format::Parquet, &mut bytes).unwrap();
    let mut again = Vec::new();
    focus::write(&world.bill, &batches(&world.charges), focus::Format::Parquet, &mut again).unwrap();
    assert!(bytes == again, "the same bytes each time");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.reopen().unwrap()).unwrap().build().unwrap();
    let mut at = 0;
    for batch in reader {
        let batch = batch.unwrap();
        let billed = batch.column_by_name("BilledCost").unwrap().as_primitive::<Decimal128Type>();
        let start = batch.column_by_name("BillingPeriodStart").unwrap().as_primitive::<TimestampMillisecondType>();
        let end = batch.column_by_name("BillingPeriodEnd").unwrap().as_primitive::<TimestampMillisecondType>();
        let account = batch.column_by_name("BillingAccountId").unwrap().as_string::<i32>();
        for i in 0..batch.num_rows() {
            assert_eq!(billed.value(i), units(&rows[at]["BilledCost"]));
            assert_eq!(account.value(i), rows[at]["BillingAccountId"]);
            assert_eq!((start.value(i), end.value(i)), (FROM_MS, TO_MS));
            at += 1;
        }
    }
    assert_eq!(at, rows.len());
}

#[test]
fn charges_of_another_bill_are_an_error() {
    let world = world(&TEAMS, Money("EUR", 2));
    let mut charge = world.charges[0].clone();
    charge.line_id = 1;
    let format = focus::Format::Parquet;
    let error = focus::write(&world.bill, &batches(&[charge]), format, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::NoLine(1)), "{error}");
    let batch = tables::batch(&world.bill.lines).unwrap();
    let error = focus::write(&world.bill, &[batch], format, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::Charges("unit_id")), "{error}");
}
