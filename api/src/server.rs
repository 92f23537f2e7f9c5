//! The listener, with TLS where it is set, and the server around everything.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::IncomingStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, rustls};

use crate::guard::{self, Guard, Peer};
use crate::problem::Problem;
use crate::state::App;
use crate::{metrics, page, route, session};

/// Connections at a time.
const CONNECTIONS: usize = 1_024;
/// A handshake takes at most so long.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// An answer takes at most so long; streams of events are answered at once and go on.
const ANSWER: Duration = Duration::from_secs(120);

/// Everything that the server serves, behind its guard.
pub fn router(app: App, guard: Guard) -> Router {
    let api = route::routes().route("/metrics", get(measured));
    let all = api.merge(session::routes(guard.clone())).merge(page::routes()).fallback(nothing);
    let timed = all.layer(axum::middleware::from_fn(in_time));
    timed.layer(from_fn_with_state((app.clone(), guard), guard::before)).with_state(app)
}

async fn measured(State(app): State<App>, crate::who::Asker(who): crate::who::Asker) -> Result<Response, Problem> {
    use crate::who::Role;
    if !who.is(&[Role::Admin, Role::Operator, Role::Metrics]) {
        return Err(Problem::forbidden("metrics are for admin, operator and metrics"));
    }
    let kind = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    Ok((kind, metrics::page(&app).await).into_response())
}

async fn nothing() -> Problem {
    Problem::absent("there is nothing here")
}

async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::unavailable("the answer takes too long; ask for a shorter window").into_response(),
    }
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or is not PEM.
    #[error("cannot read {0}")]
    File(String, #[source] rustls::pki_types::pem::Error),
    /// There is no certificate in the file.
    #[error("{0} holds no certificate")]
    Empty(String),
    /// Certificate and key do not fit.
    #[error("certificate and key cannot be used")]
    Refused(#[source] rustls::Error),
}

/// Reads a certificate chain and its key, both PEM.
///
/// # Errors
/// [`TlsError`].
pub fn tls(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let fail = |path: &Path| {
        let name = path.display().to_string();
        move |e| TlsError::File(name, e)
    };
    let read = CertificateDer::pem_file_iter(certificate).map_err(fail(certificate))?;
    let chain = read.collect::<Result<Vec<_>, _>>().map_err(fail(certificate))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(certificate.display().to_string()));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(fail(key))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder
        .map_err(TlsError::Refused)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Refused)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until the app stops; what is in flight then has its grace time, streams end at once.
///
/// # Errors
/// The listener fails.
pub async fn serve(app: App, guard: Guard, listener: TcpListener, tls: Option<TlsAcceptor>) -> io::Result<()> {
    let local = listener.local_addr()?;
    let (sender, receiver) = mpsc::channel(64);
    let accepting = tokio::spawn(accept(app.clone(), listener, tls, sender));
    let service = router(app.clone(), guard).into_make_service_with_connect_info::<Peer>();
    let stop = app.stop().clone();
    let server =
        axum::serve(Ready { receiver, local }, service).with_graceful_shutdown(async move { stop.wait().await });
    let grace = Duration::from_secs(app.settings().grace_s);
    let late = {
        let stop = app.stop().clone();
        async move {
            stop.wait().await;
            tokio::time::sleep(grace).await;
        }
    };
    let ended = tokio::select! {
        ended = server.into_future() => ended,
        () = late => Ok(()),
    };
    accepting.abort();
    ended
}

/// Takes connections, and shakes hands with each beside the others.
async fn accept(app: App, listener: TcpListener, tls: Option<TlsAcceptor>, to: mpsc::Sender<(Io, SocketAddr)>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    while !app.stop().asked() {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(taken) => taken,
            Err(e) => {
                // too many open files and the like: they pass
                tracing::warn!(error = %e, "cannot take a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let (tls, to) = (tls.clone(), to.clone());
        tokio::spawn(async move {
            let stream = match tls {
                None => Stream::Plain(stream),
                Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
                    Ok(Ok(stream)) => Stream::Tls(Box::new(stream)),
                    _ => return,
                },
            };
            let _ = to.send((Io { stream, _place: place }, peer)).await;
        });
    }
}

/// Connections that are ready to speak HTTP.
struct Ready {
    receiver: mpsc::Receiver<(Io, SocketAddr)>,
    local: SocketAddr,
}

impl axum::serve::Listener for Ready {
    type Io = Io;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Io, SocketAddr) {
        match self.receiver.recv().await {
            Some(ready) => ready,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}

impl Connected<IncomingStream<'_, Ready>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Ready>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// A connection, with the place that it takes among all.
struct Io {
    stream: Stream,
    _place: OwnedSemaphorePermit,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_read(cx, into),
            Stream::Tls(s) => Pin::new(s).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_write(cx, from),
            Stream::Tls(s) => Pin::new(s).poll_write(cx, from),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_flush(cx),
            Stream::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }
}

/// What handlers are told of a connection in tests, where there is none.
pub fn from(peer: SocketAddr) -> ConnectInfo<Peer> {
    ConnectInfo(Peer(peer))
}
