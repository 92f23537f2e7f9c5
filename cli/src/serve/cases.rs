//! Reclaiming as a server shows it and is told of it: how it stands, and answers to cases, the same that `gpuledger reclaim answer`
//! takes.

use gpuledger_api::answer::{Act, Bound, Reclaiming, SwitchBy, SwitchNow};
use gpuledger_api::problem::Problem;
use gpuledger_api::who::{Role, Who};
use gpuledger_control::Switch;
use gpuledger_reclaim::answer::{Answer, Who as By};
use gpuledger_reclaim::plan::Used;
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::port::Store as _;
use gpuledger_reclaim::store::{ControlStore, KillFile as _, KillPath};
use serde_json::{Value, json};

use super::Ledger;
use super::fault::problem;
use crate::clock;
use crate::reclaim::{book_in_force, reached, say, store_of};

/// Longest that an answer may hold something up, hours: a year. The policy's own bounds are narrower.
const HOURS_MAX: i64 = 8_760;
const HOUR_MS: i64 = 3_600_000;

impl Ledger {
    /// Takes what somebody says of a case that they may answer.
    pub(super) fn case(&self, who: &Who, act: &Act) -> Result<Value, Problem> {
        let Act::Case { case_id, word, reason, hours } = act else { return Err(Problem::fault("no answer to a case")) };
        let by = match who.role {
            Role::Admin | Role::Operator => By::Operator(who.name.clone()),
            Role::Lead | Role::Member => By::Owner(who.name.clone()),
            _ => return Err(Problem::forbidden("a case is answered by its owner, a lead of the team, or an operator")),
        };
        let now_ms = clock::now_ms();
        let said = answer(word, reason.as_deref().unwrap_or_default(), *hours, now_ms)?;
        let done = say(&self.place, &self.lake()?, &case_id.to_string(), &by, &said, now_ms);
        Ok(json!({"done": done.map_err(|e| problem(&e))?}))
    }
}

impl Ledger {
    /// How reclaiming stands; empty where there is no control file yet.
    pub(super) fn reclaiming_now(&self) -> anyhow::Result<Reclaiming> {
        let lake = self.place.lake()?;
        let Some(control) = self.place.control(&lake)? else { return Ok(Reclaiming::default()) };
        let book = reached(&self.place, book_in_force(Some(&control))?.0);
        let store = store_of(&self.place, &lake, control)?;
        Ok(Reclaiming { switches: switches(&store, &book)?, bounds: bounds(&store, &book)? })
    }
}

/// The switches as the engine takes them: what was thrown counts as far as the policy allows, and a file stops everything.
fn switches(store: &ControlStore<KillPath>, book: &Book) -> anyhow::Result<Vec<SwitchNow>> {
    let taken = store.switches()?;
    let by_file = store.kill_file.is_there();
    let mut out = Vec::new();
    for which in Switch::ALL {
        let (is_on, otherwise) = match which {
            Switch::Notify => (taken.notify && book.notify, SwitchBy::Policy),
            Switch::Act => (taken.act && book.act, SwitchBy::Policy),
            Switch::Kill if by_file => (true, SwitchBy::File),
            Switch::Kill => (taken.killed.is_some(), SwitchBy::Nobody),
            Switch::Breaker => (taken.breaker.is_some(), SwitchBy::Nobody),
        };
        let thrown = store.control.switched(which)?;
        let counts = thrown.filter(|t| t.is_on == is_on && otherwise != SwitchBy::File);
        out.push(SwitchNow {
            which: which.as_str(),
            is_on,
            by: if counts.is_some() { SwitchBy::Person } else { otherwise },
            actor: counts.as_ref().map(|t| t.actor.clone()),
            reason: counts.as_ref().map(|t| t.reason.clone()),
            at_ms: counts.map(|t| t.at_ms),
        });
    }
    Ok(out)
}

fn bounds(store: &ControlStore<KillPath>, book: &Book) -> anyhow::Result<Vec<Bound>> {
    let now_ms = clock::now_ms();
    let (used, caps) = (Used::of(&store.past(now_ms - HOUR_MS)?, now_ms), &book.caps);
    let of = |name, used, limit| Bound { name, used, limit };
    Ok(vec![
        of("round", None, caps.per_round),
        of("hour", Some(used.hour()), caps.per_hour),
        of("team", Some(used.team()), caps.per_team_hour),
        of("node", Some(used.node()), caps.per_node_hour),
    ])
}

