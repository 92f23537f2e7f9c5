//! A server that runs, and HTTP to it: written by hand, so that what is tested is what goes over the wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::site::Site;

/// A server on a site; stopped when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// The code of the address that it printed, where it did.
    pub(crate) code: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
}

impl Server {
    /// Starts a server and waits until it says where it serves.
    pub(crate) fn start(site: &Site, args: &[&str]) -> Self {
        let mut command = site.command(&[&["serve", "--listen", "127.0.0.1:0"][..], args].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("serving http://").expect(&line).trim_end_matches('/').to_owned();
        let mut second = String::new();
        if site.run(&["token", "list"]).out.starts_with("no tokens") || args.contains(&"--link") {
            out.read_line(&mut second).unwrap();
        }
        let code = second.trim().rsplit_once("code=").map(|(_, code)| code.to_owned());
        Self { child, address, code }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request and reads until the other side closes.
    pub(crate) fn send(&self, method: &str, path: &str, head: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut stream = self.connect();
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        for (name, value) in head {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        stream.write_all(text.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        read(&all)
    }

    /// Asks with a token.
    pub(crate) fn get(&self, token: &str, path: &str) -> Reply {
        self.send("GET", path, &[("authorization", &format!("Bearer {token}"))], b"")
    }

    /// Posts JSON with a token.
    pub(crate) fn post(&self, token: &str, path: &str, body: &str) -> Reply {
        self.send("POST", path, &[("authorization", &format!("Bearer {token}"))], body.as_bytes())
    }

    /// Opens a stream of events and leaves it open.
    pub(crate) fn listen(&self, token: &str) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        let head =
            format!("GET /api/v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n", self.address);
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("200"), "{line}");
        reader
    }

    /// Asks it to stop, and gives how long that took and its exit code.
    pub(crate) fn stop(mut self) -> (Duration, Option<i32>) {
        let asked = Instant::now();
        let killed = std::process::Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(killed.success());
        let status = self.child.wait().unwrap();
        (asked.elapsed(), status.code())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(all: &[u8]) -> Reply {
    let end = all.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let mut body = all[end + 4..].to_vec();
    if head.contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Reply { status, head, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..at]).unwrap().trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[at + 2..at + 2 + size]);
        rest = &rest[at + 4 + size..];
    }
    body
}
