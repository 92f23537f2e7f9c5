//! What becomes of messages, told as stories.

use super::*;
use crate::Control;

const T0: i64 = 1_790_000_000_000;
const MINUTE: i64 = 60_000;

fn control() -> (tempfile::TempDir, Control) {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::open(&folder.path().join("control.sqlite")).unwrap();
    (folder, control)
}

fn message(key: &str) -> NewMessage {
    NewMessage {
        key: key.into(),
        kind: "late_node".into(),
        subject: "alpha/gpu01".into(),
        cause: Some(format!("cause of {key}")),
        person: "role:on-call".into(),
        channel: "mail".into(),
        address: "oncall@example.org".into(),
        language: "en".into(),
        calendar: None,
        urgent: false,
        title: "gpu01 is late".into(),
        body_text: "text".into(),
        body_html: Some("<p>text</p>".into()),
        link: None,
        attachments: Vec::new(),
        cooldown_ms: 0,
        give_up_after_ms: 60 * MINUTE,
    }
}

fn claim(control: &mut Control, owner: &str, now_ms: i64) -> Vec<Message> {
    let claim = Claim { owner: owner.into(), channel: "mail", now_ms, lease_ms: MINUTE, limit: 10 };
    control.claim(&claim).unwrap()
}

fn lease(message: &Message, owner: &str) -> Lease {
    Lease { message_id: message.message_id, owner: owner.into() }
}

fn delivered() -> Outcome {
    Outcome::Delivered { answer: "250 ok".into() }
}

/// Events as `key what`.
fn events(control: &Control) -> Vec<String> {
    let events = control.outbox_events_after(0, 100).unwrap();
    events.iter().map(|e| format!("{} {}", e.key, e.what)).collect()
}

fn state(control: &Control, key: &str) -> MessageState {
    let all = control.outbox_messages(None, 100).unwrap();
    all.iter().find(|m| m.key == key).unwrap().state
}

#[test]
fn a_message_is_in_the_outbox_exactly_when_its_cause_is() {
    let (_folder, mut control) = control();
    let work = |control: &mut Control, commits: bool| {
        let transaction = control.connection.transaction().unwrap();
        transaction.execute("INSERT INTO meta (name, value) VALUES ('cause', 1)", []).unwrap();
        post::post_within(&transaction, &[message("a")], T0).unwrap();
        if commits { transaction.commit() } else { transaction.rollback() }.unwrap();
    };
    work(&mut control, false);
    assert!(control.outbox_messages(None, 10).unwrap().is_empty());
    assert!(control.outbox_events_after(0, 10).unwrap().is_empty());
    work(&mut control, true);
    assert_eq!(control.outbox_messages(None, 10).unwrap().len(), 1);
}

#[test]
fn a_key_is_posted_once() {
    let (_folder, mut control) = control();
    let posted = control.post(&[message("a"), message("a"), message("b")], T0).unwrap();
    assert_eq!(posted, Posted { waiting: 2, known: 1, cooled: 0 });
    assert_eq!(control.post(&[message("a")], T0 + 1).unwrap(), Posted { waiting: 0, known: 1, cooled: 0 });
    assert_eq!(control.outbox_messages(None, 10).unwrap().len(), 2);
}

#[test]
fn two_senders_never_hold_one_message() {
    let (folder, mut first) = control();
    let mut second = Control::open(&folder.path().join("control.sqlite")).unwrap();
    first.post(&[message("a"), message("b")], T0).unwrap();
    assert_eq!(claim(&mut first, "one", T0).len(), 2);
    assert!(claim(&mut second, "two", T0).is_empty());
    // the lease of the first runs out before it began: nothing was sent, the second has it without a doubt
    let taken = claim(&mut second, "two", T0 + MINUTE);
    assert_eq!(taken.iter().map(|m| m.doubts).sum::<i64>(), 0);
    assert!(!first.begin_sending(&lease(&taken[0], "one"), T0 + MINUTE, T0 + 2 * MINUTE).unwrap());
    assert!(second.begin_sending(&lease(&taken[0], "two"), T0 + MINUTE, T0 + 2 * MINUTE).unwrap());
    assert!(second.record(&lease(&taken[0], "two"), &delivered(), T0 + MINUTE + 1).unwrap());
    assert!(!first.record(&lease(&taken[0], "one"), &Outcome::Failed { answer: "x".into() }, T0 + MINUTE + 2).unwrap());
    assert_eq!(state(&first, "a"), MessageState::Delivered);
    assert_eq!(events(&first), ["a posted", "b posted", "a delivered"]);
}

