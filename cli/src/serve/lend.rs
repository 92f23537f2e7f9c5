//! The right to write, lent by a server to a command: over a socket in the data folder, for as long as the connection stands.
//!
//! The command says who it is, waits for its turn, and writes as if it had taken the lock itself; the server writes nothing
//! meanwhile. A command that dies lets go of the connection, and with it of the right.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use gpuledger_aggregator::lake::Lake;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;

use crate::command::actor;

/// The socket in a data folder.
const SOCKET: &str = ".server.sock";
/// What a server answers.
const GO: &str = "go";
/// Longest line of either side.
const LINE_BYTES: u64 = 4_096;

/// What a command holds while it may write.
#[derive(Debug)]
pub(crate) struct Lent {
    _stream: BufReader<UnixStream>,
}

/// Where the socket of a lake is, where the lake is a folder.
pub(crate) fn socket(lake: &Lake) -> Option<PathBuf> {
    lake.folder().map(|folder| folder.join(SOCKET))
}

/// Asks the server of a data folder for the right to write; none where no server answers there.
pub(crate) async fn borrow(lake: &Lake) -> anyhow::Result<Option<Lent>> {
    let Some(path) = socket(lake) else { return Ok(None) };
    let Ok(stream) = UnixStream::connect(&path).await else { return Ok(None) };
    let mut stream = BufReader::new(stream);
    let lost = || format!("the server of `{}` did not answer; is it stopping?", lake.shown());
    let who: String = actor().chars().filter(|c| !c.is_control()).take(200).collect();
    stream.write_all(format!("write {who}\n").as_bytes()).await.with_context(lost)?;
    let mut answer = String::new();
    (&mut stream).take(LINE_BYTES).read_line(&mut answer).await.with_context(lost)?;
    match answer.trim_end() {
        GO => Ok(Some(Lent { _stream: stream })),
        other => anyhow::bail!("the server of `{}` refuses: {other}", lake.shown()),
    }
}

/// Whether a server answers at a data folder.
pub(crate) async fn answers(lake: &Lake) -> bool {
    match socket(lake) {
        Some(path) => UnixStream::connect(path).await.is_ok(),
        None => false,
    }
}

/// Opens the socket; one that a server left behind is taken away, as the lake's lock says that it is gone.
#[allow(clippy::disallowed_methods, reason = "the socket is the server's own, and dead where the lock could be taken")]
pub(crate) fn listen(path: &Path) -> anyhow::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    if path.exists() {
        std::fs::remove_file(path).with_context(|| format!("cannot take away {}", path.display()))?;
    }
    let listener = UnixListener::bind(path)
        .with_context(|| format!("cannot listen at {} (the path of a socket has at most 107 bytes)", path.display()))?;
    let own = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, own).with_context(|| format!("cannot close {} to others", path.display()))?;
    Ok(listener)
}

/// Takes the socket away at the end.
#[allow(clippy::disallowed_methods, reason = "the socket is the server's own")]
pub(crate) fn close(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// Lends the right to write to one command after the other; `after` is told who had it.
pub(crate) async fn lend(
    listener: UnixListener,
    writing: Arc<Mutex<()>>,
    after: impl Fn(&str) + Send + Sync + 'static,
) {
    let after = Arc::new(after);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let (writing, after) = (Arc::clone(&writing), Arc::clone(&after));
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            if (&mut stream).take(LINE_BYTES).read_line(&mut line).await.is_err() {
                return;
            }
            let Some(who) = line.trim_end().strip_prefix("write ") else { return };
            // one that gave up while it waited must not be waited for
            let mut byte = [0_u8; 1];
            let turn = tokio::select! {
                turn = writing.lock_owned() => turn,
                _ = stream.read(&mut byte) => return,
            };
            if stream.write_all(format!("{GO}\n").as_bytes()).await.is_ok() {
                tracing::info!(who, "lent the right to write");
                // until it lets go, or dies
                while matches!(stream.read(&mut byte).await, Ok(n) if n > 0) {}
                after(who);
            }
            drop(turn);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_writes_at_a_time_and_who_dies_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open(&folder.path().display().to_string(), true).unwrap();
        assert!(borrow(&lake).await.unwrap().is_none());
        let writing = Arc::new(Mutex::new(()));
        let had = Arc::new(std::sync::Mutex::new(0));
        let path = socket(&lake).unwrap();
        let (server, seen) = (Arc::clone(&writing), Arc::clone(&had));
        let listener = listen(&path).unwrap();
        let lending = tokio::spawn(lend(listener, server, move |_| *seen.lock().unwrap() += 1));
        let first = borrow(&lake).await.unwrap().unwrap();
        assert!(writing.try_lock().is_err());
        // one that waits and gives up is not in the way of the next
        let waits = tokio::time::timeout(std::time::Duration::from_millis(50), borrow(&lake)).await;
        assert!(waits.is_err());
        drop(first);
        let second = borrow(&lake).await.unwrap().unwrap();
        assert_eq!(*had.lock().unwrap(), 1);
        drop(second);
        let _own = writing.lock().await;
        lending.abort();
    }
}
