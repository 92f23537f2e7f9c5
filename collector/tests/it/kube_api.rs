//! An API server of our own: it speaks the JSON of the real one, with pages, watches, bookmarks and refusals, and does what
//! a test tells it to. What a role does not grant it refuses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State as Extracted;
use axum::http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Verbs by API group and resource.
pub(crate) type Access = BTreeMap<(String, String), BTreeSet<String>>;

/// What is done to the next request of a kind in place of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// A refusal, with a pause that is asked for.
    Refuse(u16, Option<u64>),
    /// An answer that takes so long.
    Slow(Duration),
    /// Text that is no JSON.
    Garbage,
}

/// A running server.
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    changed: watch::Sender<u64>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct State {
    version: u64,
    /// Objects by resource, then key.
    objects: BTreeMap<String, BTreeMap<String, Value>>,
    /// What happened: version, resource, kind of event, object.
    log: Vec<(u64, String, &'static str, Value)>,
    /// Versions up to this one are forgotten.
    forgotten: u64,
    /// A watch from a forgotten version is refused by an event, not by a status.
    gone_by_event: bool,
    /// Watches that began before are cut; whether in the middle of a line.
    cut: (u64, bool),
    watches: u64,
    faults: BTreeMap<(String, String), VecDeque<Fault>>,
    asked: Access,
    requests: BTreeMap<(String, String), u64>,
    granted: Option<Access>,
    /// So many pods more, made when they are listed.
    bulk: usize,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Shared = (Arc<Mutex<State>>, watch::Sender<u64>);

impl Api {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State { version: 1_000, ..State::default() }));
        let (changed, _) = watch::channel(0);
        let router = axum::Router::new().fallback(answer).with_state((Arc::clone(&state), changed.clone()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, state, changed, task }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn tell(&self) {
        self.changed.send_modify(|n| *n += 1);
    }

    /// Puts an object there, or another in its place.
    pub(crate) fn put(&self, resource: &str, object: Value) {
        self.event(resource, object, None);
    }

    /// Deletes an object; the event shows it as it is given here.
    pub(crate) fn delete(&self, resource: &str, object: Value) {
        self.event(resource, object, Some("DELETED"));
    }

    fn event(&self, resource: &str, mut object: Value, kind: Option<&'static str>) {
        let mut state = self.lock();
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        let key = key_of(&object);
        let objects = state.objects.entry(resource.to_owned()).or_default();
        let kind = match kind {
            Some(kind) => {
                objects.remove(&key);
                kind
            }
            None if objects.insert(key, object.clone()).is_some() => "MODIFIED",
            None => "ADDED",
        };
        let version = state.version;
        state.log.push((version, resource.to_owned(), kind, object));
        drop(state);
        self.tell();
    }

    /// Takes an object away without a word.
    pub(crate) fn lose(&self, resource: &str, object: &Value) {
        self.lock().objects.entry(resource.to_owned()).or_default().remove(&key_of(object));
    }

    /// A bookmark for everybody who watches.
    pub(crate) fn bookmark(&self) {
        let mut state = self.lock();
        state.version += 1;
        let version = state.version;
        let object = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}});
        state.log.push((version, String::new(), "BOOKMARK", object));
        drop(state);
        self.tell();
    }

    /// Forgets what happened so far, and ends all watches: by an ERROR event or by a status where they are taken up.
    pub(crate) fn forget(&self, by_event: bool) {
        let mut state = self.lock();
        state.version += 1;
        state.forgotten = state.version;
        state.gone_by_event = by_event;
        drop(state);
        self.cut(false);
    }

    /// Breaks all watches, in the middle of a line or not.
    pub(crate) fn cut(&self, in_line: bool) {
        let mut state = self.lock();
        state.cut = (state.watches, in_line);
        drop(state);
        self.tell();
    }

    /// What happens to the next request of a verb on a resource.
    pub(crate) fn fault(&self, verb: &str, resource: &str, fault: Fault) {
        self.lock().faults.entry((verb.to_owned(), resource.to_owned())).or_default().push_back(fault);
    }

    /// Refuses what this does not grant.
    pub(crate) fn grant(&self, access: Access) {
        self.lock().granted = Some(access);
    }

    /// Pods that are made when they are listed.
    pub(crate) fn bulk(&self, count: usize) {
        self.lock().bulk = count;
    }

    /// What was asked for.
    pub(crate) fn asked(&self) -> Access {
        self.lock().asked.clone()
    }

    /// Requests of a verb on a resource.
    pub(crate) fn requests(&self, verb: &str, resource: &str) -> u64 {
        self.lock().requests.get(&(verb.to_owned(), resource.to_owned())).copied().unwrap_or(0)
    }
}

