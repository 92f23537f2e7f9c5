//! Rounds of reclaiming in a server: on a thread of their own, so that neither a scheduler that hangs nor a control file that another
//! writer holds keeps anybody waiting for a page.

use tokio::sync::{Mutex, mpsc, oneshot};

use super::{Reclaimer, stops};
use crate::clock;
use crate::place::Place;

/// What a round did, in words, or why nothing was done.
type Said = Result<String, String>;

/// The thread, started with the first round and again where it ended.
#[derive(Debug)]
pub(crate) struct Rounds {
    place: Place,
    thread: Mutex<Option<mpsc::Sender<oneshot::Sender<Said>>>>,
}

impl Rounds {
    /// Of a place; nothing is started yet.
    pub(crate) fn new(place: Place) -> Self {
        Self { place, thread: Mutex::new(None) }
    }

    /// Takes one round. What waits in the inbox is not taken in: that is another loop's.
    ///
    /// # Errors
    /// Nothing was done, and why.
    pub(crate) async fn round(&self) -> Said {
        let mut thread = self.thread.lock().await;
        let ask = match thread.take().filter(|t| !t.is_closed()) {
            Some(ask) => ask,
            None => start(self.place.clone()).map_err(|e| crate::chain(&e))?,
        };
        let (answer, answered) = oneshot::channel();
        let ended = || "the thread that takes rounds has ended; the next round starts it again".to_owned();
        ask.send(answer).await.map_err(|_| ended())?;
        *thread = Some(ask);
        answered.await.map_err(|_| ended())?
    }
}

fn start(place: Place) -> anyhow::Result<mpsc::Sender<oneshot::Sender<Said>>> {
    let (ask, mut asked) = mpsc::channel::<oneshot::Sender<Said>>(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // what a round holds may not move between threads, so that it is made where it stays
    let rounds = move || {
        runtime.block_on(async move {
            let mut reclaimer = None;
            while let Some(answer) = asked.recv().await {
                let said = round(&place, &mut reclaimer).await.map_err(|e| crate::chain(&e));
                let _ = answer.send(said);
            }
        });
    };
    std::thread::Builder::new().name("reclaim".to_owned()).spawn(rounds)?;
    Ok(ask)
}

async fn round(place: &Place, reclaimer: &mut Option<Reclaimer>) -> anyhow::Result<String> {
    let reclaimer = match reclaimer {
        Some(open) => open,
        None => reclaimer.insert(Reclaimer::open(place, place.lake()?, false).await?),
    };
    let body = reclaimer.round(clock::now_ms()).await?.plan.body;
    let did = format!("{} steps, {} left alone", body.steps.len(), body.left.len());
    Ok(std::iter::once(did).chain(stops(&body)).collect::<Vec<_>>().join("; "))
}
