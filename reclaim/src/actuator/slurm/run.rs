//! Running Slurm's commands, with a deadline and a bound on what they print.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;

/// Bytes of what a command prints that are kept.
const OUTPUT_MAX: usize = 1 << 20;

/// What a command printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Exit code; absent: ended by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub said: String,
}

/// Why a command has no end that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It was not started.
    #[error("not started: {0}")]
    NotStarted(String),
    /// It did not end within its deadline: nobody can say what it did.
    #[error("did not end within its deadline")]
    Deadline,
}

/// Runs commands.
#[async_trait]
pub trait Runner: Send {
    /// Runs `scontrol` or `scancel`.
    ///
    /// # Errors
    /// Where it was not started, or did not end in time.
    async fn run(&mut self, program: &str, arguments: &[&str]) -> Result<Ran, RunError>;
}

/// Slurm's commands of this machine.
#[derive(Debug, Clone)]
pub struct SlurmCommands {
    /// Folder of the commands; absent: they are found in `PATH`.
    pub folder: Option<PathBuf>,
    /// `SLURM_CONF`, where it is not the usual one.
    pub conf: Option<PathBuf>,
    /// Deadline of each.
    pub deadline: Duration,
}

#[async_trait]
impl Runner for SlurmCommands {
    async fn run(&mut self, program: &str, arguments: &[&str]) -> Result<Ran, RunError> {
        let path = self.folder.as_ref().map_or_else(|| PathBuf::from(program), |f| f.join(program));
        let mut command = tokio::process::Command::new(path);
        command
            .args(arguments)
            // times without a zone are read as UTC, and no user's settings change what is asked or printed
            .env("TZ", "UTC")
            .env_remove("SLURM_TIME_FORMAT")
            .env_remove("SLURM_CLUSTERS")
            .env_remove("SCONTROL_ALL")
            .env_remove("SCONTROL_FEDERATION")
            .env_remove("SCONTROL_LOCAL")
            .env_remove("SCONTROL_SIBLING")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        if let Some(conf) = &self.conf {
            command.env("SLURM_CONF", conf);
        }
        match tokio::time::timeout(self.deadline, command.output()).await {
            Err(_) => Err(RunError::Deadline),
            Ok(Err(e)) => Err(RunError::NotStarted(e.to_string())),
            Ok(Ok(ended)) => {
                Ok(Ran { code: ended.status.code(), output: bounded(&ended.stdout), said: bounded(&ended.stderr) })
            }
        }
    }
}

fn bounded(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(OUTPUT_MAX)]).into_owned()
}
