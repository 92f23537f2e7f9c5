//! A year of a fleet of 16 GPUs with planted zombies and everything that only looks like one; prints what was found, what was freed
//! and whether anything was done that was wrong. `cargo run --release -p gpuledger-reclaim --example year [DAYS [SEED]]`.

#![allow(dead_code, unreachable_pub, reason = "the fleet of the tests, of which this uses a part")]

#[path = "../tests/it/fleet.rs"]
mod fleet;
#[path = "../tests/it/month.rs"]
mod month;
#[path = "../tests/it/sim/mod.rs"]
mod sim;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let days = arguments.next().map_or(Ok(365), |d| d.parse())?;
    let seed = arguments.next().map_or(Ok(20_261_005), |s| s.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let figures = runtime.block_on(month::live(days, 5, seed));
    println!("{days} days, seed {seed}:\n{figures:#?}");
    if figures.wrong.is_empty() && figures.late.is_empty() { Ok(()) } else { Err("not as it should be".into()) }
}
