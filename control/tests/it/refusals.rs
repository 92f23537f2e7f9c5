//! Files that are refused: every problem at once, each with its line, column and reason, and nothing changed.

use gpuledger_control::ReferenceTable::{self, Inventory, Owners, Pools, Quotas, Rates, Rules, Tiers, Weights};
use gpuledger_control::{Control, ImportOptions};

use crate::{Ledger, options};

pub(crate) fn check(table: ReferenceTable, csv: impl AsRef<[u8]>, problems: &[&str]) {
    assert_eq!(Ledger::new().refused(table, csv), problems);
}

#[test]
fn files_that_are_not_the_tables_csv() {
    let columns = "team,task_type,pool,model,tier,price,currency,from,to";
    let no_header = format!("in.csv, line 1: the file has no header; the columns are {columns}");
    check(Rates, "", &[&no_header]);
    check(Rates, "# only a comment\n\n", &[&no_header]);
    check(
        Rates,
        "# prices\nteam,prize\n",
        &[
            &format!("in.csv, line 2, column `prize`: unknown column; the columns are {columns}"),
            "in.csv, line 2, column `price`: the column is missing",
        ],
    );
    check(Rates, "price,team,price\n1,a,1\n", &["in.csv, line 1, column `price`: the column stands twice"]);
    check(
        Rates,
        b"team,price\na,1\n\xe9quipe,2\n",
        &["in.csv, line 3: the line is not valid UTF-8: save the file as UTF-8"],
    );
    check(
        Rates,
        "team,price\na\na,1,2\n",
        &[
            "in.csv, line 2: expected 2 cells, as in the header, found 1",
            "in.csv, line 3: expected 2 cells, as in the header, found 3",
        ],
    );
    check(Rates, "team,price\n\"a,1\nb,2\n", &["in.csv, line 2: expected 2 cells, as in the header, found 1"]);
}

#[test]
fn all_problems_of_a_file_are_listed_at_their_lines() {
    check(
        Rates,
        "# comment\r\n\r\nteam,task_type,price,currency,from,to\r\n\
         a,training,1e3,EU,2026-02-30,\r\n# comment\r\n\r\nb,,,CNY,2026-03-15,2026-03-15\r\nc,,1,CNY,2026-03-15,2026-03-15\r\n",
        &[
            "in.csv, line 4, column `task_type`: unknown task type `training`; it is one of train, finetune, infer, \
             eval, debug, batch, data, unknown",
            "in.csv, line 4, column `price`: `1e3` is not a plain decimal number (digits, with a point where needed)",
            "in.csv, line 4, column `currency`: `EU` is not a currency code of three capital letters (ISO 4217, e.g. EUR)",
            "in.csv, line 4, column `from`: `2026-02-30` is neither a date (YYYY-MM-DD) nor an instant \
             (2026-03-01T00:00:00+01:00)",
            "in.csv, line 7, column `price`: the cell is empty",
            "in.csv, line 8, column `to`: the end is not after the start",
        ],
    );
    let error = Ledger::new().try_import(Rates, "price\n-1\n0.0000001\n1000000.000001\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing of in.csv was imported into rate, it has 3 problems:\
         \n  in.csv, line 2, column `price`: `-1` is negative\
         \n  in.csv, line 3, column `price`: `0.0000001` has more than 6 decimals\
         \n  in.csv, line 4, column `price`: `1000000.000001` is more than 1000000"
    );
}

#[test]
fn rows_of_one_file_may_not_overlap() {
    check(
        Rates,
        "team,price,from\na,10,2026-01-01\na,12,2026-03-15\nb,9,\n",
        &["in.csv, line 3: the row overlaps line 2 (team=a price=10 currency=CNY from 2026-01-01T00:00:00+08:00)"],
    );
    check(
        Weights,
        "task_type,sm,dram,tensor,from,to\ntrain,1,0,0,2026-02-01,2026-03-01\ntrain,2,0,0,,\n",
        &["in.csv, line 3: the row overlaps line 2 (task_type=train sm=1 dram=0 tensor=0 \
             from 2026-02-01T00:00:00+08:00 to 2026-03-01T00:00:00+08:00)"],
    );
    check(
        Inventory,
        "cluster,node,model,gpus\nhpc,gpu[1-3],H200,8\nhpc,gpu3,H200,4\n",
        &["in.csv, line 3: the row overlaps line 2 (cluster=hpc node=gpu3 model=H200 gpus=8 declared_up=false \
             from the beginning)"],
    );
    // The same row twice is one row.
    let report = Ledger::new().import(Rates, "price\n10\n10.000\n");
    assert_eq!((report.added, report.unchanged), (1, 1));
}

