//! What a server has open: the newest ledger, priced once for each window that is asked for, and the answers made of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono_tz::Tz;
use gpuledger_aggregator::lake::{Build, Cut, Lake};
use gpuledger_aggregator::report::{self, AskedTerms, Reader, ReportError};
use gpuledger_api::answer::{Document, Report};
use gpuledger_api::ask::Ask;
use gpuledger_api::page::SOON;
use gpuledger_api::state::chain;
use gpuledger_api::who::Scope;
use gpuledger_schema::path::{self, Numbered};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};

/// Windows that stay priced: each holds its steps in memory.
const WINDOWS: usize = 4;
/// Answers that are kept.
const ANSWERS: usize = 512;

/// What a ledger is open for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Of {
    cut: u64,
    build: u64,
    window: Option<(i64, i64)>,
    zone: String,
    terms: AskedTerms,
}

/// A question and who may hear its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) cut: u64,
    pub(super) build: u64,
    pub(super) scope: Scope,
    /// Whether names of users are as they are.
    pub(super) plain: bool,
    pub(super) ask: Ask,
    pub(super) what: Report,
}

/// Answered once, however many ask at the same time.
pub(super) type Answered = Arc<OnceCell<Document>>;

/// What is open.
#[derive(Debug)]
pub(super) struct Open {
    workers: Handle,
    readers: tokio::sync::Mutex<Vec<(Of, Arc<Reader>)>>,
    known: Mutex<Known>,
    answers: Mutex<HashMap<Question, Answered>>,
}

/// How far is known: what was found last, and where a newer cut is being looked at, the end of that look.
#[derive(Debug, Default)]
struct Known {
    found: Option<Found>,
    looking: Option<watch::Receiver<()>>,
}

/// What was found in a cut and its build: the end of what is known, absent where nothing is known of any cluster; or why nothing was.
#[derive(Debug, Clone)]
struct Found {
    of: (u64, u64),
    to: Result<Option<i64>, String>,
}

/// A cut of a lake and the build that was made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Newest {
    pub(super) cut: u64,
    pub(super) build: u64,
    /// First and last UTC day that has usage.
    pub(super) days: Option<(i32, i32)>,
    /// The newest cut, also where nothing was built of it yet.
    pub(super) taken: u64,
}

impl Open {
    /// Nothing yet.
    pub(super) fn new(workers: Handle) -> Self {
        Self { workers, readers: tokio::sync::Mutex::default(), known: Mutex::default(), answers: Mutex::default() }
    }

    /// The newest ledger there is: looked up each time, so that nobody is shown an older one.
    pub(super) async fn newest(lake: &Lake) -> Result<Option<Newest>, ReportError> {
        let Some((Numbered(taken), _)) = lake.newest::<Cut>(path::CUTS).await? else { return Ok(None) };
        let Some((Numbered(build), found)) = lake.newest::<Build>(path::BUILDS).await? else { return Ok(None) };
        Ok(Some(Newest { cut: found.cut, build, days: found.days, taken }))
    }

    /// The ledger of a cut, in the session that is priced for a window on terms; a new one where there is none.
    pub(super) async fn reader(
        &self,
        lake: &Lake,
        partitions: usize,
        at: Newest,
        ask: &Ask,
        terms: AskedTerms,
    ) -> Result<Arc<Reader>, ReportError> {
        let of = Of { cut: at.cut, build: at.build, window: ask.window, zone: ask.zone.clone(), terms };
        let mut readers = self.readers.lock().await;
        if let Some(n) = readers.iter().position(|(known, _)| *known == of) {
            let found = readers.remove(n);
            let reader = Arc::clone(&found.1);
            readers.push(found);
            return Ok(reader);
        }
        let of_cut = readers.iter().find(|(known, _)| (known.cut, known.build) == (of.cut, of.build));
        let reader = match of_cut {
            // its tables are open already: the same in another session
            Some((_, open)) => open.with_partitions(partitions).await?,
            None => Reader::open(lake, partitions, Some(at.cut)).await?,
        };
        let reader = if terms == AskedTerms::default() { reader } else { reader.on_terms(terms).await? };
        let reader = Arc::new(reader);
        // what was opened of older cuts is let go as soon as a newer one is asked for
        readers.retain(|(known, _)| known.cut >= of.cut || known.cut != at.taken && known.window == of.window);
        if readers.len() >= WINDOWS {
            readers.remove(0);
        }
        readers.push((of, Arc::clone(&reader)));
        Ok(reader)
    }

    /// End of what is known in a cut, looked up once for each build. While a newer cut is looked at, the end that was found before:
    /// what is known only grows. Absent where nothing is known of any cluster.
    ///
    /// # Errors
    /// Why nothing could be looked up.
    pub(super) async fn known_to(
        self: &Arc<Self>,
        lake: &Lake,
        partitions: usize,
        at: Newest,
        zone: Tz,
    ) -> Result<Option<i64>, String> {
        let of = (at.cut, at.build);
        let (before, mut looked) = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let before = known.found.clone().filter(|found| matches!(found.to, Ok(Some(_))));
            if let Some(found) = before.as_ref().filter(|found| found.of == of) {
                return found.to.clone();
            }
            let begin = || Arc::clone(self).look(lake.clone(), partitions, at, zone);
            (before, known.looking.get_or_insert_with(begin).clone())
        };
        // an error says that the look is over, which is what is waited for
        match before {
            Some(_) => drop(tokio::time::timeout(SOON, looked.changed()).await),
            None => drop(looked.changed().await),
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.found.clone().map_or(Ok(None), |found| found.to)
    }

    /// Looks at a cut, whether or not somebody waits for it.
    fn look(self: Arc<Self>, lake: Lake, partitions: usize, at: Newest, zone: Tz) -> watch::Receiver<()> {
        let (done, looked) = watch::channel(());
        let open = Arc::clone(&self);
        let look = async move {
            let base = open.reader(&lake, partitions, at, &Ask::in_zone(zone), AskedTerms::default()).await;
            let base = base.map_err(|e| chain(&e))?;
            Ok(report::last_week(&base).await.ok().map(|week| week.to_ms))
        };
        let workers = self.workers.clone();
        workers.clone().spawn(async move {
            // a fault of the look ends the look, and the next one is begun anew
            let to = workers
                .spawn(look)
                .await
                .unwrap_or_else(|_| Err("the look at a cut was stopped by a fault".to_owned()));
            let found = Some(Found { of: (at.cut, at.build), to });
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known { found, looking: None };
            drop(done);
        });
        looked
    }

    /// The place of an answer.
    pub(super) fn answer(&self, question: Question) -> Answered {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= ANSWERS && !answers.contains_key(&question) {
            let newest = answers.keys().map(|q| (q.cut, q.build)).max();
            answers.retain(|q, _| Some((q.cut, q.build)) == newest);
            if answers.len() >= ANSWERS {
                answers.clear();
            }
        }
        Arc::clone(answers.entry(question).or_default())
    }
}
