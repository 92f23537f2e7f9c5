//! Every path inside a lake, relative to its root. The lake may be a folder or an object store.

/// Folder of waiting segments.
pub const INBOX: &str = "inbox";
/// Folder of batch manifests (what a batch takes in).
pub const BATCHES: &str = "batches";
/// Folder of cuts (a version for every table); the newest is what readers open.
pub const CUTS: &str = "cuts";
/// Folder of builds (versions of derived tables, and of what they were made from).
pub const BUILDS: &str = "builds";
/// Folder of heads of the audit log, by the number of their entry.
pub const AUDIT: &str = "audit";
/// Folder of segments that could not be taken in, each beside its reason.
pub const QUARANTINE: &str = "quarantine";
/// Folder of the documents of closed periods: a period is closed when its document is there.
pub const CLOSES: &str = "closes";
/// Folder of Delta tables.
pub const TABLES: &str = "tables";

/// A numbered JSON document: a batch, a cut or a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numbered(pub u64);

impl Numbered {
    /// The document's file name, zero-padded so that names sort as numbers do.
    pub fn file_name(self) -> String {
        format!("{:012}.json", self.0)
    }

    /// Reads a file name back.
    pub fn parse(name: &str) -> Option<Self> {
        let digits = name.strip_suffix(".json")?;
        (digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok().map(Self))?
    }
}

/// The folder of a Delta table.
pub fn table(name: &str) -> String {
    format!("{TABLES}/{name}")
}

/// The document of a closed period (YYYY-MM).
pub fn close(period: &str) -> String {
    format!("{CLOSES}/{period}.json")
}

/// The period of a document's file name in [`CLOSES`].
pub fn closed_period(file_name: &str) -> Option<&str> {
    let period = file_name.strip_suffix(".json")?;
    let (year, month) = period.split_once('-')?;
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    (digits(year, 4) && digits(month, 2)).then_some(period)
}

/// Name of a segment: its table, its writer and the head of its content's hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentName {
    /// Table it belongs to.
    pub table: String,
    /// Who wrote it, e.g. an import or a node; letters, digits, `_`, `.` and `-`.
    pub writer: String,
    /// First 32 hex digits of the SHA-256 of its bytes.
    pub hash: String,
}

impl SegmentName {
    /// `<table>~<writer>~<hash>.parquet`
    pub fn file_name(&self) -> String {
        format!("{}~{}~{}.parquet", self.table, self.writer, self.hash)
    }

    /// Reads a file name back.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".parquet")?.split('~');
        let (table, writer, hash) = (parts.next()?, parts.next()?, parts.next()?);
        let plain = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
        let ok = parts.next().is_none() && plain(table) && plain(writer) && hash.len() == 32 && plain(hash);
        ok.then(|| Self { table: table.to_owned(), writer: writer.to_owned(), hash: hash.to_owned() })
    }
}

/// A writer's name made safe for a file name.
pub fn safe_writer(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' }).take(64).collect();
    if safe.is_empty() { "unnamed".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        assert_eq!(Numbered::parse(&Numbered(42).file_name()), Some(Numbered(42)));
        assert_eq!(Numbered::parse("42.json"), None);
        assert_eq!(close("2026-03"), "closes/2026-03.json");
        assert_eq!(closed_period("2026-03.json"), Some("2026-03"));
        assert_eq!((closed_period("2026-03.json#1"), closed_period("notes.json")), (None, None));
        let s = SegmentName { table: "job".into(), writer: safe_writer("gpu node/1"), hash: "0".repeat(32) };
        assert_eq!(s.writer, "gpu-node-1");
        assert_eq!(SegmentName::parse(&s.file_name()), Some(s));
        assert_eq!(SegmentName::parse("x.parquet.tmp"), None);
        assert_eq!(SegmentName::parse("a~b.parquet"), None);
    }
}
