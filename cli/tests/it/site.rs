//! A folder of data and the binary that works on it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::table::Table;

/// Where one test keeps its files; gone when it is dropped.
pub(crate) struct Site {
    dir: TempDir,
    config: Option<String>,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// The exit code is `code`, and every one of `words` stands on stderr.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in: {}", self.err);
        }
        self
    }
}

impl Site {
    /// A place without configuration.
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::with_prefix("gpuledger-it-").unwrap(), config: None }
    }

    /// A place with this configuration.
    pub(crate) fn with(config: &str) -> Self {
        let mut site = Self::new();
        site.config = Some(site.file("gpuledger.toml", config));
        site
    }

    /// A place whose billing zone and currency are configured.
    pub(crate) fn billed(zone: &str, currency: &str) -> Self {
        Self::with(&format!("billing_zone = \"{zone}\"\ncurrency = \"{currency}\"\n"))
    }

    /// Writes an input; gives its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A folder beside the data.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The command with this place's data and configuration.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuledger"));
        command.args(args).arg("--data").arg(self.data()).current_dir(self.dir.path()).env_remove("GPULEDGER_LOG");
        if let Some(config) = &self.config {
            command.args(["--config", config]);
        }
        command
    }

    /// Runs a command with text on its standard input.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &[u8]) -> Done {
        let mut command = self.command(args);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // a command that refuses its arguments does not read on
        let _ = child.stdin.take().unwrap().write_all(stdin);
        done(child.wait_with_output().unwrap())
    }

    /// Runs a command.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.run_with(args, b"")
    }

    /// Runs a command that must succeed; gives what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(done.code, 0, "{args:?} {done:#?}");
        done.out
    }

    /// Runs a command that must succeed and print CSV.
    #[track_caller]
    pub(crate) fn table(&self, args: &[&str]) -> Table {
        Table::read(&self.ok(&[args, &["--format", "csv"]].concat()))
    }

    /// Asks the lake in SQL.
    #[track_caller]
    pub(crate) fn sql(&self, query: &str) -> Table {
        self.table(&["sql", query])
    }

    /// Imports rows of a reference table, given as CSV.
    #[track_caller]
    pub(crate) fn reference(&self, table: &str, csv: &str) -> String {
        let file = self.file(&format!("{table}.csv"), csv);
        self.ok(&[table, "import", &file])
    }

    /// One price for everything.
    #[track_caller]
    pub(crate) fn price(&self, price: &str) {
        self.reference("rates", &format!("price\n{price}\n"));
    }

    /// Imports accounting of cluster `alpha`; nothing of it may be refused.
    #[track_caller]
    pub(crate) fn sacct(&self, zone: &str, text: &str) -> String {
        let file = self.file("accounting.txt", text);
        self.ok(&["import", "sacct", "--cluster", "alpha", "--zone", zone, &file])
    }

    /// Imports a job table of cluster `alpha` through the plain map; nothing of it may be refused.
    #[track_caller]
    pub(crate) fn jobs(&self, csv: &str) -> String {
        let (map, file) = (self.file("plain.toml", PLAIN_MAP), self.file("jobs.csv", csv));
        self.ok(&["import", "jobs", "--cluster", "alpha", "--map", &map, &file])
    }
}

/// A job table as small as can be: `id,account,start,end,gpus`, instants in RFC 3339.
pub(crate) const PLAIN_MAP: &str = r#"
source = "plain"
[time]
submit = { from = "start" }
start = { column = "start", format = "rfc3339" }
end = { column = "end", format = "rfc3339" }
[job]
id = "id"
account = "account"
[state]
constant = "ENDED"
[granted]
gpus = "gpus"
"#;

/// Waits for nothing more: exit code and texts.
pub(crate) fn done(output: std::process::Output) -> Done {
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A path of the shared folder as text, or `None`, saying which test is skipped for want of it.
pub(crate) fn shared(test: &str, inside: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let path = std::env::var_os("GPULEDGER_SHARED").map_or(beside, PathBuf::from).join(inside);
    if !path.exists() {
        println!("skipped: {test}: there is no {}", path.display());
        return None;
    }
    Some(path.to_str().unwrap().to_owned())
}

/// A file of `examples/` of this repository.
pub(crate) fn example(inside: &str) -> String {
    format!("{}/../examples/{inside}", env!("CARGO_MANIFEST_DIR"))
}

/// A file as text, unpacked where its name ends in `.gz`.
pub(crate) fn text_of(path: &str) -> String {
    let bytes = std::fs::read(path).unwrap();
    if !path.ends_with(".gz") {
        return String::from_utf8(bytes).unwrap();
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut text).unwrap();
    text
}
