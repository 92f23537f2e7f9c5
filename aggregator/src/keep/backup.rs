//! Copies of a lake, by cut: whatever is written meanwhile, the copy is the lake as it was at one moment.
//!
//! Order makes it so. Waiting segments are copied first: one that is taken in meanwhile is then there twice, and equal rows are one
//! row. Then the newest cut is read, and of builds and closes those that are of it or of cuts before. Of each table the log up to the
//! greatest version that these name is copied, and every data file that lies in its folder: a file is written before the version
//! that names it. Documents come last, so that a copy that dies is no backup.

use std::collections::BTreeMap;

use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::table;
use serde::{Deserialize, Serialize};

use super::KeepError;
use crate::close::Manifest;
use crate::lake::{Build, Copied, Cut, Lake};

/// Says that a place is a backup, and of what.
const DOCUMENT: &str = "backup.json";

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// The cut that the copy is of.
    pub cut: u64,
    /// Objects written.
    pub written: usize,
    /// Bytes written.
    pub bytes: u64,
    /// Objects that were there already.
    pub there: usize,
}

impl BackupReport {
    fn add(&mut self, copied: Copied) {
        match copied {
            Copied::Written(bytes) => {
                self.written += 1;
                self.bytes += bytes;
            }
            Copied::There => self.there += 1,
            Copied::Gone => {}
        }
    }
}

/// Documents of one moment.
struct Moment {
    cut: u64,
    /// Objects that are documents of cuts, batches, builds and closes, in the order in which they are copied.
    documents: Vec<String>,
    /// Greatest version of each table that they name.
    versions: BTreeMap<String, u64>,
    /// Versions whose files must all be there: those of the newest cut and build, and of the closes.
    whole: Vec<(String, u64)>,
}

/// Copies the lake to another place; what is there already is not written again. `control` gives the control file's content: it is
/// asked last, so that it knows at least what the copied lake does, and after the heads of its log were copied.
///
/// # Errors
/// When the lake has no cut, the place has a backup of another lake, a file that is named is gone, or a store fails.
pub async fn backup<E: From<KeepError>>(
    lake: &Lake,
    to: &Lake,
    control: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
) -> Result<BackupReport, E> {
    let mut report = copied(lake, to).await?;
    // the newest: what it says of prices and owners is known to the lake, or is published with the next import
    if let Some(control) = control()? {
        report.bytes += control.len() as u64;
        report.written += 1;
        to.put(CONTROL, control).await.map_err(KeepError::Lake)?;
    }
    to.put(DOCUMENT, serde_json::to_vec_pretty(&report).unwrap_or_default()).await.map_err(KeepError::Lake)?;
    Ok(report)
}

/// Copies all of the lake itself.
async fn copied(lake: &Lake, to: &Lake) -> Result<BackupReport, KeepError> {
    let mut report = BackupReport::default();
    for folder in [path::INBOX, path::QUARANTINE, path::AUDIT] {
        copy_folder(lake, to, folder, &mut report).await?;
    }
    let moment = moment(lake).await?;
    report.cut = moment.cut;
    if let Some(there) = to.newest::<Cut>(path::CUTS).await?.map(|(n, _)| n.0).filter(|n| *n > moment.cut) {
        return Err(KeepError::OtherLake { at: to.shown().to_owned(), there, here: moment.cut });
    }
    for (name, version) in &moment.versions {
        copy_table(lake, to, name, *version, &mut report).await?;
    }
    whole(lake, to, &moment).await?;
    for object in &moment.documents {
        report.add(lake.copy_to(to, object, true).await?);
    }
    Ok(report)
}

/// Where a backup has the control file.
const CONTROL: &str = "control.sqlite";

/// Copies a backup into an empty place, and gives the control file's content, where the backup has one.
///
/// # Errors
/// When `from` is no backup, the place has data, or a store fails.
pub async fn restore(from: &Lake, to: &Lake) -> Result<(BackupReport, Option<Vec<u8>>), KeepError> {
    if from.get(DOCUMENT).await?.is_none() {
        return Err(KeepError::NoBackup(from.shown().to_owned()));
    }
    let has_data = |names: Vec<crate::lake::Listed>| names.iter().any(|o| o.name.ends_with(".json"));
    if has_data(to.objects(path::CUTS).await?) || has_data(to.objects(path::TABLES).await?) {
        return Err(KeepError::NotEmpty(to.shown().to_owned()));
    }
    let mut report =
        BackupReport { cut: from.newest::<Cut>(path::CUTS).await?.map_or(0, |(n, _)| n.0), ..Default::default() };
    let documents = [path::BATCHES, path::BUILDS, path::CLOSES, path::CUTS];
    for folder in [path::INBOX, path::QUARANTINE, path::AUDIT, path::TABLES].into_iter().chain(documents) {
        copy_folder(from, to, folder, &mut report).await?;
    }
    // what else lies beside: documents of later versions of this program too
    for object in from.objects("").await? {
        let top = object.name.split('/').next().unwrap_or_default();
        let known =
            [path::INBOX, path::QUARANTINE, path::AUDIT, path::TABLES].into_iter().chain(documents).any(|f| f == top);
        if !known && ![DOCUMENT, CONTROL, ".writer.lock"].contains(&object.name.as_str()) {
            report.add(from.copy_to(to, &object.name, false).await?);
        }
    }
    Ok((report, from.get(CONTROL).await?))
}

