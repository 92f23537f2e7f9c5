//! What went wrong with a command, as who asked a server is told it.

use gpuledger_aggregator::close::CloseError;
use gpuledger_aggregator::lake::LakeError;
use gpuledger_aggregator::report::ReportError;
use gpuledger_api::StatusCode;
use gpuledger_api::problem::Problem;
use gpuledger_api::state::chain;
use gpuledger_control::ControlError;

use crate::outcome::{self, Outcome};

/// A command panicked.
pub(super) fn fault() -> Problem {
    Problem::fault("the command was stopped by a fault of its own")
}

/// What went wrong, to who asked: their fault, the data's, or ours.
pub(super) fn problem(e: &anyhow::Error) -> Problem {
    let text = crate::chain(e);
    for cause in e.chain() {
        if let Some(found) = cause.downcast_ref::<ReportError>() {
            return problem_of(found);
        }
        if cause.is::<LakeError>() {
            return Problem::unavailable(format!("the data cannot be read or written: {text}"));
        }
        match cause.downcast_ref::<CloseError>() {
            Some(CloseError::Report(found)) => return problem_of(found),
            Some(CloseError::NotClosed(_) | CloseError::NoLine { .. }) => return Problem::absent(text),
            Some(CloseError::Currency { .. } | CloseError::Meanwhile(_)) => return Problem::conflict(text),
            Some(CloseError::Unknown { .. } | CloseError::Gone(_)) => return Problem::unavailable(text),
            _ => {}
        }
    }
    if outcome::code_of(e) == Outcome::WRONG_USAGE {
        // `--by colour is not one of`: the flags of the command are the parameters of the address
        let flag = text.strip_prefix("--").and_then(|t| t.split([' ', ':']).next()).map(str::to_owned);
        let plain = text.trim_start_matches("--").to_owned();
        return match flag {
            Some(flag) => Problem::parameter(if flag == "zone" { "tz" } else { &flag }, plain),
            None if text.starts_with("no run ") => Problem::absent(plain),
            None if text.starts_with("say which time") => {
                Problem::parameter("month", "say which time: month=YYYY-MM, or from= and to=")
            }
            None => Problem::new(StatusCode::BAD_REQUEST, plain),
        };
    }
    if e.chain().any(|c| c.is::<ControlError>()) {
        return Problem::conflict(text);
    }
    tracing::error!(error = text, "a question failed");
    Problem::fault(text)
}

/// The same of a report.
pub(super) fn problem_of(e: &ReportError) -> Problem {
    let text = chain(e);
    match e {
        ReportError::Dimension(_) => Problem::parameter("by", text),
        ReportError::NoCut { .. } | ReportError::NotBuilt(_) => Problem::parameter("as_of", text),
        ReportError::Whole(_) => Problem::parameter("filter", text),
        ReportError::Empty(_) | ReportError::Stale | ReportError::Lake(_) => Problem::unavailable(text),
        _ => {
            tracing::error!(error = text, "a question failed");
            Problem::fault(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_closed_is_absent_and_no_fault() {
        let of = |e: CloseError| problem(&anyhow::Error::from(e).context("verify")).status;
        assert_eq!(of(CloseError::NotClosed("2026-01".to_owned())), 404);
        assert_eq!(of(CloseError::Meanwhile("2026-01".to_owned())), 409);
        assert_eq!(of(CloseError::Gone("part-0.parquet".to_owned())), 503);
    }
}