#[test]
fn a_sender_that_dies_while_sending_leaves_a_doubt_and_no_loss() {
    let (_folder, mut control) = control();
    control.post(&[message("a")], T0).unwrap();
    let held = claim(&mut control, "one", T0);
    assert!(control.begin_sending(&lease(&held[0], "one"), T0, T0 + 2 * MINUTE).unwrap());
    assert!(claim(&mut control, "two", T0 + 2 * MINUTE - 1).is_empty());
    let taken = claim(&mut control, "two", T0 + 2 * MINUTE);
    assert_eq!((taken.len(), taken[0].doubts, taken[0].tries), (1, 1, 1));
    // the first was only slow: that it was delivered is a fact, and ends the message
    assert!(control.record(&lease(&held[0], "one"), &delivered(), T0 + 3 * MINUTE).unwrap());
    assert!(!control.begin_sending(&lease(&taken[0], "two"), T0 + 2 * MINUTE, T0 + 4 * MINUTE).unwrap());
    assert_eq!(events(&control), ["a posted", "a doubt", "a delivered"]);
}

#[test]
fn tries_go_on_until_the_time_is_over_and_the_last_answer_is_kept() {
    let (_folder, mut control) = control();
    control.post(&[message("a")], T0).unwrap();
    let mut now = T0 + 100 * MINUTE; // nobody tried before: that took nothing of its time
    let first_try = now;
    for wait in [1, 2, 4, 8, 16, 32, 64] {
        let held = claim(&mut control, "one", now);
        assert_eq!(held.len(), 1, "due at {now}");
        assert!(control.begin_sending(&lease(&held[0], "one"), now, now + MINUTE).unwrap());
        let retry = Outcome::Retry { answer: "451 later".into(), due_ms: now + wait * MINUTE };
        assert!(control.record(&lease(&held[0], "one"), &retry, now).unwrap());
        assert!(claim(&mut control, "one", now).is_empty(), "not before it is due");
        now = (now + wait * MINUTE).min(first_try + 60 * MINUTE);
    }
    let all = control.outbox_messages(Some(MessageState::Failed), 10).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].tries, all[0].answer.as_deref()), (7, Some("given up after 7 tries: 451 later")));
    assert_eq!(all[0].give_up_ms, Some(first_try + 60 * MINUTE));
}

#[test]
fn what_waits_for_its_calendar_is_not_tried_and_loses_no_time() {
    let (_folder, mut control) = control();
    control.post(&[message("a")], T0).unwrap();
    let held = claim(&mut control, "one", T0);
    control.record(&lease(&held[0], "one"), &Outcome::Deferred { due_ms: T0 + 3_000 * MINUTE }, T0).unwrap();
    assert!(claim(&mut control, "one", T0 + 2_999 * MINUTE).is_empty());
    let held = claim(&mut control, "one", T0 + 3_000 * MINUTE);
    assert_eq!((held[0].tries, held[0].give_up_ms), (0, None));
}

#[test]
fn what_was_released_is_due_as_before() {
    let (_folder, mut control) = control();
    control.post(&[message("a")], T0).unwrap();
    let held = claim(&mut control, "one", T0);
    control.record(&lease(&held[0], "one"), &Outcome::Released, T0).unwrap();
    assert_eq!(claim(&mut control, "two", T0).len(), 1);
    assert_eq!(events(&control), ["a posted"]);
}

