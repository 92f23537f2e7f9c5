//! Mail, chat and alerts from the outside: a real mail server, real HTTP receivers, texts as people read them.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that unwraps says where it failed; tests read clocks"
)]

mod alertmanager;
mod crash;
mod examination;
mod examples;
mod mail;
mod receiver;
mod server;
mod texts;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use gpuledger_control::{Control, Message, MessageState, NewMessage};
use gpuledger_notify::config::NotifyConfig;
use gpuledger_notify::{Clock, Courier, Store};
use tempfile::TempDir;

/// A Wednesday, 2026-11-04 10:00 in Shanghai.
const T0: i64 = 1_793_757_600_000;
const MINUTE: i64 = 60_000;

/// An outbox in a folder of its own, and a clock that stands until it is moved.
struct Post {
    folder: TempDir,
    store: Store,
    now: Arc<AtomicI64>,
}

impl Post {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Control::open(&folder.path().join("control.sqlite")).unwrap());
        Self { folder, store, now: Arc::new(AtomicI64::new(T0)) }
    }

    fn clock(&self) -> Clock {
        let now = Arc::clone(&self.now);
        Arc::new(move || now.load(Ordering::SeqCst))
    }

    fn pass(&self, ms: i64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    fn courier(&self, config: &str) -> Courier {
        Courier::new(self.store.clone(), read(config), "one".into(), self.clock())
    }

    async fn post(&self, messages: Vec<NewMessage>) {
        let now_ms = self.now.load(Ordering::SeqCst);
        self.store.call(move |control| control.post(&messages, now_ms)).await.unwrap();
    }

    async fn messages(&self) -> Vec<Message> {
        let mut all = self.store.call(|control| control.outbox_messages(None, 1000)).await.unwrap();
        all.reverse();
        all
    }

    /// State and last answer of a message.
    async fn of(&self, key: &str) -> (MessageState, String) {
        let all = self.messages().await;
        let found = all.into_iter().find(|m| m.key == key).unwrap();
        (found.state, found.answer.unwrap_or_default())
    }
}

fn read(config: &str) -> NotifyConfig {
    toml::from_str(config).unwrap_or_else(|e| panic!("{e}\n{config}"))
}

fn to_mail(key: &str, address: &str) -> NewMessage {
    NewMessage {
        key: key.into(),
        kind: "late_node".into(),
        subject: "alpha/gpu01".into(),
        cause: None,
        person: "role:on-call".into(),
        channel: "mail".into(),
        address: address.into(),
        language: "en".into(),
        calendar: None,
        urgent: false,
        title: format!("message {key}"),
        body_text: "Node gpu01 is late.\n".into(),
        body_html: Some("<p>Node gpu01 is late.</p>".into()),
        link: Some("https://gpu.example.org/n/gpu01".into()),
        attachments: Vec::new(),
        cooldown_ms: 0,
        give_up_after_ms: 60 * MINUTE,
    }
}

fn to_webhook(key: &str, name: &str) -> NewMessage {
    NewMessage { channel: "webhook".into(), address: name.into(), body_html: None, ..to_mail(key, "") }
}
