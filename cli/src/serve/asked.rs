//! A question to the server as the command that somebody would type: the answer is what that command prints.

use std::str::FromStr;

use chrono::{DateTime, SecondsFormat};
use gpuledger_aggregator::report::{AskedTerms, Dimension, Narrow};
use gpuledger_api::answer::{Act, Quote, Report};
use gpuledger_api::ask::{self, Ask, Basis, Step, Unallocated};
use gpuledger_api::problem::Problem;
use gpuledger_api::who::{Scope, Who};
use gpuledger_control::ReferenceTable;

use crate::args::{self, Command, Rates, Report as Typed};

/// What is asked, as it is typed.
pub(super) fn command(ask: &Ask, what: &Report) -> Result<Command, Problem> {
    let zone = Some(ask.zone.clone());
    Ok(match what {
        Report::Charges => Command::Report(Typed::Charge(asked(ask))),
        Report::Usage => Command::Report(Typed::Usage(asked(ask))),
        Report::Accounting => Command::Report(Typed::Accounting(asked(ask))),
        Report::Gaps { top } => Command::Report(Typed::Gaps(args::Gaps { asked: asked(ask), top: *top })),
        Report::Findings { rules, top } => Command::Report(Typed::Findings(args::FindingsAsked {
            asked: asked(ask),
            rule: rules.clone(),
            top: *top,
            lang: ask.lang.word().to_owned(),
        })),
        Report::Verified => Command::Findings(args::Findings::Verify { zone }),
        Report::Job(job) => {
            Command::Report(Typed::Job(args::Job { job: job.clone(), zone, lang: ask.lang.word().to_owned() }))
        }
        Report::Explain { run, cells, minutes } => {
            if run == "line" {
                return Err(Problem::absent("no run `line`"));
            }
            let (cells, minutes) = (*cells, *minutes);
            Command::Explain(args::Explain { allocation: run.clone(), line: Vec::new(), zone, cells, minutes })
        }
        Report::ExplainLine { period, line } => Command::Explain(args::Explain {
            allocation: "line".to_owned(),
            line: vec![period.clone(), line.clone()],
            zone,
            cells: false,
            minutes: false,
        }),
        Report::Fleet { split } => {
            Command::Report(Typed::Fleet(args::Fleet { asked: asked(ask), split: split.clone() }))
        }
        Report::Fragmentation => {
            Command::Report(Typed::Fragmentation(args::Fragmentation { asked: asked(ask), jobs: false }))
        }
        Report::Quota { runs } => Command::Report(Typed::Quota(args::Quota { asked: asked(ask), runs: *runs })),
        Report::Assets { at_ms } => Command::Report(Typed::Assets(args::Assets { at: at_ms.map(instant), zone })),
        Report::Census { hours } => Command::Report(Typed::Census(args::Census { asked: asked(ask), hours: *hours })),
        Report::CardHours => Command::Report(Typed::Hours(asked(ask))),
        Report::RunWeek => Command::Report(Typed::Week(asked(ask))),
        Report::Health { period } => {
            Command::Report(Typed::Health(args::Health { asked: asked(ask), period: period.clone() }))
        }
        Report::Watch { at_ms } => Command::Report(Typed::Watch(args::Watch { at: at_ms.map(instant), zone })),
        Report::Assessment => Command::Report(Typed::Assessment(asked(ask))),
        Report::Budgets { at_ms } => Command::Report(Typed::Budgets(args::Budgets { at: at_ms.map(instant), zone })),
        Report::Cost => Command::Report(Typed::Cost(args::Cost { month: month(ask)?, zone })),
        Report::Quote(quote) => Command::Rates(Rates::Quote(quoted(quote, zone))),
        other => return kept(ask, other, zone),
    })
}

