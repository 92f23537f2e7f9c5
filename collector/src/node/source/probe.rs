//! An outside health probe: a program that somebody else wrote, believed only as far as it speaks clearly.
//!
//! Exit code 0 says healthy and 2 says sick, as monitoring plug-ins have it. Everything else says nothing: a script
//! that fails by itself exits with 1, and a probe that hangs or cannot start has not looked. Unknown is never sick.

pub mod run;

use serde::Deserialize;
use serde_json::Value;

use gpuledger_schema::table::ReadingRow;

/// Exit code of a healthy node.
const HEALTHY: i32 = 0;
/// Exit code of a sick node.
const SICK: i32 = 2;
/// Most bytes of a reason that are kept.
const REASON_MAX_BYTES: usize = 500;
/// Most GPUs a probe may speak of.
const GPUS_MAX: usize = 256;

/// What a probe says of a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It is well.
    Healthy,
    /// It is not, and why.
    Sick(String),
    /// It was not looked at, and why.
    Unknown(String),
}

/// What a probe says of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuHealth {
    /// Driver UUID.
    pub uuid: String,
    /// How it is.
    pub health: Health,
}

/// One look of the probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReading {
    /// The node as a whole.
    pub node: Health,
    /// The GPUs it spoke of; the others are as the node is.
    pub gpus: Vec<GpuHealth>,
    /// What else it said, cut to a bound.
    pub said: Option<String>,
}

/// How a probe ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with a code (none: by a signal), having printed this.
    Exited {
        /// Exit code.
        code: Option<i32>,
        /// Standard output, at most the bound.
        output: Vec<u8>,
        /// Whether there was more than the bound.
        cut: bool,
    },
    /// It was still running at its deadline.
    Late {
        /// The deadline.
        deadline_ms: u64,
    },
    /// One of before still hangs, so none was started.
    StillRunning,
    /// It could not be started.
    NotStarted(String),
}

/// A GPU in the probe's JSON; unknown keys are for others.
#[derive(Debug, Deserialize)]
struct ToldGpu {
    uuid: String,
    healthy: Option<bool>,
    reason: Option<String>,
}

impl ProbeReading {
    /// What the way a probe ended says.
    pub fn of(ended: Ended) -> Self {
        match ended {
            Ended::Exited { code, output, cut } => exited(code, &output, cut),
            Ended::Late { deadline_ms } => Self::unknown(format!("the probe did not end within {deadline_ms} ms")),
            Ended::StillRunning => Self::unknown("an earlier run of the probe still hangs".to_owned()),
            Ended::NotStarted(why) => Self::unknown(format!("the probe cannot be started: {why}")),
        }
    }

    fn unknown(why: String) -> Self {
        Self { node: Health::Unknown(why), gpus: Vec::new(), said: None }
    }

    /// How a GPU is: as the probe says of it, else as it says of the node.
    pub fn gpu(&self, uuid: &str) -> &Health {
        self.gpus.iter().find(|g| g.uuid == uuid).map_or(&self.node, |g| &g.health)
    }

    /// The look as a row: `ok` means that the probe could tell, not that it found the node well.
    pub fn row(&self, cluster: &str, node: &str, read_at_ms: i64, from_ms: i64) -> ReadingRow {
        let error = match &self.node {
            Health::Healthy => None,
            Health::Sick(why) => Some(format!("sick: {why}")),
            Health::Unknown(why) => Some(why.clone()),
        };
        ReadingRow {
            source: "probe".to_owned(),
            kind: "node".to_owned(),
            cluster: cluster.to_owned(),
            node: Some(node.to_owned()),
            read_at_ms,
            from_ms,
            to_ms: read_at_ms,
            ok: !matches!(self.node, Health::Unknown(_)),
            rows: self.gpus.len() as i64,
            error,
        }
    }
}

fn exited(code: Option<i32>, output: &[u8], cut: bool) -> ProbeReading {
    let text = String::from_utf8_lossy(output);
    let text = text.trim();
    let json = if text.starts_with('{') { Some(serde_json::from_str::<Value>(text)) } else { None };
    let gpus = match (&json, cut) {
        (Some(_), true) => return ProbeReading::unknown("the probe printed more than its bound".to_owned()),
        (Some(Err(e)), _) => return ProbeReading::unknown(format!("the probe printed broken JSON: {e}")),
        (Some(Ok(object)), _) => match gpus(object) {
            Ok(gpus) => gpus,
            Err(why) => return ProbeReading::unknown(why),
        },
        (None, _) => Vec::new(),
    };
    let said = (!text.is_empty()).then(|| bounded(text));
    let because = |json: Option<&Value>| {
        let named = json.and_then(|j| j.get("reason")).and_then(Value::as_str).map(bounded);
        named.or_else(|| said.clone()).unwrap_or_else(|| "the probe gave no reason".to_owned())
    };
    let node = match code {
        Some(HEALTHY) => Health::Healthy,
        Some(SICK) => Health::Sick(because(json.as_ref().and_then(|j| j.as_ref().ok()))),
        Some(other) => Health::Unknown(format!("the probe failed with exit code {other}")),
        None => Health::Unknown("the probe was ended by a signal".to_owned()),
    };
    // A probe that failed half way may have printed a list it does not stand by.
    let gpus = if matches!(node, Health::Unknown(_)) { Vec::new() } else { gpus };
    ProbeReading { node, gpus, said }
}

/// The GPUs of `{"gpus": [{"uuid", "healthy", "reason"}]}`; any other object names none.
fn gpus(object: &Value) -> Result<Vec<GpuHealth>, String> {
    let Some(list) = object.get("gpus") else { return Ok(Vec::new()) };
    let told: Vec<ToldGpu> =
        Vec::deserialize(list).map_err(|e| format!("`gpus` of the probe's JSON is not understood: {e}"))?;
    if told.len() > GPUS_MAX {
        return Err(format!("the probe speaks of more than {GPUS_MAX} GPUs"));
    }
    let health = |gpu: &ToldGpu| {
        let why = || gpu.reason.as_deref().map_or_else(|| "the probe gave no reason".to_owned(), bounded);
        match gpu.healthy {
            Some(true) => Health::Healthy,
            Some(false) => Health::Sick(why()),
            None => Health::Unknown(why()),
        }
    };
    Ok(told.iter().map(|gpu| GpuHealth { uuid: gpu.uuid.clone(), health: health(gpu) }).collect())
}

/// The beginning of a text, cut between characters.
fn bounded(text: &str) -> String {
    let mut end = text.len().min(REASON_MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
