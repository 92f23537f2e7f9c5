//! Asking schedulers. On a bare host nobody can be asked, and no signal is ever sent to a process from here.

pub mod kubernetes;
pub mod slurm;

use std::collections::BTreeMap;

use async_trait::async_trait;
use gpuledger_schema::reclaim::{ActKind, Allocation};

use crate::port::{ActError, Actuator, Said};

/// The schedulers of every cluster.
#[derive(Default)]
pub struct Schedulers {
    by_cluster: BTreeMap<String, Box<dyn Actuator>>,
}

impl std::fmt::Debug for Schedulers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.by_cluster.keys()).finish()
    }
}

impl Schedulers {
    /// With the scheduler of a cluster.
    #[must_use]
    pub fn with(mut self, cluster: &str, actuator: Box<dyn Actuator>) -> Self {
        self.by_cluster.insert(cluster.to_owned(), actuator);
        self
    }

    fn of(&mut self, whom: &Allocation) -> Result<&mut Box<dyn Actuator>, ActError> {
        let cluster =
            whom.identity.cluster().ok_or_else(|| ActError::NotDone("a bare host has no scheduler".to_owned()))?;
        let found = self.by_cluster.get_mut(cluster);
        found.ok_or_else(|| ActError::NotDone(format!("no scheduler is configured for {cluster}")))
    }
}

#[async_trait]
impl Actuator for Schedulers {
    async fn signal(&mut self, whom: &Allocation, signal: &str, to_batch: bool) -> Result<Said, ActError> {
        self.of(whom)?.signal(whom, signal, to_batch).await
    }

    async fn order(&mut self, whom: &Allocation, act: ActKind, resume_nice: Option<i64>) -> Result<Said, ActError> {
        self.of(whom)?.order(whom, act, resume_nice).await
    }
}