async fn copy_folder(from: &Lake, to: &Lake, folder: &str, report: &mut BackupReport) -> Result<(), KeepError> {
    for object in from.objects(folder).await? {
        report.add(from.copy_to(to, &format!("{folder}/{}", object.name), true).await?);
    }
    Ok(())
}

async fn moment(lake: &Lake) -> Result<Moment, KeepError> {
    let nothing = || KeepError::Nothing(lake.shown().to_owned());
    let (newest, cut) = lake.newest::<Cut>(path::CUTS).await?.ok_or_else(nothing)?;
    let mut moment = Moment { cut: newest.0, documents: Vec::new(), versions: BTreeMap::new(), whole: Vec::new() };
    moment.name(&cut.tables);
    let mut builds = Vec::new();
    for object in lake.objects(path::BUILDS).await? {
        let Some(number) = Numbered::parse(&object.name) else { continue };
        let Some(build) = lake.document::<Build>(path::BUILDS, number).await? else { continue };
        if build.cut <= newest.0 {
            builds.push((number, build));
        }
    }
    if let Some((_, build)) = builds.iter().max_by_key(|(n, _)| n.0) {
        moment.name(&build.tables);
    }
    let closes: Vec<Manifest> = Manifest::all(lake).await?.into_iter().filter(|m| m.cut <= newest.0).collect();
    for manifest in &closes {
        for versions in [&manifest.derived, &manifest.written] {
            moment.name(versions);
        }
        // its minutes may be gone by age
        manifest.tables.iter().for_each(|(t, v)| moment.at_least(t, *v));
    }
    for object in lake.objects(path::BATCHES).await? {
        if Numbered::parse(&object.name).is_some_and(|n| n.0 <= newest.0) {
            moment.documents.push(format!("{}/{}", path::BATCHES, object.name));
        }
    }
    moment.documents.extend(builds.iter().map(|(n, _)| format!("{}/{}", path::BUILDS, n.file_name())));
    moment.documents.extend(closes.iter().map(|m| path::close(&m.period)));
    for object in lake.objects(path::CUTS).await? {
        if Numbered::parse(&object.name).is_some_and(|n| n.0 <= newest.0) {
            moment.documents.push(format!("{}/{}", path::CUTS, object.name));
        }
    }
    Ok(moment)
}

impl Moment {
    fn at_least(&mut self, table: &str, version: u64) {
        let known = self.versions.entry(table.to_owned()).or_default();
        *known = version.max(*known);
    }

    fn name(&mut self, versions: &BTreeMap<String, u64>) {
        for (table, version) in versions {
            self.at_least(table, *version);
            self.whole.push((table.clone(), *version));
        }
    }
}

/// Copies a table: data files, then its log up to a version.
async fn copy_table(
    lake: &Lake,
    to: &Lake,
    name: &str,
    version: u64,
    report: &mut BackupReport,
) -> Result<(), KeepError> {
    let folder = path::table(name);
    let mut log = Vec::new();
    for object in lake.objects(&folder).await? {
        match object.name.strip_prefix("_delta_log/") {
            // a pointer to the newest checkpoint, which may be of a later version; without it a reader lists the log
            Some("_last_checkpoint") => {}
            Some(entry) if version_of(entry).is_none_or(|v| v <= version) => log.push(object.name.clone()),
            Some(_) => {}
            None => report.add(lake.copy_to(to, &format!("{folder}/{}", object.name), true).await?),
        }
    }
    for entry in log {
        report.add(lake.copy_to(to, &format!("{folder}/{entry}"), true).await?);
    }
    Ok(())
}

/// The version of an entry of a log, `00000000000000000012.json` or `00000000000000000012.checkpoint.parquet`.
fn version_of(entry: &str) -> Option<u64> {
    entry.get(..20)?.parse().ok()
}

/// That every file is there which the versions name that must be readable.
async fn whole(lake: &Lake, to: &Lake, moment: &Moment) -> Result<(), KeepError> {
    let mut seen = std::collections::BTreeSet::new();
    for (name, version) in &moment.whole {
        let Some(spec) = spec(name).filter(|_| seen.insert((name, version))) else { continue };
        for file in to.files_at(&spec, *version).await? {
            if to.size(&file.path).await? != Some(file.size_bytes) {
                // perhaps it came between the listing and now
                let again = lake.copy_to(to, &file.path, false).await?;
                if again == Copied::Gone {
                    return Err(KeepError::Gone(file.path));
                }
            }
        }
    }
    Ok(())
}

fn spec(name: &str) -> Option<table::Table> {
    use table::{ChargeRow, Row, StatementLineRow};
    [ChargeRow::TABLE, StatementLineRow::TABLE].into_iter().find(|t| t.name == name).or_else(|| table::find(name))
}
