//! Closing: rows first, then the document that makes them count.

use std::collections::BTreeMap;

use gpuledger_schema::id::id63;
use gpuledger_schema::path;
use gpuledger_schema::table::{ChargeRow, Row, StatementLineRow};
use gpuledger_schema::window::Window;

use super::bill::{cost_centers, notes};
use super::draft::Draft;
use super::files::{Used, hashed, used};
use super::list::{Answer, Proposal, Waiver, propose};
use super::manifest::{Earlier, Manifest, Waived, rules, rules_sha256};
use super::read::register;
use super::rows::batch_of;
use super::{CloseError, WRITTEN};
use crate::bill::Period;
use crate::engine::{Engine, Params};
use crate::lake::Lake;
use crate::report::Reader;
use crate::rows::Columns;

/// What is asked of a close. The clock and randomness come from outside.
#[derive(Debug, Clone)]
pub struct CloseAsk {
    /// The period.
    pub period: Period,
    /// Now, epoch ms: documents carry it.
    pub now_ms: i64,
    /// How long after its end late data is waited for, ms.
    pub grace_ms: i64,
    /// A number that no other close has.
    pub nonce: u64,
    /// Who issues the bill.
    pub issuer: String,
    /// Who closes.
    pub closed_by: String,
    /// Version of the program.
    pub program: String,
    /// Head of the audit log, where there is one.
    pub audit_head: Option<String>,
    /// Items of the close list that somebody waived.
    pub waivers: Vec<Waiver>,
    /// What teams said of lines of the draft.
    pub answers: Vec<Answer>,
}

/// How far a close has come; told after each step that was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Figures, checks and the close list are there; nothing is written.
    Computed,
    /// Charges are written, and do not count yet.
    Charges,
    /// Lines are written, and do not count yet.
    Lines,
    /// Every data file is hashed.
    Files,
    /// The document is there: the period is closed.
    Closed,
}

/// How a close ended.
#[derive(Debug, Clone)]
pub enum Closed {
    /// The period is closed by this.
    Done(Box<Manifest>),
    /// It was closed before; nothing was done.
    Before(Box<Manifest>),
    /// Another closed it meanwhile; what this one wrote counts nowhere.
    Lost(Box<Manifest>),
    /// Something stands against it; nothing was written.
    Refused(Box<Proposal>),
}

impl CloseAsk {
    /// An id that no other close has.
    pub(super) fn close_id(&self) -> String {
        let id = id63("close", &[&self.period.name, &self.now_ms.to_string(), &self.nonce.to_string()]);
        format!("{}-{id:016x}", self.period.name)
    }
}

