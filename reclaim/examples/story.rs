//! Tells a story of `tests/scenarios` into the control file of a data folder, so that it ends now: what its page shows then is
//! what the engine made. `cargo run --release -p gpuledger-reclaim --example story CONTROL_FILE STORY`.

#![allow(dead_code, unreachable_pub, reason = "the fleet of the tests, of which this uses a part")]

#[path = "../tests/it/scenario.rs"]
mod scenario;
#[path = "../tests/it/sim/mod.rs"]
mod sim;

use std::path::Path;

#[allow(clippy::disallowed_methods, reason = "an example is told nothing: it reads the clock itself")]
fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [control, story] = arguments.as_slice() else { return Err("a control file and a story are needed".into()) };
    let text = std::fs::read_to_string(story)?;
    let all_ms: i64 = text.lines().filter_map(|l| l.strip_prefix("> advance ")).map(scenario::length_ms).sum();
    // schedulers tell whole seconds
    let begins_ms = (now_ms() - all_ms).div_euclid(60_000) * 60_000;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    print!("{}", runtime.block_on(scenario::tell(&text, Path::new(control), begins_ms)));
    Ok(())
}
