//! Every description agrees with the schema and with itself.

use super::*;

#[test]
fn every_schema_column_is_typed_or_derived_exactly_once() {
    for table in ReferenceTable::ALL {
        let spec = table.spec();
        let mut stored = spec.stored();
        stored.sort_unstable();
        let mut schema: Vec<&str> = (spec.table.columns)().iter().map(|c| c.name).collect();
        schema.sort_unstable();
        assert_eq!(stored, schema, "{table}");
        let ends: Vec<&str> = spec.columns.iter().rev().take(2).map(|c| c.name).collect();
        assert_eq!(ends, ["to", "from"], "{table}");
        for name in spec.selector.iter().chain(spec.beside) {
            assert!(spec.position(name).is_some(), "{table}: {name}");
        }
    }
}

#[test]
fn commands_read_back() {
    for table in ReferenceTable::ALL {
        assert_eq!(table.command().parse(), Ok(table));
    }
    assert_eq!(
        "prices".parse::<ReferenceTable>().unwrap_err().to_string(),
        "unknown reference table `prices`; it is one of inventory, pools, tiers, rules, weights, rates, owners, quotas, \
         thresholds, specs, finding-notes, terms, discounts, cost-pools, energy-prices, budgets, cost-centers, manual-lines, \
         contacts"
    );
    let published: Vec<&str> = gpuledger_schema::table::reference::all().iter().map(|t| t.name).collect();
    assert_eq!(ReferenceTable::ALL.map(ReferenceTable::table).to_vec(), published);
}
