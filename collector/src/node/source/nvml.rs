//! The driver's library as a source: cards polled every few seconds, looked at whole every minute.
//!
//! Each card has a thread of its own, so that one that hangs keeps nobody waiting beyond a deadline. A card that is
//! lost is asked for again from time to time while the others go on. When the library itself needs a new start it gets
//! one, with longer and longer pauses, unless a thread is still inside it or the driver was exchanged below it: then
//! only a new process helps, and the [`Outcome`] says so.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpuledger_native::{Code, Error, Library, clock};

use self::card::{Answer, Order, Reader, Trouble};
use self::look::{CardMinute, CardPoll};
use self::pause::Pause;
use crate::node::config::Accounting;
use crate::node::seen::{Absent, Clock};
use crate::node::tick::CardState;
use crate::node::worker::{Waited, Worker};

mod accounts;
mod activity;
mod card;
mod counter;
mod instance;
pub mod last_seen;
mod limit;
pub mod look;
mod pause;
mod rates;
mod xid;

/// How the source is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The library's file, by absolute path; else the loader's own search.
    pub library: Option<PathBuf>,
    /// How long a card may take to answer before it counts as hung.
    pub deadline: Duration,
    /// What is done about the driver's own accounts.
    pub accounting: Accounting,
}

/// Whether the process can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It can.
    Go,
    /// Only a new process helps; why.
    Exit(String),
}

/// A look at one card, or how it was when there was none.
#[derive(Debug, Clone)]
pub struct Looked<T> {
    /// The driver's UUID.
    pub uuid: String,
    /// What was seen.
    pub seen: Result<T, CardState>,
    /// Last Xid of a card that could not be read, where one came.
    pub last_xid: Option<i64>,
}