/// Closes a period as `reader` knows it: [`propose`], then [`commit`]. The caller holds the writer's lock where the lake has one.
///
/// # Errors
/// When a figure cannot be computed or a row cannot be written; the period is then not closed.
pub async fn close(
    lake: &Lake,
    reader: &Reader,
    ask: &CloseAsk,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<Closed, CloseError> {
    if let Some(before) = Manifest::find(lake, &ask.period.name).await? {
        return Ok(Closed::Before(Box::new(before)));
    }
    let found = propose(lake, reader, ask).await?;
    commit(lake, reader, ask, found, progress).await
}

/// Makes a proposal final, if nothing on its list is open: rows first, then the document that makes them count.
///
/// # Errors
/// When a row cannot be written, or another period was closed since the proposal: its corrections would be billed twice. The period is
/// then not closed.
pub async fn commit(
    lake: &Lake,
    reader: &Reader,
    ask: &CloseAsk,
    found: Proposal,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<Closed, CloseError> {
    if !found.clear() {
        return Ok(Closed::Refused(Box::new(found)));
    }
    progress(Step::Computed);
    let (written, rows) = write(lake, &found.draft, progress).await?;
    let mut manifest = manifest(reader, ask, &found).await?;
    manifest.written = written;
    let mut windows = vec![ask.period.window];
    let corrected = found.closed.iter().filter(|m| manifest.corrects.contains(&m.period));
    windows.extend(corrected.map(|m| Window { from_ms: m.from_ms, to_ms: m.to_ms }));
    let mut files = used(lake, &manifest.tables, &manifest.derived, &windows).await?;
    files.extend(rows);
    manifest.files = hashed(lake, files, &found.closed, reader.engine().partitions()).await?;
    progress(Step::Files);
    let others = |all: &[Manifest]| -> Vec<Earlier> {
        all.iter().filter(|m| m.period != ask.period.name).map(Manifest::earlier).collect()
    };
    if others(&Manifest::all(lake).await?) != others(&found.closed) {
        return Err(CloseError::Meanwhile(ask.period.name.clone()));
    }
    if lake.create_document(&path::close(&ask.period.name), &manifest).await? {
        progress(Step::Closed);
        return Ok(Closed::Done(Box::new(manifest)));
    }
    let other = Manifest::find(lake, &ask.period.name).await?;
    other.map(|m| Closed::Lost(Box::new(m))).ok_or_else(|| CloseError::NotClosed(ask.period.name.clone()))
}

/// Writes charges, then lines. Gives the versions that have them and the files they lie in.
async fn write(
    lake: &Lake,
    draft: &Draft,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<(BTreeMap<String, u64>, Vec<Used>), CloseError> {
    let lines = vec![batch_of(&draft.lines)?];
    let mut versions = BTreeMap::new();
    let mut files = Vec::new();
    for (spec, rows, step) in
        [(ChargeRow::TABLE, draft.charges.clone(), Step::Charges), (StatementLineRow::TABLE, lines, Step::Lines)]
    {
        let before = match lake.table(spec.name).await?.and_then(|t| t.version()) {
            Some(version) => lake.files_at(&spec, version).await?,
            None => Vec::new(),
        };
        let version = lake.append_rows(&spec, rows).await?;
        let new = lake.files_at(&spec, version).await?.into_iter().filter(|f| !before.contains(f));
        files.extend(new.map(|file| Used { table: spec.name.to_owned(), file }));
        versions.insert(spec.name.to_owned(), version);
        progress(step);
    }
    Ok((versions, files))
}

/// The document, but for what is known only when rows are written.
async fn manifest(reader: &Reader, ask: &CloseAsk, found: &Proposal) -> Result<Manifest, CloseError> {
    let (draft, of) = (&found.draft, &ask.period);
    let rules = rules();
    let (billed_minor, corrections_minor) = draft.billed_minor();
    let waived: Vec<Waived> = found
        .items
        .iter()
        .filter_map(|i| {
            let w = i.waiver.as_ref()?;
            let (reason, approver) = (w.reason.clone(), w.approver.clone());
            Some(Waived { item: i.id.clone(), what: i.what.clone(), reason, approver, at_ms: w.at_ms })
        })
        .collect();
    Ok(Manifest {
        close_id: found.close_id.clone(),
        period: of.name.clone(),
        from_ms: of.window.from_ms,
        to_ms: of.window.to_ms,
        zone: of.zone.name().to_owned(),
        currency: of.currency.code().to_owned(),
        issuer: ask.issuer.clone(),
        closed_ms: ask.now_ms,
        closed_by: ask.closed_by.clone(),
        program: ask.program.clone(),
        cut: reader.cut(),
        tables: reader.cut_tables().tables.clone(),
        derived: reader.build().tables.clone(),
        written: BTreeMap::new(),
        days: reader.build().days,
        ledger_rules: reader.build().rules.clone(),
        rules_sha256: rules_sha256(&rules),
        rules,
        earlier: found.closed.iter().map(Manifest::earlier).collect(),
        corrects: draft.corrections.iter().map(|c| c.period.clone()).collect(),
        notes: notes(&draft.conservation, &draft.lines, &waived, &of.currency),
        waived,
        audit_head: ask.audit_head.clone(),
        files: Vec::new(),
        lines: draft.lines.len() as u64,
        charges: draft.charge_rows() as u64,
        output_sha256: draft.output_sha256()?,
        billed_minor,
        corrections_minor,
        conservation: draft.conservation,
        cost_centers: cost_centers(reader, of).await?,
    })
}

/// Takes out what closes wrote that are in no document. The caller holds the writer's lock, so that none of them still runs; in an
/// object store, which has no such lock, nobody may be closing. Gives their ids.
///
/// # Errors
/// When rows cannot be read or taken out.
pub async fn sweep(lake: &Lake) -> Result<Vec<String>, CloseError> {
    let known: Vec<Earlier> = Manifest::all(lake).await?.iter().map(Manifest::earlier).collect();
    let engine = Engine::new(1);
    register(&engine, lake, &known).await?;
    let (_, rows) = engine.run("close/12_stray", &Params::new()).await?;
    let mut stray = Vec::new();
    for b in &rows {
        stray.extend(Columns(b).word("close_id")?);
    }
    for close_id in &stray {
        for (spec, _) in WRITTEN {
            lake.remove_close(&spec, close_id).await?;
        }
    }
    Ok(stray)
}
