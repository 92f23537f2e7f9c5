//! `/metrics`: the product's own health and the fleet's figures, for Prometheus.
//!
//! What a scrape reads is cheap: states of loops, counts of requests and messages, and figures that the loop `figures` keeps.
//! Labels are bounded: loops, kinds, classes, channels and states are closed lists; clusters and teams are those of the ledger, and
//! stand escaped, whatever their names are. What is not known has no series: zero would be a claim.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use gpuledger_control::{MessageState, Summary};
use gpuledger_schema::window::{month, month_of};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::Value;

use crate::answer::{Place, Report, currency_of};
use crate::ask::Ask;
use crate::state::{App, Count, LoopState};
use crate::who::{Role, Who};

/// How often figures are made anew, ms.
const FIGURES_MS: u64 = 300_000;
/// How long after the start they are made first, ms.
const FIRST_MS: u64 = 5_000;
/// What figures of classes are of: the last day that is known, ms.
const WINDOW_MS: i64 = 86_400_000;
/// Classes of time and the columns of `report usage` that have them.
const CLASSES: [(&str, &str); 6] = [
    ("busy", "busy_hours"),
    ("held_idle", "held_idle_hours"),
    ("held_unmeasured", "held_unmeasured_hours"),
    ("unallocated", "unallocated_hours"),
    ("unavailable", "unavailable_hours"),
    ("unobserved", "unobserved_hours"),
];

