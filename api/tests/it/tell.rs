//! What is told: over documents that are written down, into a real control file. Each occasion once, whatever happens between rounds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono_tz::Tz;
use gpuledger_api::answer::{Act, Answers, Document, Export, File, Month, Place, Reclaiming, Report};
use gpuledger_api::ask::Ask;
use gpuledger_api::problem::Problem;
use gpuledger_api::state::{App, Settings, Stop};
use gpuledger_api::tell::{deliver, look_once};
use gpuledger_api::who::{Role, Who};
use gpuledger_control::{Control, ImportOptions, Message, MessageState, ReferenceTable};
use gpuledger_schema::window::instant;
use serde_json::{Value, json};

const ZONE: Tz = Tz::Europe__Berlin;
const HOUR: i64 = 3_600_000;

/// Answers that are written down; what is asked for in vain is a problem.
#[derive(Debug, Default)]
struct Written {
    watch: Vec<Value>,
    months: Vec<(&'static str, &'static str, Option<&'static str>)>,
    known_to: &'static str,
    /// Why the bill cannot be had.
    bill_fails: bool,
    /// Why a PDF cannot be had.
    pdf_fails: bool,
    /// What was asked, in order.
    asked: Mutex<Vec<String>>,
}

fn document(body: Value) -> Document {
    Document { body, columns: Vec::new(), cut: 7 }
}

fn empty() -> Value {
    json!({"sentence": "", "currency": "EUR", "rows": [], "total": null, "notes": []})
}

fn sums(team: &str, held_h: i64, idle_h: i64, amount: &str) -> Value {
    let ms = |h: i64| (h * HOUR).to_string();
    json!({"team": team, "lines": 1, "held_ms": ms(held_h), "busy_ms": ms(held_h - idle_h), "held_idle_ms": ms(idle_h),
        "held_unmeasured_ms": "0", "covered_ms": ms(held_h), "amount": amount, "waste": "10.00"})
}

fn bill(period: &str, closed: Option<&str>) -> Value {
    let state = match closed {
        Some(hash) => {
            let closed = if period == "2026-10" { "2026-11-04T08:00:00Z" } else { "2026-10-04T08:00:00Z" };
            json!({"state": "closed", "close_id": "x", "closed": closed, "output_sha256": hash})
        }
        None => json!({"state": "draft", "cut": 7, "as_of": "2026-11-01T00:00:00Z"}),
    };
    json!({"format": "gpuledger.bill/1", "period": period, "zone": "Europe/Berlin", "currency": "EUR", "digits": 2, "state": state,
        "total": sums("", 300, 30, "1000.00"),
        "statements": [sums("nlp", 100, 20, "300.50"), sums("unassigned", 1, 0, "3.00"), sums("vision", 200, 10, "696.50")],
        "platform": [], "conservation": {"fleet": "1000.00"}, "notes": [], "lines": []})
}

#[async_trait]
impl Answers for Written {
    async fn document(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Document, Problem> {
        self.asked.lock().unwrap().push(format!("{what:?}"));
        assert_eq!(who.role, Role::Admin);
        Ok(document(match what {
            Report::Watch { .. } => json!({"rows": self.watch}),
            Report::Charges => json!({"currency": "EUR", "rows": [
                {"team": "nlp", "held_hours": "100.0000", "held_idle_hours": "20.0000", "waste": "60.00"},
                {"team": "vision", "held_hours": "200.0000", "held_idle_hours": "10.0000", "waste": "30.00"}]}),
            Report::Findings { .. } => {
                assert!(ask.window.is_some());
                empty()
            }
            Report::Budgets { .. } => empty(),
            other => return Err(Problem::absent(format!("{other:?}"))),
        }))
    }

    async fn file(&self, who: &Who, _: &Ask, what: &Report) -> Result<File, Problem> {
        assert_eq!((who.role, who.teams.len()), (Role::Lead, 1), "a lead's file is made with the lead's eyes");
        assert!(matches!(what, Report::Findings { .. }));
        Ok(File { name: "findings.csv".into(), media: "text/csv", bytes: b"rule\n".to_vec(), cut: Some(7) })
    }

    async fn export(&self, who: &Who, _: &Ask, what: &Export) -> Result<File, Problem> {
        self.asked.lock().unwrap().push(format!("{} {}", what.document, what.period));
        let bytes = match what.document.as_str() {
            "json" if self.bill_fails => return Err(Problem::unavailable("the lake is away")),
            "json" => {
                let hash = self.months.iter().find(|m| m.0 == what.period).and_then(|m| m.2);
                bill(&what.period, hash).to_string().into_bytes()
            }
            "pdf" if self.pdf_fails => return Err(Problem::unavailable("no font has the letter")),
            "pdf" => {
                assert_eq!((who.role, what.team.as_ref()), (Role::Lead, who.teams.first()));
                b"%PDF".to_vec()
            }
            _ => b"x".to_vec(),
        };
        Ok(File { name: "f".into(), media: "application/octet-stream", bytes, cut: None })
    }

    async fn act(&self, _: &Who, _: &Act) -> Result<Value, Problem> {
        Err(Problem::absent("nothing is done here"))
    }

    async fn deliver(&self, _: &str, _: &str, _: Vec<u8>) -> Result<(), Problem> {
        Err(Problem::absent("nothing is delivered here"))
    }

    async fn reclaiming(&self) -> Result<Reclaiming, Problem> {
        Ok(Reclaiming::default())
    }

    async fn place(&self) -> Place {
        let month = |m: &(&str, &str, Option<&str>)| Month {
            month: m.0.into(),
            state: m.1.into(),
            hash: m.2.map(str::to_owned),
        };
        Place {
            zone: Some(ZONE.name().into()),
            currency: Some("EUR".into()),
            cut: Some(7),
            known_to_ms: instant(self.known_to, ZONE).ok(),
            months: self.months.iter().map(month).collect(),
            ..Place::default()
        }
    }
}

/// A place with contacts, and a clock that stands until it is moved.
struct Site {
    folder: tempfile::TempDir,
    now: Arc<AtomicI64>,
}

const CONTACTS: &str = "kind,name,channel,address,language
role,finance,mail,finance@example.org,en
role,on-call,mail,oncall@example.org,en
role,operator,mail,operator@example.org,en
lead,nlp,mail,nlp@example.org,zh
lead,vision,mail,vision@example.org,en
";

impl Site {
    fn new(contacts: &str, now: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(instant(now, ZONE).unwrap()));
        let site = Self { folder, now };
        let options = ImportOptions {
            zone: Some(ZONE),
            currency: None,
            now_ms: 0,
            actor: "anna".into(),
            force: false,
            reason: None,
            approver: None,
        };
        site.control().import(ReferenceTable::Contacts, "in.csv", contacts.as_bytes(), options).unwrap();
        site
    }