fn key_of(object: &Value) -> String {
    let of = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", of("namespace"), of("name"))
}

/// Group, resource and, for one object, its key.
fn place(path: &str) -> (String, String, Option<(String, String)>) {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = if parts[0] == "api" { ("", &parts[2..]) } else { (parts[1], &parts[3..]) };
    match rest {
        ["namespaces", namespace, resource, name] => {
            (group.to_owned(), (*resource).to_owned(), Some(((*namespace).to_owned(), (*name).to_owned())))
        }
        ["namespaces", namespace, resource, name, part] => {
            (group.to_owned(), format!("{resource}/{part}"), Some(((*namespace).to_owned(), (*name).to_owned())))
        }
        _ => (group.to_owned(), rest.last().copied().unwrap_or_default().to_owned(), None),
    }
}

fn query(request: &Request<Body>) -> BTreeMap<String, String> {
    let decoded = |t: &str| t.replace("%3D", "=").replace("%2C", ",").replace("%3A", ":");
    let pairs = request.uri().query().unwrap_or_default().split('&').filter_map(|p| p.split_once('='));
    pairs.map(|(k, v)| (k.to_owned(), decoded(v))).collect()
}

async fn answer(Extracted((state, changed)): Extracted<Shared>, request: Request<Body>) -> Response<Body> {
    let (group, resource, name) = place(request.uri().path());
    let query = query(&request);
    let verb = match (&name, query.contains_key("watch")) {
        (Some(_), _) => "get",
        (None, true) => "watch",
        (None, false) => "list",
    };
    let accept = request.headers().get("accept").and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let metadata_only = accept.contains("PartialObjectMetadata");
    let fault = {
        let mut state = state.lock().unwrap();
        let what = (group.clone(), resource.clone());
        let is_granted = state.granted.as_ref().is_none_or(|g| g.get(&what).is_some_and(|verbs| verbs.contains(verb)));
        *state.requests.entry((verb.to_owned(), resource.clone())).or_default() += 1;
        if !is_granted {
            return refusal(403, &format!("{resource} is forbidden: cannot {verb}"), None);
        }
        state.asked.entry(what).or_default().insert(verb.to_owned());
        state.faults.get_mut(&(verb.to_owned(), resource.clone())).and_then(VecDeque::pop_front)
    };
    match fault {
        Some(Fault::Refuse(code, pause_s)) => return refusal(code, "not now", pause_s),
        Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
        Some(Fault::Garbage) => return body("{\"items\": [{\"metadata\"".to_owned()),
        None => {}
    }
    match (verb, name) {
        ("get", Some((namespace, name))) => get(&state, &resource, &namespace, &name),
        ("watch", _) => follow(state, changed.subscribe(), resource, &query, metadata_only),
        _ => list(&state, &resource, &query, metadata_only),
    }
}

fn body(text: String) -> Response<Body> {
    Response::builder().header("content-type", "application/json").body(Body::from(text)).unwrap()
}

fn refusal(code: u16, message: &str, pause_s: Option<u64>) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message});
    let mut response = Response::builder().status(StatusCode::from_u16(code).unwrap());
    if let Some(pause_s) = pause_s {
        response = response.header("retry-after", pause_s.to_string());
    }
    response.body(Body::from(status.to_string())).unwrap()
}

