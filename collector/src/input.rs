//! Reading an input: a file, a `.gz` file or standard input, whole. The only file reads of this crate.
//!
//! A gzip stream that was cut is data: what could be read is kept, with the problem beside it. One whose bytes were
//! changed is none: its checksum tells that something in it is wrong, and not what.

use std::io::{ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// First bytes of a gzip stream.
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
/// Greatest size of an input once decoded: importers hold it in memory, and a gzip file can stand for far more.
const BYTES_MAX: u64 = 4 << 30;
/// What standard input is called in rows and messages.
const STDIN: &str = "stdin";

/// An input, read and decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// File name without its folder, or `stdin`.
    pub name: String,
    /// Its bytes, decoded.
    pub bytes: Vec<u8>,
    /// What is wrong with it as a whole, where it could only be read in part.
    pub problem: Option<String>,
}

impl Input {
    /// The bytes that can be trusted, and the unfinished last line of an input that was cut.
    ///
    /// A cut may fall inside a number and leave a smaller one, so the line it fell into is no record.
    pub fn trusted(&self) -> (&[u8], &[u8]) {
        if self.problem.is_none() {
            return (&self.bytes, &[]);
        }
        let whole = self.bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        self.bytes.split_at(whole)
    }
}

/// Why an input could not be read. Every message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Nothing is there.
    #[error("`{path}` does not exist: check the path, or use `-` to read standard input")]
    Missing {
        /// The path as given.
        path: String,
    },
    /// A folder.
    #[error("`{path}` is a folder: name the files in it one by one (for example `{path}/*.csv`)")]
    Folder {
        /// The path as given.
        path: String,
    },
    /// Nothing in it.
    #[error("`{path}` is empty: export it again, or leave it out")]
    Empty {
        /// The path as given.
        path: String,
    },
    /// Called `.gz`, and it is not.
    #[error("`{path}` is named .gz but holds no gzip data: take the ending off its name, or compress it again")]
    NotGzip {
        /// The path as given.
        path: String,
    },
    /// A gzip stream that is not what was compressed.
    #[error("`{path}` is a damaged gzip stream, so nothing in it can be trusted: copy or export it again")]
    Damaged {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        source: std::io::Error,
    },
    /// More than can be held.
    #[error("`{path}` holds more than {BYTES_MAX} bytes once decoded: split it into smaller files")]
    TooLarge {
        /// The path as given.
        path: String,
    },
    /// The system refused.
    #[error("cannot read `{path}`: check that this user may read it")]
    Unreadable {
        /// The path as given.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Reads the file at `path`, or `stdin` where it is `-`; gzip is decoded, by ending or by content.
pub fn read(path: &str, stdin: &mut dyn Read) -> Result<Input, InputError> {
    if path == "-" {
        return decode(STDIN, STDIN, stdin);
    }
    let file_path = Path::new(path);
    if file_path.is_dir() {
        return Err(InputError::Folder { path: path.to_owned() });
    }
    let mut file = std::fs::File::open(file_path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => InputError::Missing { path: path.to_owned() },
        _ => InputError::Unreadable { path: path.to_owned(), source },
    })?;
    let name = file_path.file_name().map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into_owned());
    decode(path, &name, &mut file)
}

fn decode(path: &str, name: &str, from: &mut dyn Read) -> Result<Input, InputError> {
    let path = path.to_owned();
    let mut raw = Vec::new();
    if let Err(source) = from.take(BYTES_MAX + 1).read_to_end(&mut raw) {
        return Err(InputError::Unreadable { path, source });
    }
    if raw.is_empty() {
        return Err(InputError::Empty { path });
    }
    let is_gzip = raw.starts_with(GZIP_MAGIC);
    if !is_gzip && name.to_ascii_lowercase().ends_with(".gz") {
        return Err(InputError::NotGzip { path });
    }
    let (bytes, problem) = match is_gzip {
        true => gunzip(&raw).map_err(|source| InputError::Damaged { path: path.clone(), source })?,
        false => (raw, None),
    };
    if bytes.len() as u64 > BYTES_MAX {
        return Err(InputError::TooLarge { path });
    }
    if bytes.is_empty() && problem.is_none() {
        return Err(InputError::Empty { path });
    }
    Ok(Input { name: name.to_owned(), bytes, problem })
}

