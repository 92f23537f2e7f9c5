//! The courier: delivers what is due. Mail over one connection, webhooks side by side, each by its own address, so that a
//! slow or dead one holds up nobody else.
//!
//! Of every message exactly one sender holds the lease, and it says that it begins right before it gives the mail over: what
//! happens before is proved not to have been sent. What happens after, and leaves no answer, is a doubt: the message is sent
//! again with the same Message-ID (webhooks: delivery id), by which a server or a reader drops it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::join_all;
use gpuledger_control::{Claim, ControlError, Lease, Message, Outcome};

use crate::calendar::WorkCalendar;
use crate::config::NotifyConfig;
use crate::mail::{self, Mail};
use crate::smtp::{Refusal, Session};
use crate::store::Store;
use crate::webhook::{Hook, Told};

/// How long a claimed message is nobody else's, ms. It is only claimed, not sent: a lease that is lost costs nothing.
const LEASE_MS: i64 = 120_000;
/// How much longer than its own deadline a sender keeps a message that it is sending, ms: clocks of two servers differ.
const MARGIN_MS: i64 = 60_000;
/// Messages that are claimed at once.
const BATCH: usize = 20;
/// Batches of a round: the loop looks up in between.
const BATCHES_MAX: usize = 50;
/// First wait after a try, and the longest one, ms; shorter for what is urgent.
const BACKOFF_MS: (i64, i64, i64) = (60_000, 3_600_000, 600_000);

/// How often a record is tried while somebody else writes; each waits some seconds.
const RECORD_TRIES: u32 = 10;

/// Lends the time, epoch ms.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// What a round did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Round {
    /// Taken by the server of the recipient.
    pub delivered: usize,
    /// To be tried again.
    pub later: usize,
    /// Given up by the recipient's server.
    pub failed: usize,
    /// Nobody knows; to be tried again.
    pub doubts: usize,
    /// Waiting for their calendar.
    pub deferred: usize,
    /// Lost to another sender before anything was sent.
    pub lost: usize,
}

impl Round {
    fn add(&mut self, other: Self) {
        self.delivered += other.delivered;
        self.later += other.later;
        self.failed += other.failed;
        self.doubts += other.doubts;
        self.deferred += other.deferred;
        self.lost += other.lost;
    }

    fn count(&mut self, outcome: &Outcome) {
        let of = match outcome {
            Outcome::Delivered { .. } => &mut self.delivered,
            Outcome::Retry { .. } => &mut self.later,
            Outcome::Doubt { .. } => &mut self.doubts,
            Outcome::Failed { .. } => &mut self.failed,
            Outcome::Deferred { .. } => &mut self.deferred,
            Outcome::Released => &mut self.lost,
        };
        *of += 1;
    }
}

/// How long to wait after so many tries, ms: twice as long each time, with an end.
pub fn backoff_ms(tries: i64, urgent: bool) -> i64 {
    let (first, longest, urgent_longest) = BACKOFF_MS;
    let doublings = u32::try_from(tries.clamp(1, 16) - 1).unwrap_or(0);
    (first << doublings).min(if urgent { urgent_longest } else { longest })
}

