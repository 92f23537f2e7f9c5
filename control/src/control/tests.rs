//! What only shows with the connection in hand: the stored tables, the log's guard, a full disk, a second writer.

use gpuledger_schema::table::reference::RateRow;

use super::*;

fn options() -> ImportOptions {
    ImportOptions {
        zone: Some(Tz::UTC),
        currency: Some("EUR".into()),
        now_ms: 7,
        actor: "anna".into(),
        ..ImportOptions::default()
    }
}

#[test]
fn stored_tables_have_the_columns_of_the_schema_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::open(&folder.path().join("control.sqlite")).unwrap();
    for table in ReferenceTable::ALL {
        let schema: Vec<(String, bool)> =
            (table.spec().table.columns)().iter().map(|c| (c.name.to_owned(), c.nullable)).collect();
        let mut statement =
            control.connection.prepare("SELECT name, \"notnull\" = 0 FROM pragma_table_info(?1)").unwrap();
        let stored: Vec<(String, bool)> =
            statement.query_map([table.table()], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().map(Result::unwrap).collect();
        assert_eq!(stored, schema, "{table}");
    }
}

#[test]
fn a_full_disk_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sqlite");
    let mut control = Control::open(&path).unwrap();
    let pages: i64 = control.connection.query_row("PRAGMA page_count", [], |r| r.get(0)).unwrap();
    control.connection.pragma_update_and_check(None, "max_page_count", pages + 1, |_| Ok(())).unwrap();
    let mut many = String::from("team,price\n");
    (0..500).for_each(|n| many.push_str(&format!("team-{n},10\n")));
    let error = control.import(ReferenceTable::Rates, "rates.csv", many.as_bytes(), options()).unwrap_err();
    assert!(matches!(error, ControlError::DiskFull { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("cannot import into {}: the disk is full; nothing was changed", path.display())
    );
    assert_eq!(control.rows::<RateRow>().unwrap(), []);
    assert_eq!(control.version(ReferenceTable::Rates).unwrap(), 0);
}

#[test]
fn a_second_writer_is_told_and_readers_are_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sqlite");
    let holder = Control::open(&path).unwrap();
    let mut second = Control::open(&path).unwrap();
    holder.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = second.import(ReferenceTable::Rates, "rates.csv", b"price\n10\n", options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot import into {}: another gpuledger is writing; try again when it is done", path.display())
    );
    assert_eq!(Control::open_read_only(&path).unwrap().rows::<RateRow>().unwrap(), []);
    holder.connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(second.import(ReferenceTable::Rates, "rates.csv", b"price\n10\n", options()).unwrap().added, 1);
}
