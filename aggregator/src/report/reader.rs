//! A lake opened for reading: the tables of one cut and its build, and the calendar of a window.

use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use gpuledger_schema::path::{self, Numbered};
use gpuledger_schema::window::{self, Window};
use tokio::sync::Mutex;

use super::facts::Priced;
use super::grouped::texts;
use super::narrow::{AskedTerms, Narrow};
use super::{Dimension, ReportError};
use crate::engine::{Engine, Params, bigint};
use crate::lake::{Build, Cut, Lake};
use crate::ledger;

/// Everything a report reads.
#[derive(Debug)]
pub struct Reader {
    engine: Engine,
    cut: (Numbered, Cut),
    build: Build,
    /// The window whose prices the session has, and how deep.
    priced: Mutex<Option<Priced>>,
    narrow: Narrow,
    terms: AskedTerms,
}

impl Reader {
    /// Opens the newest cut, or the one of that number; its ledger must have been built.
    pub async fn open(lake: &Lake, partitions: usize, cut: Option<u64>) -> Result<Self, ReportError> {
        let empty = || ReportError::Empty(lake.shown().to_owned());
        let (newest, newest_cut) = lake.newest::<Cut>(path::CUTS).await?.ok_or_else(empty)?;
        let (number, cut, build) = match cut {
            None => (newest, newest_cut, ledger::current(lake).await?.ok_or(ReportError::Stale)?),
            Some(wanted) => {
                let number = Numbered(wanted);
                let none = || ReportError::NoCut { at: lake.shown().to_owned(), wanted, newest: newest.0 };
                let cut = lake.document::<Cut>(path::CUTS, number).await?.ok_or_else(none)?;
                (number, cut, build_of(lake, wanted).await?.ok_or(ReportError::NotBuilt(wanted))?)
            }
        };
        Self::of(lake, partitions, (number, cut), build).await
    }

    /// Opens the versions that are named, whatever documents say of them today.
    ///
    /// # Errors
    /// When a version of a table cannot be opened.
    pub async fn of(lake: &Lake, partitions: usize, cut: (Numbered, Cut), build: Build) -> Result<Self, ReportError> {
        let engine = Engine::new(partitions);
        ledger::register_cut(&engine, lake, &cut.1).await?;
        ledger::register_build(&engine, lake, Some(&build)).await?;
        let (narrow, terms) = (Narrow::default(), AskedTerms::default());
        Ok(Self { engine, cut, build, priced: Mutex::new(None), narrow, terms })
    }

    /// The same tables in a session of its own with another number of partitions: nothing is priced there, and what is will be on the
    /// terms that pools have, whatever terms this session was asked about.
    pub async fn with_partitions(&self, partitions: usize) -> Result<Self, ReportError> {
        Ok(Self { terms: AskedTerms::default(), ..self.over(self.engine.fork(partitions).await?, None) })
    }

    /// The same tables, priced facts among them, in a session of its own: for reports side by side.
    pub async fn fork(&self) -> Result<Self, ReportError> {
        // while somebody prices, only some of the facts are there: what is said of them and what is taken belong together
        let priced = self.priced.lock().await;
        let engine = self.engine.fork(self.engine.partitions()).await?;
        Ok(self.over(engine, *priced))
    }

    fn over(&self, engine: Engine, priced: Option<Priced>) -> Self {
        let (narrow, terms) = (self.narrow.clone(), self.terms);
        Self { engine, cut: self.cut.clone(), build: self.build.clone(), priced: Mutex::new(priced), narrow, terms }
    }

    /// The same in a session of its own that selects some rows alone.
    ///
    /// # Errors
    /// When a table cannot be registered.
    pub async fn narrowed(&self, narrow: Narrow) -> Result<Self, ReportError> {
        Ok(Self { narrow, ..self.fork().await? })
    }

    /// The same in a session of its own that prices by other terms than the pools have.
    ///
    /// # Errors
    /// When a table cannot be registered.
    pub async fn on_terms(&self, terms: AskedTerms) -> Result<Self, ReportError> {
        let engine = self.engine.fork(self.engine.partitions()).await?;
        Ok(Self { terms, ..self.over(engine, None) })
    }

    /// Which rows may be selected.
    pub fn narrow(&self) -> &Narrow {
        &self.narrow
    }

