//! How a pool is billed and shared out, what discounts do, and that every mode adds up to what the fleet cost (C29, C41, C63).

use crate::case_time::table_of;
use crate::site::Site;
use crate::table::decimal;

const TEN_HOURS: [&str; 4] = ["--from", "2026-03-02T00:00:00Z", "--to", "2026-03-02T10:00:00Z"];

/// Four cards at 10.00 an hour for ten hours: `a` holds one all the time, `b` one for the first half. 400.00 in all.
fn four_cards() -> Site {
    let site = Site::billed("UTC", "USD");
    site.price("10");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.reference(
        "inventory",
        "cluster,node,model,gpus,declared_up,from\nalpha,n1,H100,4,true,2026-03-02T00:00:00Z\n",
    );
    site.jobs(&table_of(&[
        ("a", "2026-03-02T00:00:00Z", "2026-03-02T10:00:00Z", 1),
        ("b", "2026-03-02T00:00:00Z", "2026-03-02T05:00:00Z", 1),
    ]));
    site
}

/// Charges of teams `a` and `b`, and the line that adds everything up.
fn billed(site: &Site) -> (String, String, String) {
    let lines = site.table(&[&["report", "charge", "--by", "team"][..], &TEN_HOURS].concat());
    let text = site.ok(&[&["report", "charge", "--by", "team"][..], &TEN_HOURS].concat());
    let all = text.lines().find(|l| l.contains("conservation:")).unwrap_or_default();
    let all = all.split("conservation: ").nth(1).unwrap_or_default().replace(" USD", "");
    let of = |team| lines.find(&[("team", team)], "charge").unwrap_or("none").to_owned();
    (of("a"), of("b"), all)
}

fn words(of: (&str, &str, &str)) -> (String, String, String) {
    (of.0.to_owned(), of.1.to_owned(), of.2.to_owned())
}

#[test]
fn every_mode_adds_up_to_what_the_fleet_cost() {
    let site = four_cards();
    let plain = "charged 150.00 + unallocated 250.00 + unavailable 0.00 + unobserved 0.00 = fleet 400.00";
    assert_eq!(billed(&site), words(("100.00", "50.00", plain)));
    for (terms, a, b, all) in [
        ("busy", "0.00", "0.00", "charged 0.00 + to settle 150.00 + unallocated 250.00"),
        ("showback", "0.00", "0.00", "charged 0.00 + held and not billed 150.00 + unallocated 250.00"),
    ] {
        let site = four_cards();
        site.reference("terms", &format!("pool,mode\ndefault,{terms}\n"));
        let found = billed(&site);
        assert_eq!((found.0.as_str(), found.1.as_str()), (a, b), "{terms}");
        assert!(found.2.starts_with(all) && found.2.ends_with("= fleet 400.00"), "{terms}: {}", found.2);
    }
}

/// Two reserved GPUs, of which nobody held one: it comes off what was unallocated. Four reserved: the one that `b` held was lent.
#[test]
fn a_quota_is_paid_used_or_not_and_what_is_lent_is_paid_once() {
    for (gpus, a, all) in [
        (2, "200.00", "charged 250.00 + held and not billed 0.00 + unallocated 150.00"),
        (4, "400.00", "charged 450.00 + held and not billed -50.00 + unallocated 0.00"),
    ] {
        let site = four_cards();
        site.reference("terms", "pool,mode\ndefault,quota\n");
        site.reference("quotas", &format!("team,pool,gpus\na,default,{gpus}\n"));
        let found = billed(&site);
        assert_eq!((found.0.as_str(), found.1.as_str()), (a, "50.00"));
        assert!(found.2.starts_with(all) && found.2.ends_with("= fleet 400.00"), "{}", found.2);
    }
}

