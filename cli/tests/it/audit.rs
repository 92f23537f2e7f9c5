//! The audit log, manual lines and ended rows, as a person meets them.

use crate::site::Site;

fn rates(site: &Site) {
    site.reference("rates", "model,price,from\n,10,2026-01-01\nNVIDIA H200,12,2026-01-01\n");
}

#[test]
fn every_change_is_in_the_log_with_what_was_there_before() {
    let site = Site::billed("UTC", "EUR");
    rates(&site);
    let told = site.ok(&["rates", "end", "model=NVIDIA H200", "--at", "2026-04-01", "--reason", "sold"]);
    assert!(told.contains("ended: model=NVIDIA H200 price=12"), "{told}");
    assert_eq!(site.table(&["rates", "list"]).column("to"), ["", "2026-04-01T00:00:00+00:00"]);

    let log = site.table(&["audit", "--table", "rate"]);
    assert_eq!(log.column("action"), ["add", "add", "end"]);
    assert_eq!(log.column("seq"), ["1", "2", "3"]);
    assert_eq!(log.rows[2][log.at("reason")], "sold");
    assert!(log.rows[2][log.at("before")].contains("\"to_ms\":null"));
    assert_eq!(log.rows[1][log.at("hash")], log.rows[2][log.at("previous")]);
    assert_eq!(site.table(&["audit", "--table", "owner"]).rows.len(), 0);
    assert_eq!(site.table(&["audit", "--to", "2026-01-01"]).rows.len(), 0);
    let text = site.ok(&["audit"]);
    assert!(text.contains("model=NVIDIA H200 price=12 currency=EUR from 2026-01-01"), "{text}");

    let whole = site.ok(&["audit", "verify"]);
    assert!(whole.starts_with("audit: the log is whole\n3 entries, 2 kept heads compared\nhead 3:"), "{whole}");
}

#[test]
fn what_is_wrong_with_an_end_is_said() {
    let site = Site::billed("UTC", "EUR");
    rates(&site);
    site.run(&["rates", "end", "H200", "--at", "2026-04-01"]).fails(2, &["`H200` is not COLUMN=VALUE"]);
    site.run(&["rates", "end", "model=B300", "--at", "2026-04-01"])
        .fails(1, &["no row of rate with model=B300 holds at"]);
    site.run(&["rates", "end", "--at", "2026-04-01", "--force"]).fails(2, &["--reason", "--approver"]);
}

#[test]
fn a_changed_entry_and_a_cut_tail_are_found() {
    let site = Site::billed("UTC", "EUR");
    rates(&site);
    let file = site.data().join("control.sqlite");
    let older = std::fs::read(&file).unwrap();
    site.ok(&["rates", "end", "--at", "2026-04-01", "--reason", "no longer offered"]);
    let newer = std::fs::read(&file).unwrap();
    let head = site.ok(&["audit", "verify"]).lines().last().unwrap().trim_start_matches("head ").to_owned();

    // The control file of before: its log is whole in itself, and its tail is gone.
    std::fs::write(&file, &older).unwrap();
    let cut = site.run(&["audit", "verify"]);
    assert_eq!(cut.code, 1, "{cut:?}");
    assert!(
        cut.out.contains("BROKEN at entry 3: the log ends at entry 2; it once had 3: its tail was cut off"),
        "{}",
        cut.out
    );

    // A word of the log changed in the file.
    let (from, to) = (b"no longer offered", b"no longer Offered");
    let at = newer.windows(from.len()).position(|w| w == from).unwrap();
    let mut forged = newer.clone();
    forged[at..at + to.len()].copy_from_slice(to);
    std::fs::write(&file, &forged).unwrap();
    let changed = site.run(&["audit", "verify", "--format", "json"]);
    assert_eq!(changed.code, 1, "{changed:?}");
    assert!(changed.out.contains("its hash is not that of what it says: it was changed"), "{}", changed.out);

    // A head that was kept elsewhere is compared; one of another log does not fit.
    std::fs::write(&file, &newer).unwrap();
    assert!(site.ok(&["audit", "verify", "--head", &head]).contains("3 kept heads compared"));
    let other = format!("2:{}", "ab".repeat(32));
    assert_eq!(site.run(&["audit", "verify", "--head", &other]).code, 1);
    site.run(&["audit", "verify", "--head", "2"]).fails(2, &["is not NUMBER:HASH"]);
}

#[test]
fn lines_are_booked_and_withdrawn_by_hand() {
    let site = Site::billed("UTC", "EUR");
    rates(&site);
    let add = |amount: &str, kind: &str| {
        let said = ["--period", "2026-10", "--team", "vision", "--reason", "out, \"twice\"", "--approver", "grace"];
        site.run(&[&["manual-lines", "add", "--kind", kind, "--amount", amount][..], &said].concat())
    };
    assert!(add("-12.50", "credit").out.starts_with("line 2026-10-1\n"));
    assert!(add("3", "adjustment").out.starts_with("line 2026-10-2\n"));
    add("3", "credit").fails(1, &["a credit is in favour of the team: its amount is negative"]);
    add("0.001", "adjustment").fails(1, &["it has more decimals than EUR has (2)"]);
    site.ok(&["manual-lines", "withdraw", "2026-10-2", "--reason", "booked twice"]);
    site.run(&["manual-lines", "withdraw", "2026-10-2", "--reason", "again"]).fails(1, &["no row of manual_line"]);

    let lines = site.table(&["manual-lines", "list"]);
    assert_eq!(lines.column("amount"), ["-12.5", "3"]);
    assert_eq!(lines.rows[0][lines.at("reason")], "out, \"twice\"");
    assert!(lines.column("to")[0].is_empty() && !lines.column("to")[1].is_empty());
    let published = site.sql("SELECT line, amount_micros, to_ms IS NULL AS stands FROM manual_line ORDER BY line");
    assert_eq!(published.column("amount_micros"), ["-12500000", "3000000"]);
    assert_eq!(published.column("stands"), ["true", "false"]);
    let log = site.table(&["audit", "--table", "manual_line"]);
    assert_eq!(log.column("action"), ["add", "add", "end"]);
    assert_eq!(log.column("approver"), ["grace", "grace", ""]);
}

#[test]
fn every_new_table_has_its_commands_and_reaches_sql() {
    let site = Site::billed("Asia/Shanghai", "CNY");
    for (command, table) in [
        ("terms", "terms"),
        ("discounts", "discount"),
        ("cost-pools", "cost_pool"),
        ("energy-prices", "energy_price"),
        ("budgets", "budget"),
        ("cost-centers", "cost_center"),
        ("manual-lines", "manual_line"),
    ] {
        let file = crate::site::example(&format!("reference/{command}.csv"));
        let told = site.ok(&[command, "import", &file]);
        assert!(told.contains(" rows added, 0 there already, version 1"), "{told}");
        let listed = site.table(&[command, "list"]).rows.len();
        let found = site.sql(&format!("SELECT count(*) AS n FROM {table}"));
        assert_eq!(found.one("n"), listed.to_string(), "{command}");
    }
}
