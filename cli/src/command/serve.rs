//! `serve`: everything on one machine, until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use gpuledger_aggregator::lake::{Lake, LakeError, WriterLock};
use gpuledger_api::event::Audience;
use gpuledger_api::guard::{Guard, GuardSettings, Rates};
use gpuledger_api::server;
use gpuledger_api::state::{App, Settings, Stop};
use gpuledger_api::tell;
use gpuledger_schema::hash::hex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{STACK_BYTES, print, token};
use crate::args::Serve;
use crate::clock;
use crate::config::ServerConfig;
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::reclaim::Rounds;
use crate::serve::{Aside, Ledger, Workers, aside, lend, loops};
use crate::signal;

/// Largest body of a request that is no segment.
const BODY_BYTES: usize = 4 << 20;
/// Requests at once that one name may make, in seconds of its rate.
const BURST_S: i64 = 4;
/// Tries a minute from an address to say who it is.
const TRIES: i64 = 20;

pub(super) async fn run(place: &Place, asked: &Serve) -> anyhow::Result<Outcome> {
    if place.cut.is_some() {
        return Err(usage("a server serves the newest cut; `as_of` in an address asks for another"));
    }
    let config = &place.config.server;
    let listen = asked.listen.unwrap_or(config.listen);
    check(config, listen)?;
    if place.config.reclaim.round_s() == 0 {
        return Err(usage("reclaim.round_seconds is 1 or more"));
    }
    let acceptor = match (&config.tls_certificate, &config.tls_key) {
        (Some(certificate), Some(key)) => Some(server::tls(certificate, key)?),
        _ => None,
    };
    let lake = place.lake_to_write()?;
    let _lock = hold(&lake).await?;
    let has_tokens = {
        let control = place.control_to_write(&lake)?;
        control.tokens()?.iter().any(|t| t.counts(clock::now_ms()))
    };
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let local = listener.local_addr()?;
    let nobody = !has_tokens && !config.open && config.proxy.is_none();
    let code = if asked.link || nobody { Some(hex(&token::random()?)) } else { None };
    let workers = Workers::start(place.partitions(), STACK_BYTES)?;
    let (app, writing) = shared(place, &lake, settings(place, local, acceptor.is_some())?, workers.handle())?;
    let stop = app.stop().clone();
    let guard = guard(config, code.clone(), acceptor.is_some());
    tokio::spawn(signals(stop.clone()));
    // what stands now is on every page; what moves from now on is told
    app.look_at_cases().await;
    let mut running = start(&app, place, &writing, &workers.handle());
    let socket = lend::socket(&lake);
    if let Some(path) = &socket {
        let listener = lend::listen(path)?;
        let told = app.clone();
        running.spawn(lend::lend(listener, writing, move |who| returned(&told, who)));
    }
    announce(local, acceptor.is_some(), code.as_deref())?;
    let served = server::serve(app, guard, listener, acceptor).await;
    stop.now();
    if let Some(path) = &socket {
        lend::close(path);
    }
    running.abort_all();
    served.context("the server failed")?;
    eprintln!("stopped");
    Ok(Outcome::Done)
}

/// Takes the lake, or says who has it.
async fn hold(lake: &Lake) -> anyhow::Result<WriterLock> {
    match lake.lock() {
        Ok(lock) => Ok(lock),
        Err(LakeError::Locked { at, .. }) if lend::answers(lake).await => {
            Err(usage(format!("a server serves `{at}` already: there is one for each data folder")))
        }
        Err(other) => Err(other.into()),
    }
}

/// What makes no sense or lets everybody in stops the server before it starts.
pub(super) fn check(config: &ServerConfig, listen: SocketAddr) -> anyhow::Result<()> {
    if config.open && !listen.ip().is_loopback() {
        return Err(usage(format!(
            "server.open lets everybody in who reaches the port, and {listen} is not of this machine alone: make tokens instead"
        )));
    }
    if config.tls_certificate.is_some() != config.tls_key.is_some() {
        return Err(usage("server.tls_certificate and server.tls_key belong together"));
    }
    if let Some(proxy) = &config.proxy {
        proxy.check().map_err(|e| usage(e.to_string()))?;
    }
    if let Some(url) = &config.public_url
        && host_of(url).is_none()
    {
        return Err(usage(format!("server.public_url `{url}` is no address such as https://gpu.example.org")));
    }
    if config.segment_mib == 0
        || config.requests_per_second == 0
        || config.ingest_seconds == 0
        || config.check_minutes == 0
    {
        return Err(usage("server: segment_mib, requests_per_second, ingest_seconds and check_minutes are 1 or more"));
    }
    Ok(())
}

/// The name in an address.
fn host_of(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split('/').next()?;
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    (!name.is_empty()).then(|| name.to_owned())
}

/// What loops and routes of a place share, and who of them writes.
fn shared(place: &Place, lake: &Lake, settings: Settings, workers: Handle) -> anyhow::Result<(App, Arc<Mutex<()>>)> {
    let writing = Arc::new(Mutex::new(()));
    let ledger = Ledger::new(place.clone(), Arc::clone(&writing), workers.clone());
    let ledger = Arc::new(Aside::new(ledger, workers));
    let path = place.control_path(lake)?;
    Ok((App::new(ledger, settings, path, Arc::new(clock::now_ms), Stop::default()), writing))
}

