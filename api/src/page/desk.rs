//! Where a page's questions are worked on. A page shows what is there at once; a question that takes longer is worked on whether
//! or not somebody still looks, and the page is asked again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::Answer;
use crate::answer::{Document, Lasts, Report as Question};
use crate::ask::Ask;
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Role, Scope, Who};

/// What a page waits for an answer; what is not there then is shown as being computed.
pub const SOON: Duration = Duration::from_millis(300);
/// For so long an answer that more than its cut decides is given again, and a failure is not tried again, ms.
const FRESH_MS: i64 = 5_000;
/// For so long an answer is given while the next is made, ms.
const STALE_MS: i64 = 60_000;
/// Questions that are remembered.
const REMEMBERED: usize = 256;

/// A question, and who may hear its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Asked {
    /// How often something was done that may change answers.
    changed: u64,
    scope: Scope,
    /// Whether names of users are as they are.
    plain: bool,
    ask: Ask,
    what: Question,
}

/// An answer, of which cut, and when it was made.
#[derive(Debug, Clone)]
struct Made {
    answer: Arc<Answer>,
    cut: Option<u64>,
    at_ms: i64,
}

/// The newest answer to a question, and where the next is being made its end.
#[derive(Debug, Default)]
struct Last {
    made: Option<Made>,
    running: Option<watch::Receiver<()>>,
}

impl Last {
    /// Whether nobody need ask again now.
    fn is_fresh(&self, lasts: Lasts, cut: Option<u64>, now_ms: i64) -> bool {
        self.made.as_ref().is_some_and(|made| {
            let kept = lasts == Lasts::Cut && matches!(*made.answer, Answer::Ready(_));
            made.cut == cut && (kept || (0..FRESH_MS).contains(&(now_ms - made.at_ms)))
        })
    }
}

/// What is remembered between pages.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    all: Mutex<HashMap<Asked, Last>>,
    changed: AtomicU64,
}

impl Desk {
    /// Somebody did something: no answer from before it is given again.
    pub(crate) fn forget(&self) {
        self.changed.fetch_add(1, Ordering::Relaxed);
    }

    fn with<T>(&self, asked: &Asked, work: impl FnOnce(&mut Last) -> T) -> T {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(asked) {
            all.retain(|known, last| last.running.is_some() || known.changed == asked.changed);
            if all.len() >= REMEMBERED {
                all.retain(|_, last| last.running.is_some());
            }
        }
        work(all.entry(asked.clone()).or_default())
    }
}

/// The answer to a question of a page, or that it is being computed; `cut` is the newest. However many ask, the work is done once;
/// whoever comes while it is done waits for the same.
pub(super) async fn answer(app: &App, who: &Who, cut: Option<u64>, ask: &Ask, what: &Question) -> Answer {
    let changed = app.desk().changed.load(Ordering::Relaxed);
    let plain = who.role == Role::Admin;
    let asked = Asked { changed, scope: who.scope(), plain, ask: ask.clone(), what: what.clone() };
    let now_ms = app.now_ms();
    let mut ended = app.desk().with(&asked, |last| {
        if last.is_fresh(what.lasts(), cut, now_ms) {
            return None;
        }
        Some(last.running.get_or_insert_with(|| begin(app, who, cut, &asked)).clone())
    });
    if let Some(ended) = &mut ended {
        // an error says that the sender is gone, which is the end as well
        let _ = tokio::time::timeout(SOON, ended.changed()).await;
    }
    let made = app.desk().with(&asked, |last| last.made.clone());
    let made = made.filter(|made| made.cut == cut || now_ms - made.at_ms < STALE_MS);
    made.map_or(Answer::Building, |made| Answer::clone(&made.answer))
}

/// Has an answer made, whether or not somebody still looks.
fn begin(app: &App, who: &Who, cut: Option<u64>, asked: &Asked) -> watch::Receiver<()> {
    let (done, ended) = watch::channel(());
    let (app, who, asked) = (app.clone(), who.clone(), asked.clone());
    tokio::spawn(async move {
        let (lent, of) = (app.clone(), asked.clone());
        let work = async move { lent.answers().document(&who, &of.ask, &of.what).await };
        // a fault of the work ends the work, and is told like any other failure
        let answer = said(tokio::spawn(work).await.unwrap_or_else(|_| Err(fault())));
        let at_ms = app.now_ms();
        app.desk().with(&asked, |last| {
            *last = Last { made: Some(Made { answer: Arc::new(answer), cut, at_ms }), running: None };
        });
        drop(done);
    });
    ended
}

fn fault() -> Problem {
    Problem::fault("the answer was stopped by a fault of its own; the log says more")
}

/// What came, in a page's words.
fn said(came: Result<Document, Problem>) -> Answer {
    match came {
        Ok(Document { body, .. }) => Answer::Ready(body),
        Err(problem) => match problem.status {
            403 => Answer::Forbidden(problem.detail),
            404 => Answer::Absent(problem.detail),
            _ => Answer::Failed(problem.detail),
        },
    }
}
