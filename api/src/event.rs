//! What happened, in order: kept for a while so that who was away can read on, and sent to who listens.

mod moved;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::who::{Role, Who};

pub(crate) use moved::Moved;

/// Events that are kept for who comes back.
const KEPT: usize = 4_096;

/// Who may hear of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Everybody who may sign in: carries no figures and no names.
    All,
    /// Admin, finance and operator.
    Staff,
    /// Staff, and the leads of the team.
    Team(String),
    /// Staff, the leads of the team, and the member whose job it is.
    User {
        /// The team.
        team: Option<String>,
        /// The user.
        user: String,
    },
}

impl Audience {
    /// Whether somebody may hear it.
    pub fn has(&self, who: &Who) -> bool {
        let leads = |team: &String| who.role == Role::Lead && who.teams.contains(team);
        match (self, who.role) {
            (_, Role::Admin | Role::Finance | Role::Operator) => true,
            (_, Role::Node | Role::Metrics) => false,
            (Self::All, _) => true,
            (Self::Staff, _) => false,
            (Self::Team(team), _) => leads(team),
            (Self::User { team, user }, role) => {
                team.as_ref().is_some_and(leads) || role == Role::Member && who.user.as_ref() == Some(user)
            }
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number, one more for each since the start of the server; the id of the stream.
    pub id: u64,
    /// When, epoch ms.
    pub at_ms: i64,
    /// `cut`, `build`, `loop`, `period`, `case`, `outbox`, `audit`.
    pub kind: &'static str,
    /// Who may hear it.
    pub audience: Audience,
    /// What.
    pub data: Value,
}

#[derive(Debug)]
struct Kept {
    /// Marks this run of the server: ids of another are not resumed.
    run: u64,
    next: u64,
    events: VecDeque<Event>,
}

/// The events of this server.
#[derive(Debug, Clone)]
pub struct Events {
    kept: Arc<Mutex<Kept>>,
    sender: broadcast::Sender<Event>,
}

/// What a listener missed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Missed {
    /// Nothing that is not given.
    Nothing,
    /// More than is kept, or ids of another run: read everything anew.
    Unknown,
}

impl Events {
    /// No events yet; `run` marks this start of the server.
    pub fn new(run: u64) -> Self {
        let kept = Kept { run, next: 1, events: VecDeque::new() };
        Self { kept: Arc::new(Mutex::new(kept)), sender: broadcast::channel(1_024).0 }
    }

    /// Marks the run in ids of a stream: `<run>-<id>`.
    pub fn run(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).run
    }

    /// Tells an event.
    pub fn tell(&self, kind: &'static str, audience: Audience, at_ms: i64, data: Value) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event { id: kept.next, at_ms, kind, audience, data };
        kept.next += 1;
        if kept.events.len() == KEPT {
            kept.events.pop_front();
        }
        kept.events.push_back(event.clone());
        // sent under the lock: who subscribes under it too sees each event once
        let _ = self.sender.send(event);
    }

    /// What came after an id that somebody saw, and everything from now on: no event is lost or doubled between the two.
    pub fn listen(&self, after: Option<(u64, u64)>) -> (Vec<Event>, Missed, broadcast::Receiver<Event>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.sender.subscribe();
        let (events, missed) = match after {
            None => (Vec::new(), Missed::Nothing),
            Some((run, _)) if run != kept.run => (Vec::new(), Missed::Unknown),
            Some((_, id)) => {
                let first = kept.next - kept.events.len() as u64;
                let missed = if id + 1 < first { Missed::Unknown } else { Missed::Nothing };
                (kept.events.iter().filter(|e| e.id > id).cloned().collect(), missed)
            }
        };
        (events, missed, receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_reads_on_without_loss_or_double() {
        let events = Events::new(7);
        for n in 0..3 {
            events.tell("cut", Audience::All, n, Value::Null);
        }
        let (missed, gap, mut live) = events.listen(Some((7, 1)));
        events.tell("cut", Audience::All, 3, Value::Null);
        assert_eq!(missed.iter().map(|e| e.id).collect::<Vec<_>>(), [2, 3]);
        assert_eq!((gap, live.try_recv().unwrap().id), (Missed::Nothing, 4));
        assert_eq!(events.listen(Some((6, 1))).1, Missed::Unknown);
        for n in 0..KEPT as i64 {
            events.tell("cut", Audience::All, n, Value::Null);
        }
        assert_eq!(events.listen(Some((7, 1))).1, Missed::Unknown);
    }

    #[test]
    fn an_event_of_a_team_is_heard_by_its_lead_alone() {
        let lead = |team: &str| Who { teams: [team.to_owned()].into(), ..Who::of("l", Role::Lead) };
        let team = Audience::Team("nlp".to_owned());
        assert!(team.has(&lead("nlp")) && !team.has(&lead("vision")));
        assert!(team.has(&Who::of("f", Role::Finance)) && !team.has(&Who::of("n", Role::Node)));
        let mut member = Who::of("m", Role::Member);
        member.user = Some("ada".to_owned());
        assert!(Audience::User { team: None, user: "ada".to_owned() }.has(&member) && !team.has(&member));
        assert!(!Audience::Staff.has(&member) && Audience::All.has(&member));
    }
}