fn settings(place: &Place, local: SocketAddr, tls: bool) -> anyhow::Result<Settings> {
    let config = &place.config.server;
    let scheme = if tls { "https" } else { "http" };
    let own = format!("{scheme}://{local}");
    let public = config.public_url.clone().unwrap_or(own);
    Ok(Settings {
        zone: place.zone(None)?,
        public_url: Some(public.trim_end_matches('/').to_owned()),
        pseudonyms: config.pseudonyms,
        body_bytes: BODY_BYTES,
        segment_bytes: (config.segment_mib as usize) << 20,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        grace_s: u64::from(config.grace_seconds),
        notify: place.config.notify.clone(),
        tell: place.config.tell.clone(),
    })
}

fn guard(config: &ServerConfig, code: Option<String>, tls: bool) -> Guard {
    let mut hosts = config.hosts.clone();
    hosts.extend(config.public_url.as_deref().and_then(host_of));
    let rate = i64::from(config.requests_per_second);
    let rates = Rates::new(rate, rate * BURST_S, TRIES);
    Guard::new(GuardSettings { open: config.open, proxy: config.proxy.clone(), code, hosts, tls }, rates)
}

/// Starts the loops; each runs until the server stops.
fn start(app: &App, place: &Place, writing: &Arc<Mutex<()>>, workers: &Handle) -> JoinSet<()> {
    let config = &place.config.server;
    let mut running = JoinSet::new();
    let (every_ms, of, right) = (u64::from(config.ingest_seconds) * 1_000, place.clone(), Arc::clone(writing));
    let (looping, at) = (app.clone(), workers.clone());
    running.spawn(async move {
        let round = move |app| work(at.clone(), loops::ingest(app, of.clone(), Arc::clone(&right)));
        looping.run_loop("ingest", every_ms, round).await;
    });
    let (every_ms, of) = (u64::from(config.check_minutes) * 60_000, place.clone());
    let (looping, at) = (app.clone(), workers.clone());
    running.spawn(async move {
        // the first page comes first
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
        looping.run_loop("check", every_ms, move |app| work(at.clone(), loops::check(app, of.clone()))).await;
    });
    running.spawn(tell::run(app.clone()));
    let every_ms = place.config.reclaim.round_s().saturating_mul(1_000);
    let (rounds, looping) = (Arc::new(Rounds::new(place.clone())), app.clone());
    running.spawn(async move {
        // the first page comes first
        tokio::time::sleep(std::time::Duration::from_secs(20)).await;
        let round = move |app: App| {
            let rounds = Arc::clone(&rounds);
            async move {
                let said = rounds.round().await;
                app.look_at_cases().await;
                said
            }
        };
        looping.run_loop("reclaim", every_ms, round).await;
    });
    running
}

/// A round of the engine's work, on its threads.
fn work(
    workers: Handle,
    round: impl Future<Output = Result<String, String>> + Send + 'static,
) -> impl Future<Output = Result<String, String>> + Send + 'static {
    async move {
        let fault = || Err("the round was stopped by a fault of its own".to_owned());
        aside(&workers, round).await.unwrap_or_else(fault)
    }
}

/// A command that was lent the right to write has let go: what it wrote is looked at, and tokens may be others.
fn returned(app: &App, who: &str) {
    app.forget_tokens();
    app.loops().wake("ingest");
    app.events().tell("audit", Audience::Staff, app.now_ms(), json!({"by": who}));
    let app = app.clone();
    tokio::spawn(async move { app.look_at_cases().await });
}

/// Stops at the first signal; at the second the process ends as it is.
async fn signals(stop: Stop) {
    signal::stopped().await;
    eprintln!("stopping ...");
    stop.now();
    signal::stopped().await;
    std::process::exit(1);
}

fn announce(local: SocketAddr, tls: bool, code: Option<&str>) -> anyhow::Result<()> {
    let scheme = if tls { "https" } else { "http" };
    let mut text = format!("serving {scheme}://{local}/\n");
    if let Some(code) = code {
        text.push_str(&format!("sign in as admin, while this server runs: {scheme}://{local}/enter?code={code}\n"));
    }
    print(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_lets_everybody_in_stays_on_this_machine() {
        let open = ServerConfig { open: true, ..ServerConfig::default() };
        assert!(check(&open, SocketAddr::from(([127, 0, 0, 1], 1))).is_ok());
        assert!(check(&open, SocketAddr::from(([0, 0, 0, 0], 1))).is_err());
        let half = ServerConfig { tls_key: Some("key.pem".into()), ..ServerConfig::default() };
        assert!(check(&half, half.listen).is_err());
        let odd = ServerConfig { public_url: Some("gpu.example.org".to_owned()), ..ServerConfig::default() };
        assert!(check(&odd, odd.listen).is_err());
    }

    #[test]
    fn the_name_of_an_address() {
        assert_eq!(host_of("https://gpu.example.org/x").as_deref(), Some("gpu.example.org"));
        assert_eq!(host_of("http://[::1]:8787").as_deref(), Some("[::1]"));
        assert_eq!((host_of("https://"), host_of("ftp://x")), (None, None));
    }
}