/// Labels and their values.
type Label = Vec<(&'static str, String)>;

/// What loops found, kept for scrapes.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Figures>);

/// Figures of the fleet and what stands wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Figures {
    /// When they were made, epoch ms.
    made_ms: Option<i64>,
    /// GPU time of the last day that is known by cluster and class, ms.
    classes: BTreeMap<(String, &'static str), i64>,
    /// Measured part of the held time of that day by cluster, ppm.
    coverage: BTreeMap<String, i64>,
    /// Charge and waste of the month so far by team, minor units; and of which month and currency.
    money: BTreeMap<String, [Option<i64>; 2]>,
    month: String,
    currency: String,
    /// What stands wrong, by kind.
    alerts: BTreeMap<&'static str, usize>,
    /// From the end of what was known to the end of the look that decided, ms.
    latency_ms: Option<i64>,
}

impl Kept {
    fn change(&self, change: impl FnOnce(&mut Figures)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read(&self) -> Figures {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeps what a look found wrong; `known_ms` is the end of what it knew.
pub(crate) fn note_alerts(app: &App, standing: &BTreeMap<&'static str, usize>, known_ms: Option<i64>) {
    let now_ms = app.now_ms();
    app.figures().change(|figures| {
        figures.alerts = standing.clone();
        figures.latency_ms = known_ms.map(|known_ms| (now_ms - known_ms).max(0));
    });
}

/// Makes figures anew until the server stops; the first after a while, because pages come first.
pub async fn run(app: &App) {
    tokio::select! {
        () = app.stop().wait() => return,
        () = tokio::time::sleep(std::time::Duration::from_millis(FIRST_MS)) => {}
    }
    app.run_loop("figures", FIGURES_MS, figures).await;
}

async fn figures(app: App) -> Result<String, String> {
    let zone = app.settings().zone.ok_or("no billing_zone is configured: there is no month to add up")?;
    let place = app.answers().place().await;
    let Some(known_ms) = place.known_to_ms else { return Ok("nothing is known yet".to_owned()) };
    let who = Who::of("gpuledger", Role::Admin);
    let ask = |from_ms: i64, by: &'static str| {
        let mut ask = Ask::in_zone(zone).by(&[by]);
        ask.window = Some((from_ms, known_ms));
        ask
    };
    let day = ask(known_ms - WINDOW_MS, "cluster");
    let usage = app.answers().document(&who, &day, &Report::Usage).await.map_err(|e| e.detail)?;
    let name = month_of(known_ms - 1, zone);
    let begun_ms = month(&name, zone).map_err(|e| e.to_string())?.from_ms;
    let charges = app.answers().document(&who, &ask(begun_ms, "team"), &Report::Charges).await;
    let mut trouble = None;
    app.figures().change(|figures| {
        figures.made_ms = Some(known_ms);
        (figures.classes, figures.coverage) = classes(&usage.body);
        match &charges {
            Ok(charges) => {
                figures.money = money(&charges.body);
                figures.currency = currency_of(&charges.body).to_owned();
                figures.month = name;
            }
            Err(e) => {
                figures.money.clear();
                trouble = Some(e.detail.clone());
            }
        }
    });
    trouble.map_or_else(|| Ok("figures of the last day and of the month so far".to_owned()), Err)
}

/// A decimal number as text, times 10^`digits`, where it has at most so many.
fn scaled(text: Option<&str>, digits: usize) -> Option<i64> {
    let text = text?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    (part.len() <= digits).then(|| format!("{whole}{part:0<digits$}").parse().ok()).flatten()
}

fn classes(usage: &Value) -> (BTreeMap<(String, &'static str), i64>, BTreeMap<String, i64>) {
    let (mut by_class, mut coverage) = (BTreeMap::new(), BTreeMap::new());
    for row in usage.get("rows").and_then(Value::as_array).into_iter().flatten() {
        let of = |name: &str| row.get(name).and_then(Value::as_str);
        let Some(cluster) = of("cluster").map(str::to_owned) else { continue };
        for (class, column) in CLASSES {
            // hours of four digits are 360 ms each
            if let Some(ms) = scaled(of(column), 4) {
                by_class.insert((cluster.clone(), class), ms * 360);
            }
        }
        if let Some(ppm) = scaled(of("coverage"), 6) {
            coverage.insert(cluster, ppm);
        }
    }
    (by_class, coverage)
}

fn money(charges: &Value) -> BTreeMap<String, [Option<i64>; 2]> {
    let mut out = BTreeMap::new();
    for row in charges.get("rows").and_then(Value::as_array).into_iter().flatten() {
        let of = |name: &str| row.get(name).and_then(Value::as_str);
        // an amount has the digits of its currency: without the point it is minor units
        let minor = |name: &str| of(name).and_then(|text| text.replacen('.', "", 1).parse().ok());
        if let Some(team) = of("team") {
            out.insert(team.to_owned(), [minor("charge"), minor("waste")]);
        }
    }
    out
}

/// Everything that a page is made of.
struct Snapshot {
    now_ms: i64,
    version: String,
    place: Place,
    loops: BTreeMap<&'static str, LoopState>,
    served: BTreeMap<(String, u16), Count>,
    outbox: Vec<Summary>,
    figures: Figures,
}

/// The page in the text format of OpenMetrics.
pub async fn page(app: &App) -> String {
    let outbox = app.look(|control| control.outbox_summary()).await;
    let snapshot = Snapshot {
        now_ms: app.now_ms(),
        version: app.settings().version.clone(),
        place: app.answers().place().await,
        loops: app.loops().all(),
        served: app.served().all(),
        outbox: outbox.ok().flatten().unwrap_or_default(),
        figures: app.figures().read(),
    };
    render(&snapshot)
}

/// A registry that is filled from a snapshot.
struct Page {
    registry: Registry,
}

impl Page {
    fn gauges(&mut self, name: &str, help: &str, series: impl IntoIterator<Item = (Label, i64)>) {
        let family: Family<Label, Gauge> = Family::default();
        for (label, value) in series {
            family.get_or_create(&label).set(value);
        }
        self.registry.register(name, help, family);
    }

    fn gauge(&mut self, name: &str, help: &str, value: Option<i64>) {
        self.gauges(name, help, value.map(|value| (Label::new(), value)));
    }

    fn counters(&mut self, name: &str, help: &str, series: impl IntoIterator<Item = (Label, u64)>) {
        let family: Family<Label, Counter> = Family::default();
        for (label, value) in series {
            family.get_or_create(&label).inc_by(value);
        }
        self.registry.register(name, help, family);
    }
}

fn render(s: &Snapshot) -> String {
    let mut page = Page { registry: Registry::with_prefix("gpuledger") };
    page.gauges("build_info", "Version of the server", [(vec![("version", s.version.clone())], 1)]);
    data(&mut page, s);
    loops(&mut page, s);
    requests(&mut page, s);
    outbox(&mut page, s);
    fleet(&mut page, &s.figures, s.now_ms);
    let mut text = String::new();
    // writing into a String cannot fail; a page without its end would be refused whole
    if prometheus_client::encoding::text::encode(&mut text, &page.registry).is_err() {
        return "# EOF\n".to_owned();
    }
    text
}

fn data(page: &mut Page, s: &Snapshot) {
    let place = &s.place;
    page.gauge("lake_readable", "1 where the data can be read", Some(i64::from(place.trouble.is_none())));
    page.gauge("cut", "Number of the newest cut", place.cut.and_then(|n| i64::try_from(n).ok()));
    page.gauge("lag_ms", "Age of the newest instant that is known", place.known_to_ms.map(|ms| (s.now_ms - ms).max(0)));
    let waiting = place.waiting_segments.and_then(|n| i64::try_from(n).ok());
    page.gauge("inbox_segments", "Segments that wait to be taken in", waiting);
}

fn loops(page: &mut Page, s: &Snapshot) {
    let label = |name: &&'static str| vec![("loop", (*name).to_owned())];
    page.counters("loop_rounds", "Rounds that ended well", s.loops.iter().map(|(n, l)| (label(n), l.rounds)));
    page.counters("loop_failures", "Rounds that failed", s.loops.iter().map(|(n, l)| (label(n), l.failed)));
    let well = s.loops.iter().map(|(n, l)| (label(n), i64::from(l.trouble.is_none())));
    page.gauges("loop_well", "1 where the last round did not fail", well);
    let age = |l: &LoopState| l.last_end_ms.map(|ms| (s.now_ms - ms).max(0));
    page.gauges(
        "loop_age_ms",
        "Time since the last round ended",
        s.loops.iter().filter_map(|(n, l)| Some((label(n), age(l)?))),
    );
    page.gauges(
        "loop_round_ms",
        "Duration of the last round",
        s.loops.iter().filter_map(|(n, l)| Some((label(n), l.last_took_ms?))),
    );
    let every = s.loops.iter().map(|(n, l)| (label(n), i64::try_from(l.every_ms).unwrap_or(i64::MAX)));
    page.gauges("loop_every_ms", "Time from one round to the next", every);
}

fn requests(page: &mut Page, s: &Snapshot) {
    let label = |(path, status): &(String, u16)| vec![("path", path.clone()), ("status", status.to_string())];
    page.counters("requests", "Requests answered", s.served.iter().map(|(of, c)| (label(of), c.requests)));
    let took = s.served.iter().map(|(of, c)| (label(of), c.took_ms.unsigned_abs()));
    page.counters("request_ms", "Time to the head of the answer, over all requests", took);
}

fn outbox(page: &mut Page, s: &Snapshot) {
    let label = |m: &Summary| vec![("channel", m.channel.clone()), ("state", m.state.as_str().to_owned())];
    page.gauges("outbox_messages", "Messages by where they stand", s.outbox.iter().map(|m| (label(m), m.messages)));
    let mut oldest: BTreeMap<&str, i64> = BTreeMap::new();
    let open = |m: &&Summary| matches!(m.state, MessageState::Waiting | MessageState::Claimed | MessageState::Sending);
    for message in s.outbox.iter().filter(open) {
        let age = (s.now_ms - message.oldest_ms).max(0);
        oldest.entry(&message.channel).and_modify(|ms| *ms = age.max(*ms)).or_insert(age);
    }
    let waits = oldest.into_iter().map(|(channel, ms)| (vec![("channel", channel.to_owned())], ms));
    page.gauges("outbox_oldest_ms", "Age of the oldest message that is not delivered yet", waits);
}

fn fleet(page: &mut Page, figures: &Figures, now_ms: i64) {
    let Some(made_ms) = figures.made_ms else {
        return stand(page, figures);
    };
    page.gauge("figures_age_ms", "Age of what the figures of the fleet are of", Some((now_ms - made_ms).max(0)));
    page.gauge("fleet_window_ms", "Time that the GPU time of the classes is of", Some(WINDOW_MS));
    let classes = figures
        .classes
        .iter()
        .map(|((cluster, class), ms)| (vec![("cluster", cluster.clone()), ("class", (*class).to_owned())], *ms));
    page.gauges("fleet_gpu_ms", "GPU time of the last day that is known, by class", classes);
    let coverage = figures.coverage.iter().map(|(cluster, ppm)| (vec![("cluster", cluster.clone())], *ppm));
    page.gauges("fleet_coverage_ppm", "Measured part of the held time of that day", coverage);
    let label = |team: &String| {
        vec![("team", team.clone()), ("month", figures.month.clone()), ("currency", figures.currency.clone())]
    };
    for (i, name, help) in [
        (0, "charge_minor", "Charge of the month so far, in minor units of the currency"),
        (1, "waste_minor", "Of it held and not used, in minor units of the currency"),
    ] {
        let money = figures.money.iter().filter_map(|(team, amounts)| Some((label(team), amounts[i]?)));
        page.gauges(name, help, money);
    }
    let digits = i64::from(gpuledger_schema::currency::minor_digits(&figures.currency));
    let of_currency = vec![("currency", figures.currency.clone())];
    let known = (!figures.money.is_empty()).then_some((of_currency, digits));
    page.gauges("currency_digits", "Digits of the minor unit of the currency", known);
    stand(page, figures);
}

fn stand(page: &mut Page, figures: &Figures) {
    let alerts = figures
        .alerts
        .iter()
        .map(|(kind, n)| (vec![("kind", (*kind).to_owned())], i64::try_from(*n).unwrap_or(i64::MAX)));
    page.gauges("alerts_standing", "What stands wrong, by kind", alerts);
    let help = "From the end of what was known to the end of the look that decided on it";
    page.gauge("decision_latency_ms", help, figures.latency_ms);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn snapshot() -> Snapshot {
        Snapshot {
            now_ms: 1_000_000,
            version: "0.1.0".to_owned(),
            place: Place { cut: Some(7), known_to_ms: Some(940_000), waiting_segments: Some(3), ..Place::default() },
            loops: BTreeMap::from([(
                "ingest",
                LoopState {
                    rounds: 5,
                    failed: 1,
                    last_end_ms: Some(999_000),
                    last_took_ms: Some(40),
                    every_ms: 30_000,
                    ..LoopState::default()
                },
            )]),
            served: BTreeMap::from([(("/api/v1/charges".to_owned(), 200), Count { requests: 4, took_ms: 90 })]),
            outbox: vec![
                Summary { channel: "mail".into(), state: MessageState::Waiting, messages: 2, oldest_ms: 400_000 },
                Summary { channel: "mail".into(), state: MessageState::Failed, messages: 1, oldest_ms: 1 },
            ],
            figures: Figures::default(),
        }
    }

    #[test]
    fn own_health_is_there_and_what_is_not_known_is_not() {
        let page = render(&snapshot());
        for line in [
            "gpuledger_build_info{version=\"0.1.0\"} 1",
            "gpuledger_lake_readable 1",
            "gpuledger_cut 7",
            "gpuledger_lag_ms 60000",
            "gpuledger_inbox_segments 3",
            "gpuledger_loop_rounds_total{loop=\"ingest\"} 5",
            "gpuledger_loop_failures_total{loop=\"ingest\"} 1",
            "gpuledger_loop_well{loop=\"ingest\"} 1",
            "gpuledger_loop_age_ms{loop=\"ingest\"} 1000",
            "gpuledger_requests_total{path=\"/api/v1/charges\",status=\"200\"} 4",
            "gpuledger_outbox_messages{channel=\"mail\",state=\"waiting\"} 2",
            "gpuledger_outbox_oldest_ms{channel=\"mail\"} 600000",
        ] {
            assert!(page.contains(&format!("{line}\n")), "{line} is not in\n{page}");
        }
        assert!(
            !page.contains("gpuledger_decision_latency_ms ") && !page.contains("gpuledger_fleet_gpu_ms{"),
            "{page}"
        );
        assert!(page.ends_with("# EOF\n"));
        let lost = Snapshot { place: Place { trouble: Some("gone".into()), ..Place::default() }, ..snapshot() };
        let page = render(&lost);
        assert!(page.contains("gpuledger_lake_readable 0\n") && !page.contains("gpuledger_lag_ms "), "{page}");
    }

    #[test]
    fn figures_are_those_of_the_documents_and_names_stay_names() {
        let evil = "a\"b\\c\nd} 1 # {x=\"";
        let usage = json!({"rows": [{"cluster": evil, "busy_hours": "12.5000", "held_idle_hours": null, "held_unmeasured_hours": "0.0001",
            "unallocated_hours": "3.0000", "unavailable_hours": "0.0000", "unobserved_hours": "0.0000", "coverage": "0.991200"}]});
        let charges = json!({"rows": [{"team": evil, "charge": "124800.50", "waste": null}, {"team": "nlp", "charge": "-3.00", "waste": "0.00"}]});
        let mut s = snapshot();
        s.figures = Figures {
            made_ms: Some(940_000),
            money: money(&charges),
            month: "2026-10".to_owned(),
            currency: "EUR".to_owned(),
            alerts: BTreeMap::from([("late_node", 2), ("gap", 0)]),
            latency_ms: Some(90_000),
            ..Figures::default()
        };
        (s.figures.classes, s.figures.coverage) = classes(&usage);
        let page = render(&s);
        let name = "a\\\"b\\\\c\\nd} 1 # {x=\\\"";
        for line in [
            format!("gpuledger_fleet_gpu_ms{{cluster=\"{name}\",class=\"busy\"}} 45000000"),
            format!("gpuledger_fleet_gpu_ms{{cluster=\"{name}\",class=\"held_unmeasured\"}} 360"),
            format!("gpuledger_fleet_coverage_ppm{{cluster=\"{name}\"}} 991200"),
            format!("gpuledger_charge_minor{{team=\"{name}\",month=\"2026-10\",currency=\"EUR\"}} 12480050"),
            "gpuledger_currency_digits{currency=\"EUR\"} 2".to_owned(),
            "gpuledger_charge_minor{team=\"nlp\",month=\"2026-10\",currency=\"EUR\"} -300".to_owned(),
            "gpuledger_alerts_standing{kind=\"gap\"} 0".to_owned(),
            "gpuledger_decision_latency_ms 90000".to_owned(),
        ] {
            assert!(page.contains(&format!("{line}\n")), "{line} is not in\n{page}");
        }
        assert!(!page.contains("class=\"held_idle\""), "what is unknown has no series\n{page}");
        assert!(!page.contains(&format!("gpuledger_waste_minor{{team=\"{name}\"")), "{page}");
        // every line is a comment or a series: no name made a line of its own
        assert!(page.lines().all(|l| l.starts_with("# ") || l.starts_with("gpuledger_")), "{page}");
    }
}
