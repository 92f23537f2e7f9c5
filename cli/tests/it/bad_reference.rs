//! Reference tables that contradict themselves: nothing of the file goes in, and every problem is named at its line.

use crate::site::Site;

/// Refused as a whole, with exactly these problems; the table stays as it was.
#[track_caller]
fn refused(site: &Site, table: &str, csv: &str, problems: &[&str]) {
    std::fs::create_dir_all(site.data()).unwrap();
    let before = site.ok(&[table, "list", "--format", "csv"]);
    let file = site.file("in.csv", csv);
    let done = site.run(&[table, "import", &file]);
    done.fails(1, &["nothing of in.csv was imported"]);
    done.fails(1, problems);
    assert_eq!(done.err.lines().filter(|l| l.contains("in.csv, line ")).count(), problems.len(), "{}", done.err);
    assert_eq!(site.ok(&[table, "list", "--format", "csv"]), before);
}

#[test]
fn rates_that_overlap() {
    let site = Site::billed("UTC", "EUR");
    site.reference("rates", "model,price,from,to\nH200,10,2026-01-01,2026-07-01\n");
    let overlap = "in.csv, line 2: the row overlaps";
    refused(&site, "rates", "model,price,from,to\nH200,12,2026-06-01,2026-08-01\n", &[overlap]);
    let twice = "model,price,from\nA100,1,2026-01-01\nA100,2,2026-02-01\n";
    refused(&site, "rates", twice, &["in.csv, line 3: the row overlaps line 2"]);
    let other = site.file("other.csv", "model,price,currency\nA100,1,USD\n");
    site.run(&["rates", "import", &other]).fails(1, &["other.csv, line 2, column `currency`"]);
}

#[test]
fn owner_splits_that_are_not_a_hundred_percent() {
    let site = Site::billed("UTC", "EUR");
    let csv = "kind,value,team,share_percent\naccount,x,a,60\naccount,x,b,39.99\n";
    refused(
        &site,
        "owners",
        csv,
        &["in.csv, line 2, column `share_percent`: the shares of account x add up to 99.99 %"],
    );
    let csv = "kind,value,team,share_percent\naccount,x,a,60\naccount,x,b,60\n";
    refused(&site, "owners", csv, &["in.csv, line 2, column `share_percent`: the shares of account x add up to 120 %"]);
}

#[test]
fn every_problem_of_a_file_at_once() {
    let site = Site::billed("UTC", "EUR");
    let problems = [
        "in.csv, line 2, column `price`: `ten`",
        "in.csv, line 3, column `from`: `2026-02-30`",
        "in.csv, line 4, column `to`: the end is not after the start",
        "in.csv, line 5: expected 3 cells",
    ];
    refused(&site, "rates", "price,from,to\nten,,\n1,2026-02-30,\n1,2026-03-02,2026-03-01\n1\n", &problems);
    refused(
        &site,
        "rates",
        "prize\n1\n",
        &["in.csv, line 1, column `prize`: unknown column", "in.csv, line 1, column `price`: the column is missing"],
    );
    refused(&site, "inventory", "cluster,node,model,gpus\nc,n[1-,m,1\n", &["in.csv, line 2, column `node`"]);
    refused(
        &site,
        "rules",
        "position,task_type\n1,training\n",
        &["in.csv, line 2, column `task_type`: unknown task type `training`"],
    );

    let bare = Site::new();
    let file = bare.file("in.csv", "price,currency,from\n1,EUR,2026-03-01\n");
    bare.run(&["rates", "import", &file]).fails(1, &["in.csv, line 2, column `from`", "--zone"]);
    bare.run(&["rates", "import", &file, "--zone", "Nowhere/Land"]).fails(2, &["unknown time zone `Nowhere/Land`"]);
    bare.ok(&["rates", "import", &file, "--zone", "UTC"]);
}
