//! What is told to whom and when: the month to finance and to each lead, the week's waste, half a year of the fleet, budgets, and what
//! stands wrong. Everything goes through the outbox of the control file: a message is known by its occasion, so that two rounds, two
//! servers or a restart post it once; the courier of `notify` delivers it or shows that it failed.
//!
//! Three loops: `tell` looks and posts, `mail` delivers, `alertmanager` says what stands; beside them runs the one that keeps figures for
//! `/metrics`. None of them computes a figure: documents are those that the command line prints.

mod alert;
mod budget;
mod figure;
mod half;
mod link;
mod month;
mod post;
mod read;
mod report;
mod undelivered;
mod week;
mod when;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpuledger_control::Control;
use gpuledger_notify::{Courier, Store, Texts, alertmanager};
use gpuledger_schema::table::ContactRow;
use serde::Deserialize;

use self::link::Links;
use self::post::Post;
use crate::state::{App, chain};

/// How often what stands wrong is looked at, and reports that are due, ms.
const LOOK_MS: u64 = 300_000;
/// How often messages that are due are delivered, ms.
const DELIVER_MS: u64 = 15_000;
/// How long after the start the first look is, ms: pages come first.
const FIRST_MS: u64 = 10_000;

/// `[tell]`: what is told, and from when on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether anything is told. False: nothing is looked at and posted; what is in the outbox is delivered.
    pub enabled: bool,
    /// Whether drafts of a month are told before it is closed.
    pub drafts: bool,
    /// A node is late whose newest minute is older, minutes.
    pub late_minutes: u32,
    /// A node has a gap of at least so many GPU-hours in two days.
    pub gap_gpu_hours: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: true, drafts: true, late_minutes: 30, gap_gpu_hours: 1 }
    }
}

/// What the loop remembers from one look to the next; all of it can be lost.
#[derive(Debug, Default)]
struct Memory {
    /// Reports that need not be looked at again.
    handled: BTreeSet<String>,
    /// Newest event of the outbox that was seen.
    event: i64,
}

/// Runs the loops that tell and deliver, until the server stops.
pub async fn run(app: App) {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let look = async {
        if app.settings().tell.enabled {
            tokio::select! {
                () = app.stop().wait() => return,
                () = tokio::time::sleep(Duration::from_millis(FIRST_MS)) => {}
            }
            app.run_loop("tell", LOOK_MS, |app| look(app, Arc::clone(&memory))).await;
        }
    };
    let deliver = app.run_loop("mail", DELIVER_MS, deliver);
    let alerts = async {
        if let Some(config) = &app.settings().notify.alertmanager {
            // told three times before an alert would end by itself
            let every_ms = (config.resolve_after_seconds * 1000 / 3).clamp(1_000, 60_000);
            app.run_loop("alertmanager", every_ms, say_what_stands).await;
        }
    };
    tokio::join!(look, deliver, alerts, crate::metrics::run(&app));
}

/// One look: what stands wrong, reports that are due, messages that failed. What it did, in words.
///
/// # Errors
/// What could not be told; the rest was.
pub async fn look_once(app: &App) -> Result<String, String> {
    look(app.clone(), Arc::default()).await
}

async fn look(app: App, memory: Arc<Mutex<Memory>>) -> Result<String, String> {
    let zone = app.settings().zone.ok_or("no billing_zone is configured: nothing is told")?;
    let texts = Texts::new().map_err(|e| chain(&e))?;
    let contacts = app.control(|control| control.rows::<ContactRow>()).await.map_err(|e| e.detail)?;
    let links = Links::new(app.settings().public_url.as_deref());
    let post = Post {
        app: &app,
        texts: &texts,
        config: &app.settings().notify,
        contacts: &contacts,
        links: &links,
        zone,
        now_ms: app.now_ms(),
    };
    let (mut said, mut trouble) = (Vec::new(), Vec::new());
    match alert::look(&post).await {
        Ok(looked) => {
            let stand: usize = looked.standing.values().sum();
            said.push(format!("{stand} alerts stand, {} messages of them posted", looked.posted));
            crate::metrics::note_alerts(&app, &looked.standing, app.answers().place().await.known_to_ms);
        }
        Err(why) => trouble.push(format!("alerts: {why}")),
    }
    let (mut handled, event) = {
        let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        (memory.handled.clone(), memory.event)
    };
    let (reports, failed) = report::due(&post, &mut handled).await;
    said.extend(reports);
    trouble.extend(failed);
    let undelivered = undelivered::tell(&post, event).await;
    let event = match undelivered {
        Ok((posted, event)) => {
            if posted > 0 {
                said.push(format!("{posted} messages about messages that did not arrive"));
            }
            event
        }
        Err(why) => {
            trouble.push(format!("undelivered: {why}"));
            event
        }
    };
    *memory.lock().unwrap_or_else(PoisonError::into_inner) = Memory { handled, event };
    if trouble.is_empty() { Ok(said.join("; ")) } else { Err(trouble.join("; ")) }
}

/// The control file for the courier. Calls that open it block.
async fn store(app: &App) -> Result<Store, String> {
    let path = app.control_path().to_owned();
    let opened = tokio::task::spawn_blocking(move || Control::open(&path)).await;
    opened.map_err(|_| "the control file was not opened".to_owned())?.map(Store::new).map_err(|e| chain(&e))
}

/// Delivers what is due. What it did, in words.
///
/// # Errors
/// The control file. What mail servers and webhooks said stands with the messages.
pub async fn deliver(app: App) -> Result<String, String> {
    let clock = {
        let app = app.clone();
        Arc::new(move || app.now_ms())
    };
    let owner = format!("server-{}", app.events().run());
    let courier = Courier::new(store(&app).await?, app.settings().notify.clone(), owner, clock);
    let round = courier.round().await.map_err(|e| chain(&e))?;
    if round.delivered + round.failed > 0 {
        let data = serde_json::json!({"delivered": round.delivered, "failed": round.failed});
        app.events().tell("outbox", crate::event::Audience::Staff, app.now_ms(), data);
    }
    Ok(format!(
        "{} delivered, {} later, {} failed, {} in doubt, {} wait for working hours",
        round.delivered, round.later, round.failed, round.doubts, round.deferred
    ))
}

async fn say_what_stands(app: App) -> Result<String, String> {
    let config = app.settings().notify.alertmanager.clone().ok_or("no Alertmanager is configured")?;
    let told = alertmanager::tell(&store(&app).await?, &config, app.now_ms()).await.map_err(|e| chain(&e))?;
    Ok(format!("{told} alerts told"))
}
