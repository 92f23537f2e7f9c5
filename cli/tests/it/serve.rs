//! `serve`: one process on one data folder; its answers are those of the command line, and of one's own rows alone.

use std::io::BufRead;
use std::time::{Duration, Instant};

use crate::case_time::table_of;
use crate::server::Server;
use crate::site::Site;

/// Three teams with a GPU or more in March; `c` works into April.
fn site() -> Site {
    let site = Site::billed("Asia/Shanghai", "CNY");
    site.price("3.33");
    site.reference("owners", "kind,value,team\naccount,*,{value}\n");
    site.reference("quotas", "team,pool,gpus\na,default,1\nb,default,1\n");
    site.jobs(&table_of(&[
        ("a", "2026-03-02T00:00:00Z", "2026-03-05T00:07:00Z", 2),
        ("b", "2026-03-02T00:00:00Z", "2026-03-09T11:01:00Z", 1),
        ("c", "2026-03-30T00:00:00Z", "2026-04-02T00:00:01Z", 4),
        ("a", "2026-03-12T05:00:00Z", "2026-03-12T05:20:01Z", 1),
    ]));
    site.ok(&["ingest"]);
    site
}

fn token(site: &Site, name: &str, more: &[&str]) -> String {
    let made = site.ok(&[&["token", "create", name, "--format", "json"][..], more].concat());
    serde_json::from_str::<serde_json::Value>(&made).unwrap()["secret"].as_str().unwrap().to_owned()
}

