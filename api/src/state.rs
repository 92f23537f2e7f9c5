//! What every handler and loop of a server shares.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono_tz::Tz;
use gpuledger_control::{Control, ControlError};
use serde::Serialize;
use tokio::sync::{Notify, watch};

use crate::answer::{Act, Answers};
use crate::event::{Audience, Events, Moved};
use crate::page::Desk;
use crate::problem::Problem;
use crate::who::Who;

/// The clock that a server is lent.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// What a server is told of its place.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The billing zone.
    pub zone: Option<Tz>,
    /// Address under which people reach the pages, without a slash at its end: what mails link to.
    pub public_url: Option<String>,
    /// Users are shown under pseudonyms to whom they are not.
    pub pseudonyms: bool,
    /// Largest body of a request, but for segments.
    pub body_bytes: usize,
    /// Largest segment that a node may bring.
    pub segment_bytes: usize,
    /// Version of the program.
    pub version: String,
    /// Seconds that requests in flight are given at the end.
    pub grace_s: u64,
    /// Mail server, webhooks, Alertmanager, work calendars: `[notify]`.
    pub notify: gpuledger_notify::config::NotifyConfig,
    /// What is told when: `[tell]`.
    pub tell: crate::tell::Settings,
}

/// What handlers and loops share; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    answers: Arc<dyn Answers>,
    settings: Settings,
    control: PathBuf,
    clock: Clock,
    events: Events,
    moved: Moved,
    loops: Loops,
    served: Served,
    figures: crate::metrics::Kept,
    desk: Desk,
    tokens: AtomicU64,
    stop: Stop,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

impl App {
    /// Puts together what is shared.
    pub fn new(answers: Arc<dyn Answers>, settings: Settings, control: PathBuf, clock: Clock, stop: Stop) -> Self {
        let run = clock().unsigned_abs();
        let (events, loops) = (Events::new(run), Loops::default());
        let (served, figures) = (Served::default(), crate::metrics::Kept::default());
        let (desk, tokens, moved) = (Desk::default(), AtomicU64::new(0), Moved::default());
        let shared =
            Shared { answers, settings, control, clock, events, moved, loops, served, figures, desk, tokens, stop };
        Self(Arc::new(shared))
    }

    /// Who answers.
    pub fn answers(&self) -> &dyn Answers {
        &*self.0.answers
    }

    /// Settings.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Now, epoch ms.
    pub fn now_ms(&self) -> i64 {
        (self.0.clock)()
    }

    /// Events.
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    /// Loops.
    pub fn loops(&self) -> &Loops {
        &self.0.loops
    }

    /// Figures that loops keep for `/metrics`.
    pub fn figures(&self) -> &crate::metrics::Kept {
        &self.0.figures
    }

    /// Does something for somebody; what was answered before does not count any more.
    ///
    /// # Errors
    /// As [`Answers::act`].
    pub async fn act(&self, who: &Who, act: &Act) -> Result<serde_json::Value, Problem> {
        let (app, who, act) = (self.clone(), who.clone(), act.clone());
        // it is done also where who asked goes away meanwhile, and then answers are others, too
        let work = async move {
            let done = app.answers().act(&who, &act).await;
            if !matches!(act, Act::Import { dry_run: true, .. }) {
                app.desk().forget();
            }
            if matches!(act, Act::Case { .. }) {
                app.look_at_cases().await;
            }
            done
        };
        let ended = tokio::spawn(work).await;
        ended.unwrap_or_else(|_| {
            Err(Problem::fault("what was asked was stopped by a fault of its own; the log says more"))
        })
    }

    /// Cases that were told of.
    pub(crate) fn moved(&self) -> &Moved {
        &self.0.moved
    }

    /// What pages remember of questions that they asked.
    pub(crate) fn desk(&self) -> &Desk {
        &self.0.desk
    }

    /// What was served since the start.
    pub fn served(&self) -> &Served {
        &self.0.served
    }

    /// A token was made or taken back, or something was written beside the routes: what is remembered of tokens does not count, and no
    /// answer from before.
    pub fn forget_tokens(&self) {
        self.0.tokens.fetch_add(1, Ordering::Relaxed);
        self.desk().forget();
    }

    /// How often tokens changed since the start.
    pub(crate) fn tokens_changed(&self) -> u64 {
        self.0.tokens.load(Ordering::Relaxed)
    }

    /// Whether the server is to end.
    pub fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Path of the control file.
    pub fn control_path(&self) -> &std::path::Path {
        &self.0.control
    }

    /// Reads the control file beside the runtime; absent: nothing was ever written into one.
    ///
    /// # Errors
    /// The control file cannot be opened, or what `work` gives.
    pub async fn look<T, E>(
        &self,
        work: impl FnOnce(&Control) -> Result<T, E> + Send + 'static,
    ) -> Result<Option<T>, Problem>
    where
        T: Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let path = self.0.control.clone();
        let done = tokio::task::spawn_blocking(move || {
            if !path.exists() {
                return Ok(None);
            }
            let control = Control::open_read_only(&path).map_err(|e| Problem::unavailable(chain(&e)))?;
            work(&control).map(Some).map_err(|e| Problem::unavailable(chain(&*e.into())))
        });
        done.await.map_err(|_| Problem::fault("a task of the control file was stopped by a fault of its own"))?
    }

    /// Changes the control file beside the runtime; each call opens it and waits for another writer for a while.
    ///
    /// # Errors
    /// The control file cannot be opened, or what `work` gives.
    pub async fn control<T, E>(
        &self,
        work: impl FnOnce(&mut Control) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let path = self.0.control.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut control = Control::open(&path).map_err(|e: ControlError| Problem::unavailable(chain(&e)))?;
            work(&mut control).map_err(|e| Problem::unavailable(chain(&*e.into())))
        });
        done.await.map_err(|_| Problem::fault("a task of the control file was stopped by a fault of its own"))?
    }
}