/// What a word says.
fn answer(word: &str, reason: &str, hours: Option<i64>, now_ms: i64) -> Result<Answer, Problem> {
    let reason = reason.trim().to_owned();
    let for_ms = || match hours {
        Some(hours) if (1..=HOURS_MAX).contains(&hours) => Ok(hours * HOUR_MS),
        Some(_) => Err(Problem::parameter("hours", format!("1 to {HOURS_MAX} hours"))),
        None => Err(Problem::parameter("hours", format!("say for how many hours: `{word}` ends by itself"))),
    };
    Ok(match word {
        "keep" => Answer::Keep { reason, for_ms: for_ms()? },
        "normal" => Answer::Normal { reason },
        "release" => Answer::Release,
        "exempt" => Answer::Exempt { reason, until_ms: now_ms + for_ms()? },
        "approve" => Answer::Approve,
        "hold" => Answer::Hold { reason },
        "resume" => Answer::Resume,
        other => {
            let known = "keep, normal, release, exempt, approve, hold or resume";
            return Err(Problem::parameter("word", format!("`{other}` is none of {known}")));
        }
    })
}

#[cfg(test)]
mod tests {
    use gpuledger_control::{Control, Switched};

    use super::*;

    #[test]
    fn a_switch_is_as_the_engine_takes_it() {
        let book = |text: &str| Book::read(text).unwrap();
        let (acts, warns_only) =
            (book("switch = { notify = true, act = true }"), book("switch = { notify = true, act = false }"));
        let thrown = |is_on| Some(Switched { is_on, at_ms: 5, actor: "grace".to_owned(), reason: "a test".to_owned() });
        // which, what was thrown, the policy, the file; whether it is on, and what decides it
        for (which, was, book, is_killed, is_on, by) in [
            // nobody threw it: the policy's word counts
            (Switch::Act, None, &acts, false, true, SwitchBy::Policy),
            (Switch::Act, None, &warns_only, false, false, SwitchBy::Policy),
            // thrown off, it is off; thrown on against the policy, it is not on
            (Switch::Act, thrown(false), &acts, false, false, SwitchBy::Person),
            (Switch::Act, thrown(true), &acts, false, true, SwitchBy::Person),
            (Switch::Act, thrown(true), &warns_only, false, false, SwitchBy::Policy),
            (Switch::Kill, None, &acts, false, false, SwitchBy::Nobody),
            (Switch::Kill, thrown(true), &acts, false, true, SwitchBy::Person),
            (Switch::Kill, thrown(false), &acts, true, true, SwitchBy::File),
            (Switch::Breaker, thrown(true), &acts, true, true, SwitchBy::Person),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
            if let Some(was) = &was {
                control.switch(which, was).unwrap();
            }
            let kill_file = KillPath(folder.path().join("stop"));
            if is_killed {
                std::fs::write(&kill_file.0, "").unwrap();
            }
            let all = switches(&ControlStore { control, holder: String::new(), kill_file }, book).unwrap();
            let stands = all.into_iter().find(|s| s.which == which.as_str()).unwrap();
            assert_eq!((stands.is_on, stands.by), (is_on, by), "{stands:?}");
            assert_eq!(stands.actor.is_some(), by == SwitchBy::Person, "{stands:?}");
        }
    }

    #[test]
    fn what_ends_by_itself_says_when() {
        let keep = answer("keep", " a sweep ", Some(2), 0).unwrap();
        assert_eq!(keep, Answer::Keep { reason: "a sweep".to_owned(), for_ms: 2 * HOUR_MS });
        let exempt = answer("exempt", "demo", Some(1), 5).unwrap();
        assert_eq!(exempt, Answer::Exempt { reason: "demo".to_owned(), until_ms: 5 + HOUR_MS });
        for (word, hours, wrong) in [
            ("keep", None, "hours"),
            ("keep", Some(0), "hours"),
            ("exempt", Some(i64::MAX), "hours"),
            ("kill", None, "word"),
        ] {
            assert_eq!(answer(word, "", hours, 0).unwrap_err().parameter.as_deref(), Some(wrong), "{word}");
        }
    }
}