#[test]
fn the_same_is_not_told_twice_within_the_cool_down_unless_nobody_heard_it() {
    let (_folder, mut control) = control();
    let often = |key: &str| NewMessage { cooldown_ms: 30 * MINUTE, ..message(key) };
    control.post(&[often("a")], T0).unwrap();
    let other = NewMessage { subject: "alpha/gpu02".into(), ..often("b") };
    let elsewhere = NewMessage { address: "second@example.org".into(), ..often("c") };
    let posted = control.post(&[often("d"), other, elsewhere], T0 + MINUTE).unwrap();
    assert_eq!(posted, Posted { waiting: 2, known: 0, cooled: 1 });
    assert_eq!(state(&control, "d"), MessageState::Cooled);
    // the first one failed: the next is told
    let held = claim(&mut control, "one", T0);
    let first = held.iter().find(|m| m.key == "a").unwrap();
    control.record(&lease(first, "one"), &Outcome::Failed { answer: "550 nobody".into() }, T0 + MINUTE).unwrap();
    assert_eq!(control.post(&[often("e")], T0 + 2 * MINUTE).unwrap().waiting, 1);
    // and later than the cool-down so is the one after
    assert_eq!(control.post(&[often("f")], T0 + 10 * MINUTE).unwrap().cooled, 1);
    assert_eq!(control.post(&[often("g")], T0 + 32 * MINUTE).unwrap().waiting, 1);
}

#[test]
fn a_silence_puts_messages_aside_with_who_and_why() {
    let (_folder, mut control) = control();
    let silence = NewSilence {
        kind: Some("late_*".into()),
        subject: Some("alpha/*".into()),
        person: None,
        from_ms: T0,
        until_ms: T0 + 60 * MINUTE,
        by: "anna".into(),
        reason: "rack 4 is moved".into(),
    };
    let id = control.silence(&silence).unwrap();
    let elsewhere = NewMessage { subject: "beta/gpu01".into(), ..message("b") };
    control.post(&[message("a"), elsewhere], T0).unwrap();
    let held = claim(&mut control, "one", T0 + MINUTE);
    assert_eq!(held.iter().map(|m| m.key.as_str()).collect::<Vec<_>>(), ["b"]);
    let aside = control.outbox_messages(Some(MessageState::Silenced), 10).unwrap();
    assert_eq!(aside[0].answer.as_deref(), Some("silence 1 by anna: rack 4 is moved"));
    assert!(control.end_silence(id, "ben", T0 + 2 * MINUTE).unwrap());
    assert!(!control.end_silence(id, "ben", T0 + 2 * MINUTE).unwrap());
    control.post(&[message("c")], T0 + 3 * MINUTE).unwrap();
    assert!(claim(&mut control, "two", T0 + 3 * MINUTE).iter().any(|m| m.key == "c"));
    assert_eq!(control.silences().unwrap()[0].ended_by.as_deref(), Some("ben"));
    let all = NewSilence { kind: Some("*".into()), subject: None, ..silence.clone() };
    assert!(control.silence(&all).unwrap_err().to_string().contains("everything"));
    let reasonless = NewSilence { reason: " ".into(), ..silence };
    assert!(control.silence(&reasonless).is_err());
}

#[test]
fn a_bounce_comes_back_to_whoever_waits_for_it() {
    let (_folder, mut control) = control();
    control.post(&[message("a"), message("b")], T0).unwrap();
    let held = claim(&mut control, "one", T0);
    control.begin_sending(&lease(&held[0], "one"), T0, T0 + MINUTE).unwrap();
    control.record(&lease(&held[0], "one"), &delivered(), T0 + 1).unwrap();
    let seen = control.outbox_events_after(0, 100).unwrap().last().unwrap().event_id;
    assert!(control.bounce("a", "5.1.1 unknown user", T0 + 5 * MINUTE).unwrap());
    assert!(!control.bounce("a", "again", T0 + 6 * MINUTE).unwrap(), "it came back once");
    assert!(!control.bounce("b", "never sent", T0 + 6 * MINUTE).unwrap());
    let news = control.outbox_events_after(seen, 100).unwrap();
    assert_eq!(news.len(), 1);
    assert_eq!((news[0].what.as_str(), news[0].cause.as_deref()), ("bounced", Some("cause of a")));
    assert_eq!(control.outbox_messages_of("cause of a").unwrap()[0].state, MessageState::Bounced);
}

