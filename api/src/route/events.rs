//! What happens, as it happens: server-sent events that are resumed where they broke off.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::stream::{self, Stream, StreamExt as _};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::report::PEOPLE;
use super::{Answered, Body, Gives, Route};
use crate::event::{Event, Missed};
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Who};

/// A comment goes out after so long a silence, so that no proxy between closes the stream.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// What a client waits before it comes back.
const RETRY: Duration = Duration::from_secs(3);

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/api/v1/events",
    says: "What happens, as server-sent events; a header Last-Event-ID reads on where a stream broke off",
    roles: PEOPLE,
    uses: &[],
    parameters: &[],
    body: Body::None,
    gives: Gives::Events,
    answered: Answered::Own(|| get(listen)),
}];

async fn listen(State(app): State<App>, Asker(who): Asker, headers: HeaderMap) -> Result<Response, Problem> {
    let after = match headers.get("last-event-id") {
        None => None,
        Some(value) => {
            let text = value.to_str().unwrap_or_default();
            let read = text.split_once('-').and_then(|(run, id)| Some((run.parse().ok()?, id.parse().ok()?)));
            Some(read.ok_or_else(|| Problem::parameter("Last-Event-ID", format!("`{text}` is no id of this stream")))?)
        }
    };
    let run = app.events().run();
    let (before, missed, live) = app.events().listen(after);
    let first = (missed == Missed::Unknown).then(|| Sent::default().event("reset").data("{}"));
    let hello = Sent::default().retry(RETRY).comment("gpuledger");
    let start = stream::iter([Some(hello), first].into_iter().flatten());
    let listener = who.clone();
    let past = stream::iter(before.into_iter().filter(move |e| e.audience.has(&listener)).map(move |e| sent(run, &e)));
    let live = rest(run, live, who);
    let stop = app.stop().clone();
    let all =
        start.chain(past).chain(live).take_until(Box::pin(async move { stop.wait().await })).map(Ok::<_, Infallible>);
    Ok(Sse::new(all).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// What comes from now on. A listener that is too slow is told to read everything anew, and goes on.
fn rest(run: u64, live: Receiver<Event>, who: Who) -> impl Stream<Item = Sent> + Send {
    stream::unfold((live, who), move |(mut live, who)| async move {
        loop {
            match live.recv().await {
                Ok(event) if event.audience.has(&who) => return Some((sent(run, &event), (live, who))),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => return Some((Sent::default().event("reset").data("{}"), (live, who))),
                Err(RecvError::Closed) => return None,
            }
        }
    })
}

fn sent(run: u64, event: &Event) -> Sent {
    // JSON of one line holds no line break, which the format would take for the end of the data
    let data = serde_json::json!({"at_ms": event.at_ms, "what": event.data}).to_string();
    Sent::default().id(format!("{run}-{}", event.id)).event(event.kind).data(data)
}
