//! A server whose answers say who asked what, and requests to it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use gpuledger_api::answer::{Act, Answers, Document, Export, File, Place, Reclaiming, Report};
use gpuledger_api::ask::Ask;
use gpuledger_api::guard::{Guard, GuardSettings, Rates};
use gpuledger_api::problem::Problem;
use gpuledger_api::server;
use gpuledger_api::state::{App, Settings, Stop};
use gpuledger_api::who::{Role, Who};
use gpuledger_control::{Control, Grant, Who as Actor};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::RwLock;
use tower::ServiceExt as _;

pub(crate) const NOW_MS: i64 = 1_775_000_000_000;
const DAY_MS: i64 = 86_400_000;

#[derive(Debug, Default)]
pub(crate) struct StandIn {
    pub(crate) delivered: Mutex<Vec<(String, String, usize)>>,
    pub(crate) acts: Mutex<Vec<(String, Act)>>,
    /// Who holds it holds every answer back.
    pub(crate) gate: RwLock<()>,
    /// Questions that were begun.
    pub(crate) asked: Mutex<Vec<Report>>,
}

#[async_trait]
impl Answers for StandIn {
    async fn document(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Document, Problem> {
        self.asked.lock().unwrap().push(what.clone());
        let _open = self.gate.read().await;
        let rows: Vec<Value> = (0..5).map(|n| json!({"n": n, "scope": format!("{:?}", who.scope())})).collect();
        let sentence = format!("{what:?} {ask:?}");
        let body = json!({"sentence": sentence, "currency": null, "rows": rows, "total": null, "notes": []});
        Ok(Document { body, columns: Vec::new(), cut: 3 })
    }

    async fn file(&self, _: &Who, _: &Ask, _: &Report) -> Result<File, Problem> {
        Ok(File {
            name: "a b.csv".to_owned(),
            media: "text/csv; charset=utf-8",
            bytes: b"n\n1\n".to_vec(),
            cut: Some(3),
        })
    }

    async fn export(&self, who: &Who, _: &Ask, what: &Export) -> Result<File, Problem> {
        let bytes = format!("{} {}", who.name, what.document).into_bytes();
        Ok(File { name: "算法-2026-03.pdf".to_owned(), media: "application/pdf", bytes, cut: None })
    }

    async fn act(&self, who: &Who, act: &Act) -> Result<Value, Problem> {
        self.acts.lock().unwrap().push((who.name.clone(), act.clone()));
        Ok(json!({"done": "it is"}))
    }

    async fn deliver(&self, node: &str, name: &str, bytes: Vec<u8>) -> Result<(), Problem> {
        self.delivered.lock().unwrap().push((node.to_owned(), name.to_owned(), bytes.len()));
        Ok(())
    }

    async fn place(&self) -> Place {
        Place { zone: Some("Europe/Berlin".to_owned()), cut: Some(3), ..Place::default() }
    }

    async fn reclaiming(&self) -> Result<Reclaiming, Problem> {
        Ok(Reclaiming::default())
    }
}

pub(crate) struct Site {
    pub(crate) app: App,
    pub(crate) answers: Arc<StandIn>,
    pub(crate) router: Router,
    folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(GuardSettings::default(), Rates::new(1_000, 10_000, 20))
    }

    pub(crate) fn with(guard: GuardSettings, rates: Rates) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let answers = Arc::new(StandIn::default());
        let settings = Settings {
            zone: Some(chrono_tz::Europe::Berlin),
            body_bytes: 64 << 10,
            segment_bytes: 1 << 20,
            version: "0.0.0".to_owned(),
            grace_s: 1,
            ..Settings::default()
        };
        let control = folder.path().join("control.sqlite");
        drop(Control::open(&control).unwrap());
        let asked: Arc<dyn Answers> = answers.clone();
        let app = App::new(asked, settings, control, Arc::new(|| NOW_MS), Stop::default());
        let router = server::router(app.clone(), Guard::new(guard, rates));
        Self { app, answers, router, folder }
    }

    /// A token of a role, with the scope that it needs.
    pub(crate) fn token(&self, role: Role) -> String {
        let of = |role_needed: Role, text: &str| (role == role_needed).then(|| text.to_owned());
        let grant = Grant {
            name: format!("the {role}"),
            role: role.word().to_owned(),
            teams: of(Role::Lead, "nlp").into_iter().collect(),
            user: of(Role::Member, "ada"),
            node: of(Role::Node, "gpu01"),
        };
        self.grant(&grant, 9)
    }

    /// The control file of this server.
    pub(crate) fn control(&self) -> Control {
        Control::open(&self.folder.path().join("control.sqlite")).unwrap()
    }

    pub(crate) fn grant(&self, grant: &Grant, days: i64) -> String {
        let mut control = self.control();
        let mut random = [0_u8; 32];
        getrandom::getrandom(&mut random).unwrap();
        let who = Actor { actor: "test".to_owned(), at_ms: NOW_MS, ..Actor::default() };
        control.mint(grant, NOW_MS + days * DAY_MS, random, &who).unwrap().secret
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Vec<u8>) {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, body.collect().await.unwrap().to_bytes().to_vec())
    }

    /// Asks with a token.
    pub(crate) async fn ask(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> (StatusCode, HeaderMap, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .body(Body::from(body.to_owned()))
            .unwrap();
        let (status, headers, bytes) = self.send(request).await;
        (status, headers, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }
}