#[test]
fn urgent_messages_go_first_and_files_are_kept_once() {
    let (_folder, mut control) = control();
    let file = Attachment { name: "三月账单.csv".into(), media_type: "text/csv".into(), bytes: vec![7; 1000] };
    let with = |key: &str| NewMessage { attachments: vec![file.clone()], ..message(key) };
    control.post(&[with("a"), NewMessage { urgent: true, ..with("b") }], T0).unwrap();
    let held = claim(&mut control, "one", T0);
    assert_eq!(held.iter().map(|m| m.key.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(control.attachments(held[1].message_id).unwrap(), [file]);
    let blobs: i64 = control.connection.query_row("SELECT count(*) FROM outbox_blob", [], |r| r.get(0)).unwrap();
    assert_eq!(blobs, 1);
    let summary = control.outbox_summary().unwrap();
    assert_eq!((summary.len(), summary[0].state, summary[0].messages), (1, MessageState::Claimed, 2));
}

#[test]
fn events_are_not_rewritten() {
    let (_folder, mut control) = control();
    control.post(&[message("a")], T0).unwrap();
    for statement in ["UPDATE outbox_event SET what = 'delivered'", "DELETE FROM outbox_event"] {
        assert!(control.connection.execute(statement, []).unwrap_err().to_string().contains("append-only"));
    }
}

#[test]
fn an_alert_stands_until_it_is_seen_to_be_gone_and_its_end_is_told() {
    let (_folder, mut control) = control();
    let late = |node: &str| NewAlert {
        kind: "late_node".into(),
        subject: node.into(),
        labels: "{}".into(),
        annotations: "{}".into(),
    };
    let changes = control.set_alerts(&["late_node"], &[late("gpu01"), late("gpu02")], T0).unwrap();
    assert_eq!((changes.started.len(), changes.ended.len()), (2, 0));
    let told = control.alerts_to_tell().unwrap();
    control.alerts_told(&told, T0).unwrap();
    // a look at another kind, or one that failed, ends nothing
    assert_eq!(control.set_alerts(&["gap"], &[], T0 + 1).unwrap(), AlertChanges::default());
    let changes = control.set_alerts(&["late_node"], &[late("gpu02")], T0 + MINUTE).unwrap();
    assert_eq!(changes.ended.iter().map(|a| a.subject.as_str()).collect::<Vec<_>>(), ["gpu01"]);
    let tell = control.alerts_to_tell().unwrap();
    assert_eq!(tell.iter().map(|a| a.ended_ms).collect::<Vec<_>>(), [Some(T0 + MINUTE), None]);
    control.alerts_told(&tell, T0 + MINUTE).unwrap();
    assert_eq!(control.alerts_to_tell().unwrap().len(), 1, "an end is told until it was taken, not longer");
    // it comes back: another alert with a start of its own
    let changes = control.set_alerts(&["late_node"], &[late("gpu01"), late("gpu02")], T0 + 2 * MINUTE).unwrap();
    assert_eq!(changes.started[0].started_ms, T0 + 2 * MINUTE);
    // one that came and went between two tellings is told to nobody
    control.set_alerts(&["late_node"], &[late("gpu02")], T0 + 3 * MINUTE).unwrap();
    assert_eq!(control.alerts_to_tell().unwrap().len(), 1);
    assert_eq!(control.alerts_standing().unwrap().len(), 1);
}