fn get(state: &Mutex<State>, resource: &str, namespace: &str, name: &str) -> Response<Body> {
    let state = state.lock().unwrap();
    let (plain, part) = resource.split_once('/').unwrap_or((resource, ""));
    match state.objects.get(plain).and_then(|o| o.get(&format!("{namespace}/{name}"))) {
        None => refusal(404, &format!("{plain} {name} not found"), None),
        Some(object) if part == "scale" => {
            body(json!({"kind": "Scale", "spec": {"replicas": object["spec"]["replicas"]}}).to_string())
        }
        Some(object) => body(json!({"kind": "PartialObjectMetadata", "metadata": object["metadata"]}).to_string()),
    }
}

fn fits(object: &Value, fields: Option<&String>) -> bool {
    fields.is_none_or(|f| {
        f.split(',').filter_map(|one| one.split_once('=')).all(|(key, wanted)| {
            key.split('.').try_fold(object, |o, k| o.get(k)).and_then(Value::as_str) == Some(wanted)
        })
    })
}

fn shown(object: &Value, metadata_only: bool) -> Value {
    if metadata_only { json!({"metadata": object["metadata"]}) } else { object.clone() }
}

fn list(state: &Mutex<State>, resource: &str, query: &BTreeMap<String, String>, metadata_only: bool) -> Response<Body> {
    let state = state.lock().unwrap();
    let limit: usize = query.get("limit").map_or(usize::MAX, |l| l.parse().unwrap());
    let (version, from) = match query.get("continue").and_then(|c| c.split_once('.')) {
        Some((version, from)) => (version.parse().unwrap(), from.parse().unwrap()),
        None => (state.version, 0_usize),
    };
    if version < state.forgotten {
        return refusal(410, "The provided continue parameter is too old", None);
    }
    let known = state.objects.get(resource).into_iter().flat_map(BTreeMap::values);
    let mut items: Vec<String> = known
        .filter(|o| fits(o, query.get("fieldSelector")))
        .map(|o| shown(o, metadata_only).to_string())
        .skip(from)
        .take(limit)
        .collect();
    let plain = state.objects.get(resource).map_or(0, BTreeMap::len);
    let bulk = if resource == "pods" { state.bulk } else { 0 };
    let made = (from.max(plain) - plain)..bulk;
    items.extend(made.take(limit - items.len()).map(bulk_pod));
    let next = if from + items.len() < plain + bulk && items.len() == limit {
        format!("{version}.{}", from + items.len())
    } else {
        String::new()
    };
    body(format!(
        "{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{version}\",\"continue\":\"{next}\"}},\
         \"items\":[{}]}}",
        items.join(",")
    ))
}

/// A pod of the size that pods have: three quarters of it is of no interest here.
pub(crate) fn bulk_pod(at: usize) -> String {
    let env: String = (0..20)
        .map(|i| format!("{{\"name\":\"VARIABLE_{i}\",\"value\":\"some value of the environment {i}\"}},"))
        .collect();
    let managed: String =
        (0..40).map(|i| format!("\"f:field{i}\":{{\"f:inner{i}\":{{}},\"f:other\":{{}}}},")).collect();
    format!(
        "{{\"metadata\":{{\"uid\":\"{at:08}-0000-4000-8000-000000000000\",\"namespace\":\"team-{}\",\"name\":\"train-{at}-0\",\
         \"creationTimestamp\":\"2026-10-05T09:59:00Z\",\"resourceVersion\":\"{}\",\"labels\":{{\"app\":\"train\",\
         \"pod-template-hash\":\"{at:010}\",\"team\":\"t{}\"}},\"ownerReferences\":[{{\"apiVersion\":\"batch/v1\",\
         \"kind\":\"Job\",\"name\":\"train-{at}\",\"uid\":\"j{}\",\"controller\":true}}],\"managedFields\":[{{\"manager\":\
         \"kubelet\",\"subresource\":\"status\",\"time\":\"2026-10-05T10:00:30Z\",\"fieldsV1\":{{{managed}\"f:x\":{{}}}}}}]}},\
         \"spec\":{{\"nodeName\":\"gpu-{}\",\"priority\":0,\"containers\":[{{\"name\":\"main\",\"image\":\"registry.example.org/\
         team/train:1\",\"env\":[{env}{{\"name\":\"LAST\"}}],\"resources\":{{\"limits\":{{\"nvidia.com/gpu\":\"1\",\"cpu\":\
         \"8\",\"memory\":\"64Gi\"}}}},\"volumeMounts\":[{{\"name\":\"data\",\"mountPath\":\"/data\"}}]}}],\"volumes\":\
         [{{\"name\":\"data\",\"emptyDir\":{{}}}}]}},\"status\":{{\"phase\":\"Running\",\"conditions\":[{{\"type\":\
         \"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"2026-10-05T10:00:00Z\"}}],\"containerStatuses\":\
         [{{\"name\":\"main\",\"restartCount\":0,\"state\":{{\"running\":{{\"startedAt\":\"2026-10-05T10:00:30Z\"}}}}}}]}}}}",
        at % 50,
        1_000,
        at % 20,
        at / 4,
        at / 8,
    )
}