/// Questions about bills and about what is kept beside the ledger.
fn kept(ask: &Ask, what: &Report, zone: Option<String>) -> Result<Command, Problem> {
    Ok(match what {
        Report::Uncharged => Command::Uncharged(args::Uncharged { month: month(ask)?, zone }),
        Report::Check => Command::Check(args::Check { zone }),
        Report::Periods => Command::Periods(args::Periods { zone, sweep: false }),
        Report::Statement { period, team } => {
            Command::Statement(args::Statement { answer: None, period: Some(period.clone()), team: team.clone(), zone })
        }
        Report::CloseList { period } => Command::Close(args::Close {
            period: period.clone(),
            zone,
            dry_run: true,
            waive: Vec::new(),
            reason: None,
            approver: None,
        }),
        Report::Verify { period } => Command::Verify(args::Verify { period: period.clone() }),
        Report::Corrections { period } => Command::Correct(args::Correct::Preview { period: period.clone(), zone }),
        Report::Reference { table } => listed(table, zone)?,
        Report::Audit { table } => {
            let (from, to) = ask.window.map(|(from, to)| (instant(from), instant(to))).unzip();
            Command::Audit(args::Audit { verify: None, table: table.clone(), from, to, zone })
        }
        other => return Err(Problem::fault(format!("no command answers {other:?}"))),
    })
}

fn asked(ask: &Ask) -> args::Asked {
    let (from, to) = match (&ask.month, ask.window) {
        (None, Some((from, to))) => (Some(instant(from)), Some(instant(to))),
        _ => (None, None),
    };
    let by: Vec<String> = ask.by.iter().map(|d| (*d).to_owned()).collect();
    args::Asked {
        from,
        to,
        month: ask.month.clone(),
        zone: Some(ask.zone.clone()),
        step: ask.step.map(|s| Step::word(s).to_owned()),
        by: (!by.is_empty()).then_some(by),
    }
}

fn month(ask: &Ask) -> Result<String, Problem> {
    ask.month.clone().ok_or_else(|| Problem::parameter("month", "`month` is needed: YYYY-MM"))
}

/// An instant as it is typed.
pub(super) fn instant(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms)
        .map_or_else(|| ms.to_string(), |t| t.to_rfc3339_opts(SecondsFormat::Millis, true))
}

fn quoted(quote: &Quote, zone: Option<String>) -> args::Quote {
    args::Quote {
        gpus: quote.gpus,
        model: quote.model.clone(),
        duration: quote.duration.clone(),
        from: quote.from.clone(),
        zone,
        team: quote.team.clone(),
        pool: quote.pool.clone(),
        cluster: None,
        task_type: quote.task_type.clone().unwrap_or_else(|| "unknown".to_owned()),
        preemptible: quote.preemptible,
        memory: args::Memory {
            params: quote.params.clone(),
            precision: "bf16".to_owned(),
            task: "infer".to_owned(),
            context: 4_096,
            batch: 1,
        },
    }
}

/// The table of a command word.
pub(super) fn table(word: &str) -> Result<ReferenceTable, Problem> {
    ReferenceTable::from_str(word).map_err(|e| Problem::absent(e.to_string()))
}

fn listed(word: &str, zone: Option<String>) -> Result<Command, Problem> {
    let list = args::Reference::List { zone };
    Ok(match table(word)? {
        ReferenceTable::Inventory => Command::Inventory(list),
        ReferenceTable::Pools => Command::Pools(list),
        ReferenceTable::Tiers => Command::Tiers(list),
        ReferenceTable::Rules => Command::Rules(list),
        ReferenceTable::Weights => Command::Weights(list),
        ReferenceTable::Rates => Command::Rates(Rates::Table(list)),
        ReferenceTable::Owners => Command::Owners(list),
        ReferenceTable::Quotas => Command::Quotas(list),
        ReferenceTable::Thresholds => Command::Thresholds(list),
        ReferenceTable::Specs => Command::Specs(list),
        ReferenceTable::FindingNotes => Command::FindingNotes(list),
        ReferenceTable::Terms => Command::Terms(list),
        ReferenceTable::Discounts => Command::Discounts(list),
        ReferenceTable::CostPools => Command::CostPools(list),
        ReferenceTable::EnergyPrices => Command::EnergyPrices(list),
        ReferenceTable::Budgets => Command::Budgets(list),
        ReferenceTable::CostCenters => Command::CostCenters(list),
        ReferenceTable::ManualLines => Command::ManualLines(args::ManualLines::Table(list)),
        ReferenceTable::Contacts => Command::Contacts(list),
    })
}

