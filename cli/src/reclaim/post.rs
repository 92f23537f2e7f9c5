//! Letters and alerts through the outbox: posted under a key that says which occasion it is, brought by the courier, and delivered
//! only where the other side took them.

mod news;

use std::sync::Arc;

use async_trait::async_trait;
use chrono_tz::Tz;
use gpuledger_control::{Control, ControlError, Message, MessageState, NewMessage};
use gpuledger_notify::config::NotifyConfig;
use gpuledger_notify::notice::{Action, Card, Freed, ReclaimCase, ReclaimLinks, ReclaimWarning, ZombieClass};
use gpuledger_notify::{At, Courier, Notice, Occasion, Role, Store, Texts, Who, compose};
use gpuledger_reclaim::letter::Letter;
use gpuledger_reclaim::plan::Alert;
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::port::{Clock, Delivery, Notifier, Unreachable};
use gpuledger_schema::hash::sha256_hex;
use gpuledger_schema::reclaim::{ActKind, Allocation, Approval, Case, CaseState, Class, EventKind, Identity, Phase};
use gpuledger_schema::table::ContactRow;
use gpuledger_schema::unit::CARD_UNITS;

use super::facts;
use crate::place::Place;

const HOUR_MS: i64 = 3_600_000;
/// What is not taken within this is given up, and told to on-call, ms.
const GIVE_UP_MS: i64 = 2 * HOUR_MS;

/// The outbox as mail.
pub(crate) struct Post {
    store: Store,
    courier: Courier,
    config: NotifyConfig,
    texts: Texts,
    zone: Tz,
    pages: Option<String>,
    clock: Arc<dyn Clock>,
    /// The policy: what will be asked when nobody answers.
    pub(crate) book: Book,
}

/// Which warning of a case this would be: warnings that were delivered before it.
fn occasion(events: &[gpuledger_schema::reclaim::CaseEvent]) -> usize {
    events.iter().filter(|e| matches!(e.kind, EventKind::Warned | EventKind::FinalWarned)).count()
}

/// What the messages about a case are caused by.
fn cause(case_id: i64) -> String {
    format!("case/{case_id}")
}

/// Whether the newest delivered warning of a case came back, with which it was and why. Where it reached somebody else it stands.
pub(crate) fn bounced(control: &Control, case: &Case) -> Result<Option<(Phase, String)>, ControlError> {
    if !matches!(case.state, CaseState::Warned | CaseState::Final | CaseState::Due | CaseState::Approved) {
        return Ok(None);
    }
    let events = control.case_events(case.case_id).map_err(|e| match e {
        gpuledger_control::CaseError::Control(e) => e,
        other => ControlError::Not { table: "reclaim_case", reason: other.to_string() },
    })?;
    let Some(newest) = occasion(&events).checked_sub(1) else { return Ok(None) };
    let marks = format!("{}/{newest}/", cause(case.case_id));
    let all = control.outbox_messages_of(&cause(case.case_id))?;
    let of: Vec<&Message> = all.iter().filter(|m| m.key.starts_with(&marks)).collect();
    if of.iter().any(|m| m.state == MessageState::Delivered) {
        return Ok(None);
    }
    let phase = if case.final_ms.is_some() { Phase::Order } else { Phase::Signal };
    let back = of.iter().find(|m| m.state == MessageState::Bounced);
    Ok(back.map(|m| (phase, m.answer.clone().unwrap_or_default())))
}

