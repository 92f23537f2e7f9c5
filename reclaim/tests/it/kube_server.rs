//! A small API server of our own: pods, their eviction with preconditions and budgets, workloads to patch, events.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::State as Extracted;
use axum::http::{Request, Response, StatusCode};
use serde_json::{Value, json};

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A status with this code; nothing was done.
    Code(u16),
    /// A status with this code, after it was done.
    DoneThen(u16),
    /// 200, and a text that is no object; nothing was done.
    Garbage,
    /// The connection ends in the middle of the answer, after it was done.
    Cut,
    /// No answer within the time of a test; nothing was done.
    Hang,
}

#[derive(Default)]
pub(crate) struct Objects {
    /// The request of this number (from 0) is answered wrongly.
    pub(crate) fault: Option<(usize, Fault)>,
    /// Requests so far.
    pub(crate) asked: usize,
    /// By path.
    pub(crate) objects: BTreeMap<String, Value>,
    /// What was changed: method, path, body.
    pub(crate) changes: Vec<(String, String, Value)>,
    /// Evictions that the budget still refuses, with the pause that is asked for.
    pub(crate) budget: Vec<u32>,
    /// The next changes are answered with this code.
    pub(crate) refuse: Vec<u16>,
    /// What happens between a read of a pod and the change that follows: its version goes up, or it is another one.
    pub(crate) before_change: Option<Value>,
    version: u64,
}

pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    pub(crate) state: Arc<Mutex<Objects>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Api {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(Objects { version: 10, ..Objects::default() }));
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&state));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
        Self { address, state, task }
    }

    pub(crate) fn config(&self) -> kube::Config {
        let mut config = kube::Config::new(format!("http://{}", self.address).parse().expect("an address"));
        config.default_namespace = "nlp".to_owned();
        config
    }

    pub(crate) fn put(&self, path: &str, uid: &str, spec: Value) {
        let name = path.rsplit('/').next().expect("a name");
        let object =
            json!({"metadata": {"name": name, "namespace": "nlp", "uid": uid, "resourceVersion": "10"}, "spec": spec});
        self.state.lock().expect("objects").objects.insert(path.to_owned(), object);
    }

    pub(crate) fn changes(&self) -> Vec<String> {
        let state = self.state.lock().expect("objects");
        state.changes.iter().map(|(method, path, _)| format!("{method} {path}")).collect()
    }
}

fn status(code: u16, message: &str, retry: u32) -> Response<Body> {
    // the client goes by the reason where it knows it, as that of the real server
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        403 => "Forbidden",
        _ => "",
    };
    let mut body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message, "reason": reason});
    if retry > 0 {
        body["details"] = json!({"retryAfterSeconds": retry});
    }
    reply(code, &body)
}

fn reply(code: u16, body: &Value) -> Response<Body> {
    Response::builder()
        .status(StatusCode::from_u16(code).expect("a code"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .expect("a response")
}

async fn answer(Extracted(state): Extracted<Arc<Mutex<Objects>>>, request: Request<Body>) -> Response<Body> {
    let method = request.method().to_string();
    let path = request.uri().path().to_owned();
    let bytes = to_bytes(request.into_body(), 1 << 20).await.expect("a body");
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let fault = {
        let mut s = state.lock().expect("objects");
        s.asked += 1;
        s.fault.filter(|(at, _)| at + 1 == s.asked).map(|(_, fault)| fault)
    };
    match fault {
        None => done(&state, method, path, body),
        Some(Fault::Code(code)) => status(code, "not now", 0),
        Some(Fault::DoneThen(code)) => {
            done(&state, method, path, body);
            status(code, "done, or not", 0)
        }
        Some(Fault::Garbage) => reply(200, &json!("<html>a proxy speaks</html>")),
        Some(Fault::Cut) => {
            let mut answer = done(&state, method, path, body);
            answer.headers_mut().insert("content-length", axum::http::HeaderValue::from_static("100000"));
            answer
        }
        Some(Fault::Hang) => {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            status(504, "too late", 0)
        }
    }
}

fn done(state: &Mutex<Objects>, method: String, path: String, body: Value) -> Response<Body> {
    let mut s = state.lock().expect("objects");
    if method == "GET" {
        return match s.objects.get(&path) {
            Some(object) => reply(200, object),
            None => status(404, "not found", 0),
        };
    }
    let pod_path = path.trim_end_matches("/eviction").to_owned();
    if let Some(other) = s.before_change.take() {
        s.objects.insert(pod_path.clone(), other);
    }
    if let Some(code) = s.refuse.pop() {
        return status(code, "not now", 0);
    }
    if path.ends_with("/events") {
        s.changes.push((method, path, body.clone()));
        return reply(201, &body);
    }
    let Some(found) = s.objects.get(&pod_path).cloned() else { return status(404, "not found", 0) };
    let (uid, version) = (&found["metadata"]["uid"], &found["metadata"]["resourceVersion"]);
    if path.ends_with("/eviction") {
        let wanted = &body["deleteOptions"]["preconditions"];
        assert!(
            wanted["uid"].is_string() && wanted["resourceVersion"].is_string(),
            "an eviction without preconditions"
        );
        if wanted["uid"] != *uid || wanted["resourceVersion"] != *version {
            return status(409, "the precondition does not hold", 0);
        }
        if let Some(pause) = s.budget.pop() {
            return status(429, "Cannot evict pod as it would violate the pod's disruption budget.", pause);
        }
        s.objects.remove(&pod_path);
        s.changes.push((method, path, body));
        return reply(201, &json!({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}));
    }
    let wanted = &body["metadata"];
    if wanted["uid"] != *uid || wanted["resourceVersion"] != *version {
        return status(409, "the object has been modified", 0);
    }
    s.version += 1;
    let mut changed = found;
    changed["metadata"]["resourceVersion"] = json!(s.version.to_string());
    for (key, value) in body["spec"].as_object().expect("a spec") {
        changed["spec"][key] = value.clone();
    }
    s.objects.insert(path.clone(), changed.clone());
    s.changes.push((method, path, body));
    reply(200, &changed)
}