/// An error with everything that led to it, said once.
pub fn chain(e: &dyn std::error::Error) -> String {
    let mut said = e.to_string();
    let mut cause = e.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !said.contains(&text) {
            said.push_str(": ");
            said.push_str(&text);
        }
        cause = inner.source();
    }
    said
}

/// Requests that were answered, by the beginning of their path and their status.
#[derive(Debug, Default)]
pub struct Served(Mutex<BTreeMap<(String, u16), Count>>);

/// How many, and how long they took together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Requests.
    pub requests: u64,
    /// Milliseconds from the request to the head of its answer, over all.
    pub took_ms: i64,
}

impl Served {
    /// Counts one. Paths that are nothing here are counted together, so that nobody can fill the memory with them.
    pub fn count(&self, path: &str, status: u16, took_ms: i64) {
        let of = if path.starts_with("/api/v1/") { 3 } else { 1 };
        let named: String = path.split('/').skip(1).take(of).flat_map(|part| ["/", part]).collect();
        let named = if status == 404 || status == 405 { "other".to_owned() } else { named };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry((named, status)).or_default();
        count.requests += 1;
        count.took_ms += took_ms;
    }

    /// All counts.
    pub fn all(&self) -> BTreeMap<(String, u16), Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Tells everything that runs when to end.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Stop {
    /// Asks everything to end.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was asked.
    pub fn asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is asked.
    pub async fn wait(&self) {
        let mut heard = self.0.subscribe();
        let _ = heard.wait_for(|stop| *stop).await;
    }
}

/// How a loop is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LoopState {
    /// Rounds that ended well since the start.
    pub rounds: u64,
    /// Rounds that failed.
    pub failed: u64,
    /// Start of the round that runs, epoch ms.
    pub running_since_ms: Option<i64>,
    /// End of the last round, epoch ms.
    pub last_end_ms: Option<i64>,
    /// How long it took.
    pub last_took_ms: Option<i64>,
    /// What the last round did, in words.
    pub last_said: Option<String>,
    /// Why the last round failed; absent: it did not.
    pub trouble: Option<String>,
    /// Milliseconds from the end of a round to the next.
    pub every_ms: u64,
}

#[derive(Debug)]
struct Known {
    state: LoopState,
    wake: Arc<Notify>,
}

/// The loops of a server: `ingest`, `check`, `tell`, `reclaim` ... each visible, each to be started at once.
#[derive(Debug, Clone, Default)]
pub struct Loops(Arc<Mutex<BTreeMap<&'static str, Known>>>);

impl Loops {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<&'static str, Known>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How each is.
    pub fn all(&self) -> BTreeMap<&'static str, LoopState> {
        self.with(|all| all.iter().map(|(name, known)| (*name, known.state.clone())).collect())
    }

    /// Starts a round at once, or as soon as the one that runs has ended. False: there is no such loop.
    pub fn wake(&self, name: &str) -> bool {
        self.with(|all| all.get(name).map(|known| known.wake.notify_one()).is_some())
    }
}

impl App {
    /// Runs a loop until the server stops: a round at once, then one every `every_ms` and whenever it is woken. A round that
    /// fails, or is stopped by a fault of its own, is shown and the next one comes in its time.
    pub async fn run_loop<F, R>(&self, name: &'static str, every_ms: u64, mut round: F)
    where
        F: FnMut(App) -> R + Send,
        R: Future<Output = Result<String, String>> + Send + 'static,
    {
        let wake = Arc::new(Notify::new());
        let state = LoopState { every_ms, ..LoopState::default() };
        self.loops().with(|all| all.insert(name, Known { state, wake: Arc::clone(&wake) }));
        while !self.stop().asked() {
            let began_ms = self.now_ms();
            self.note(name, |s| s.running_since_ms = Some(began_ms));
            let ended = match tokio::spawn(round(self.clone())).await {
                Ok(ended) => ended,
                Err(fault) if fault.is_panic() => Err("the round was stopped by a fault of its own".to_owned()),
                Err(_) => return,
            };
            let now_ms = self.now_ms();
            let trouble = ended.as_ref().err().cloned();
            let before = self.loops().with(|all| all.get(name).and_then(|k| k.state.trouble.clone()));
            self.note(name, |s| {
                s.running_since_ms = None;
                s.last_end_ms = Some(now_ms);
                s.last_took_ms = Some(now_ms - began_ms);
                match ended {
                    Ok(said) => (s.rounds, s.last_said, s.trouble) = (s.rounds + 1, Some(said), None),
                    Err(why) => (s.failed, s.trouble) = (s.failed + 1, Some(why)),
                }
            });
            if before != trouble {
                match &trouble {
                    Some(why) => tracing::error!(name, why, "a loop is in trouble"),
                    None => tracing::info!(name, "a loop is well again"),
                }
                let data = serde_json::json!({"loop": name, "well": trouble.is_none()});
                self.events().tell("loop", Audience::All, now_ms, data);
            }
            tokio::select! {
                () = self.stop().wait() => {}
                () = wake.notified() => {}
                () = tokio::time::sleep(std::time::Duration::from_millis(every_ms)) => {}
            }
        }
    }

    fn note(&self, name: &'static str, change: impl FnOnce(&mut LoopState)) {
        self.loops().with(|all| {
            if let Some(known) = all.get_mut(name) {
                change(&mut known.state);
            }
        });
    }
}