/// Why the source could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The library does not load or start.
    #[error("cannot open the driver's library")]
    Library(#[source] Error),
    /// A thread could not be started.
    #[error("cannot start the thread of {uuid}")]
    Thread {
        /// Card.
        uuid: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// The driver's library with its cards.
#[derive(Debug)]
pub struct Nvml {
    library: Library,
    clock: Arc<dyn Clock>,
    settings: Settings,
    cards: Vec<Card>,
    unnamed: Vec<String>,
    restart: Option<Pause>,
    outcome: Outcome,
}

/// A card and its thread.
#[derive(Debug)]
struct Card {
    uuid: String,
    worker: Worker<Order, Answer>,
    state: CardState,
    last_xid: Option<i64>,
    /// When a lost card is asked for again.
    retry: Option<Pause>,
}

impl std::fmt::Debug for dyn Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

impl Nvml {
    /// Loads the library and finds the cards. A card that cannot even be named is in [`Nvml::unnamed`].
    pub fn open(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let library = Library::load(settings.library.as_deref()).map_err(OpenError::Library)?;
        let mut cards = Vec::new();
        let mut unnamed = Vec::new();
        for index in 0..library.device_count().map_err(OpenError::Library)? {
            let uuid = match library.device_by_index(index).and_then(|d| d.uuid()) {
                Ok(uuid) => uuid,
                Err(error) => {
                    unnamed.push(format!("GPU {index}: {error}"));
                    continue;
                }
            };
            let mut reader = Reader::new(library, &uuid, settings.accounting, Arc::clone(&clock));
            let worker = Worker::start(&format!("gpu {index}"), move |order| reader.answer(order))
                .map_err(|source| OpenError::Thread { uuid: uuid.clone(), source })?;
            cards.push(Card { uuid, worker, state: CardState::Ok, last_xid: None, retry: None });
        }
        Ok(Self { library, clock, settings, cards, unnamed, restart: None, outcome: Outcome::Go })
    }

    /// Cards that could not be named when the library was opened, and why: no row can speak of them.
    pub fn unnamed(&self) -> &[String] {
        &self.unnamed
    }

    /// The library, for `doctor` and for counts of calls.
    pub const fn library(&self) -> Library {
        self.library
    }

    /// Whether the process can go on.
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// UUIDs of cards whose thread is inside a call that does not come back.
    pub fn stuck(&mut self) -> Vec<String> {
        self.cards.iter_mut().filter_map(|c| c.worker.is_stuck().then(|| c.uuid.clone())).collect()
    }

    /// Who uses each card now.
    pub fn poll(&mut self) -> Vec<Looked<CardPoll>> {
        self.look(Order::Poll, |answer| match answer {
            Answer::Poll(poll) => Some(poll.map(|p| *p)),
            Answer::Minute(_) | Answer::Reopened(_) => None,
        })
    }

    /// What each card is and how it is, at the end of a tick.
    pub fn minute(&mut self) -> Vec<Looked<CardMinute>> {
        self.look(Order::Minute, |answer| match answer {
            Answer::Minute(minute) => Some(minute.map(|m| *m)),
            Answer::Poll(_) | Answer::Reopened(_) => None,
        })
    }

    /// Gives every card that can take it an order, and waits for all answers together.
    fn look<T>(&mut self, order: Order, read: fn(Answer) -> Option<Result<T, Trouble>>) -> Vec<Looked<T>> {
        self.restart_if_due();
        let now_ms = self.clock.now().boot_ms;
        let mut given = Vec::new();
        for card in &mut self.cards {
            let reopen = card.retry.as_ref().is_some_and(|r| r.is_due(now_ms));
            let skip = card.retry.is_some() && !reopen;
            let taken = !skip && card.worker.order(if reopen { Order::Reopen } else { order });
            if !skip && !taken {
                card.state = CardState::Hung;
            }
            given.push(taken);
        }
        let until_us = clock::monotonic_us() + self.settings.deadline.as_micros() as u64;
        let mut out = Vec::new();
        for (at, given) in given.into_iter().enumerate() {
            let patience = Duration::from_micros(until_us.saturating_sub(clock::monotonic_us()));
            // whoever is stuck was waited for once, and is not waited for again
            let seen = if given { self.answer(at, patience, now_ms, read) } else { Err(self.cards[at].state.clone()) };
            let card = &self.cards[at];
            let last_xid = if seen.is_err() { card.last_xid } else { None };
            out.push(Looked { uuid: card.uuid.clone(), seen, last_xid });
        }
        out
    }

    /// What one card answers in time, and what that makes of it.
    fn answer<T>(
        &mut self,
        at: usize,
        patience: Duration,
        now_ms: i64,
        read: fn(Answer) -> Option<Result<T, Trouble>>,
    ) -> Result<T, CardState> {
        let card = &mut self.cards[at];
        let answer = match card.worker.answer(patience) {
            Waited::Answer(answer) => answer,
            Waited::Late => {
                card.state = CardState::Hung;
                return Err(CardState::Hung);
            }
            Waited::None => return Err(card.state.clone()),
        };
        if let Answer::Reopened(reopened) = answer {
            match reopened {
                Ok(()) => (card.state, card.retry, card.last_xid) = (CardState::Ok, None, None),
                Err(_) => card.retry = card.retry.take().map(|r| r.longer(now_ms)),
            }
            // it is looked at from the next time on
            return Err(if card.retry.is_some() {
                card.state.clone()
            } else {
                CardState::Error("found again".to_owned())
            });
        }
        match read(answer) {
            Some(Ok(seen)) => {
                card.state = CardState::Ok;
                Ok(seen)
            }
            Some(Err(trouble)) => Err(self.trouble(at, trouble, now_ms)),
            None => Err(CardState::Error("answered another question".to_owned())),
        }
    }

    fn trouble(&mut self, at: usize, trouble: Trouble, now_ms: i64) -> CardState {
        let card = &mut self.cards[at];
        card.last_xid = trouble.xid.or(card.last_xid);
        card.state = match trouble.why {
            Absent::Lost => CardState::Lost,
            Absent::NotPermitted => CardState::NotPermitted,
            why => CardState::Error(why.to_string()),
        };
        if card.state == CardState::Lost {
            card.retry = Some(Pause::first(now_ms));
            // one lost card is asked for again; when all are, it is the driver that went away
            if self.restart.is_none() && self.cards.iter().all(|c| c.state == CardState::Lost) {
                self.restart = Some(Pause::first(now_ms));
            }
        }
        if let (Some(code), None) = (trouble.restart, &self.restart) {
            tracing::warn!(code = code.0, "the driver's library needs a new start");
            self.restart = Some(Pause::now(now_ms));
        }
        self.cards[at].state.clone()
    }

    /// Starts the library again where that is needed and its time has come.
    fn restart_if_due(&mut self) {
        let now_ms = self.clock.now().boot_ms;
        let Some(pause) = self.restart.take_if(|p| p.is_due(now_ms)) else { return };
        let stuck = self.stuck();
        if !stuck.is_empty() {
            self.outcome = Outcome::Exit(format!("the library must start again, but {} hangs in it", stuck.join(", ")));
            return;
        }
        match self.library.restart() {
            Ok(()) => {
                for card in &mut self.cards {
                    card.retry = Some(Pause::now(now_ms));
                }
            }
            Err(error) if error.code() == Some(Code::VERSION_MISMATCH) => {
                self.outcome = Outcome::Exit(format!("the driver was exchanged below this process: {error}"));
            }
            Err(error) => {
                tracing::warn!(error = %error, "the driver's library does not start again");
                self.restart = Some(pause.longer(now_ms));
            }
        }
    }
}
