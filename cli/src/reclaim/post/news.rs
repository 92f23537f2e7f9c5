//! What became of cases, for those who were not asked: a lead and operators hear that GPUs are kept, on-call that they could not be
//! freed. It is told beside the case: no step of a case waits for it.

use gpuledger_control::NewMessage;
use gpuledger_notify::notice::{Kept, ReclaimFailure};
use gpuledger_notify::{At, Notice, Occasion, compose};
use gpuledger_reclaim::letter::act_of;
use gpuledger_schema::reclaim::{Allocation, Case, CaseEvent, EventKind};
use gpuledger_schema::table::ContactRow;
use gpuledger_schema::unit::DAY_MS;

use super::{Post, about, action, cause};
use crate::reclaim::facts;

impl Post {
    /// Posts what happened to cases in the last day, each once however often this is asked, and brings what is new.
    ///
    /// # Errors
    /// Where the control file cannot be read or written, or a text uses what a notice does not have.
    pub(crate) async fn news(&self, cases: Vec<Case>) -> anyhow::Result<()> {
        let now_ms = self.clock.now_ms();
        let read = self.store.call(move |c| {
            let of = |case: Case| c.case_events(case.case_id).map(|events| (case, events));
            let all: Result<Vec<_>, _> = cases.into_iter().map(of).collect();
            Ok((all, c.rows::<ContactRow>()?))
        });
        let (cases, contacts) = read.await?;
        let mut made: Vec<NewMessage> = Vec::new();
        for (case, events) in cases? {
            let Some(a) = facts(&case) else { continue };
            for (seq, event) in events.iter().enumerate().filter(|(_, e)| e.at_ms > now_ms - DAY_MS) {
                let Some(notice) = self.news_of(&case, &a, event) else { continue };
                // not among the warnings, whose keys count deliveries
                let key = format!("{}/event/{}", cause(case.case_id), seq + 1);
                let occasion = Occasion { key: &key, cause: Some(&cause(case.case_id)), now_ms, attachments: &[] };
                made.extend(compose(&self.texts, &self.config, &contacts, &notice, &occasion)?.messages);
            }
        }
        if made.is_empty() {
            return Ok(());
        }
        let posted = self.store.call(move |c| c.post(&made, now_ms)).await?;
        if posted.waiting > 0 {
            self.courier.round().await?;
        }
        Ok(())
    }