    /// The terms that were asked about.
    pub(super) fn terms(&self) -> AskedTerms {
        self.terms
    }

    /// For a report that is about everybody: refused where only some rows may be selected.
    pub(crate) fn whole(&self, report: &'static str) -> Result<(), ReportError> {
        if self.narrow.is_all() { Ok(()) } else { Err(ReportError::Whole(report)) }
    }

    /// Whether a run may be seen: one of its payers, or its user, is meant. Its window must have been priced.
    pub(crate) async fn sees(&self, holder: i64) -> Result<bool, ReportError> {
        if self.narrow.is_all() {
            return Ok(true);
        }
        let (_, rows) = self.engine.run("read/66_run_payer", &Params::from([("holder", bigint(holder))])).await?;
        for batch in &rows {
            let (teams, users) = (texts(batch, "team")?, texts(batch, "user")?);
            let seen = |i: usize| {
                self.narrow.has(|d| match d {
                    Dimension::Team => Some(teams[i].as_str()),
                    Dimension::User => Some(users[i].as_str()),
                    _ => None,
                })
            };
            if (0..batch.num_rows()).any(seen) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the priced facts of this session are of, to be read and changed by who prices them.
    pub(super) fn priced(&self) -> &Mutex<Option<Priced>> {
        &self.priced
    }

    /// The session.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The number of the cut that is read.
    pub fn cut(&self) -> u64 {
        self.cut.0.0
    }

    /// The cut: versions of the observed and reference tables.
    pub(crate) fn cut_tables(&self) -> &Cut {
        &self.cut.1
    }

    /// The build: versions of the derived tables, the rules they were made with, and their days.
    pub(crate) fn build(&self) -> &Build {
        &self.build
    }

    /// The versions of the tables that are read, and the hash of the rules the ledger was made with.
    pub fn versions(&self) -> Vec<(String, String)> {
        let tables = self.cut.1.tables.iter().chain(&self.build.tables);
        let mut all =
            vec![("cut".to_owned(), self.cut.0.0.to_string()), ("rules".to_owned(), self.build.rules.clone())];
        all.extend(tables.map(|(table, version)| (table.clone(), version.to_string())));
        all
    }

    /// Registers the calendar of a window: one row per cell, with the local day it lies in.
    pub fn calendar(&self, window: Window, zone: Tz) -> Result<(), ReportError> {
        let rows = window::calendar(window, zone);
        let long =
            |f: fn(&window::CalendarRow) -> i64| -> ArrayRef { Arc::new(rows.iter().map(f).collect::<Int64Array>()) };
        let short =
            |f: fn(&window::CalendarRow) -> i32| -> ArrayRef { Arc::new(rows.iter().map(f).collect::<Int32Array>()) };
        let schema = Arc::new(Schema::new(vec![
            Field::new("cell", DataType::Int64, false),
            Field::new("day", DataType::Int32, false),
            Field::new("month", DataType::Int32, false),
            Field::new("hour_start_ms", DataType::Int64, false),
            Field::new("workday", DataType::Boolean, false),
            Field::new("day_ms", DataType::Int64, false),
            Field::new("hour", DataType::Int32, false),
            Field::new("weekday", DataType::Int32, false),
            Field::new("week", DataType::Int32, false),
        ]));
        let columns = vec![
            long(|r| r.cell),
            short(|r| r.day),
            short(|r| r.month),
            long(|r| r.hour_start_ms),
            Arc::new(rows.iter().map(|r| Some(r.workday)).collect::<BooleanArray>()),
            long(|r| r.day_ms),
            short(|r| r.hour),
            short(|r| r.weekday),
            short(|r| r.week),
        ];
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|e| ReportError::Shape(e.to_string()))?;
        Ok(self.engine.register_rows("calendar", schema, vec![batch])?)
    }
}

/// The newest build made from a cut.
async fn build_of(lake: &Lake, cut: u64) -> Result<Option<Build>, ReportError> {
    for (name, _) in lake.list(path::BUILDS).await?.into_iter().rev() {
        let Some(number) = Numbered::parse(&name) else { continue };
        let build = lake.document::<Build>(path::BUILDS, number).await?;
        if let Some(build) = build.filter(|b| b.cut == cut) {
            return Ok(Some(build));
        }
    }
    Ok(None)
}
