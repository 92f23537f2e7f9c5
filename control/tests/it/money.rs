//! Terms, discounts, cost pools, energy prices, budgets, cost centres and manual lines: what they store and what they refuse.

use gpuledger_control::ReferenceTable::{
    Budgets, CostCenters, CostPools, Discounts, EnergyPrices, ManualLines, Rates, Terms,
};
use gpuledger_schema::table::money::{
    BudgetRow, CostCenterRow, CostPoolRow, DiscountRow, EnergyPriceRow, ManualLineRow, TermsRow,
};

use crate::refusals::check;
use crate::{JANUARY, Ledger, MID_MARCH, example};

#[test]
fn examples_are_stored_in_their_units() {
    let mut ledger = Ledger::new();
    for table in [Terms, Discounts, CostPools, EnergyPrices, Budgets, CostCenters, ManualLines] {
        ledger.import(table, example(table));
    }
    let terms: Vec<TermsRow> = ledger.control.rows().unwrap();
    let web = terms.iter().find(|t| t.pool == "web").unwrap();
    assert_eq!(
        (
            web.mode.as_str(),
            web.share_unallocated.as_str(),
            web.share_unavailable.as_str(),
            web.share_unobserved.as_str()
        ),
        ("quota", "quota", "quota", "none")
    );
    let discounts: Vec<DiscountRow> = ledger.control.rows().unwrap();
    let of = |name: &str| {
        let d = discounts.iter().find(|d| d.name == name).unwrap();
        (d.kind.as_str(), d.day_mask, d.from_minute, d.to_minute, d.factor_e4)
    };
    assert_eq!(of("night"), ("off_peak", 31, 1_200, 480, 6_000));
    assert_eq!(of("weekend"), ("off_peak", 96, 480, 1_200, 6_000));
    assert_eq!(of("borrowed"), ("borrowed", 127, 0, 1_440, 7_500));
    assert_eq!(of("partner"), ("discount", 127, 0, 1_440, 9_250));
    let mut ids: Vec<i64> = discounts.iter().map(|d| d.discount_id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    let costs: Vec<CostPoolRow> = ledger.control.rows().unwrap();
    assert!(costs.iter().any(|c| c.kind == "power" && c.amount_micros == 48_000_500_000 && c.from_ms == JANUARY));
    let energy: Vec<EnergyPriceRow> = ledger.control.rows().unwrap();
    assert_eq!(
        energy.iter().map(|e| (e.pool.as_deref(), e.kwh_micros)).collect::<Vec<_>>(),
        [(None, 620_000), (Some("edge"), 845_000)]
    );
    let budgets: Vec<BudgetRow> = ledger.control.rows().unwrap();
    let web = budgets.iter().find(|b| b.team == "web").unwrap();
    assert_eq!((web.amount_micros, web.gpu_hours, web.alert_at.as_str()), (None, Some(500), "50,80,100"));
    let centers: Vec<CostCenterRow> = ledger.control.rows().unwrap();
    assert_eq!(centers.iter().filter(|c| c.parent.is_none()).count(), 2);
    let lines: Vec<ManualLineRow> = ledger.control.rows().unwrap();
    assert_eq!(lines.iter().map(|l| l.amount_micros).collect::<Vec<_>>(), [-1_250_000_000, 99_900_000]);
}

#[test]
fn terms_know_their_words() {
    check(
        Terms,
        "pool,mode,share_unallocated\na,prepaid,\nb,held,evenly\nc,,\n",
        &[
            "in.csv, line 2, column `mode`: unknown word `prepaid`; it is one of held, busy, quota, showback",
            "in.csv, line 3, column `share_unallocated`: unknown word `evenly`; it is one of none, even, held, quota",
            "in.csv, line 4, column `mode`: the cell is empty",
        ],
    );
}

#[test]
fn discounts_lie_on_quarters_of_an_hour_and_know_their_days() {
    check(
        Discounts,
        "name,kind,days,from_time,to_time,percent_of_price\n\
         a,off_peak,mon-fry,20:05,8:00,60\n\
         b,cheap,,,,1000.01\n\
         \"c,d\",discount,,,,50\n\
         e,off_peak,,,,50\n\
         f,off_peak,mon,,24:15,-5\n",
        &[
            "in.csv, line 2, column `days`: `mon-fry` is not days of the week such as mon-fri or sat,sun",
            "in.csv, line 2, column `from_time`: `20:05` is not on a quarter of an hour",
            "in.csv, line 2, column `to_time`: `8:00` is not a time of day HH:MM from 00:00 to 24:00",
            "in.csv, line 3, column `kind`: unknown word `cheap`; it is one of off_peak, borrowed, preemptible, discount",
            "in.csv, line 3, column `percent_of_price`: `1000.01` is more than 1000",
            "in.csv, line 4, column `name`: a name with a comma cannot be told apart on a statement, where names are listed",
            "in.csv, line 5, column `days`: an off-peak row is for a part of the week: fill `days` or the times",
            "in.csv, line 6, column `to_time`: `24:15` is not a time of day HH:MM from 00:00 to 24:00",
            "in.csv, line 6, column `percent_of_price`: `-5` is negative",
        ],
    );
}

#[test]
fn two_discounts_that_would_tie_are_refused() {
    let columns = "name,kind,team,days,from_time,to_time,percent_of_price,from,to\n";
    check(
        Discounts,
        &format!("{columns}night,off_peak,,mon-fri,20:00,08:00,60,,\nsaturday,off_peak,,sat,07:00,09:00,50,,\n"),
        &["in.csv, line 3: it would tie with another of its kind and selector: name=night kind=off_peak days=mon-fri \
             from_time=20:00 to_time=08:00 percent_of_price=60 from the beginning"],
    );
    // Other kind, other selector, other hours, other time: side by side.
    let beside = format!(
        "{columns}night,off_peak,,mon-fri,20:00,08:00,60,,2026-03-15\nlater,off_peak,,mon-fri,20:00,08:00,50,2026-03-15,\n\
         of-a,off_peak,a,mon-fri,20:00,08:00,40,,\nday,off_peak,,sat,08:00,20:00,70,,\nall,discount,,,,,90,,\n"
    );
    let mut ledger = Ledger::new();
    assert_eq!(ledger.import(Discounts, beside).added, 5);
    // A tie with what is there is a tie too; a later row of the same name ends the open one instead.
    let tie = format!("{columns}sunday,off_peak,,fri-sun,,,50,,\n");
    assert_eq!(ledger.refused(Discounts, tie).len(), 1);
    let report = ledger.import(Discounts, format!("{columns}day,off_peak,,sat,08:00,20:00,75,2026-05-01,\n"));
    assert_eq!((report.added, report.ended.len()), (1, 1));
}

#[test]
fn amounts_have_the_digits_of_their_currency() {
    check(
        CostPools,
        "pool,kind,amount,currency,from,to\n\
         a,power,10.125,CNY,2026-01-01,2026-02-01\n\
         a,rent,10,CNY,2026-01-01,2026-02-01\n\
         b,power,-1,CNY,2026-01-01,2026-02-01\n\
         c,power,1,CNY,,2026-02-01\n\
         d,power,1,CNY,2026-01-01,\n",
        &[
            "in.csv, line 2, column `amount`: it has more decimals than CNY has (2)",
            "in.csv, line 3, column `kind`: unknown word `rent`; it is one of depreciation, power, operations, other",
            "in.csv, line 4, column `amount`: `-1` is negative",
            "in.csv, line 5, column `from`: the cell is empty",
            "in.csv, line 6, column `to`: the cell is empty",
        ],
    );
    for (currency, fits, does_not) in [("JPY", "10", "10.5"), ("KWD", "10.125", "10.1255"), ("EUR", "10.12", "10.125")]
    {
        let csv = |amount: &str| {
            format!("pool,kind,amount,currency,from,to\na,other,{amount},{currency},2026-01-01,2026-02-01\n")
        };
        assert_eq!(Ledger::new().import(CostPools, csv(fits)).added, 1, "{currency}");
        assert_eq!(Ledger::new().refused(CostPools, csv(does_not)).len(), 1, "{currency}");
    }
}

#[test]
fn a_ledger_has_one_currency_over_all_its_tables() {
    let mut ledger = Ledger::new();
    ledger.import(Rates, "price,currency\n10,USD\n");
    assert_eq!(
        ledger.refused(EnergyPrices, "price_per_kwh,currency\n0.3,EUR\n"),
        ["in.csv, line 2, column `currency`: the row is in EUR, but table rate is in USD: a ledger has one currency"]
    );
    // Where nothing is configured, the currency that is there is meant.
    let options = gpuledger_control::ImportOptions { currency: None, ..crate::options() };
    let report = ledger.control.import(EnergyPrices, "in.csv", b"price_per_kwh\n0.3\n", options).unwrap();
    assert_eq!(report.added, 1);
    assert_eq!(ledger.listed(EnergyPrices), [",0.3,USD,,"]);

    let mut other = Ledger::new();
    other.import(EnergyPrices, "price_per_kwh,currency\n0.3,EUR\n");
    assert_eq!(
        other.refused(Rates, "price,currency\n10,USD\n"),
        [
            "in.csv, line 2, column `currency`: the rate is in USD, but table energy_price is in EUR: a ledger has one currency"
        ]
    );
}

#[test]
fn budgets_say_how_much_and_when_to_speak() {
    check(
        Budgets,
        "team,amount,gpu_hours,alert_at,from,to\n\
         a,,,,2026-01-01,2026-02-01\n\
         b,0,,,2026-01-01,2026-02-01\n\
         c,1,0,,2026-01-01,2026-02-01\n\
         d,1,,\"80,50\",2026-01-01,2026-02-01\n\
         e,1,,\"50,,100\",2026-01-01,2026-02-01\n\
         f,1,,,2026-01-01,\n",
        &[
            "in.csv, line 2, column `amount`: neither `amount` nor `gpu_hours` is filled",
            "in.csv, line 3, column `amount`: a budget of nothing has no percents",
            "in.csv, line 4, column `gpu_hours`: `0` is less than 1",
            "in.csv, line 5, column `alert_at`: `80,50` is not a list of ascending percents such as 50,80,100",
            "in.csv, line 6, column `alert_at`: `` is not a plain decimal number (digits, with a point where needed)",
            "in.csv, line 7, column `to`: the cell is empty",
        ],
    );
}

#[test]
fn cost_centers_are_a_tree_at_every_instant() {
    check(
        CostCenters,
        "code,name,parent\na,A,b\nb,B,a\nc,C,a\nd,D,d\n",
        &[
            "in.csv, line 2, column `parent`: `a` is above itself, from the beginning",
            "in.csv, line 3, column `parent`: `b` is above itself, from the beginning",
            "in.csv, line 5, column `parent`: `d` is above itself, from the beginning",
        ],
    );
    check(
        CostCenters,
        "code,name,parent,from,to\na,A,,,2026-03-15\nb,B,a,,\nc,C,x,,\n",
        &[
            "in.csv, line 3, column `parent`: the parent of `b` is `a`, which is not there, from 2026-03-15T00:00:00+08:00",
            "in.csv, line 4, column `parent`: the parent of `c` is `x`, which is not there, from the beginning",
        ],
    );
    // What is there may not lose its parent either, nor get above itself by a row that is there.
    let mut ledger = Ledger::new();
    ledger.import(CostCenters, "code,name,parent\na,A,\nb,B,a\n");
    assert_eq!(
        ledger.refused(CostCenters, "code,name,parent,to\na,A,,2026-03-15\n"),
        [
            "in.csv, line 1, column `parent`: the parent of `b` is `a`, which is not there, from 2026-03-15T00:00:00+08:00"
        ]
    );
    let report = ledger.import(CostCenters, "code,name,parent,from\nc,C,,2026-03-15\nb,B,c,2026-03-15\n");
    assert_eq!((report.added, report.ended.len()), (2, 1));
    let moved: Vec<CostCenterRow> = ledger.control.rows().unwrap();
    assert_eq!(
        moved.iter().map(|c| (c.code.as_str(), c.parent.as_deref(), c.from_ms)).collect::<Vec<_>>(),
        [("a", None, 0), ("b", Some("a"), 0), ("b", Some("c"), MID_MARCH), ("c", None, MID_MARCH)]
    );
}

#[test]
fn manual_lines_are_signed_reasoned_approved_and_never_changed() {
    check(
        ManualLines,
        "line,period,kind,team,amount,reason,approver\n\
         1,2026-3,credit,a,-1,r,g\n\
         2,2026-03,refund,a,-1,r,g\n\
         3,2026-03,credit,a,1,r,g\n\
         4,2026-03,adjustment,a,0.00,r,g\n\
         5,2026-03,adjustment,a,0.001,r,g\n\
         6,2026-03,adjustment,a,-0.50,,g\n\
         7,2026-03,adjustment,a,+1,r,\n",
        &[
            "in.csv, line 2, column `period`: `2026-3` is not a month of the form YYYY-MM",
            "in.csv, line 3, column `kind`: unknown word `refund`; it is one of credit, adjustment",
            "in.csv, line 4, column `amount`: a credit is in favour of the team: its amount is negative",
            "in.csv, line 5, column `amount`: a line of nothing says nothing",
            "in.csv, line 6, column `amount`: it has more decimals than CNY has (2)",
            "in.csv, line 7, column `reason`: the cell is empty",
            "in.csv, line 8, column `amount`: `+1` is not a plain decimal number (digits, with a point where needed)",
            "in.csv, line 8, column `approver`: the cell is empty",
        ],
    );
    let mut ledger = Ledger::new();
    let line = "line,period,kind,team,amount,reason,approver,from\nx,2026-03,credit,a,-1,r,g,2026-03-15\n";
    ledger.import(ManualLines, line);
    assert_eq!(ledger.import(ManualLines, line).unchanged, 1);
    assert_eq!(
        ledger.refused(ManualLines, line.replace("-1", "-2").replace("2026-03-15", "2026-03-16")),
        ["in.csv, line 2, column `line`: a line of this name is there: a line is never changed, it is withdrawn"]
    );
}
