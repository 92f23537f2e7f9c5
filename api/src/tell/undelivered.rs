//! Messages that were given up or came back: operators are told of each once. Of what tells of others nobody is told: one dead address
//! of an operator must not make messages for ever.

use chrono_tz::Tz;
use gpuledger_control::{Event, Message, MessageState};
use gpuledger_notify::notice::Undelivered;
use gpuledger_notify::{At, Notice};

use super::post::{Post, Telling};
use super::read::Trouble;

/// Failures that are older are not told by a server that starts today.
const FRESH_MS: i64 = 7 * 86_400_000;
/// Events read at once.
const BATCH: usize = 1_000;
/// Messages of a state that are looked through for what an event is about.
const MESSAGES: usize = 2_000;
/// Kinds of which nobody is told that they failed.
const QUIET: [&str; 3] = ["undelivered", "no_contact", "test"];

/// Tells of what failed since an event that was seen (0: since the first); the number of messages posted, and the newest event seen.
///
/// # Errors
/// The control file, or a text.
pub(super) async fn tell(post: &Post<'_>, after: i64) -> Result<(usize, i64), Trouble> {
    let (mut seen, mut failed) = (after, Vec::new());
    loop {
        let events =
            post.app.control(move |control| control.outbox_events_after(seen, BATCH)).await.map_err(|e| e.detail)?;
        let Some(last) = events.last() else { break };
        seen = last.event_id;
        failed.extend(events.into_iter().filter(|e| concerns(e, post.now_ms)));
    }
    if failed.is_empty() {
        return Ok((0, seen));
    }
    let read = |state| post.app.control(move |control| control.outbox_messages(Some(state), MESSAGES));
    let mut messages = read(MessageState::Failed).await.map_err(|e| e.detail)?;
    messages.extend(read(MessageState::Bounced).await.map_err(|e| e.detail)?);
    let mut posted = 0;
    for event in failed {
        if let Some(message) = messages.iter().find(|m| m.message_id == event.message_id) {
            let cause = format!("undelivered/{}", event.event_id);
            let notice = Notice::Undelivered(told(&event, message, post.zone, post.links.outbox()));
            posted += post.post(&cause, &[Telling::plain(cause.clone(), &notice)]).await?.waiting;
        }
    }
    Ok((posted, seen))
}

fn concerns(event: &Event, now_ms: i64) -> bool {
    matches!(event.what.as_str(), "failed" | "bounced")
        && !QUIET.contains(&event.kind.as_str())
        && event.at_ms > now_ms - FRESH_MS
}

fn told(event: &Event, message: &Message, zone: Tz, page: String) -> Undelivered {
    Undelivered {
        person: message.person.clone(),
        address: message.address.clone(),
        title: message.title.clone(),
        answer: event.answer.clone().or_else(|| message.answer.clone()).unwrap_or_else(|| event.what.clone()),
        at: At { ms: event.at_ms, zone },
        page,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_message_about_messages_failed_is_told_to_nobody() {
        let event = |kind: &str, what: &str, at_ms| Event {
            event_id: 1,
            message_id: 1,
            key: String::new(),
            kind: kind.into(),
            cause: None,
            person: String::new(),
            at_ms,
            what: what.into(),
            answer: None,
        };
        let now = 100 * 86_400_000;
        assert!(concerns(&event("waste_digest", "failed", now), now) && concerns(&event("hung", "bounced", now), now));
        assert!(
            !concerns(&event("undelivered", "failed", now), now) && !concerns(&event("hung", "delivered", now), now)
        );
        assert!(!concerns(&event("hung", "failed", now - FRESH_MS), now));
    }
}