/// Something to do, as it is typed; what is no command is none.
pub(super) fn act(who: &Who, act: &Act) -> Result<Option<Command>, Problem> {
    let by = who.name.clone();
    Ok(match act {
        Act::Finding { rule, subject, word, reason } => {
            let note = args::Note {
                rule: rule.clone(),
                subject: subject.clone(),
                reason: reason.clone(),
                by: Some(by),
                at: None,
            };
            Some(Command::Findings(match word.as_str() {
                "accept" => args::Findings::Accept(note),
                "done" => args::Findings::Done(note),
                "dismiss" => args::Findings::Dismiss(note),
                "reopen" => args::Findings::Reopen(note),
                other => {
                    let text = format!("`{other}` is not one of: accept, done, dismiss, reopen");
                    return Err(Problem::parameter("word", text));
                }
            }))
        }
        Act::Line { period, line, disputed, reason } => {
            let answer =
                args::LineAnswer { period: period.clone(), line: *line, by, reason: reason.clone(), zone: None };
            let answer =
                if *disputed { args::StatementAnswer::Dispute(answer) } else { args::StatementAnswer::Accept(answer) };
            Some(Command::Statement(args::Statement { answer: Some(answer), period: None, team: None, zone: None }))
        }
        Act::Close { period, waive, reason, approver } => {
            if !waive.is_empty() && (reason.is_none() || approver.is_none()) {
                return Err(Problem::parameter("reason", "what is waived needs `reason` and `approver`"));
            }
            Some(Command::Close(args::Close {
                period: period.clone(),
                zone: None,
                dry_run: false,
                waive: waive.clone(),
                reason: reason.clone(),
                approver: approver.clone(),
            }))
        }
        Act::Import { .. } | Act::Case { .. } | Act::Switch { .. } => None,
    })
}

/// Which rows may be selected: those of the scope, and of them those that are asked for.
pub(super) fn narrow(scope: &Scope, ask: &Ask) -> Result<Narrow, Problem> {
    let mut lists = Vec::new();
    match scope {
        Scope::All => {}
        Scope::Teams(teams) => lists.push(teams.iter().map(|t| (Dimension::Team, t.clone())).collect()),
        Scope::User(user) => lists.push(vec![(Dimension::User, user.clone())]),
        Scope::Nothing => lists.push(Vec::new()),
    }
    for ask::Filter { dimension, words } in &ask.filter {
        let dimension: Dimension = dimension.parse().map_err(|e| Problem::parameter("filter", format!("{e}")))?;
        lists.push(words.iter().map(|w| (dimension, w.clone())).collect());
    }
    Ok(Narrow(lists))
}

/// The terms that are asked about.
pub(super) fn terms(ask: &Ask) -> Result<AskedTerms, Problem> {
    let mode = match ask.basis {
        None => None,
        Some(Basis::Held) => Some("held"),
        Some(Basis::Busy) => Some("busy"),
        Some(Basis::Effective) => {
            let text =
                "no pool is billed by effective time: it is a measure beside the bill (effective_hours of usage)";
            return Err(Problem::parameter("basis", text));
        }
    };
    let share = ask.unallocated.map(|u| match u {
        Unallocated::Separate => "none",
        Unallocated::Even => "even",
        Unallocated::ByHeld => "held",
        Unallocated::ByQuota => "quota",
    });
    Ok(AskedTerms { mode, share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_address_are_those_of_the_command_line() {
        let ours: Vec<&str> = Dimension::ALL.iter().map(|d| d.word()).collect();
        assert_eq!(ask::DIMENSIONS, ours);
    }

    #[test]
    fn a_scope_is_a_list_of_which_a_row_must_have_one() {
        let asked = Ask::in_zone(chrono_tz::UTC).only("pool", "a");
        let lead = Scope::Teams(["nlp".to_owned(), "vision".to_owned()].into());
        let narrow = narrow(&lead, &asked).unwrap();
        assert_eq!((narrow.0.len(), narrow.0[0].len(), narrow.0[1].len()), (2, 2, 1));
        assert_eq!(super::narrow(&Scope::Nothing, &Ask::in_zone(chrono_tz::UTC)).unwrap().0, [Vec::new()]);
    }
}
