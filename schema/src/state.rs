//! Closed lists of words that stand in tables: run states, task types, evidence, node and device states.

/// A word that is not in its closed list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {list} `{word}`")]
pub struct UnknownWord {
    /// Which list was asked.
    pub list: &'static str,
    /// What was found.
    pub word: String,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $list:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every word, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// The word as it stands in tables.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.as_str()) }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::state::UnknownWord;
            fn from_str(word: &str) -> Result<Self, $crate::state::UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::state::UnknownWord { list: $list, word: word.to_owned() }),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use words;

words! {
    /// State of a run or request. Slurm's job states plus `ended` for sources that only say that a run is over.
    RunState, "state" {
        /// Waiting for nodes.
        Pending = "PENDING",
        /// Running.
        Running = "RUNNING",
        /// Suspended: it still holds its GPUs.
        Suspended = "SUSPENDED",
        /// Over, nodes being cleaned: not held after its end.
        Completing = "COMPLETING",
        /// Nodes are being booted or configured.
        Configuring = "CONFIGURING",
        /// Size is changing.
        Resizing = "RESIZING",
        /// Put back into the queue by Slurm; this run is over.
        Requeued = "REQUEUED",
        /// Ended with exit code 0.
        Completed = "COMPLETED",
        /// Cancelled by a user or administrator.
        Cancelled = "CANCELLED",
        /// Ended with another exit code.
        Failed = "FAILED",
        /// Ran into its time limit.
        Timeout = "TIMEOUT",
        /// Lost a node.
        NodeFail = "NODE_FAIL",
        /// Ended to make room for another job.
        Preempted = "PREEMPTED",
        /// Nodes could not be booted.
        BootFail = "BOOT_FAIL",
        /// Ran into its deadline.
        Deadline = "DEADLINE",
        /// Ran out of memory.
        OutOfMemory = "OUT_OF_MEMORY",
        /// Removed from the cluster by a sibling (federation).
        Revoked = "REVOKED",
        /// Over; the source does not say how.
        Ended = "ENDED",
    }
}

impl RunState {
    /// Whether a run in this state is over.
    pub const fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Running | Self::Suspended | Self::Configuring | Self::Resizing)
    }
}

words! {
    /// What a run is for, a closed list; resolved by dated rules at the start of the run.
    TaskType, "task type" {
        /// Training.
        Train = "train",
        /// Fine-tuning.
        Finetune = "finetune",
        /// Inference service.
        Infer = "infer",
        /// Evaluation.
        Eval = "eval",
        /// Interactive debugging.
        Debug = "debug",
        /// Batch computation.
        Batch = "batch",
        /// Data preparation.
        Data = "data",
        /// No rule says.
        Unknown = "unknown",
    }
}

words! {
    /// Who named the device that an allocation holds. The order is the order in which holders of a card are served.
    Evidence, "evidence" {
        /// The kubelet's pod-resources.
        Kubelet = "kubelet",
        /// A cgroup's device list.
        Cgroup = "cgroup",
        /// A scheduler's GRES index.
        Gres = "gres",
        /// A process seen on the device.
        Process = "process",
        /// Nobody named a device: a count of GPUs on a node or a cluster.
        Count = "count",
    }
}

words! {
    /// Whether a device's tick can be believed.
    DeviceState, "device state" {
        /// Healthy.
        Ok = "ok",
        /// The driver says the GPU is lost.
        Lost = "lost",
        /// The readings failed.
        Error = "error",
        /// The collector may not read it.
        NotPermitted = "not_permitted",
        /// The machine was suspended.
        Suspended = "suspended",
    }
}

words! {
    /// What a scheduler, or an import, says of a node.
    NodeState, "node state" {
        /// In service.
        Up = "up",
        /// Being emptied or emptied.
        Drained = "drained",
        /// Not answering.
        Down = "down",
        /// Reserved for maintenance.
        Maintenance = "maintenance",
    }
}

words! {
    /// Who decides what runs on a node; written by the node's collector from its configuration, never inferred.
    SchedulerKind, "scheduler" {
        /// Slurm.
        Slurm = "slurm",
        /// Kubernetes.
        Kubernetes = "kubernetes",
        /// Nobody: whoever logs in shares the cards.
        None = "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for s in RunState::ALL {
            assert_eq!(s.as_str().parse::<RunState>(), Ok(*s));
        }
        assert_eq!("SLEEPING".parse::<RunState>().unwrap_err().to_string(), "unknown state `SLEEPING`");
        assert!(RunState::Completing.is_terminal());
        assert!(!RunState::Suspended.is_terminal());
    }
}