    /// What an event is to somebody who was not asked; absent: nothing.
    fn news_of(&self, case: &Case, a: &Allocation, event: &CaseEvent) -> Option<Notice> {
        let at = |ms: i64| At { ms, zone: self.zone };
        let page = self.page(case.case_id, "");
        match event.kind {
            EventKind::Kept => Some(Notice::ReclaimKept(Kept {
                case: about(case, a),
                by: Some(event.actor.clone()).filter(|actor| *actor != a.owner.user),
                until: at(event.until_ms?),
                reason: event.reason.clone().unwrap_or_default(),
                page,
            })),
            EventKind::Failed => {
                let settings = self.book.named(&case.policy, event.at_ms).map(|p| &p.settings);
                Some(Notice::ReclaimFailed(ReclaimFailure {
                    case: about(case, a),
                    action: action(settings.map(|s| act_of(a, s))),
                    tried: at(event.at_ms),
                    error: event.reason.clone().unwrap_or_default(),
                    again: event.until_ms.map(at),
                    page,
                }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gpuledger_control::{Control, ImportOptions, Message, ReferenceTable};
    use gpuledger_reclaim::policy::Book;
    use gpuledger_reclaim::port::Clock;
    use gpuledger_schema::reclaim::{Class, Identity, Judgement, Owner, Phase, Verdict, Work};

    use super::*;
    use crate::config::Config;
    use crate::place::Place;

    const NOW_MS: i64 = 1_790_000_000_000;

    struct Stopped;

    impl Clock for Stopped {
        fn now_ms(&self) -> i64 {
            NOW_MS
        }
    }

    fn holder() -> Allocation {
        let judgement = Judgement {
            policy: Some("default".to_owned()),
            verdict: Verdict::Idle,
            classes: vec![Class::IdleSince],
            ..Judgement::default()
        };
        Allocation {
            allocation_id: 7,
            identity: Identity::Slurm {
                cluster: "alpha".to_owned(),
                job_raw: "4711".to_owned(),
                array: None,
                het: None,
                user: "ada".to_owned(),
                start_ms: NOW_MS - DAY_MS,
            },
            owner: Owner { user: "ada".to_owned(), team: "nlp".to_owned(), ..Owner::default() },
            work: Work::default(),
            nodes: vec!["gpu1".to_owned()],
            device_ids: vec![1],
            gpu_units: 2 * gpuledger_schema::unit::CARD_UNITS,
            judgement,
        }
    }

    /// A case of Ada's job with these events after its opening.
    fn with(control: &mut Control, events: &[CaseEvent]) -> Case {
        let fence = control.lead("here", NOW_MS - DAY_MS, 2 * DAY_MS).unwrap().unwrap();
        let facts = serde_json::to_string(&holder()).unwrap();
        let opened = CaseEvent::of(NOW_MS - DAY_MS, "engine", EventKind::Opened);
        let mut case = Case::opened(7, Class::IdleSince, "default", facts, &opened);
        control.open_case(fence, &case, &opened).unwrap();
        for event in events {
            case = control.move_case(Some(fence), case.case_id, case.seq, event).unwrap();
        }
        case
    }

    async fn told(post: &Post, case: &Case) -> Vec<Message> {
        post.news(vec![case.clone()]).await.unwrap();
        let cause = cause(case.case_id);
        post.outbox().call(move |c| c.outbox_messages_of(&cause)).await.unwrap()
    }

    fn post(folder: &std::path::Path) -> Post {
        let mut control = Control::open(&folder.join("control.sqlite")).unwrap();
        let contacts = b"kind,name,channel,address,language,calendar,from,to\n\
            lead,nlp,mail,lead@example.org,en,,,\n\
            role,operator,mail,operators@example.org,zh,,,\n\
            role,on-call,mail,oncall@example.org,en,,,\n";
        control.import(ReferenceTable::Contacts, "contacts.csv", contacts, ImportOptions::default()).unwrap();
        let data = folder.display().to_string();
        let place = Place { data, config: Config::default(), cut: None, held: None };
        let clock: Arc<dyn Clock> = Arc::new(Stopped);
        Post::new(control, place.config.notify.clone(), &place, Book::read("").unwrap(), &clock).unwrap()
    }

    #[tokio::test]
    async fn a_lead_and_operators_hear_once_who_keeps_gpus_and_until_when() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let kept = CaseEvent {
            reason: Some("a demonstration".to_owned()),
            until_ms: Some(NOW_MS + 3_600_000),
            ..CaseEvent::of(NOW_MS - 60_000, "grace", EventKind::Kept)
        };
        let case = with(&mut control, &[kept]);
        let post = post(folder.path());
        let first = told(&post, &case).await;
        let to: Vec<(&str, &str)> = first.iter().map(|m| (m.person.as_str(), m.address.as_str())).collect();
        assert_eq!(to, [("lead:nlp", "lead@example.org"), ("role:operator", "operators@example.org")]);
        let text = &first[0].body_text;
        for word in ["grace keeps 2 GPUs for job alpha/4711 of team nlp until 2026-09-21", "a demonstration"] {
            assert!(text.contains(word), "`{word}` is not in {text}");
        }
        assert!(first[1].body_text.contains("grace 为团队 nlp 的作业 alpha/4711 保留"), "{}", first[1].body_text);
        // asked again, nothing is told again
        assert_eq!(told(&post, &case).await.len(), 2);
    }

    #[tokio::test]
    async fn on_call_hears_that_gpus_could_not_be_freed() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let of = |minutes: i64, kind| CaseEvent::of(NOW_MS - minutes * 60_000, "engine", kind);
        let case = with(
            &mut control,
            &[
                of(110, EventKind::Warned),
                of(100, EventKind::FinalWarned),
                of(90, EventKind::DuePassed),
                of(80, EventKind::Approved),
                CaseEvent { phase: Some(Phase::Order), ..of(70, EventKind::Intended) },
                CaseEvent {
                    reason: Some("slurmctld does not answer".to_owned()),
                    until_ms: Some(NOW_MS + 600_000),
                    ..of(60, EventKind::Failed)
                },
            ],
        );
        let post = post(folder.path());
        let all = told(&post, &case).await;
        let to: Vec<&str> = all.iter().map(|m| m.address.as_str()).collect();
        assert_eq!(to, ["oncall@example.org", "operators@example.org"]);
        let text = &all[0].body_text;
        for word in
            ["could not be freed: slurmctld does not answer", "Nobody was told that they are free", "2026-09-21"]
        {
            assert!(text.contains(word), "`{word}` is not in {text}");
        }
    }

    #[tokio::test]
    async fn what_is_older_than_a_day_is_no_news() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let kept = CaseEvent { until_ms: Some(NOW_MS), ..CaseEvent::of(NOW_MS - DAY_MS, "ada", EventKind::Kept) };
        let case = with(&mut control, &[kept]);
        assert_eq!(told(&post(folder.path()), &case).await, []);
    }
}
