//! What the engine needs of everything outside it, as traits: tests and the real thing stand behind the same ones.

use async_trait::async_trait;
use gpuledger_schema::reclaim::{ActKind, Allocation, Case, CaseEvent, Past, Snapshot, Switches};

use crate::letter::Letter;
use crate::plan::Alert;

/// Why something outside did not answer. Nothing is inferred from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Unreachable {
    /// What was asked.
    pub what: String,
    /// Why there is no answer.
    pub why: String,
}

/// Looks at the world: readings, ticks and verdicts as they are now.
#[async_trait]
pub trait World: Send {
    /// A fresh snapshot. Its cases, switches and past are those of the [`Store`], and need not be filled.
    ///
    /// # Errors
    /// Where something could not be looked at; then nothing is done.
    async fn look(&mut self) -> Result<Snapshot, Unreachable>;
}

/// What a scheduler said to what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It took it. The words are the proof; they do not say that a GPU is free.
    Taken {
        /// What was asked and answered.
        proof: String,
    },
    /// It asks to wait.
    Wait {
        /// How long, ms.
        pause_ms: i64,
        /// Why.
        why: String,
    },
    /// What was meant is not there any more, or is another: nothing was done.
    Changed {
        /// What was found.
        why: String,
    },
}

/// Why a scheduler could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// It refused, or could not be reached: nothing was done.
    #[error("nothing was done: {0}")]
    NotDone(String),
    /// Nobody can say whether it was done.
    #[error("it may have been done: {0}")]
    Maybe(String),
}

/// Asks schedulers. The only things that may stop work stand behind this trait.
#[async_trait]
pub trait Actuator: Send {
    /// Asks a run for a checkpoint by a signal.
    ///
    /// # Errors
    /// Where it could not be asked, or nobody can say whether it was.
    async fn signal(&mut self, whom: &Allocation, signal: &str, to_batch: bool) -> Result<Said, ActError>;

    /// Asks the scheduler to free it.
    ///
    /// # Errors
    /// Where it could not be asked, or nobody can say whether it was.
    async fn order(&mut self, whom: &Allocation, act: ActKind, resume_nice: Option<i64>) -> Result<Said, ActError>;
}

/// A delivery: what the other side said when it took a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where it went.
    pub to: String,
    /// The answer, e.g. `250 2.0.0 Ok: queued as 4F1` or `HTTP 202`.
    pub proof: String,
}

/// Brings letters and alerts to people.
#[async_trait]
pub trait Notifier: Send {
    /// Sends a letter to the owner. Only what the other side took is delivered.
    ///
    /// # Errors
    /// Where it was not taken.
    async fn send(&mut self, letter: &Letter) -> Result<Delivery, Unreachable>;

    /// Tells on-call. A failure is for the log: it stops nothing and starts nothing.
    ///
    /// # Errors
    /// Where it was not taken.
    async fn alert(&mut self, alert: &Alert) -> Result<(), Unreachable>;
}

/// Why the store did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another server leads.
    #[error("another server leads")]
    NotLeader,
    /// The case has moved, or the move is none.
    #[error("{0}")]
    Refused(String),
    /// The file.
    #[error("{0}")]
    Failed(String),
}

/// Keeps cases, the lease, switches and plans.
pub trait Store: Send {
    /// Leads for a while: the fence to write with; none while another does.
    ///
    /// # Errors
    /// Where the store failed.
    fn lead(&mut self, now_ms: i64, ttl_ms: i64) -> Result<Option<i64>, StoreError>;

    /// Cases that are not over, by id.
    ///
    /// # Errors
    /// Where the store failed.
    fn open_cases(&self) -> Result<Vec<Case>, StoreError>;

    /// Opens a case.
    ///
    /// # Errors
    /// Where another leads, or there is an open case.
    fn open(&mut self, fence: i64, case: &Case, event: &CaseEvent) -> Result<(), StoreError>;

    /// Moves a case. Without a fence it is a person's answer.
    ///
    /// # Errors
    /// Where another leads, the case has moved, or the move is none.
    fn move_case(&mut self, fence: Option<i64>, case: &Case, event: &CaseEvent) -> Result<Case, StoreError>;

    /// What was asked of schedulers after an instant.
    ///
    /// # Errors
    /// Where the store failed.
    fn past(&self, from_ms: i64) -> Result<Vec<Past>, StoreError>;

    /// What is switched.
    ///
    /// # Errors
    /// Where the store failed; then nothing is done.
    fn switches(&self) -> Result<Switches, StoreError>;

    /// Opens the breaker until somebody resets it.
    ///
    /// # Errors
    /// Where the store failed.
    fn trip(&mut self, now_ms: i64, why: &str) -> Result<(), StoreError>;

    /// Keeps a policy book as it was read. The same text is kept once.
    ///
    /// # Errors
    /// Where the store failed.
    fn keep_policy(&mut self, hash: &str, at_ms: i64, text: &str) -> Result<(), StoreError>;

    /// Keeps a plan.
    ///
    /// # Errors
    /// Where the store failed.
    fn keep_plan(&mut self, hash: &str, made_ms: i64, body: &str) -> Result<(), StoreError>;

    /// Whether people are to be told of something, or were told lately. Takes note that they are.
    ///
    /// # Errors
    /// Where the store failed.
    fn is_news(&mut self, name: &str, text: &str, now_ms: i64) -> Result<bool, StoreError>;

    /// Forgets that they are told: nobody took it.
    ///
    /// # Errors
    /// Where the store failed.
    fn not_told(&mut self, name: &str) -> Result<(), StoreError>;
}

/// The time.
pub trait Clock: Send + Sync {
    /// Now, epoch ms.
    fn now_ms(&self) -> i64;
}
