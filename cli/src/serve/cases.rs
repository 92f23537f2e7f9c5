//! Answers to cases of reclaiming, as pages and routes bring them: the same that `gpuledger reclaim answer` takes.

use gpuledger_api::answer::Act;
use gpuledger_api::problem::Problem;
use gpuledger_api::who::{Role, Who};
use gpuledger_reclaim::answer::{Answer, Who as By};
use serde_json::{Value, json};

use super::Ledger;
use super::fault::problem;
use crate::clock;
use crate::reclaim::say;

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