/// A watch under way.
struct Following {
    state: Arc<Mutex<State>>,
    changed: watch::Receiver<u64>,
    resource: String,
    fields: Option<String>,
    metadata_only: bool,
    from: u64,
    number: u64,
    until: tokio::time::Instant,
    over: bool,
}

fn follow(
    state: Arc<Mutex<State>>,
    changed: watch::Receiver<u64>,
    resource: String,
    query: &BTreeMap<String, String>,
    metadata_only: bool,
) -> Response<Body> {
    let from: u64 = query["resourceVersion"].parse().unwrap();
    let number = {
        let mut state = state.lock().unwrap();
        state.watches += 1;
        if from < state.forgotten {
            let status =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
            return if state.gone_by_event {
                body(format!("{}\n", json!({"type": "ERROR", "object": status})))
            } else {
                refusal(410, "too old resource version", None)
            };
        }
        state.watches
    };
    let seconds = query.get("timeoutSeconds").map_or(300, |s| s.parse().unwrap());
    let until = tokio::time::Instant::now() + Duration::from_secs(seconds);
    let fields = query.get("fieldSelector").cloned();
    let over = false;
    let following = Following { state, changed, resource, fields, metadata_only, from, number, until, over };
    let stream = futures::stream::unfold(following, |mut f| async move {
        let next = f.next().await;
        next.map(|chunk| (chunk, f))
    });
    Response::builder().header("content-type", "application/json").body(Body::from_stream(stream)).unwrap()
}

impl Following {
    async fn next(&mut self) -> Option<Result<Bytes, std::io::Error>> {
        if self.over {
            return Some(Err(std::io::Error::other("cut")));
        }
        loop {
            {
                let state = self.state.lock().unwrap();
                let mut out = String::new();
                for (version, resource, kind, object) in &state.log {
                    let about = resource.is_empty() || *resource == self.resource;
                    if *version <= self.from || !about || (!resource.is_empty() && !fits(object, self.fields.as_ref()))
                    {
                        continue;
                    }
                    out.push_str(&json!({"type": kind, "object": shown(object, self.metadata_only)}).to_string());
                    out.push('\n');
                }
                self.from = state.log.last().map_or(self.from, |l| l.0.max(self.from));
                if state.cut.0 >= self.number {
                    self.over = true;
                    out.push_str(if state.cut.1 {
                        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"na"
                    } else {
                        ""
                    });
                    return Some(Ok(Bytes::from(out)));
                }
                if !out.is_empty() {
                    return Some(Ok(Bytes::from(out)));
                }
            }
            tokio::select! {
                () = tokio::time::sleep_until(self.until) => return None,
                changed = self.changed.changed() => changed.ok()?,
            }
        }
    }
}
