//! Answers of people: owners keep, explain or give back; operators exempt, approve and hold; a mail server takes a delivery back.
//! Each is bounded by the policy, needs a reason where it holds something up, and is written with the name of who gave it.

use gpuledger_schema::reclaim::{Approval, Case, CaseEvent, EventKind, Phase};

use crate::policy::{Book, Settings};
use crate::port::{Store, StoreError};

/// Who answers. Whoever takes the answer has made sure of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The user whose run it is, or the lead of the team.
    Owner(String),
    /// An operator.
    Operator(String),
    /// The mail or chat system.
    Mail,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Keep it for a while.
    Keep {
        /// Why.
        reason: String,
        /// For how long, ms.
        for_ms: i64,
    },
    /// Inefficient, and as it should be: looked at again later.
    Normal {
        /// Why.
        reason: String,
    },
    /// Take it back now.
    Release,
    /// Leave it alone.
    Exempt {
        /// Why.
        reason: String,
        /// Until, epoch ms.
        until_ms: i64,
    },
    /// It may be acted upon when it is due.
    Approve,
    /// Do nothing until this is lifted.
    Hold {
        /// Why.
        reason: String,
    },
    /// Lift what holds it, or what keeps or exempts it.
    Resume,
    /// A letter came back.
    Bounce {
        /// Whether it was the last warning.
        last: bool,
        /// What the mail server said.
        why: String,
    },
}

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Not theirs to give.
    #[error("only {0} may say that")]
    NotTheirs(&'static str),
    /// It needs a reason.
    #[error("it needs a reason")]
    NoReason,
    /// Longer than the policy allows.
    #[error("at most {0} hours at a time")]
    TooLong(i64),
    /// Nothing to answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes an answer.
///
/// # Errors
/// Where it is not theirs to give, is out of bounds, or the case cannot move so.
pub fn answer<S: Store>(
    store: &mut S,
    book: &Book,
    case: &Case,
    who: &Who,
    answer: &Answer,
    now_ms: i64,
) -> Result<Case, AnswerError> {
    let event = event(book, case, who, answer, now_ms)?;
    Ok(store.move_case(None, case, &event)?)
}

fn event(book: &Book, case: &Case, who: &Who, answer: &Answer, now_ms: i64) -> Result<CaseEvent, AnswerError> {
    let actor = match who {
        Who::Owner(name) | Who::Operator(name) => name.as_str(),
        Who::Mail => "mail",
    };
    let operator = || match who {
        Who::Operator(_) => Ok(()),
        _ => Err(AnswerError::NotTheirs("an operator")),
    };
    let owner = || match who {
        Who::Owner(_) | Who::Operator(_) => Ok(()),
        Who::Mail => Err(AnswerError::NotTheirs("its owner")),
    };
    let of = |kind| CaseEvent::of(now_ms, actor, kind);
    let because = |reason: &str| {
        let reason = reason.trim();
        if reason.is_empty() { Err(AnswerError::NoReason) } else { Ok(Some(reason.to_owned())) }
    };
    // a policy that is not in force any more takes no answer away from an owner
    let settings = book.named(&case.policy, now_ms).map(|p| &p.settings);
    let built_in = Settings::built_in();
    Ok(match answer {
        Answer::Keep { reason, for_ms } => {
            owner()?;
            let max = settings.map_or(built_in.keep_max_ms, |s| s.keep_max_ms);
            if *for_ms <= 0 || *for_ms > max {
                return Err(AnswerError::TooLong(max / 3_600_000));
            }
            CaseEvent { reason: because(reason)?, until_ms: Some(now_ms + for_ms), ..of(EventKind::Kept) }
        }
        Answer::Normal { reason } => {
            owner()?;
            let review_ms = settings.map_or(built_in.review_ms, |s| s.review_ms);
            CaseEvent { reason: because(reason)?, until_ms: Some(now_ms + review_ms), ..of(EventKind::Normal) }
        }
        Answer::Release => {
            owner()?;
            of(EventKind::Released)
        }
        Answer::Exempt { reason, until_ms } => {
            operator()?;
            CaseEvent { reason: because(reason)?, until_ms: Some(*until_ms), ..of(EventKind::Exempted) }
        }
        Answer::Approve => {
            approver(who, settings.map(|s| s.approval))?;
            of(EventKind::Approved)
        }
        Answer::Hold { reason } => {
            operator()?;
            CaseEvent { reason: because(reason)?, ..of(EventKind::Held) }
        }
        Answer::Resume => {
            operator()?;
            of(EventKind::Resumed)
        }
        Answer::Bounce { last, why } => {
            if *who != Who::Mail {
                return Err(AnswerError::NotTheirs("the mail system"));
            }
            let phase = if *last { Phase::Order } else { Phase::Signal };
            CaseEvent { phase: Some(phase), reason: Some(why.clone()), ..of(EventKind::Bounced) }
        }
    })
}

/// An operator may always approve, an owner where the policy leaves it to owners.
fn approver(who: &Who, approval: Option<Approval>) -> Result<(), AnswerError> {
    match (who, approval) {
        (Who::Operator(_), _) | (Who::Owner(_), Some(Approval::Owner)) => Ok(()),
        _ => Err(AnswerError::NotTheirs("an operator")),
    }
}