/// The decoded bytes and, of a stream that was cut, where it ends.
fn gunzip(raw: &[u8]) -> Result<(Vec<u8>, Option<String>), std::io::Error> {
    let mut bytes = Vec::new();
    match MultiGzDecoder::new(raw).take(BYTES_MAX + 1).read_to_end(&mut bytes) {
        Ok(_) => Ok((bytes, None)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            let problem = format!("the gzip stream ends early after {} bytes", bytes.len());
            Ok((bytes, Some(problem)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gz(text: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn here(path: &str) -> String {
        format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
    }

    fn stdin(mut bytes: &[u8]) -> Result<Input, InputError> {
        read("-", &mut bytes)
    }

    #[test]
    fn files_and_standard_input_are_read_whole() {
        let file = read(&here("src/input.rs"), &mut std::io::empty()).unwrap();
        assert_eq!(file.name, "input.rs");
        assert!(file.bytes.starts_with(b"//! Reading an input"));
        let piped = stdin(b"a,b\n1,2\n").unwrap();
        assert_eq!((piped.name.as_str(), piped.bytes.as_slice(), piped.problem), ("stdin", &b"a,b\n1,2\n"[..], None));
    }

    #[test]
    fn gzip_is_known_by_its_content_and_members_follow_one_another() {
        let mut two = gz(b"a\n");
        two.extend(gz(b"b\n"));
        assert_eq!(stdin(&two).unwrap().bytes, b"a\nb\n");
    }

    #[test]
    fn a_cut_gzip_keeps_what_was_read_and_says_so() {
        let text: String = (0..50_000_u64).map(|n| format!("{n},{}\n", n * n * 2_654_435_761 % 1_000_003)).collect();
        let whole = gz(text.as_bytes());
        let cut = stdin(&whole[..whole.len() * 6 / 10]).unwrap();
        assert!(!cut.bytes.is_empty() && text.as_bytes().starts_with(&cut.bytes));
        let problem = format!("the gzip stream ends early after {} bytes", cut.bytes.len());
        assert_eq!(cut.problem, Some(problem));
        let (trusted, rest) = cut.trusted();
        assert!(trusted.ends_with(b"\n") && !rest.contains(&b'\n'));
        assert_eq!(trusted.len() + rest.len(), cut.bytes.len());
        let last = stdin(&whole[..whole.len() - 1]).unwrap();
        assert_eq!((last.bytes.len(), last.problem.is_some()), (text.len(), true));
    }

    #[test]
    fn a_whole_input_is_trusted_to_its_last_byte() {
        let input = stdin(b"a\nb").unwrap();
        assert_eq!(input.trusted(), (&b"a\nb"[..], &b""[..]));
    }

    #[test]
    fn nothing_of_a_damaged_gzip_is_trusted() {
        let mut bytes = gz(b"1,2\n3,4\n");
        let crc = bytes.len() - 8;
        bytes[crc] ^= 0xff;
        let error = stdin(&bytes).unwrap_err();
        assert!(error.to_string().starts_with("`stdin` is a damaged gzip stream"), "{error}");
    }

    #[test]
    fn what_cannot_be_read_names_the_path_and_what_to_do() {
        let says = |path: &str| read(&here(path), &mut std::io::empty()).unwrap_err().to_string();
        assert!(says("src").contains("src` is a folder: name the files"));
        assert!(says("src/none.csv").contains("none.csv` does not exist: check the path"));
        assert!(matches!(stdin(b""), Err(InputError::Empty { .. })));
        assert!(matches!(stdin(&gz(b"")), Err(InputError::Empty { .. })));
        let not = decode("x/a.csv.gz", "a.csv.gz", &mut &b"a,b\n"[..]).unwrap_err();
        assert!(matches!(&not, InputError::NotGzip { path } if path == "x/a.csv.gz"));
    }
}
