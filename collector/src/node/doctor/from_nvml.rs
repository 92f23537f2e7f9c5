//! What the driver's library tells about itself and its GPUs, each call by itself: one that fails is an answer too.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use gpuledger_native::{Device, Error, Library};

use super::facts::{DeviceFacts, DriverFacts};
use crate::node::seen::{Absent, Measure};
use crate::node::source::nvml::look::absent;

/// A library that answers later than this hangs: the driver of a node without persistence mode wakes every GPU first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Loss of a process utilization row is no concern here: any answer, also that nobody runs, shows that it can be asked.
const SINCE_THE_BEGINNING_US: u64 = 0;

/// Asks the library at a path. An error says why there is no answer.
pub fn ask(path: &Path) -> Result<DriverFacts, String> {
    let (tell, told) = mpsc::channel();
    let path = path.to_owned();
    // not joined: a call that hangs in the driver cannot be ended
    std::thread::spawn(move || _ = tell.send(read(&path)));
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| Err("the driver's library does not answer: it hangs".to_owned()))
}

fn read(path: &Path) -> Result<DriverFacts, String> {
    let library = Library::load(Some(path)).map_err(|e| e.to_string())?;
    let count = library.device_count().map_err(|e| e.to_string())?;
    let version = library.driver_version().unwrap_or_else(|_| "of unknown version".to_owned());
    Ok(DriverFacts { version, devices: (0..count).map(|index| card(library, index)).collect() })
}

/// A card that cannot even be named is one that nothing can be measured on.
fn card(library: Library, index: u32) -> DeviceFacts {
    match library.device_by_index(index) {
        Ok(device) => facts(device, index),
        Err(e) => {
            let why = absent(&e);
            DeviceFacts {
                index,
                uuid: format!("GPU {index}, which cannot be named"),
                model: "unknown".to_owned(),
                mig: Err(why.clone()),
                gpm: Err(why.clone()),
                accounting: Err(why.clone()),
                process_utilization: Err(why.clone()),
                persistence: Err(why),
            }
        }
    }
}

fn facts(device: Device, index: u32) -> DeviceFacts {
    DeviceFacts {
        index,
        uuid: device.uuid().unwrap_or_else(|e| format!("GPU {index}: {e}")),
        model: device.name().unwrap_or_else(|_| "unknown".to_owned()),
        // a card that cannot be cut is not cut, and one without GPM has none
        mig: or_not(device.is_mig()),
        gpm: or_not(device.has_gpm()),
        accounting: device.is_accounting().map_err(|e| absent(&e)),
        process_utilization: device.process_utilization(SINCE_THE_BEGINNING_US).map(drop).map_err(|e| absent(&e)),
        persistence: device.is_persistent().map_err(|e| absent(&e)),
    }
}

fn or_not(answer: Result<bool, Error>) -> Measure<bool> {
    match answer.map_err(|e| absent(&e)) {
        Err(Absent::NotSupported) => Ok(false),
        other => other,
    }
}
