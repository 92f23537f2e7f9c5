//! What `nvidia-smi` tells about the driver and its GPUs: enough to judge a node on which the library was not asked.

use std::time::Duration;

use super::facts::{DeviceFacts, DriverFacts};
use crate::node::seen::{Absent, Measure};
use crate::node::source::probe::Ended;
use crate::node::source::probe::run::Probe;
use crate::node::source::smi::{Table, absent};

/// What is asked.
const QUERY: &str = "--query-gpu=driver_version,index,uuid,name,mig.mode.current,accounting.mode,persistence_mode";
/// On a node of eight GPUs without persistence mode it takes a dozen seconds.
const DEADLINE: Duration = Duration::from_secs(60);
/// Most bytes of an answer.
const ANSWER_MAX_BYTES: u64 = 1 << 20;

/// Asks it. An error says why there is no answer.
pub fn ask() -> Result<DriverFacts, String> {
    let command = ["nvidia-smi", QUERY, "--format=csv"].map(str::to_owned).to_vec();
    match Probe::new(command, DEADLINE, ANSWER_MAX_BYTES).run() {
        Ended::Exited { code: Some(0), output, .. } => read(&String::from_utf8_lossy(&output)),
        Ended::Exited { output, .. } => {
            let said = String::from_utf8_lossy(&output);
            Err(format!("nvidia-smi failed: {}", said.lines().next().unwrap_or("it says nothing")))
        }
        Ended::Late { deadline_ms } => Err(format!("nvidia-smi did not answer within {deadline_ms} ms")),
        Ended::StillRunning => Err("an earlier nvidia-smi still hangs".to_owned()),
        Ended::NotStarted(why) => Err(why),
    }
}

/// Reads its answer.
pub fn read(answer: &str) -> Result<DriverFacts, String> {
    let table = Table::parse(answer).map_err(|e| format!("nvidia-smi: {e}"))?;
    let cell =
        |row: usize, column: &str| table.cell(row, column).ok_or_else(|| format!("nvidia-smi did not tell `{column}`"));
    let mut version = None;
    let mut devices = Vec::new();
    for row in 0..table.len() {
        version = Some(cell(row, "driver_version")?.to_owned());
        let index = cell(row, "index")?;
        devices.push(DeviceFacts {
            index: index.parse().map_err(|_| format!("nvidia-smi: `{index}` is no GPU number"))?,
            uuid: cell(row, "uuid")?.to_owned(),
            model: cell(row, "name")?.to_owned(),
            mig: switch(cell(row, "mig.mode.current")?).or_else(not_there_is_off),
            gpm: Err(untold()),
            accounting: switch(cell(row, "accounting.mode")?),
            process_utilization: Err(untold()),
            persistence: switch(cell(row, "persistence_mode")?),
        });
    }
    if table.cell(0, "driver_version").is_none() && !table.heads().iter().any(|h| h == "driver_version") {
        return Err(format!("nvidia-smi: {}", answer.lines().next().unwrap_or("it says nothing")));
    }
    Ok(DriverFacts { version: version.unwrap_or_else(|| "of unknown version".to_owned()), devices })
}

fn untold() -> Absent {
    Absent::Failed("nvidia-smi does not tell".to_owned())
}

fn switch(cell: &str) -> Measure<bool> {
    match cell {
        "Enabled" => Ok(true),
        "Disabled" => Ok(false),
        other => Err(absent(other).unwrap_or(Absent::Rejected)),
    }
}

/// A card that cannot be cut is not cut.
fn not_there_is_off(why: Absent) -> Measure<bool> {
    if why == Absent::NotSupported { Ok(false) } else { Err(why) }
}