/// One decimal of GPU-hours.
fn gpu_hours(ms: i64, units: i64) -> String {
    let tenths = i128::from(ms.max(0)) * i128::from(units) * 10 / i128::from(CARD_UNITS) / i128::from(HOUR_MS);
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl Post {
    pub(crate) fn new(
        control: Control,
        config: NotifyConfig,
        place: &Place,
        book: Book,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let store = Store::new(control);
        let lent = Arc::clone(clock);
        let owner = format!("reclaim:{}", super::holder()?);
        let courier = Courier::new(store.clone(), config.clone(), owner, Arc::new(move || lent.now_ms()));
        Ok(Self {
            store,
            courier,
            texts: Texts::new()?,
            zone: place.zone(None)?.unwrap_or(Tz::UTC),
            pages: place.config.server.public_url.clone(),
            config,
            clock: Arc::clone(clock),
            book,
        })
    }

    /// The outbox, for whoever tells alerts.
    pub(crate) fn outbox(&self) -> &Store {
        &self.store
    }

    /// Whether anybody of a role has an address now.
    ///
    /// # Errors
    /// Where the control file cannot be read.
    pub(crate) async fn reaches(&self, role: Role) -> Result<bool, ControlError> {
        let (who, now_ms) = (Who::Role(role), self.clock.now_ms());
        let contacts = self.store.call(|c| c.rows::<ContactRow>()).await?;
        Ok(who.contacts(&contacts, now_ms).next().is_some())
    }

    /// Posts messages to a role, each once under its key, and brings what is due.
    ///
    /// # Errors
    /// Where nobody of that role can be reached, or nothing was taken.
    pub(crate) async fn to_role(&self, role: Role, key: &str, title: &str, body: &str) -> Result<(), Unreachable> {
        let fail = |why: String| Unreachable { what: format!("message to {}", role.as_str()), why };
        let now_ms = self.clock.now_ms();
        let contacts: Vec<ContactRow> =
            self.store.call(|c| c.rows::<ContactRow>()).await.map_err(|e| fail(e.to_string()))?;
        let who = Who::Role(role);
        let made: Vec<NewMessage> =
            who.contacts(&contacts, now_ms).map(|c| plain(c, &who, key, Some(key), (title, body), None)).collect();
        if made.is_empty() {
            return Err(fail(format!("nobody has the role: import a contact `role,{}`", role.as_str())));
        }
        let keys: Vec<String> = made.iter().map(|m| m.key.clone()).collect();
        self.deliver(made, now_ms).await.map_err(|e| fail(e.to_string()))?;
        let taken = self.messages(key, &keys).await.map_err(|e| fail(e.to_string()))?;
        match taken.iter().find(|m| m.state == MessageState::Delivered) {
            Some(_) => Ok(()),
            None => Err(fail(answers(&taken))),
        }
    }

    async fn deliver(&self, messages: Vec<NewMessage>, now_ms: i64) -> Result<(), ControlError> {
        self.store.call(move |c| c.post(&messages, now_ms)).await?;
        self.courier.round().await?;
        Ok(())
    }

    /// The messages of a cause, with these keys, as they stand.
    async fn messages(&self, cause: &str, keys: &[String]) -> Result<Vec<Message>, ControlError> {
        let cause = cause.to_owned();
        let all = self.store.call(move |c| c.outbox_messages_of(&cause)).await?;
        Ok(all.into_iter().filter(|m| keys.contains(&m.key)).collect())
    }

    /// The notice that a letter is, where it has a typed one.
    fn notice(&self, letter: &Letter, case: &Case, a: &Allocation) -> Option<Notice> {
        let at = |ms: i64| At { ms, zone: self.zone };
        let rest = case.rest_from_ms.unwrap_or(case.opened_ms);
        let of = about(case, a);
        let held_ms = |to: i64| gpu_hours(to - rest, a.gpu_units);
        let class = match case.class {
            Class::NeverTouched => ZombieClass::NeverTouched,
            Class::IdleSince => ZombieClass::IdleSince,
            Class::OverLimit => ZombieClass::OverTimeLimit,
            _ => return None,
        };
        match letter.kind {
            "warned" | "final" | "long" => {
                let warning = ReclaimWarning {
                    class,
                    since: at(rest),
                    idle_hours: held_ms(self.clock.now_ms()),
                    cards: cards(a),
                    amount: None,
                    currency: None,
                    action: self.action(case, letter.act),
                    due: at(letter.at_ms?),
                    links: self.links(case.case_id),
                    case: of,
                };
                let last = letter.kind == "final" || case.warned_ms.is_some();
                Some(if last { Notice::ReclaimFinal(warning) } else { Notice::ReclaimWarning(warning) })
            }
            "freed" | "ended" => Some(Notice::ReclaimFreed(Freed {
                action: action(letter.act),
                freed: at(letter.at_ms?),
                idle_hours: held_ms(letter.at_ms?),
                checkpoint: a.work.checkpoint_ms.filter(|c| case.signal_ms.is_some_and(|s| *c > s)).map(at),
                page: self.page(case.case_id, ""),
                case: of,
            })),
            _ => None,
        }
    }

    /// What will be done when nobody answers: nothing, where a person has to approve first or nothing is switched on.
    fn action(&self, case: &Case, act: Option<ActKind>) -> Action {
        let policy = self.book.named(&case.policy, self.clock.now_ms());
        let by_itself = self.book.act && policy.is_some_and(|p| p.settings.approval == Approval::Automatic);
        if by_itself { action(act) } else { Action::AskOperator }
    }

    /// A page of a case; where there are none, the command that does the same.
    fn page(&self, case_id: i64, what: &str) -> String {
        match (&self.pages, what) {
            (Some(base), "") => format!("{}/reclaim/case?case={case_id}", base.trim_end_matches('/')),
            (Some(base), what) => format!("{}/reclaim/case?case={case_id}#{what}", base.trim_end_matches('/')),
            (None, "keep") => format!("gpuledger reclaim answer {case_id} keep --for 12h --reason \"...\""),
            (None, "intended") => format!("gpuledger reclaim answer {case_id} normal --reason \"...\""),
            (None, "release") => format!("gpuledger reclaim answer {case_id} release"),
            (None, _) => format!("gpuledger reclaim cases {case_id}"),
        }
    }

    fn links(&self, case_id: i64) -> ReclaimLinks {
        ReclaimLinks {
            keep: self.page(case_id, "keep"),
            intended: self.page(case_id, "intended"),
            release: self.page(case_id, "release"),
            why: self.page(case_id, "why"),
            page: self.page(case_id, ""),
        }
    }

    /// The messages of a letter: by the typed notice in everybody's language, else as it was written.
    fn made(
        &self,
        letter: &Letter,
        case: &Case,
        a: &Allocation,
        n: usize,
        contacts: &[ContactRow],
    ) -> Result<Vec<NewMessage>, String> {
        let now_ms = self.clock.now_ms();
        let (key, cause) = (format!("case/{}/{n}", case.case_id), cause(case.case_id));
        if let Some(notice) = self.notice(letter, case, a) {
            let occasion = Occasion { key: &key, cause: Some(&cause), now_ms, attachments: &[] };
            let made = compose(&self.texts, &self.config, contacts, &notice, &occasion).map_err(|e| e.to_string())?;
            return Ok(made.messages);
        }
        let who =
            if a.owner.user.is_empty() { Who::Lead(a.owner.team.clone()) } else { Who::User(a.owner.user.clone()) };
        let page = self.page(case.case_id, "");
        let text = |chinese: bool| {
            let (title, body) =
                if chinese { (&letter.subject_zh, &letter.body_zh) } else { (&letter.subject, &letter.body) };
            (title.clone(), body.replace(&letter.link, &page))
        };
        let key = format!("{key}/{}", letter.kind);
        let one = |c: &ContactRow| {
            let (title, body) = text(c.language == "zh");
            plain(c, &who, &key, Some(&cause), (&title, &body), self.pages.as_ref().map(|_| page.clone()))
        };
        Ok(who.contacts(contacts, now_ms).map(one).collect())
    }
}

/// What was answered to messages, for whoever reads why they did not arrive.
fn answers(messages: &[Message]) -> String {
    let told: Vec<String> = messages
        .iter()
        .map(|m| format!("{} is {}: {}", m.address, m.state.as_str(), m.answer.as_deref().unwrap_or("not yet tried")))
        .collect();
    if told.is_empty() { "there is no message".to_owned() } else { told.join("; ") }
}

/// A message as it was written, without a template.
fn plain(
    c: &ContactRow,
    who: &Who,
    key: &str,
    cause: Option<&str>,
    (title, body): (&str, &str),
    link: Option<String>,
) -> NewMessage {
    NewMessage {
        key: format!("{key}/{}:{}", c.channel, c.address),
        kind: "reclaim".to_owned(),
        subject: cause.unwrap_or(key).to_owned(),
        cause: cause.map(str::to_owned),
        person: who.to_string(),
        channel: c.channel.clone(),
        address: c.address.clone(),
        language: c.language.clone(),
        calendar: c.calendar.clone(),
        urgent: true,
        title: title.to_owned(),
        body_text: body.to_owned(),
        body_html: None,
        link,
        attachments: Vec::new(),
        cooldown_ms: 0,
        give_up_after_ms: GIVE_UP_MS,
    }
}

fn action(act: Option<ActKind>) -> Action {
    match act {
        Some(ActKind::Requeue) => Action::Requeue,
        Some(ActKind::Cancel) => Action::Cancel,
        Some(ActKind::Evict) => Action::Evict,
        Some(ActKind::SuspendOwner | ActKind::ScaleOwner) => Action::ScaleDown,
        None => Action::AskOperator,
    }
}

/// What a notice says of a case.
pub(crate) fn about(case: &Case, a: &Allocation) -> ReclaimCase {
    let job = match &a.identity {
        Identity::Slurm { array: Some((job, task)), .. } => format!("{job}_{task}"),
        Identity::Slurm { het: Some((leader, offset)), .. } => format!("{leader}+{offset}"),
        Identity::Slurm { job_raw, .. } => job_raw.clone(),
        Identity::Kubernetes { namespace, pod, .. } => format!("{namespace}/{pod}"),
        Identity::Session { leader, .. } => format!("session {leader}"),
        Identity::Process { pid, .. } => pid.map_or_else(|| "memory".to_owned(), |p| format!("process {p}")),
    };
    ReclaimCase {
        id: case.case_id.to_string(),
        cluster: a.identity.cluster().unwrap_or("-").to_owned(),
        job,
        job_name: a.work.name.clone(),
        user: Some(a.owner.user.clone()).filter(|u| !u.is_empty()),
        team: a.owner.team.clone(),
        nodes: a.nodes.join(","),
        gpus: a.gpu_units.div_euclid(CARD_UNITS).max(1),
    }
}

/// What was seen, for all of its cards together: the highest of each.
fn cards(a: &Allocation) -> Vec<Card> {
    let j = &a.judgement;
    let tenths = |ppm: i64| format!("{}.{}", ppm / 10_000, ppm % 10_000 / 1_000);
    vec![Card {
        gpu: a.nodes.join(","),
        sm_max_percent: j.peak_ppm.map(tenths),
        power_max_watts: j.power_mw.map(|mw| (mw / 1_000).to_string()),
        memory_gib: None,
    }]
}

#[async_trait]
impl Notifier for Post {
    async fn send(&mut self, letter: &Letter) -> Result<Delivery, Unreachable> {
        let fail = |why: String| Unreachable { what: format!("mail to {}", letter.to), why };
        let id = letter.case_id;
        let read = self.store.call(move |c| {
            let case = c.case(id).ok().flatten();
            let events = c.case_events(id).unwrap_or_default();
            Ok((case, events, c.rows::<ContactRow>()?))
        });
        let (case, events, contacts) = read.await.map_err(|e| fail(e.to_string()))?;
        let case = case.ok_or_else(|| fail(format!("there is no case {id}")))?;
        let a = facts(&case).ok_or_else(|| fail("its facts cannot be read".to_owned()))?;
        let made = self.made(letter, &case, &a, occasion(&events), &contacts).map_err(fail)?;
        if made.is_empty() {
            return Err(fail("there is no contact".to_owned()));
        }
        let keys: Vec<String> = made.iter().map(|m| m.key.clone()).collect();
        self.deliver(made, self.clock.now_ms()).await.map_err(|e| fail(e.to_string()))?;
        let found = self.messages(&cause(id), &keys).await.map_err(|e| fail(e.to_string()))?;
        match found.iter().find(|m| m.state == MessageState::Delivered) {
            Some(m) => Ok(Delivery { to: m.address.clone(), proof: m.answer.clone().unwrap_or_default() }),
            None => Err(fail(answers(&found))),
        }
    }

    async fn alert(&mut self, alert: &Alert) -> Result<(), Unreachable> {
        // the same is told again only where the store says that it is news: its time makes it another occasion
        let of = sha256_hex(format!("{}|{:?}|{}", alert.kind, alert.allocation_id, alert.text).as_bytes());
        let key = format!("alert/{}/{}", &of[..16], self.clock.now_ms());
        let title = format!("{}: {}", alert.kind, alert.text.split(['\n', ';']).next().unwrap_or_default());
        self.to_role(Role::OnCall, &key, &title, &alert.text).await
    }
}
