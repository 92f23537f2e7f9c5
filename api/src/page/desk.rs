//! Where a page's questions are worked on. A page shows what is there at once; a question that takes longer is worked on whether
//! or not somebody still looks, and the page is asked again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::Answer;
use crate::answer::{Document, Lasts, Report as Question};
use crate::ask::Ask;
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Role, Scope, Who};

/// What a page waits for an answer; what is not there then is shown as being computed.
const SOON: Duration = Duration::from_millis(400);
/// For so long an answer that depends on more than its cut is given again, ms.
const FRESH_MS: i64 = 5_000;
/// For so long it is given while the next is made, ms.
const STALE_MS: i64 = 60_000;
/// Answers of this kind that are remembered.
const REMEMBERED: usize = 128;

/// A question whose answer more than its cut decides, and who may hear it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Asked {
    cut: Option<u64>,
    /// How often something was done that may change answers.
    changed: u64,
    scope: Scope,
    /// Whether names of users are as they are.
    plain: bool,
    ask: Ask,
    what: Question,
}

/// The newest answer, and whether the next is being made.
#[derive(Debug, Default)]
struct Last {
    body: Option<(i64, Value)>,
    is_running: bool,
}

/// What is remembered between pages.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    all: Mutex<HashMap<Asked, Last>>,
    changed: AtomicU64,
}

impl Desk {
    /// Somebody did something: no answer from before it is given again, but those that their cut alone decides.
    pub(crate) fn forget(&self) {
        self.changed.fetch_add(1, Ordering::Relaxed);
    }

    fn with<T>(&self, asked: &Asked, work: impl FnOnce(&mut Last) -> T) -> T {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(asked) {
            all.retain(|known, last| last.is_running || (known.cut, known.changed) == (asked.cut, asked.changed));
            if all.len() >= REMEMBERED {
                all.retain(|_, last| last.is_running);
            }
        }
        work(all.entry(asked.clone()).or_default())
    }
}

/// The answer to a question of a page, or that it is being computed; `cut` is the newest.
pub(super) async fn answer(app: &App, who: &Who, cut: Option<u64>, ask: &Ask, what: &Question) -> Answer {
    let work = document(app.clone(), who.clone(), ask.clone(), what.clone());
    match what.lasts() {
        // whoever asks while it is worked on waits for the same work
        Lasts::Cut => {
            let done = tokio::time::timeout(SOON, tokio::spawn(work)).await;
            said(done.ok().map(|ended| ended.unwrap_or_else(|_| Err(fault()))))
        }
        Lasts::Moment => {
            let asked = Asked {
                cut,
                changed: app.desk().changed.load(Ordering::Relaxed),
                scope: who.scope(),
                plain: who.role == Role::Admin,
                ask: ask.clone(),
                what: what.clone(),
            };
            moment(app, asked, work).await
        }
    }
}

async fn document(app: App, who: Who, ask: Ask, what: Question) -> Result<Document, Problem> {
    app.answers().document(&who, &ask, &what).await
}

/// An answer that more than its cut decides: a fresh one is given again; else the next is made, once for all who ask.
async fn moment<W>(app: &App, asked: Asked, work: W) -> Answer
where
    W: Future<Output = Result<Document, Problem>> + Send + 'static,
{
    let now_ms = app.now_ms();
    let is_first = app.desk().with(&asked, |last| {
        if last.body.as_ref().is_some_and(|(at_ms, _)| (0..FRESH_MS).contains(&(now_ms - at_ms))) {
            return None;
        }
        Some(!std::mem::replace(&mut last.is_running, true))
    });
    if is_first == Some(true) {
        let (told, of) = (app.clone(), asked.clone());
        let task = tokio::spawn(async move {
            // an answer is noted also where its work was stopped by a fault of its own
            let ended = tokio::spawn(work).await.unwrap_or_else(|_| Err(fault()));
            let at_ms = told.now_ms();
            told.desk().with(&of, |last| {
                last.is_running = false;
                if let Ok(made) = &ended {
                    last.body = Some((at_ms, made.body.clone()));
                }
            });
            ended
        });
        if let Ok(ended) = tokio::time::timeout(SOON, task).await {
            return said(Some(ended.unwrap_or_else(|_| Err(fault()))));
        }
    }
    let last = app.desk().with(&asked, |last| last.body.clone());
    last.filter(|(at_ms, _)| now_ms - at_ms < STALE_MS).map_or(Answer::Building, |(_, body)| Answer::Ready(body))
}

fn fault() -> Problem {
    Problem::fault("the answer was stopped by a fault of its own; the log says more")
}

/// What came, in a page's words; nothing: it is being computed.
fn said(came: Option<Result<Document, Problem>>) -> Answer {
    match came {
        Some(Ok(Document { body, .. })) => Answer::Ready(body),
        Some(Err(problem)) => match problem.status {
            403 => Answer::Forbidden(problem.detail),
            404 => Answer::Absent(problem.detail),
            _ => Answer::Failed(problem.detail),
        },
        None => Answer::Building,
    }
}
