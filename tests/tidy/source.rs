//! Just enough of Rust's grammar to tell code from comments and strings, and to find where functions end.

/// A file of Rust with comments and strings taken out.
#[derive(Debug)]
pub(crate) struct Source {
    /// The code: comments and the insides of strings are blanks, byte for byte, so that offsets are those of the file.
    pub(crate) code: String,
    /// The strings, each with the line it begins on.
    pub(crate) strings: Vec<(usize, String)>,
}

impl Source {
    /// Reads a file.
    pub(crate) fn of(text: &str) -> Self {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0, out: text.as_bytes().to_vec(), strings: Vec::new() };
        reader.run();
        let strings =
            reader.strings.iter().map(|(from, to)| (line_of(text, *from), text[*from..*to].to_owned())).collect();
        Self { code: String::from_utf8_lossy(&reader.out).into_owned(), strings }
    }

    /// The line of an offset, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        line_of(&self.code, at)
    }

    /// Lines without the modules that are compiled for tests only.
    pub(crate) fn code_lines(&self) -> usize {
        let mut tests = 0;
        for (at, _) in self.code.match_indices("#[cfg(test)]") {
            let body = self.code[at..].find(['{', ';']).map(|i| at + i).filter(|i| self.code.as_bytes()[*i] == b'{');
            if let Some(open) = body {
                tests += self.line(self.closing(open)) - self.line(at) + 1;
            }
        }
        self.code.lines().count().saturating_sub(tests)
    }

    /// Where the brace that opens at an offset is closed.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for (i, b) in self.code.bytes().enumerate().skip(open) {
            match b {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                return i;
            }
        }
        self.code.len()
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

/// Every function with a body: its name and its lines, from `fn` to the closing brace.
pub(crate) fn functions(source: &Source) -> Vec<(String, usize)> {
    let code = &source.code;
    let mut out = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let word_before = code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if word_before || name.is_empty() {
            continue;
        }
        // the body opens at the first brace outside of parentheses; a `;` before it ends a declaration
        let mut depth = 0;
        for (i, b) in code.bytes().enumerate().skip(at) {
            match b {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b';' if depth == 0 => break,
                b'{' if depth == 0 => {
                    out.push((name, source.line(source.closing(i)) - source.line(at) + 1));
                    break;
                }
                _ => {}
            }
        }
    }
    out
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    out: Vec<u8>,
    strings: Vec<(usize, usize)>,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.blank_to(self.find(b"\n")),
                (b'/', b'*') => self.block_comment(),
                (b'"', _) => self.string(),
                (b'r', b'"' | b'#') if !self.in_word() => self.raw_string(),
                (b'\'', _) => self.quote(),
                _ => self.at += 1,
            }
        }
    }

    /// Whether the byte before belongs to a name: then `r` is not the beginning of a raw string (`b` may be).
    fn in_word(&self) -> bool {
        let before = |back: usize| self.at.checked_sub(back).map(|i| self.bytes[i]);
        let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        match before(1) {
            Some(b'b') => before(2).is_some_and(part),
            Some(b) => part(b),
            None => false,
        }
    }

    /// Offset of the next occurrence, or the end.
    fn find(&self, what: &[u8]) -> usize {
        let rest = &self.bytes[self.at..];
        rest.windows(what.len()).position(|w| w == what).map_or(self.bytes.len(), |i| self.at + i)
    }

    fn blank_to(&mut self, to: usize) {
        for b in &mut self.out[self.at..to] {
            if *b != b'\n' {
                *b = b' ';
            }
        }
        self.at = to;
    }

    fn block_comment(&mut self) {
        let (mut depth, mut end) = (0, self.at);
        while end < self.bytes.len() {
            match &self.bytes[end..self.bytes.len().min(end + 2)] {
                b"/*" => (depth, end) = (depth + 1, end + 2),
                b"*/" => (depth, end) = (depth - 1, end + 2),
                _ => end += 1,
            }
            if depth == 0 {
                break;
            }
        }
        self.blank_to(end);
    }

    fn string(&mut self) {
        let mut end = self.at + 1;
        while end < self.bytes.len() && self.bytes[end] != b'"' {
            end += if self.bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.close(self.at + 1, end.min(self.bytes.len()), 1);
    }

    fn raw_string(&mut self) {
        let hashes = self.bytes[self.at + 1..].iter().take_while(|b| **b == b'#').count();
        if self.peek(1 + hashes) != b'"' {
            self.at += 1;
            return;
        }
        let from = self.at + hashes + 2;
        let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        self.at = from;
        self.close(from, self.find(&end), 1 + hashes);
    }

    /// Notes the string between two offsets, blanks it and goes behind its end.
    fn close(&mut self, from: usize, to: usize, end: usize) {
        self.strings.push((from, to));
        self.at = from;
        self.blank_to(to);
        self.at = (to + end).min(self.bytes.len());
    }

    /// A character in quotes is blanked; a lifetime is left.
    fn quote(&mut self) {
        let escaped = self.peek(1) == b'\\';
        let width = match self.peek(1) {
            b if b < 0x80 => 1,
            b if b < 0xe0 => 2,
            b if b < 0xf0 => 3,
            _ => 4,
        };
        if escaped {
            self.at += 3;
            let end = self.find(b"'");
            self.blank_to(end);
            self.at += 1;
        } else if self.peek(1 + width) == b'\'' {
            self.at += 1;
            self.blank_to(self.at + width);
            self.at += 1;
        } else {
            self.at += 1;
        }
    }
}