#[test]
fn the_server_answers_what_the_command_line_prints_to_the_byte() {
    let site = site();
    let finance = token(&site, "books", &["--role", "finance"]);
    let server = Server::start(&site, &[]);
    let month = ["--month", "2026-03"];
    for (path, args) in [
        ("/api/v1/charges?month=2026-03&by=team", vec!["report", "charge", "--by", "team"]),
        (
            "/api/v1/charges?month=2026-03&by=team,pool&step=day",
            vec!["report", "charge", "--by", "team,pool", "--step", "day"],
        ),
        ("/api/v1/usage?month=2026-03", vec!["report", "usage"]),
        ("/api/v1/accounting?month=2026-03", vec!["report", "accounting"]),
        ("/api/v1/gaps?month=2026-03&top=2", vec!["report", "gaps", "--top", "2"]),
        ("/api/v1/findings?month=2026-03", vec!["report", "findings"]),
        ("/api/v1/fleet?month=2026-03", vec!["report", "fleet"]),
        ("/api/v1/fleet/quota?month=2026-03", vec!["report", "quota"]),
        ("/api/v1/fleet/fragmentation?month=2026-03", vec!["report", "fragmentation"]),
        ("/api/v1/health?month=2026-03", vec!["report", "health"]),
        ("/api/v1/uncharged?month=2026-03", vec!["uncharged"]),
        ("/api/v1/costs?month=2026-03", vec!["report", "cost"]),
    ] {
        let reply = server.get(&finance, path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let printed = site.ok(&[&args[..], &month, &["--format", "json"]].concat());
        assert_eq!(reply.text(), printed, "{path}");
    }
    for (path, args) in [
        ("/api/v1/jobs/alpha%2F1", vec!["report", "job", "alpha/1"]),
        ("/api/v1/explain/runs/1?cells=true", vec!["explain", "1", "--cells"]),
        ("/api/v1/explain/lines/2026-03/a", vec!["explain", "line", "2026-03", "a"]),
        ("/api/v1/periods", vec!["periods"]),
        ("/api/v1/periods/2026-03/statement", vec!["statement", "2026-03"]),
        ("/api/v1/budgets", vec!["report", "budgets"]),
        ("/api/v1/conservation", vec!["check"]),
        ("/api/v1/reference/rates", vec!["rates", "list"]),
        ("/api/v1/audit?table=rate", vec!["audit", "--table", "rate"]),
        ("/api/v1/corrections", vec!["correct", "preview"]),
    ] {
        let reply = server.get(&finance, path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let printed = site.run(&[&args[..], &["--format", "json"]].concat()).out;
        assert_eq!(reply.text(), printed, "{path}");
    }
    let csv = server.get(&finance, "/api/v1/charges?month=2026-03&by=team&format=csv");
    assert_eq!(csv.text(), site.ok(&["report", "charge", "--by", "team", "--month", "2026-03", "--format", "csv"]));
    let focus = server.get(&finance, "/api/v1/charges?month=2026-03&format=focus");
    assert_eq!(focus.text(), site.ok(&["export", "2026-03", "--as", "focus-csv"]));
    // the first page comes at once, and the second time it is there
    let asked = Instant::now();
    assert_eq!(server.get(&finance, "/api/v1/charges?month=2026-03&by=team").status, 200);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[test]
fn c64_a_lead_sees_own_rows_on_every_path_and_totals_say_nothing_of_others() {
    let site = site();
    let finance = token(&site, "books", &["--role", "finance"]);
    let lead = token(&site, "lead of a", &["--role", "lead", "--team", "a"]);
    let server = Server::start(&site, &[]);
    let rows = |token: &str, path: &str| {
        let reply = server.get(token, path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply.json()["rows"].as_array().cloned().unwrap_or_default()
    };
    let all = rows(&finance, "/api/v1/charges?month=2026-03&by=team");
    let of_a = all.iter().find(|r| r["team"] == "a").unwrap().clone();
    // C63: the figure is the same whoever asks and however it is narrowed, to the cent
    for path in [
        "/api/v1/charges?month=2026-03&by=team",
        "/api/v1/charges?month=2026-03&by=team&filter=team=a",
        "/api/v1/charges?month=2026-03&by=team&filter=team=a|b",
    ] {
        let reply = server.get(&lead, path).json();
        assert_eq!(reply["rows"].as_array().unwrap().len(), 1, "{path}");
        assert_eq!(
            (&reply["rows"][0]["charge"], &reply["total"]["charge"]),
            (&of_a["charge"], &of_a["charge"]),
            "{path}"
        );
        assert_eq!(reply["rows"][0]["held_hours"], of_a["held_hours"]);
    }
    let filtered = server.get(&finance, "/api/v1/charges?month=2026-03&by=team&filter=team=a").json();
    assert_eq!(filtered["total"]["charge"], of_a["charge"]);
    // parts of the team add up to it
    let by_job = server.get(&lead, "/api/v1/charges?month=2026-03&by=job").json();
    let cents = |v: &serde_json::Value| v.as_str().unwrap().replace('.', "").parse::<i64>().unwrap();
    let sum: i64 = by_job["rows"].as_array().unwrap().iter().map(|r| cents(&r["charge"])).sum();
    assert_eq!(sum, cents(&of_a["charge"]));
    // nothing of another team, by filter, by grouping, in words or in totals
    let other = server.get(&lead, "/api/v1/charges?month=2026-03&by=team&filter=team=b").json();
    assert_eq!(other["rows"].as_array().unwrap().len(), 0);
    assert!(other["total"]["charge"] == "0.00" || other["total"].is_null(), "{other}");
    let held_by_all = server.get(&finance, "/api/v1/usage?month=2026-03&by=cluster").json();
    for path in [
        "/api/v1/charges?month=2026-03&by=account",
        "/api/v1/charges?month=2026-03&by=cluster",
        "/api/v1/usage?month=2026-03&by=cluster",
        "/api/v1/usage?month=2026-03&by=account,user",
        "/api/v1/accounting?month=2026-03&by=account",
        "/api/v1/gaps?month=2026-03&by=account",
        "/api/v1/findings?month=2026-03",
        "/api/v1/findings?month=2026-03&by=account",
        "/api/v1/fleet/quota?month=2026-03",
        "/api/v1/budgets",
        "/api/v1/periods/2026-03/statement",
        "/api/v1/explain/lines/2026-03/a",
    ] {
        let reply = server.get(&lead, path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let text = reply.text();
        for name in ["\"b\"", "\"c\""] {
            assert!(!text.contains(name), "{path} tells of {name}: {text}");
        }
        assert!(!text.contains(held_by_all["total"]["held_hours"].as_str().unwrap()), "{path}: {text}");
    }
    for (path, status) in [
        ("/api/v1/jobs/alpha%2F1", 404),
        ("/api/v1/explain/runs/1", 404),
        ("/api/v1/explain/lines/2026-03/b", 403),
        ("/api/v1/periods/2026-03/statement?team=b", 403),
        ("/api/v1/exports/2026-03?as=csv", 403),
        ("/api/v1/exports/2026-03?as=pdf&team=b", 403),
        ("/api/v1/quote?gpus=1&model=H100&for=1h&start=2026-03-01&team=b", 403),
        ("/api/v1/fleet?month=2026-03", 403),
        ("/api/v1/periods", 403),
        ("/api/v1/audit", 403),
        ("/api/v1/jobs/alpha%2F0", 200),
        ("/api/v1/explain/runs/0", 200),
    ] {
        let reply = server.get(&lead, path);
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
    }
    let line = rows(&finance, "/api/v1/periods/2026-03/statement?team=b")[0]["line_id"].clone();
    let reply = server.get(
        &lead,
        &format!("/api/v1/explain/lines/2026-03/{}", line.as_str().map_or_else(|| line.to_string(), str::to_owned)),
    );
    assert_eq!(reply.status, 403, "{}", reply.text());
}

#[test]
fn sums_of_days_are_the_month_in_every_zone() {
    // C30: five single days and the range of them, to the cent; a negative offset gives data
    let site = site();
    let finance = token(&site, "books", &["--role", "finance"]);
    let server = Server::start(&site, &[]);
    let cents = |path: &str| {
        let total = server.get(&finance, path).json()["total"]["held_hours"].clone();
        total.as_str().map_or(0, |t| t.replace('.', "").parse::<i64>().unwrap())
    };
    for zone in ["Asia/Kolkata", "Asia/Shanghai", "America/New_York"] {
        let days: i64 =
            (2..7).map(|d| cents(&format!("/api/v1/usage?from=2026-03-0{d}&to=2026-03-0{}&tz={zone}", d + 1))).sum();
        let range = cents(&format!("/api/v1/usage?from=2026-03-02&to=2026-03-07&tz={zone}"));
        assert!(range > 0 && (days - range).abs() <= 2, "{zone}: {days} against {range}");
    }
}

#[test]
fn one_server_a_folder_and_commands_write_through_it() {
    let site = site();
    let admin = token(&site, "root", &["--role", "admin"]);
    let server = Server::start(&site, &[]);
    site.run(&["serve", "--listen", "127.0.0.1:0"]).fails(2, &["a server serves", "already"]);
    // a command that writes is let in by the server; what it wrote is there for the next question
    let before = server.get(&admin, "/api/v1/charges?month=2026-03&by=team").json();
    site.reference("rates", "team,price,from\na,6.66,2026-03-04\n");
    let after = server.get(&admin, "/api/v1/reference/rates").json();
    assert_eq!(after.as_array().unwrap().len(), 2);
    // C34: what came in is in the next answer
    site.jobs(&table_of(&[("d", "2026-03-20T00:00:00Z", "2026-03-21T00:00:00Z", 1)]));
    let until = Instant::now() + Duration::from_secs(60);
    let teams = loop {
        let now = server.get(&admin, "/api/v1/charges?month=2026-03&by=team").json();
        let rows = now["rows"].as_array().unwrap().clone();
        if rows.iter().any(|r| r["team"] == "d") || Instant::now() > until {
            break rows;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(teams.iter().any(|r| r["team"] == "d"), "{teams:?}");
    let of_a = |rows: &serde_json::Value| {
        rows["rows"].as_array().unwrap().iter().find(|r| r["team"] == "a").unwrap()["charge"].clone()
    };
    assert_ne!(of_a(&before), teams.iter().find(|r| r["team"] == "a").unwrap()["charge"]);
    // a token made beside it counts at once, and one taken back counts no more
    let made = site.ok(&["token", "create", "x", "--role", "finance", "--format", "json"]);
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    assert_eq!(server.get(made["secret"].as_str().unwrap(), "/api/v1/me").status, 200);
    site.ok(&["token", "revoke", made["id"].as_str().unwrap()]);
    assert_eq!(server.get(made["secret"].as_str().unwrap(), "/api/v1/me").status, 401);
    let loops = server.get(&admin, "/api/v1/loops").json();
    assert!(loops["ingest"]["rounds"].as_u64().unwrap() > 0, "{loops}");
    assert_eq!(server.post(&admin, "/api/v1/loops/ingest/wake", "").status, 202);
    assert_eq!(server.post(&admin, "/api/v1/loops/nothing/wake", "").status, 404);
}

#[test]
fn a_server_stops_in_its_time_with_somebody_listening() {
    // C66: stop signal with one idle client of events
    let site = site();
    let admin = token(&site, "root", &["--role", "admin"]);
    let server = Server::start(&site, &[]);
    let mut stream = server.listen(&admin);
    let (took, code) = server.stop();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(10), "{took:?}");
    let mut rest = String::new();
    while stream.read_line(&mut rest).is_ok_and(|n| n > 0) {}
    assert!(!site.data().join(".server.sock").exists());
    // what it left is no hindrance to the next
    drop(Server::start(&site, &[]));
}

#[test]
fn a_lost_lake_is_said_and_survived() {
    let site = site();
    let admin = token(&site, "root", &["--role", "admin"]);
    let server = Server::start(&site, &[]);
    assert_eq!(server.get(&admin, "/api/v1/charges?month=2026-03&by=team").status, 200);
    let away = site.beside("away");
    std::fs::rename(site.data(), &away).unwrap();
    let reply = server.get(&admin, "/api/v1/usage?month=2026-03");
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.head.contains("application/problem+json"));
    assert_eq!(server.send("GET", "/healthz", &[], b"").status, 200);
    std::fs::rename(&away, site.data()).unwrap();
    assert_eq!(server.get(&admin, "/api/v1/usage?month=2026-03").status, 200);
}

#[test]
fn a_draft_is_disputed_and_a_month_is_closed_over_the_server() {
    let site = site();
    let finance = token(&site, "books", &["--role", "finance"]);
    let lead = token(&site, "lead of a", &["--role", "lead", "--team", "a"]);
    let server = Server::start(&site, &[]);
    let line = |team: &str| {
        let told = server.get(&finance, &format!("/api/v1/periods/2026-03/statement?team={team}")).json();
        let line = told["rows"][0]["line_id"].clone();
        line.as_str().map_or_else(|| line.to_string(), str::to_owned)
    };
    let dispute = r#"{"disputed": true, "reason": "the node was down"}"#;
    let answer =
        |team: &str| server.post(&lead, &format!("/api/v1/periods/2026-03/lines/{}/answer", line(team)), dispute);
    assert_eq!(answer("b").status, 403);
    let reply = answer("a");
    assert_eq!(reply.status, 200, "{}", reply.text());
    let close = |body: &str| server.post(&finance, "/api/v1/periods/2026-03/close", body);
    let refused = close(r#"{"confirm": "2026-03"}"#);
    assert_eq!(refused.status, 409, "{}", refused.text());
    let list = server.get(&finance, "/api/v1/periods/2026-03/close").json();
    let open: Vec<String> = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|i| i["waived"].is_null())
        .map(|i| i["id"].as_str().unwrap().to_owned())
        .collect();
    let waive = serde_json::json!({"confirm": "2026-03", "waive": open, "reason": "seen", "approver": "grace"});
    let done = close(&waive.to_string());
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(done.json()["closed_by"], "books");
    let months = server.get(&finance, "/api/v1/place").json();
    assert_eq!(months["months"][0]["state"], "closed");
    assert_eq!(server.get(&finance, "/api/v1/periods/2026-03/verify").status, 200);
    let pdf = server.get(&lead, "/api/v1/exports/2026-03?as=pdf");
    assert_eq!(pdf.status, 200, "{}", pdf.text());
    assert!(pdf.body.starts_with(b"%PDF") && pdf.head.contains("content-disposition: attachment"));
}

#[test]
fn a_reference_table_is_changed_over_the_server_after_a_look_at_what_would_change() {
    let site = site();
    let admin = token(&site, "root", &["--role", "admin"]);
    let server = Server::start(&site, &[]);
    let ask = |dry: bool, csv: &str| {
        let body = serde_json::json!({"csv": csv, "dry_run": dry});
        server.post(&admin, "/api/v1/reference/quotas", &body.to_string())
    };
    let dry = ask(true, "team,pool,gpus,from\nd,default,5,2026-05-01\n");
    assert_eq!(dry.status, 200, "{}", dry.text());
    assert!(dry.json()["done"].as_str().unwrap().contains("1 rows added"));
    assert_eq!(server.get(&admin, "/api/v1/reference/quotas").json().as_array().unwrap().len(), 2);
    let wrong = ask(false, "team,pool,gpus\nd,default,many\n");
    assert!(wrong.status == 409 && wrong.text().contains("line 2"), "{} {}", wrong.status, wrong.text());
    assert_eq!(ask(false, "team,pool,gpus,from\nd,default,5,2026-05-01\n").status, 200);
    assert_eq!(server.get(&admin, "/api/v1/reference/quotas").json().as_array().unwrap().len(), 3);
    let audit = server.get(&admin, "/api/v1/audit?table=quota").json();
    assert_eq!(audit.as_array().unwrap().last().unwrap()["actor"], "root");
}

#[test]
fn without_tokens_an_address_lets_in_who_started_it() {
    let site = site();
    let server = Server::start(&site, &[]);
    let code = server.code.clone().expect("a code");
    let entered = server.send("GET", &format!("/enter?code={code}"), &[], b"");
    assert_eq!(entered.status, 303);
    let cookie = entered.head.lines().find_map(|l| l.strip_prefix("set-cookie: ")).unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let me = server.send("GET", "/api/v1/me", &[("cookie", &cookie)], b"");
    assert_eq!(me.json()["role"], "admin");
    assert_eq!(server.send("GET", "/api/v1/me", &[], b"").status, 401);
}

#[test]
fn the_doctor_says_what_to_do() {
    let site = site();
    let done = site.run(&["doctor"]);
    assert!(!done.err.contains("panicked"), "{done:?}");
    for word in ["billing zone", "disk", "tokens", "gpuledger token create", "[notify.mail]"] {
        assert!(done.out.contains(word), "{word}: {}", done.out);
    }
    let told: serde_json::Value = serde_json::from_str(&site.run(&["doctor", "--format", "json"]).out).unwrap();
    assert!(told.as_array().unwrap().iter().all(|f| f["health"] != "bad"), "{told}");
}

#[test]
fn a_server_that_would_let_everybody_in_does_not_start() {
    let site = Site::new();
    let config = site.file("open.toml", "billing_zone = \"UTC\"\n[server]\nlisten = \"0.0.0.0:0\"\nopen = true\n");
    site.run(&["serve", "--config", &config]).fails(2, &["server.open", "make tokens"]);
    let config = site.file("odd.toml", "[server]\nlistens = \"0.0.0.0:0\"\n");
    site.run(&["serve", "--config", &config]).fails(2, &["unknown field `listens`"]);
}
