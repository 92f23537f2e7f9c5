//! An HTTP receiver of a test: it keeps what it was told and answers what the test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// What came in.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) after: Duration,
}

impl Answer {
    pub(crate) fn of(status: u16, body: &str) -> Self {
        Self { status, body: body.to_owned(), headers: Vec::new(), after: Duration::ZERO }
    }
}

#[derive(Clone)]
struct Shared {
    told: Arc<Mutex<Vec<Told>>>,
    answer: Arc<Mutex<Answer>>,
}

pub(crate) struct Receiver {
    shared: Shared,
    pub(crate) url: String,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let shared =
            Shared { told: Arc::new(Mutex::new(Vec::new())), answer: Arc::new(Mutex::new(Answer::of(200, "ok"))) };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(receive).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, url }
    }

    pub(crate) fn answers(&self, answer: Answer) {
        *self.shared.answer.lock().unwrap() = answer;
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.shared.told.lock().unwrap().clone()
    }
}

async fn receive(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    shared.told.lock().unwrap().push(Told { path: uri.to_string(), headers, body: body.to_vec() });
    let answer = shared.answer.lock().unwrap().clone();
    tokio::time::sleep(answer.after).await;
    let mut response = (StatusCode::from_u16(answer.status).unwrap(), answer.body).into_response();
    for (name, value) in answer.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}
