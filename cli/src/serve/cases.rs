//! Reclaiming as a server shows it and is told of it: how it stands, and answers to cases, the same that `gpuledger reclaim answer`
//! takes.

use gpuledger_api::answer::{Act, Bound, Reclaiming, SwitchBy, SwitchNow};
use gpuledger_api::problem::Problem;
use gpuledger_api::who::{Role, Who};
use gpuledger_control::{Control, Switch, Switched};
use gpuledger_reclaim::answer::{Answer, Who as By};
use gpuledger_reclaim::plan::Used;
use gpuledger_reclaim::policy::Book;
use gpuledger_reclaim::store::past_of;
use serde_json::{Value, json};

use super::Ledger;
use super::fault::problem;
use crate::clock;
use crate::reclaim::{book_in_force, kill_file, reached, say};

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
        let is_killed = kill_file(&self.place, &lake)?.exists();
        Ok(Reclaiming { switches: switches(&control, &book, is_killed)?, bounds: bounds(&control, &book)? })
    }
}

/// The switches as the engine takes them: what was thrown counts as far as the policy allows, and a file stops everything.
fn switches(control: &Control, book: &Book, is_killed: bool) -> anyhow::Result<Vec<SwitchNow>> {
    let mut out = Vec::new();
    for which in Switch::ALL {
        let thrown = control.switched(which)?;
        out.push(now(which, thrown, book, is_killed));
    }
    Ok(out)
}

fn now(which: Switch, thrown: Option<Switched>, book: &Book, is_killed: bool) -> SwitchNow {
    let allowed = match which {
        Switch::Notify => Some(book.notify),
        Switch::Act => Some(book.act),
        Switch::Kill | Switch::Breaker => None,
    };
    let by_file = which == Switch::Kill && is_killed;
    let was_on = thrown.as_ref().map(|t| t.is_on);
    let is_on = by_file || allowed.map_or(was_on.unwrap_or(false), |allowed| allowed && was_on.unwrap_or(true));
    let counts = thrown.filter(|t| t.is_on == is_on && !by_file);
    let by = match (&counts, allowed) {
        (Some(_), _) => SwitchBy::Person,
        (None, _) if by_file => SwitchBy::File,
        (None, Some(_)) => SwitchBy::Policy,
        (None, None) => SwitchBy::Nobody,
    };
    SwitchNow {
        which: which.as_str(),
        is_on,
        by,
        actor: counts.as_ref().map(|t| t.actor.clone()),
        reason: counts.as_ref().map(|t| t.reason.clone()),
        at_ms: counts.map(|t| t.at_ms),
    }
}

fn bounds(control: &Control, book: &Book) -> anyhow::Result<Vec<Bound>> {
    let now_ms = clock::now_ms();
    let asked = control.asked_since(now_ms - HOUR_MS)?;
    let past: Vec<_> = asked.iter().map(|(at_ms, case)| past_of(*at_ms, case)).collect();
    let (used, caps) = (Used::of(&past, now_ms), &book.caps);
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
            let stands = now(which, was, book, is_killed);
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
