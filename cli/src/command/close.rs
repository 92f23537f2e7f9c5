//! `close`, `periods`, `verify`: making a billing month final, listing which are, proving one.

use std::io::IsTerminal;

use gpuledger_aggregator::bill::Period;
use gpuledger_aggregator::close::{self, CloseAsk, Closed, Manifest, Proposal, Step};
use gpuledger_aggregator::lake::Lake;
use gpuledger_aggregator::report::{Format, Reader, ReportError};
use gpuledger_schema::unit::DAY_MS;

use super::{print, reference, show};
use crate::args::{Close, Periods, Verify};
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::{self, Place};

mod kept;
mod statement;

pub(super) use kept::{Kept, note_closed};
pub(super) use statement::{explain, statement, uncharged};

/// Days after its end in which a period still collects, where the configuration does not say.
const GRACE_DAYS: u32 = 3;

/// A month as a period of this place.
pub(super) fn period(place: &Place, lake: &Lake, month: &str, zone: Option<&str>) -> anyhow::Result<Period> {
    let zone = place.zone_needed(zone)?;
    close::period(month, zone, &place.currency(lake)?).map_err(|e| usage(e.to_string()))
}

/// Who issues bills here.
pub(super) fn issuer(place: &Place) -> String {
    place.config.issuer.clone().unwrap_or_else(|| "gpuledger".to_owned())
}