/// Delivers what is due.
pub struct Courier {
    store: Store,
    config: NotifyConfig,
    calendars: BTreeMap<String, WorkCalendar>,
    owner: String,
    clock: Clock,
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Courier {
    /// A courier. `owner` is its name in the whole installation and differs with each start of a server. Of the
    /// configuration it uses what is right; [`NotifyConfig::check`] says what is not.
    pub fn new(store: Store, config: NotifyConfig, owner: String, clock: Clock) -> Self {
        let (calendars, _) = config.check();
        Self { store, config, calendars, owner, clock }
    }

    /// Delivers what is due now.
    ///
    /// # Errors
    ///
    /// What is wrong with the control file. Whatever is wrong with servers is recorded with the messages.
    pub async fn round(&self) -> Result<Round, ControlError> {
        let (mail, webhooks) = tokio::join!(self.mails(), self.webhooks());
        let mut round = mail?;
        round.add(webhooks?);
        Ok(round)
    }

    async fn mails(&self) -> Result<Round, ControlError> {
        let mut round = Round::default();
        let mut session = None;
        for _ in 0..BATCHES_MAX {
            let batch = self.claim("mail").await?;
            if batch.is_empty() {
                break;
            }
            let reachable = self.mail_batch(batch, &mut session, &mut round).await?;
            if !reachable {
                break;
            }
        }
        if let Some(session) = session {
            session.close().await;
        }
        Ok(round)
    }

    /// Sends a batch of mails. False where there is no session: the rest of the outbox waits for the next round.
    async fn mail_batch(
        &self,
        batch: Vec<Message>,
        session: &mut Option<Session>,
        round: &mut Round,
    ) -> Result<bool, ControlError> {
        let mut unreachable: Option<String> = None;
        for message in batch {
            if let Some(due_ms) = self.waits_until(&message) {
                self.record(&message, Outcome::Deferred { due_ms }, round).await?;
                continue;
            }
            let Some(config) = &self.config.mail else {
                let answer = "no mail server is configured: add a table [notify.mail]".to_owned();
                self.record(&message, self.again(&message, answer, None), round).await?;
                continue;
            };
            let id = message.message_id;
            let attachments = self.store.call(move |control| control.attachments(id)).await?;
            let mail = match mail::build(config, &message, &attachments) {
                Ok(mail) => mail,
                Err(e) => {
                    self.record(&message, Outcome::Failed { answer: e.to_string() }, round).await?;
                    continue;
                }
            };
            if unreachable.is_none() && session.as_ref().is_none_or(Session::is_broken) {
                match Session::open(config).await {
                    Ok(open) => *session = Some(open),
                    Err(e) => {
                        tracing::warn!(error = %e, "no session with the mail server");
                        unreachable = Some(e.to_string());
                    }
                }
            }
            match (&unreachable, session.as_mut()) {
                (None, Some(session)) => self.mail_one(&message, &mail, session, round).await?,
                (reason, _) => {
                    let answer = reason.clone().unwrap_or_else(|| "there is no session".to_owned());
                    self.record(&message, self.again(&message, answer, None), round).await?;
                }
            }
        }
        Ok(unreachable.is_none())
    }

    async fn mail_one(
        &self,
        message: &Message,
        mail: &Mail,
        session: &mut Session,
        round: &mut Round,
    ) -> Result<(), ControlError> {
        let outcome = match session.address(&mail.envelope).await {
            Err(refusal) => self.refused(message, refusal),
            Ok(()) => {
                let seconds = self.config.mail.as_ref().map_or(0, |m| m.timeout_seconds);
                if !self.begin(message, seconds).await? {
                    session.forget().await;
                    round.lost += 1;
                    return Ok(());
                }
                match session.content(&mail.bytes).await {
                    Ok(answer) => Outcome::Delivered { answer },
                    Err(refusal) => self.refused(message, refusal),
                }
            }
        };
        self.record(message, outcome, round).await
    }

    fn refused(&self, message: &Message, refusal: Refusal) -> Outcome {
        match refusal {
            Refusal::Later(answer) | Refusal::Lost(answer) => self.again(message, answer, None),
            Refusal::Never(answer) => Outcome::Failed { answer },
            Refusal::Unknown(answer) => Outcome::Doubt { answer, due_ms: self.next(message, None) },
        }
    }

    async fn webhooks(&self) -> Result<Round, ControlError> {
        let mut round = Round::default();
        for _ in 0..BATCHES_MAX {
            let batch = self.claim("webhook").await?;
            if batch.is_empty() {
                break;
            }
            let mut by_address: BTreeMap<String, Vec<Message>> = BTreeMap::new();
            for message in batch {
                by_address.entry(message.address.clone()).or_default().push(message);
            }
            let lanes = by_address.into_iter().map(|(name, messages)| self.webhook(name, messages));
            for lane in join_all(lanes).await {
                round.add(lane?);
            }
        }
        Ok(round)
    }

    /// Tells messages to one webhook, in order; after one that could not be told now, the rest is given back.
    async fn webhook(&self, name: String, messages: Vec<Message>) -> Result<Round, ControlError> {
        let mut round = Round::default();
        let mut wait: Option<(String, Option<i64>)> = None;
        let hook = match self.config.webhook.get(&name) {
            Some(config) => Hook::open(&name, config).map(|hook| (hook, config.timeout_seconds)),
            None => Err(format!("no webhook `{name}` is configured: add a table [notify.webhook.{name}]")),
        };
        for message in messages {
            if let Some(due_ms) = self.waits_until(&message) {
                self.record(&message, Outcome::Deferred { due_ms }, &mut round).await?;
                continue;
            }
            if let Some((reason, after_ms)) = &wait {
                self.record(&message, self.again(&message, reason.clone(), *after_ms), &mut round).await?;
                continue;
            }
            let (hook, timeout_s) = match &hook {
                Ok((hook, timeout_s)) => (hook, *timeout_s),
                Err(why) => {
                    self.record(&message, self.again(&message, why.clone(), None), &mut round).await?;
                    continue;
                }
            };
            if !self.begin(&message, timeout_s).await? {
                round.lost += 1;
                continue;
            }
            let outcome = match hook.tell(&message, (self.clock)()).await {
                Told::Taken(answer) => Outcome::Delivered { answer },
                Told::Refused(answer) => Outcome::Failed { answer },
                // a receiver that gave no answer gets nothing more in this round: each would be a doubt
                Told::Unknown(answer) => {
                    wait = Some((answer.clone(), None));
                    Outcome::Doubt { answer, due_ms: self.next(&message, None) }
                }
                Told::Later(answer, after_ms) => {
                    wait = Some((answer.clone(), after_ms));
                    self.again(&message, answer, after_ms)
                }
            };
            self.record(&message, outcome, &mut round).await?;
        }
        Ok(round)
    }

    async fn claim(&self, channel: &'static str) -> Result<Vec<Message>, ControlError> {
        let claim =
            Claim { owner: self.owner.clone(), channel, now_ms: (self.clock)(), lease_ms: LEASE_MS, limit: BATCH };
        self.store.call(move |control| control.claim(&claim)).await
    }

    fn lease(&self, message: &Message) -> Lease {
        Lease { message_id: message.message_id, owner: self.owner.clone() }
    }

    /// Says that a message is being sent; false where somebody else has it.
    async fn begin(&self, message: &Message, timeout_s: u64) -> Result<bool, ControlError> {
        let (lease, now_ms) = (self.lease(message), (self.clock)());
        let until_ms = now_ms + i64::try_from(timeout_s).unwrap_or(3_600) * 1000 * 2 + MARGIN_MS;
        self.store.call(move |control| control.begin_sending(&lease, now_ms, until_ms)).await
    }

    async fn record(&self, message: &Message, outcome: Outcome, round: &mut Round) -> Result<(), ControlError> {
        let (lease, now_ms) = (self.lease(message), (self.clock)());
        // What was delivered and cannot be recorded would be sent again: another writer is waited for longer than usual.
        let mut patience = RECORD_TRIES;
        let counts = loop {
            let (lease, outcome) = (lease.clone(), outcome.clone());
            match self.store.call(move |control| control.record(&lease, &outcome, now_ms)).await {
                Err(ControlError::Busy { .. }) if patience > 0 => patience -= 1,
                other => break other?,
            }
        };
        tracing::info!(message_id = message.message_id, kind = %message.kind, channel = %message.channel, outcome = ?outcome, counts);
        if counts {
            round.count(&outcome);
        } else {
            round.lost += 1;
        }
        Ok(())
    }

    fn again(&self, message: &Message, answer: String, after_ms: Option<i64>) -> Outcome {
        Outcome::Retry { answer, due_ms: self.next(message, after_ms) }
    }

    /// When a message is tried next. `tries` is that of before this try.
    fn next(&self, message: &Message, after_ms: Option<i64>) -> i64 {
        (self.clock)() + backoff_ms(message.tries + 1, message.urgent).max(after_ms.unwrap_or(0))
    }

    /// When its calendar opens, where it is closed and the message can wait. A calendar that is not configured is open.
    fn waits_until(&self, message: &Message) -> Option<i64> {
        let calendar =
            message.calendar.as_ref().filter(|_| !message.urgent).and_then(|name| self.calendars.get(name))?;
        let now_ms = (self.clock)();
        let opens_ms = calendar.opens_ms(now_ms);
        (opens_ms > now_ms).then_some(opens_ms)
    }
}