#[test]
fn owner_shares_add_up_at_every_instant() {
    check(
        Owners,
        "kind,value,team,share_percent\nlabel,project=x,a,50\nlabel,project=x,b,49.99\n",
        &["in.csv, line 2, column `share_percent`: the shares of label project=x add up to 99.99 %, not 100 %, \
             from the beginning"],
    );
    check(
        Owners,
        "kind,cluster,value,team,share_percent,to\nuser,hpc,ann,a,50,\nuser,hpc,ann,b,50,2026-03-15\n",
        &["in.csv, line 2, column `share_percent`: the shares of user hpc ann add up to 50 %, not 100 %, \
             from 2026-03-15T00:00:00+08:00"],
    );
    // Where a row is wrong, the sums wait.
    check(
        Owners,
        "kind,value,team,share_percent\nlabel,project=x,a,50\nlabel,project=x,b,50.001\n",
        &["in.csv, line 3, column `share_percent`: `50.001` has more than 2 decimals"],
    );
    // A gap is not a wrong sum: nobody is named then.
    let gap = "kind,value,team,from,to\nuser,ann,a,,2026-01-01\nuser,ann,a,2026-03-15,\n";
    assert_eq!(Ledger::new().import(Owners, gap).added, 2);
}

#[test]
fn rows_that_say_nothing_or_too_much() {
    check(
        Weights,
        "task_type,sm,dram,tensor\ntrain,0,0.0,0\ninfer,-1,0,0\n",
        &[
            "in.csv, line 2, column `sm`: all weights are 0: nothing would ever be effective",
            "in.csv, line 3, column `sm`: `-1` is negative",
        ],
    );
    check(
        Quotas,
        "team,pool,gpus,share_percent\na,p,,\nb,p,1,10\n",
        &[
            "in.csv, line 2, column `gpus`: neither `gpus` nor `share_percent` is filled",
            "in.csv, line 3, column `share_percent`: `gpus` and `share_percent` are both filled: choose one",
        ],
    );
    check(
        Tiers,
        "tier,memory_min_gib,memory_max_gib\nlarge,80,79.9\n",
        &["in.csv, line 2, column `memory_max_gib`: it is less than `memory_min_gib`: no card matches"],
    );
    check(Pools, "pool,queue\n,train\n", &["in.csv, line 2, column `pool`: the cell is empty"]);
    check(
        Rules,
        "position,label,task_type\n1.5,team,\n",
        &[
            "in.csv, line 2, column `position`: `1.5` is not a whole number",
            "in.csv, line 2, column `label`: `team` is not a label of the form key=value",
            "in.csv, line 2, column `task_type`: the cell is empty",
        ],
    );
    check(
        Owners,
        "kind,value,team\nlabel,atlas,a\ngroup,x,{user}\n",
        &[
            "in.csv, line 2, column `value`: `atlas` is not a label of the form key=value",
            "in.csv, line 3, column `kind`: unknown kind `group`; it is one of label, account, namespace, user",
            "in.csv, line 3, column `team`: `{user}` has a placeholder other than {value}",
        ],
    );
    check(
        Inventory,
        "cluster,node,model,gpus\nhpc,gpu[1-,H200,0\nhpc,gpu[1-,H200,1\n",
        &[
            "in.csv, line 2, column `gpus`: `0` is less than 1",
            "in.csv, line 3, column `node`: `gpu[1-` has a bracket that is not closed, not opened or inside another",
        ],
    );
}

#[test]
fn dates_need_a_zone_and_rates_a_currency() {
    let folder = tempfile::tempdir().unwrap();
    let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
    let bare = || ImportOptions { zone: None, currency: None, ..options() };
    let error = control.import(Rates, "in.csv", b"price,from\n10,2026-03-15\n", bare()).unwrap_err();
    let problems: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "in.csv, line 2, column `currency`: there is no currency: fill the column, or configure `currency`",
            "in.csv, line 2, column `from`: the date `2026-03-15` starts at a different instant in each zone: \
             give --zone, or configure `billing_zone`",
        ]
    );
    let with_offset = b"price,currency,from\n10,CNY,2026-03-15T00:00:00+08:00\n";
    assert_eq!(control.import(Rates, "in.csv", with_offset, bare()).unwrap().added, 1);
}
