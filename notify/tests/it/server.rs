//! The mail server of `tests/mail/server.py`, started for one test. `GPULEDGER_AIOSMTPD_PYTHON` names a Python that has what
//! `tests/mail/requirements.txt` names; without it the tests say that they are skipped, and which.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longest wait for something that is sure to come, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    child: Child,
    folder: TempDir,
    pub(crate) port: u16,
    ca: Option<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // it ends when its standard input does
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts one, or says which test is skipped for want of it.
    pub(crate) fn start(test: &str, arguments: &[&str]) -> Option<Self> {
        let Some(python) = std::env::var_os("GPULEDGER_AIOSMTPD_PYTHON") else {
            println!("skipped: {test}: GPULEDGER_AIOSMTPD_PYTHON names no Python with aiosmtpd");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/mail/server.py");
        let mut child = Command::new(&python)
            .arg(script)
            .arg(folder.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", python.to_string_lossy()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("the mail server said `{line}`: {e}"));
        let port = said["port"].as_u64().unwrap() as u16;
        Some(Self { child, folder, port, ca: said["ca"].as_str().map(str::to_owned) })
    }

    /// `[mail]` of a configuration that reaches it.
    pub(crate) fn config(&self, more: &str) -> String {
        let host = if self.ca.is_some() { "localhost" } else { "127.0.0.1" };
        let ca = self.ca.as_ref().map_or_else(String::new, |path| format!("ca_file = \"{path}\"\n"));
        let tls = if self.ca.is_some() { "" } else { "tls = \"none\"\n" };
        let port = self.port;
        let from = "GPU-Abrechnung é 算力 <gpu@example.org>";
        format!(
            "[mail]\nhost = \"{host}\"\nport = {port}\nfrom = \"{from}\"\nhello = \"test.example.org\"\n{tls}{ca}{more}\n"
        )
    }

    /// The mails that it took, in order.
    pub(crate) fn mails(&self) -> Vec<Value> {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(self.folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
        paths.sort();
        paths.iter().map(|p| serde_json::from_slice(&std::fs::read(p).unwrap()).unwrap()).collect()
    }

    /// Waits until a file of its folder is there.
    pub(crate) fn wait_for(&self, name: &str) {
        wait_until(|| self.folder.path().join(name).exists());
    }
}

pub(crate) fn wait_until(mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < PATIENCE, "it did not come within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A header of a mail, as Python's parser decodes it.
pub(crate) fn header<'a>(mail: &'a Value, name: &str) -> &'a str {
    let headers = mail["headers"].as_array().unwrap();
    let found: Vec<&str> = headers.iter().filter(|h| h[0] == name).map(|h| h[1].as_str().unwrap()).collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0]
}

/// The mail as it came over the line.
pub(crate) fn raw(mail: &Value) -> Vec<u8> {
    unbase64(mail["raw"].as_str().unwrap())
}

pub(crate) fn unbase64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> =
        text.bytes().filter_map(|b| ALPHABET.iter().position(|a| *a == b).map(|p| p as u32)).collect();
    let mut out = Vec::new();
    for chunk in digits.chunks(4) {
        let n = chunk.iter().fold(0, |n, d| n << 6 | d) << (6 * (4 - chunk.len()));
        out.extend_from_slice(&n.to_be_bytes()[1..chunk.len()]);
    }
    out
}
