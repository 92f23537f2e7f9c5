//! `gpuledger`: meters, bills and explains GPU time. This file parses, runs and turns the outcome into an exit code.

mod args;
mod clock;
mod command;
mod config;
mod demo;
mod outcome;
mod place;
mod reclaim;
mod serve;
mod session;
mod signal;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::outcome::Outcome;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            let help = !e.use_stderr();
            let _ = e.print();
            return if help { ExitCode::SUCCESS } else { ExitCode::from(Outcome::WRONG_USAGE) };
        }
    };
    start_log();
    meet_known_panics();
    match command::run(args) {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(e) if broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("gpuledger: {}", chain(&e));
            ExitCode::from(outcome::code_of(&e))
        }
    }
}

/// The error with everything that led to it, said once.
pub(crate) fn chain(e: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in e.chain() {
        let text = cause.to_string();
        if !said.iter().any(|s| s.contains(&text)) {
            said.push(text);
        }
    }
    said.join(": ")
}

/// Whoever read our output has gone (`| head`): not our failure.
fn broken_pipe(e: &anyhow::Error) -> bool {
    e.chain().any(|c| c.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe))
}

/// Two panics of others are known. Where a write fails (a full disk), `deltalake` aborts the upload, catches the panic with which
/// `object_store` answers, and returns the error, which we show: only that panic's own text would stand beside it, so it is left
/// out. Where the system gives no more threads, the runtime panics and then waits for the thread for ever: that ends the process,
/// as a kill at this moment would.
fn meet_known_panics() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let said = info.payload_as_str().unwrap_or_default();
        if said.starts_with("OS can't spawn worker thread") {
            eprintln!("gpuledger: the system gives no more threads or memory: {said}");
            std::process::exit(i32::from(Outcome::Failed.code()));
        }
        let at_upload =
            info.location().is_some_and(|l| l.file().ends_with("buffered.rs") && l.file().contains("object_store"));
        if !(at_upload && said == "Already shut down") {
            loud(info);
        }
    }));
}

/// Logs go to stderr; `GPULEDGER_LOG` is error (the default), warn, info, debug or trace.
fn start_log() {
    let level = std::env::var("GPULEDGER_LOG").ok().and_then(|l| l.parse().ok()).unwrap_or(tracing::Level::ERROR);
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_writer(std::io::stderr)
        .without_time()
        .init();
}