/// C41: the pool empties by exactly what others receive: by held 10 to 5 hours, evenly (the cent
/// that three parts leave goes to the first), and by quota to a team that held nothing.
#[test]
fn c41_what_nobody_used_is_shared_out() {
    for (method, a, b) in [("held", "266.67", "133.33"), ("even", "183.34", "133.33"), ("quota", "100.00", "50.00")] {
        let site = four_cards();
        site.reference("terms", &format!("pool,mode,share_unallocated\ndefault,held,{method}\n"));
        if method != "held" {
            site.reference("quotas", "team,pool,gpus\nc,default,1\n");
        }
        let found = billed(&site);
        assert_eq!((found.0.as_str(), found.1.as_str()), (a, b), "{method}");
        let all = "charged 400.00 + unallocated 250.00 + unavailable 0.00 + unobserved 0.00 - shared out 250.00 = fleet 400.00";
        assert_eq!(found.2, all, "{method}");
    }
    // nobody is there to take it over: it stays, and stays visible
    let site = four_cards();
    site.reference("terms", "pool,mode,share_unallocated\ndefault,held,quota\n");
    let plain = "charged 150.00 + unallocated 250.00 + unavailable 0.00 + unobserved 0.00 = fleet 400.00";
    assert_eq!(billed(&site), words(("100.00", "50.00", plain)));
}

#[test]
fn nights_are_cheaper_and_the_list_price_stands_beside() {
    let site = four_cards();
    site.reference("discounts", "name,kind,from_time,to_time,percent_of_price\nnight,off_peak,22:00,02:00,50\n");
    let found = billed(&site);
    assert_eq!((found.0.as_str(), found.1.as_str()), ("90.00", "40.00"), "two hours at half");
    let lines = site.table(&[&["report", "charge", "--by", "team"][..], &TEN_HOURS].concat());
    assert_eq!((lines.get(&[("team", "a")], "list"), lines.get(&[("team", "b")], "list")), ("100.00", "50.00"));
    // C63: whatever it is grouped by, it is the same money
    for by in ["account", "team,cost_center", "pool", "job", "mode"] {
        let lines = site.table(&[&["report", "charge", "--by", by][..], &TEN_HOURS].concat());
        assert_eq!(lines.sum("charge"), decimal("130.00"), "{by}");
    }
}

/// C29: a window from 02:00 to 03:00 has two hours on a day of 25, and none on a day of 23.
#[test]
fn c29_windows_follow_the_local_clock() {
    for (day, next, hours) in [("2026-10-25", "2026-10-26", "240.00"), ("2026-03-29", "2026-03-30", "230.00")] {
        let site = Site::billed("Europe/Brussels", "EUR");
        site.price("10");
        site.reference(
            "discounts",
            "name,kind,days,from_time,to_time,percent_of_price\nearly,off_peak,sun,02:00,03:00,50\n",
        );
        site.jobs(&table_of(&[("a", "2026-03-01T00:00:00Z", "2026-11-01T00:00:00Z", 1)]));
        let lines = site.table(&["report", "charge", "--by", "account", "--from", day, "--to", next]);
        assert_eq!(lines.one("charge"), hours, "{day}");
    }
}

/// What is borrowed costs less, and is charged beside what is not.
#[test]
fn borrowed_time_has_its_own_price() {
    let site = four_cards();
    site.reference("quotas", "team,pool,gpus\na,default,1\nb,default,0\n");
    site.reference("discounts", "name,kind,percent_of_price\nborrowed,borrowed,75\n");
    let found = billed(&site);
    assert_eq!((found.0.as_str(), found.1.as_str()), ("100.00", "37.50"));
}

/// A pool of two models: what nobody used of each is shared out at its own price, and none of them is lost.
#[test]
fn every_model_of_a_pool_is_shared_out_at_its_price() {
    let site = Site::billed("UTC", "USD");
    site.reference("rates", "model,price\nH100,10\nA100,6\n");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.reference(
        "inventory",
        "cluster,node,model,gpus,declared_up,from\nalpha,n1,H100,2,true,2026-03-02T00:00:00Z\nalpha,n2,A100,3,true,2026-03-02T00:00:00Z\n",
    );
    site.sacct(
        "UTC",
        "JobID|Account|State|Submit|Start|End|AllocTRES|NodeList\n\
         1|a|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T10:00:00|gres/gpu:H100=1|n1\n\
         2|b|COMPLETED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T10:00:00|gres/gpu:A100=1|n2\n",
    );
    site.reference("terms", "pool,mode,share_unallocated\ndefault,held,even\n");
    // 100 + 60 held; 100 of one H100 and 120 of two A100 go to both, half and half
    let found = billed(&site);
    assert_eq!((found.0.as_str(), found.1.as_str()), ("210.00", "170.00"));
    assert!(
        found.2.contains("unallocated 220.00") && found.2.ends_with("- shared out 220.00 = fleet 380.00"),
        "{}",
        found.2
    );
}