fn ask(place: &Place, period: Period, kept: &Kept) -> anyhow::Result<CloseAsk> {
    let mut nonce = [0_u8; 8];
    getrandom::getrandom(&mut nonce).map_err(|e| anyhow::anyhow!("the system gives no randomness: {e}"))?;
    let grace_days = place.config.grace_days.unwrap_or(GRACE_DAYS);
    Ok(CloseAsk {
        waivers: kept.waivers(&period.name)?,
        answers: kept.answers(&period.name)?,
        audit_head: kept.audit_head()?,
        period,
        now_ms: clock::now_ms(),
        grace_ms: i64::from(grace_days) * DAY_MS,
        nonce: u64::from_be_bytes(nonce),
        issuer: issuer(place),
        closed_by: reference::actor(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// The newest cut with its ledger; the writer's lock is held.
async fn newest(place: &Place, lake: &Lake) -> anyhow::Result<Reader> {
    match Reader::open(lake, place.partitions(), None).await {
        Err(ReportError::Stale) => {
            place::build(lake, place.partitions()).await?;
            Ok(Reader::open(lake, place.partitions(), None).await?)
        }
        other => Ok(other?),
    }
}

pub(super) async fn run(place: &Place, asked: &Close, format: Format) -> anyhow::Result<Outcome> {
    if place.cut.is_some() {
        return Err(usage("a period is closed from the newest cut: leave out --cut"));
    }
    let lake = place.lake()?;
    let of = period(place, &lake, &asked.period, asked.zone.as_deref())?;
    if asked.dry_run {
        if let Some(before) = Manifest::find(&lake, &of.name).await? {
            return closed(&of, &Closed::Before(Box::new(before)), format);
        }
        let reader = place.reader(&lake).await?;
        let ask = ask(place, of.clone(), &Kept::to_read(place, &lake)?)?;
        let mut found = close::propose(&lake, &reader, &ask).await?;
        let waivers = waivers(asked, &found, ask.now_ms)?;
        found.waive(&waivers);
        tell(&of, &found, format)?;
        return Ok(if found.clear() { Outcome::Done } else { Outcome::Failed });
    }
    let _lock = place.writer(&lake).await?;
    let mut kept = Kept::to_write(place, &lake)?;
    kept.closed(&Manifest::all(&lake).await?)?;
    if let Some(before) = Manifest::find(&lake, &of.name).await? {
        kept.keep_head(&lake).await?;
        return closed(&of, &Closed::Before(Box::new(before)), format);
    }
    let since = clock::started();
    let reader = newest(place, &lake).await?;
    let mut ask = ask(place, of.clone(), &kept)?;
    let mut found = close::propose(&lake, &reader, &ask).await?;
    for waiver in waivers(asked, &found, ask.now_ms)? {
        kept.waive(&of.name, &waiver, &ask.closed_by)?;
        found.waive(&[waiver]);
    }
    ask.audit_head = kept.audit_head()?;
    let ended = close::commit(&lake, &reader, &ask, found, &mut |step| progress(step, since)).await?;
    if let Closed::Done(manifest) | Closed::Before(manifest) | Closed::Lost(manifest) = &ended {
        kept.closed(std::slice::from_ref(manifest))?;
    }
    kept.keep_head(&lake).await?;
    closed(&of, &ended, format)
}

/// What was done, and how long it took so far, for a person who waits.
fn progress(step: Step, since: std::time::Instant) {
    let done = match step {
        Step::Computed => "figures, checks and close list",
        Step::Charges => "charges written",
        Step::Lines => "lines written",
        Step::Files => "data files hashed",
        Step::Closed => "closed",
    };
    if std::io::stderr().is_terminal() {
        eprintln!("{done} ({} ms)", since.elapsed().as_millis());
    }
}

/// Waivers of the items that were named, or of all of a kind that was.
fn waivers(asked: &Close, found: &Proposal, at_ms: i64) -> anyhow::Result<Vec<close::Waiver>> {
    let mut out = Vec::new();
    for word in &asked.waive {
        let named: Vec<_> = found.items.iter().filter(|i| i.id == *word || i.kind == *word).collect();
        if named.is_empty() {
            return Err(usage(format!("nothing on the close list is called `{word}`; --dry-run shows the list")));
        }
        if let Some(firm) = named.iter().find(|i| !i.waivable) {
            return Err(usage(format!("`{}` cannot be waived: {}", firm.id, firm.mend)));
        }
        out.extend(named.into_iter().filter(|i| i.waiver.is_none()).map(|i| close::Waiver {
            item: i.id.clone(),
            reason: asked.reason.clone().unwrap_or_default(),
            approver: asked.approver.clone().unwrap_or_default(),
            at_ms,
        }));
    }
    Ok(out)
}

fn tell(of: &Period, found: &Proposal, format: Format) -> anyhow::Result<()> {
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(found.items)).as_bytes()),
        _ => print(close::list_text(of, found).as_bytes()),
    }
}

fn closed(of: &Period, ended: &Closed, format: Format) -> anyhow::Result<Outcome> {
    let (how, manifest) = match ended {
        Closed::Refused(found) => {
            tell(of, found, format)?;
            eprintln!("{} is not closed: the close list has open items", of.name);
            return Ok(Outcome::Failed);
        }
        Closed::Done(m) => ("is closed", m),
        Closed::Before(m) => ("was closed before, and stays as it is", m),
        Closed::Lost(m) => ("was closed by another meanwhile; what was written here counts nowhere", m),
    };
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(manifest)).as_bytes())?,
        _ => print(close::closed_text(of, how, manifest).as_bytes())?,
    }
    Ok(Outcome::Done)
}

pub(super) async fn periods(place: &Place, asked: &Periods, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let zone = place.zone_needed(asked.zone.as_deref())?;
    if asked.sweep {
        let _lock = place.writer(&lake).await?;
        let stray = close::sweep(&lake).await?;
        print(format!("{} closes that died on their way: their rows are taken out\n", stray.len()).as_bytes())?;
    }
    let reader = place.reader(&lake).await?;
    let currency = place.currency(&lake)?;
    show(&close::periods(&lake, &reader, zone, &currency, clock::now_ms()).await?, format)?;
    Ok(Outcome::Done)
}

pub(super) async fn verify(place: &Place, asked: &Verify, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let found = close::verify(&lake, place.partitions(), &asked.period).await?;
    match format {
        Format::Json => print(format!("{:#}\n", serde_json::json!(found)).as_bytes())?,
        _ => print(found.text().as_bytes())?,
    }
    Ok(if found.differs.is_empty() { Outcome::Done } else { Outcome::Failed })
}
