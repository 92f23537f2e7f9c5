//! The engine's work, beside the answers to people: it takes whole cores for seconds, and on threads of its own it keeps nobody waiting
//! for what is there.

use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use gpuledger_api::answer::{Act, Answers, Document, Export, File, Place as Told, Reclaiming, Report};
use gpuledger_api::ask::Ask;
use gpuledger_api::problem::Problem;
use gpuledger_api::who::Who;
use serde_json::Value;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinSet;

use super::Ledger;
use super::fault::fault;

/// The engine's threads; what still runs on them when this is dropped is not waited for.
#[derive(Debug)]
pub(crate) struct Workers(Option<Runtime>);

impl Workers {
    /// Starts so many.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub(crate) fn start(threads: usize, stack_bytes: usize) -> anyhow::Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let builder = builder.worker_threads(threads.max(1)).thread_stack_size(stack_bytes).thread_name("engine");
        Ok(Self(Some(builder.enable_all().build().context("cannot start the engine's threads")?)))
    }

    /// Where work is given.
    pub(crate) fn handle(&self) -> Handle {
        self.0.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Has work done there, as long as somebody waits for it; none comes back where it was stopped by a fault.
pub(crate) async fn aside<T: Send + 'static>(
    workers: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let mut all = JoinSet::new();
    all.spawn_on(work, workers);
    all.join_next().await.and_then(Result::ok)
}

/// A ledger whose questions and acts are worked on by the engine's threads.
#[derive(Debug)]
pub(crate) struct Aside {
    ledger: Arc<Ledger>,
    workers: Handle,
}

impl Aside {
    /// Of a ledger.
    pub(crate) fn new(ledger: Ledger, workers: Handle) -> Self {
        Self { ledger: Arc::new(ledger), workers }
    }

    async fn work<T, F>(&self, work: impl FnOnce(Arc<Ledger>) -> F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Problem>> + Send + 'static,
    {
        aside(&self.workers, work(Arc::clone(&self.ledger))).await.unwrap_or_else(|| Err(fault()))
    }
}

#[async_trait]
impl Answers for Aside {
    async fn document(&self, who: &Who, ask: &Ask, what: &Report) -> Result<Document, Problem> {
        let (who, ask, what) = (who.clone(), ask.clone(), what.clone());
        self.work(|ledger| async move { ledger.document(&who, &ask, &what).await }).await
    }

    async fn file(&self, who: &Who, ask: &Ask, what: &Report) -> Result<File, Problem> {
        let (who, ask, what) = (who.clone(), ask.clone(), what.clone());
        self.work(|ledger| async move { ledger.file(&who, &ask, &what).await }).await
    }

    async fn export(&self, who: &Who, ask: &Ask, what: &Export) -> Result<File, Problem> {
        let (who, ask, what) = (who.clone(), ask.clone(), what.clone());
        self.work(|ledger| async move { ledger.export(&who, &ask, &what).await }).await
    }

    async fn act(&self, who: &Who, act: &Act) -> Result<Value, Problem> {
        let (who, act) = (who.clone(), act.clone());
        self.work(|ledger| async move { ledger.act(&who, &act).await }).await
    }

    async fn deliver(&self, node: &str, name: &str, bytes: Vec<u8>) -> Result<(), Problem> {
        self.ledger.deliver(node, name, bytes).await
    }

    async fn place(&self) -> Told {
        self.ledger.place().await
    }

    async fn reclaiming(&self) -> Result<Reclaiming, Problem> {
        self.ledger.reclaiming().await
    }
}
