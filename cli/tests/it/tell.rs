//! A month of the demo, told: by the real binary, over real SMTP, to people of whom one has an address that nobody takes.
//! `GPULEDGER_AIOSMTPD_PYTHON` names a Python that has what `tests/mail/requirements.txt` names; without it this is skipped.

use std::collections::BTreeMap;

use crate::site::Site;

#[path = "../../../notify/tests/it/server.rs"]
#[allow(dead_code, reason = "the tests of mail use all of it")]
mod mail;

use mail::{Server, header};

/// Morning of the second of April: March is over.
const AT: &str = "2026-04-02T09:00:00+02:00";

const CONTACTS: &str = "kind,name,channel,address,language
role,finance,mail,finance@example.org,en
role,on-call,mail,oncall@example.org,en
role,operator,mail,operator@example.org,en
lead,nlp,mail,nlp@example.org,zh
lead,vision,mail,vision@example.org,en
lead,speech,mail,speech@example.org,en
lead,research,mail,research@example.org,en
lead,infra,mail,infra@example.org,en
lead,robotics,mail,code550@example.org,en
";

#[test]
fn a_month_of_the_demo_is_told_once_and_one_bad_address_stops_nobody() {
    let Some(server) = Server::start("a_month_of_the_demo_is_told_once", &[]) else { return };
    let site = Site::billed("Europe/Berlin", "EUR");
    site.ok(&["demo"]);
    let demo = std::fs::read_to_string(site.data().join("input/gpuledger.toml")).unwrap();
    let mail = server.config("").replace("[mail]", "[notify.mail]");
    site.file("gpuledger.toml", format!("{demo}\n[server]\npublic_url = \"https://gpu.example.org\"\n{mail}"));
    site.reference("contacts", CONTACTS);

    let said = site.ok(&["notify", "tell", "--at", AT]);
    assert!(said.contains("statement/2026-03/draft: "), "{said}");
    let done = site.run(&["notify", "deliver"]);
    assert_eq!(done.code, 1, "one address was refused: {done:#?}");
    // its two mails of the month and of the week
    assert!(done.out.contains(" 2 failed"), "{done:#?}");
    let mails = server.mails();
    let mut to: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mail in &mails {
        assert_eq!(mail["defects"], serde_json::json!([]));
        let address = mail["to"][0].as_str().unwrap().to_owned();
        to.entry(address).or_default().push(header(mail, "Subject").to_owned());
    }
    for team in ["nlp", "vision", "speech", "research", "infra"] {
        let subjects = &to[&format!("{team}@example.org")];
        assert!(subjects.iter().any(|s| s.starts_with(team)), "{team}: {subjects:?}");
    }
    assert!(!to.contains_key("code550@example.org"));
    let of = |address: &str, word: &str| {
        mails
            .iter()
            .find(|m| m["to"][0] == address && header(m, "Subject").contains(word))
            .unwrap_or_else(|| panic!("{to:#?}"))
    };
    let files = |mail: &serde_json::Value| -> Vec<String> {
        mail["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(files(of("finance@example.org", "March 2026")), ["2026-03-bill.xlsx", "2026-03-lines.csv"]);
    let vision = of("vision@example.org", "March 2026");
    assert_eq!(files(vision), ["vision-2026-03-statement.pdf", "vision-2026-03-findings.csv"]);
    // the figures of the mail are those of the statement on the command line
    let statement = site.ok(&["export", "2026-03", "--as", "json"]);
    let bill: serde_json::Value = serde_json::from_str(&statement).unwrap();
    let amount = |team: &str| {
        let all = bill["statements"].as_array().unwrap();
        all.iter().find(|s| s["team"] == team).unwrap()["amount"].as_str().unwrap().to_owned()
    };
    let shown = header(vision, "Subject").replace(',', "");
    assert!(shown.contains(&format!("EUR {}", amount("vision"))), "{shown}");

    // again, by another process: nothing more, but that operators hear of the address that takes nothing: once, not for each mail
    let before = server.mails().len();
    site.ok(&["notify", "tell", "--at", AT]);
    site.run(&["notify", "deliver"]);
    let more: Vec<String> = server.mails()[before..].iter().map(|m| header(m, "Subject").to_owned()).collect();
    assert!(more.len() == 1 && more[0].contains("code550@example.org"), "{more:?}");
    site.ok(&["notify", "tell", "--at", AT]);
    assert_eq!(
        site.ok(&["notify", "deliver"]).trim(),
        "0 delivered, 0 later, 0 failed, 0 in doubt, 0 wait for working hours"
    );
    assert_eq!(server.mails().len(), before + 1);
    let failed = site.ok(&["notify", "outbox", "--state", "failed"]);
    assert!(failed.contains("code550@example.org") && failed.contains("550"), "{failed}");
}

#[test]
fn what_is_typed_wrong_is_said_and_nothing_is_sent() {
    let site = Site::billed("Europe/Berlin", "EUR");
    site.reference("contacts", "kind,name,channel,address,language\nrole,finance,webhook,ops,en\n");
    site.run(&["notify", "outbox", "--state", "lost"]).fails(2, &["`lost`", "waiting, claimed, sending"]);
    site.run(&["notify", "test", "--webhook", "ops"]).fails(2, &["[notify.webhook.ops]"]);
    site.run(&["notify", "test"]).fails(2, &["--mail", "--webhook"]);
    site.run(&["notify", "silence", "--until", "2027-01-01", "--reason", "x"])
        .fails(1, &["it would silence everything"]);
    let silence = ["notify", "silence", "--kind", "late_node", "--until", "2099-01-01", "--reason", "switch"];
    assert!(site.ok(&silence).starts_with("silence 1 until 2099-01-01"));
    assert!(site.ok(&["notify", "silences"]).starts_with("1 silences stand"));
    site.ok(&["notify", "silences", "--end", "1"]);
    site.run(&["notify", "silences", "--end", "1"]).fails(2, &["no silence 1"]);
    // the doctor says what is wrong and what to do
    let doctor = site.run(&["notify", "doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    for word in [
        "[notify.mail]",
        "no mail server is configured",
        "webhook `ops`, which is not configured",
        "nobody has the role on-call",
    ] {
        assert!(doctor.out.contains(word), "`{word}` is not in {}", doctor.out);
    }
    // an unknown key stops the program before anything is sent
    let more =
        "billing_zone = \"Europe/Berlin\"\n[notify.mail]\nhost = \"h\"\nfrom = \"a@b.example\"\npassword = \"x\"\n";
    site.file("gpuledger.toml", more);
    site.run(&["notify", "deliver"]).fails(2, &["gpuledger.toml", "password"]);
}
