//! Rounding a bill, once: from exact money to minor units that add up at every level.

use std::collections::{BTreeMap, HashMap};

use gpuledger_schema::bill::{Conservation, LineKind};
use gpuledger_schema::table::StatementLineRow;

use super::{ExactBill, lines};
use crate::engine::{Engine, Params, bigint};
use crate::report::{Currency, ReportError, hand_down, round as round_once, whole};

/// Kinds of the platform's lines, in the order in which what is left over is handed down.
const PLATFORM: [LineKind; 6] = [
    LineKind::UnbilledHeld,
    LineKind::ToSettle,
    LineKind::Unallocated,
    LineKind::Unavailable,
    LineKind::Unobserved,
    LineKind::SharedOut,
];
/// Kinds of lines that teams pay and that come of charges.
const TEAM: [LineKind; 6] = [
    LineKind::Use,
    LineKind::Reserved,
    LineKind::Overage,
    LineKind::SharedUnallocated,
    LineKind::SharedUnavailable,
    LineKind::SharedUnobserved,
];

/// Rounds a bill: what teams pay is rounded once, half up, and handed down to statements (team, cost centre), then lines, by
/// largest remainder, ties by id; the fleet's cost is rounded once, and the platform's lines take what it leaves, kind by kind. Waste
/// and list value of a line are rounded on their own. Lines that did not come of charges (credits, adjustments, corrections) are in
/// whole minor units already and stay as they are.
///
/// # Errors
/// When a statement fails or gives other columns than it declares.
pub async fn round(engine: &Engine, currency: &Currency, bill: &mut ExactBill) -> Result<(), ReportError> {
    let kinds: Vec<Option<LineKind>> = bill.lines.iter().map(|l| l.kind.parse().ok()).collect();
    let billed = teams(engine, currency, &mut bill.lines, &kinds).await?;
    let rated = |k: &Option<LineKind>| k.is_some_and(|k| TEAM.contains(&k) || PLATFORM.contains(&k));
    let exact = bill.lines.iter().zip(&kinds).filter(|(_, k)| rated(k)).map(|(l, _)| l.exact).sum::<i128>();
    let fleet = round_once(engine, currency, &[("fleet", vec![exact])]).await?;
    let fleet = fleet.first().and_then(|f| f.first()).copied().unwrap_or(0);
    let parts = platform(engine, currency, &mut bill.lines, &kinds, fleet - billed).await?;
    beside(engine, currency, &mut bill.lines).await?;
    bill.conservation = Conservation {
        billed_minor: billed as i64,
        unbilled_held_minor: parts[0] as i64,
        to_settle_minor: parts[1] as i64,
        unallocated_minor: parts[2] as i64,
        unavailable_minor: parts[3] as i64,
        unobserved_minor: parts[4] as i64,
        shared_out_minor: -parts[5] as i64,
        fleet_minor: fleet as i64,
        ..bill.conservation
    };
    Ok(())
}

/// Which lines, by their number in order of their ids: ties go to the lesser id.
fn by_id(lines: &[StatementLineRow], mut numbers: Vec<usize>) -> Vec<usize> {
    numbers.sort_by_key(|i| lines[*i].line_id);
    numbers
}

/// Rounds what teams pay and hands it down. Gives the total in minor units.
async fn teams(
    engine: &Engine,
    currency: &Currency,
    lines: &mut [StatementLineRow],
    kinds: &[Option<LineKind>],
) -> Result<i128, ReportError> {
    let mut statements: BTreeMap<(String, Option<String>), Vec<usize>> = BTreeMap::new();
    for (i, line) in lines.iter().enumerate() {
        if kinds[i].is_some_and(|k| TEAM.contains(&k)) && !line.platform {
            statements.entry((line.team.clone(), line.cost_center.clone())).or_default().push(i);
        }
    }
    let statements: Vec<Vec<usize>> = statements.into_values().map(|s| by_id(lines, s)).collect();
    if statements.is_empty() {
        return Ok(0);
    }
    let exact = |of: &[usize]| of.iter().map(|i| lines[*i].exact).collect::<Vec<i128>>();
    let sums: Vec<i128> = statements.iter().map(|s| exact(s).iter().sum()).collect();
    let totals = round_once(engine, currency, &[("statements", sums)]).await?.remove(0);
    let parts: Vec<(String, Vec<i128>)> =
        statements.iter().enumerate().map(|(i, s)| (i.to_string(), exact(s))).collect();
    let amounts = hand_down(engine, currency, &parts, &totals).await?;
    for (statement, amounts) in statements.iter().zip(amounts) {
        for (i, amount) in statement.iter().zip(amounts) {
            lines[*i].amount_minor = amount as i64;
        }
    }
    Ok(totals.iter().sum())
}

/// Hands what is left of the fleet's cost down to the platform's kinds and lines. Gives the total of each kind.
async fn platform(
    engine: &Engine,
    currency: &Currency,
    lines: &mut [StatementLineRow],
    kinds: &[Option<LineKind>],
    total: i128,
) -> Result<[i128; 6], ReportError> {
    let of_kind = |kind: &LineKind| (0..lines.len()).filter(|i| kinds[*i] == Some(*kind)).collect::<Vec<usize>>();
    let numbers: Vec<Vec<usize>> = PLATFORM.iter().map(|k| by_id(lines, of_kind(k))).collect();
    let exact: Vec<Vec<i128>> = numbers.iter().map(|n| n.iter().map(|i| lines[*i].exact).collect()).collect();
    let sums = exact.iter().map(|e| e.iter().sum::<i128>()).collect();
    let totals = hand_down(engine, currency, &[("platform", sums)], &[total]).await?.remove(0);
    let there: Vec<usize> = (0..PLATFORM.len()).filter(|k| !numbers[*k].is_empty()).collect();
    let parts: Vec<(String, Vec<i128>)> = there.iter().map(|k| (k.to_string(), exact[*k].clone())).collect();
    let targets: Vec<i128> = there.iter().map(|k| totals[*k]).collect();
    if !parts.is_empty() {
        let amounts = hand_down(engine, currency, &parts, &targets).await?;
        for (k, amounts) in there.iter().zip(amounts) {
            for (i, amount) in numbers[*k].iter().zip(amounts) {
                lines[*i].amount_minor = amount as i64;
            }
        }
    }
    let mut out = [0; 6];
    out.copy_from_slice(&totals);
    Ok(out)
}

/// Fills in what lines show beside their amount.
async fn beside(engine: &Engine, currency: &Currency, lines: &mut [StatementLineRow]) -> Result<(), ReportError> {
    lines::register(engine, "bill_line", lines)?;
    let divisor = Params::from([("divisor", bigint(currency.divisor()))]);
    let (_, rows) = engine.run("charge/93_line_value", &divisor).await?;
    let mut values: HashMap<i128, (i64, i64)> = HashMap::new();
    for batch in &rows {
        let (ids, waste, list) = (whole(batch, "line_id")?, whole(batch, "waste_minor")?, whole(batch, "list_minor")?);
        for i in 0..batch.num_rows() {
            let minor = |of: &[Option<i128>]| of[i].unwrap_or(0) as i64;
            values.insert(ids[i].unwrap_or(0), (minor(&waste), minor(&list)));
        }
    }
    for line in lines {
        if let Some((waste, list)) = values.get(&i128::from(line.line_id)) {
            (line.waste_minor, line.list_minor) = (*waste, *list);
        }
    }
    Ok(())
}