    fn control(&self) -> Control {
        Control::open(&self.folder.path().join("control.sqlite")).unwrap()
    }

    /// A server of this place, just started.
    fn start(&self, answers: Written) -> App {
        let now = Arc::clone(&self.now);
        let settings =
            Settings { zone: Some(ZONE), public_url: Some("https://gpu.example.org".into()), ..Settings::default() };
        let control = self.folder.path().join("control.sqlite");
        App::new(Arc::new(answers), settings, control, Arc::new(move || now.load(Ordering::SeqCst)), Stop::default())
    }

    fn pass(&self, ms: i64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    fn messages(&self) -> Vec<Message> {
        let mut all = self.control().outbox_messages(None, 10_000).unwrap();
        all.reverse();
        all
    }

    /// Kind and address of every message, in order.
    fn told(&self) -> Vec<(String, String)> {
        self.messages().into_iter().map(|m| (m.kind, m.address)).collect()
    }
}

fn october(state: &'static str, hash: Option<&'static str>) -> Written {
    Written {
        months: vec![("2026-09", "closed", Some("90")), ("2026-10", state, hash)],
        known_to: "2026-11-05",
        ..Written::default()
    }
}

#[tokio::test]
async fn a_close_is_told_once_however_often_it_is_looked_and_whatever_restarts() {
    let site = Site::new(CONTACTS, "2026-11-05");
    let hash = "5d5d5d5d5d5d5d5d5d5d";
    look_once(&site.start(october("closed", Some(hash)))).await.unwrap();
    let of = |kind: &str| site.told().into_iter().filter(|t| t.0 == kind).map(|t| t.1).collect::<Vec<_>>();
    assert_eq!(of("statement_finance"), ["finance@example.org"]);
    assert_eq!(of("statement_lead"), ["nlp@example.org", "vision@example.org"], "and nobody of what nobody owns");
    let all = site.messages();
    let nlp = all.iter().find(|m| m.address == "nlp@example.org" && m.kind == "statement_lead").unwrap();
    assert!(nlp.language == "zh" && nlp.title.starts_with("nlp 2026年10月"), "{}", nlp.title);
    assert!(nlp.body_text.contains("https://gpu.example.org/chargeback/statement?month=2026-10&team=nlp"));
    let files: Vec<String> = site.control().attachments(nlp.message_id).unwrap().into_iter().map(|a| a.name).collect();
    assert_eq!(files, ["nlp-2026-10-statement.pdf", "nlp-2026-10-findings.csv"]);
    // a second round of the same server, a server that was started anew, and one beside it
    let before = site.messages().len();
    let app = site.start(october("closed", Some(hash)));
    look_once(&app).await.unwrap();
    look_once(&app).await.unwrap();
    tokio::join!(async { look_once(&site.start(october("closed", Some(hash)))).await.unwrap() }, async {
        look_once(&app).await.unwrap()
    });
    assert_eq!(site.messages().len(), before);
    // what is closed again under another hash is another close
    look_once(&site.start(october("closed", Some("7777777777777777777")))).await.unwrap();
    assert_eq!(of("statement_finance").len(), 2);
}

#[tokio::test]
async fn an_old_close_and_an_old_week_are_not_told_by_a_server_that_starts_today() {
    let site = Site::new(CONTACTS, "2026-12-12");
    let answers = Written { known_to: "2026-11-05", ..october("closed", Some("5d5d5d5d5d5d5d5d5d")) };
    look_once(&site.start(answers)).await.unwrap();
    assert!(site.told().is_empty(), "{:?}", site.told());
}

#[tokio::test]
async fn a_draft_goes_out_when_the_month_is_over_and_known_and_the_close_after_it() {
    let site = Site::new(CONTACTS, "2026-11-02");
    let early = Written { known_to: "2026-10-31", ..october("collecting", None) };
    look_once(&site.start(early)).await.unwrap();
    assert!(site.told().iter().all(|t| !t.0.starts_with("statement")), "the last day is not in yet");
    look_once(&site.start(october("collecting", None))).await.unwrap();
    look_once(&site.start(october("collecting", None))).await.unwrap();
    let titles =
        |kind: &str| site.messages().into_iter().filter(|m| m.kind == kind).map(|m| m.title).collect::<Vec<_>>();
    assert_eq!(titles("statement_finance").len(), 1);
    assert!(titles("statement_finance")[0].starts_with("Draft of October 2026"), "{:?}", titles("statement_finance"));
    site.pass(3 * 24 * HOUR);
    look_once(&site.start(october("closed", Some("5d5d5d5d5d5d5d5d5d")))).await.unwrap();
    assert!(titles("statement_finance")[1].starts_with("October 2026: "));
}

#[tokio::test]
async fn what_fails_keeps_back_nothing_else_and_comes_when_it_can() {
    let site = Site::new(CONTACTS, "2026-11-05");
    let hash = Some("5d5d5d5d5d5d5d5d5d");
    let lost = Written { bill_fails: true, ..october("closed", hash) };
    let why = look_once(&site.start(lost)).await.unwrap_err();
    assert!(why.contains("statement: the lake is away"), "{why}");
    let kinds: Vec<String> = site.told().into_iter().map(|t| t.0).collect();
    assert!(
        kinds.contains(&"waste_digest".to_owned()) && !kinds.contains(&"statement_finance".to_owned()),
        "{kinds:?}"
    );
    // a file that cannot be made is named in the mail that goes without it
    look_once(&site.start(Written { pdf_fails: true, ..october("closed", hash) })).await.unwrap();
    let vision = site.messages().into_iter().find(|m| m.kind == "statement_lead" && m.address.starts_with("vision"));
    let text = vision.unwrap().body_text;
    assert!(text.contains("vision-2026-10-statement.pdf is not attached: no font has the letter"), "{text}");
}

#[tokio::test]
async fn the_week_is_told_to_each_lead_in_their_language() {
    let site = Site::new(CONTACTS, "2026-11-02T08:00:00+01:00");
    look_once(&site.start(Written { known_to: "2026-11-02", ..Written::default() })).await.unwrap();
    look_once(&site.start(Written { known_to: "2026-11-02", ..Written::default() })).await.unwrap();
    let digests: Vec<Message> = site.messages().into_iter().filter(|m| m.kind == "waste_digest").collect();
    let of: BTreeMap<&str, &str> = digests.iter().map(|m| (m.address.as_str(), m.language.as_str())).collect();
    assert_eq!(of, BTreeMap::from([("nlp@example.org", "zh"), ("vision@example.org", "en")]));
    assert_eq!(digests.len(), 2);
    assert!(
        digests[1].title.contains("2026-10-26 to 2026-11-01: 10.0 GPU-hours held and not used (EUR 30.00)"),
        "{}",
        digests[1].title
    );
}

fn late(node: &str) -> Value {
    json!({"kind": "late_node", "cluster": "alpha", "node": node, "device": null, "model": "H200", "job": null, "job_name": null,
        "user": null, "team": null, "gpus": 8, "since": null, "to": null, "hours": null, "late_minutes": 45, "jobs": 0, "state": null,
        "reason": null, "sm": null, "dram": null, "power_mw": null, "used_gib": null, "limit_gib": null, "since_ms": 1793757600000i64,
        "to_ms": null})
}

fn watched(nodes: &[&str]) -> Written {
    Written { watch: nodes.iter().map(|n| late(n)).collect(), known_to: "2026-10-01", ..Written::default() }
}

#[tokio::test]
async fn what_stands_wrong_is_told_when_it_begins_and_again_only_when_it_begins_again() {
    let site = Site::new(CONTACTS, "2026-10-14T12:00:00+02:00");
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    assert_eq!(site.told(), [("late_node".to_owned(), "oncall@example.org".to_owned())]);
    assert_eq!(site.control().alerts_standing().unwrap().len(), 1);
    // it ends; that is for the Alertmanager
    look_once(&site.start(watched(&[]))).await.unwrap();
    assert!(site.control().alerts_standing().unwrap().is_empty());
    // within the cool-down it is put aside, after it told
    site.pass(HOUR);
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    assert_eq!(site.messages()[1].state, MessageState::Cooled);
    look_once(&site.start(watched(&[]))).await.unwrap();
    site.pass(7 * HOUR);
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    assert_eq!(site.messages()[2].state, MessageState::Waiting);
    assert_eq!(site.messages().len(), 3);
}

#[tokio::test]
async fn many_at_once_are_one_message_and_one_more_is_one_more() {
    let site = Site::new(CONTACTS, "2026-10-14T12:00:00+02:00");
    let names: Vec<String> = (0..48).map(|n| format!("gpu{n:02}")).collect();
    let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    look_once(&site.start(watched(&nodes))).await.unwrap();
    look_once(&site.start(watched(&nodes))).await.unwrap();
    let to = |kind: &str, address: &str| (kind.to_owned(), address.to_owned());
    let once = [to("many_alerts", "oncall@example.org"), to("many_alerts", "operator@example.org")];
    assert_eq!(site.told(), once);
    assert!(site.messages()[0].title.starts_with("48 nodes send no data"), "{}", site.messages()[0].title);
    assert_eq!(site.control().alerts_standing().unwrap().len(), 48, "each stands at the Alertmanager");
    site.pass(300_000);
    let more: Vec<&str> = nodes.iter().copied().chain(["gpu99"]).collect();
    look_once(&site.start(watched(&more))).await.unwrap();
    assert_eq!(site.told()[2..], [to("late_node", "oncall@example.org")]);
    assert!(site.messages()[2].title.contains("gpu99"));
}

#[tokio::test]
async fn a_look_that_fails_ends_nothing() {
    let site = Site::new(CONTACTS, "2026-10-14T12:00:00+02:00");
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    let broken = Written { watch: vec![json!({"kind": "late_node"})], known_to: "2026-10-01", ..Written::default() };
    let why = look_once(&site.start(broken)).await.unwrap_err();
    assert!(why.starts_with("alerts: "), "{why}");
    assert_eq!(site.control().alerts_standing().unwrap().len(), 1, "what is not seen has not ended");
}

#[tokio::test]
async fn who_has_no_address_is_told_to_operators_once_a_day() {
    let without = "kind,name,channel,address,language\nrole,operator,mail,operator@example.org,en\n";
    let site = Site::new(without, "2026-10-14T12:00:00+02:00");
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    look_once(&site.start(watched(&["gpu01", "gpu02"]))).await.unwrap();
    let told: Vec<Message> = site.messages();
    assert_eq!(told.len(), 1, "{:?}", site.told());
    assert!(
        told[0].kind == "no_contact" && told[0].title.starts_with("No address of role:on-call"),
        "{}",
        told[0].title
    );
}

#[tokio::test]
async fn a_message_that_failed_is_told_to_operators_once_and_a_bad_address_stops_nobody() {
    // no mail server takes these: the port is closed, and the messages are given up when their time is over
    let site = Site::new(CONTACTS, "2026-10-14T12:00:00+02:00");
    let app = site.start(watched(&["gpu01"]));
    look_once(&app).await.unwrap();
    deliver(app.clone()).await.unwrap();
    assert_eq!(site.messages()[0].state, MessageState::Waiting, "without a mail server it waits");
    site.pass(13 * HOUR);
    deliver(app.clone()).await.unwrap();
    assert_eq!(site.messages()[0].state, MessageState::Failed);
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    let undelivered: Vec<Message> = site.messages().into_iter().filter(|m| m.kind == "undelivered").collect();
    assert_eq!(undelivered.len(), 1);
    assert!(
        undelivered[0].address == "operator@example.org" && undelivered[0].body_text.contains("oncall@example.org")
    );
    // and that this one does not arrive is told to nobody
    site.pass(13 * HOUR);
    deliver(app.clone()).await.unwrap();
    site.pass(13 * HOUR);
    deliver(app).await.unwrap();
    look_once(&site.start(watched(&["gpu01"]))).await.unwrap();
    assert_eq!(site.messages().iter().filter(|m| m.kind == "undelivered").count(), 1);
}
