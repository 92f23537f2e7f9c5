//! Where the objects of a large JSON document lie, without reading them: one bad or cut object then costs itself only.

use std::ops::Range;

/// Objects nested deeper than this are not Slurm's.
const DEPTH_MAX: usize = 64;

/// Why the outline ends early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutlineError {
    /// The text ends inside a value.
    #[error("the JSON ends in the middle: it was cut off")]
    Cut,
    /// Something else than JSON.
    #[error("byte {0} is no JSON of this form")]
    Malformed(usize),
}

/// The members of the top object, and the elements of one of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Key and value of each member except the listed one.
    pub(crate) members: Vec<(String, Range<usize>)>,
    /// Elements of the array member that was asked for; absent if it is not there.
    pub(crate) elements: Option<Vec<Range<usize>>>,
    /// Why it ended early, and where the value that could not be read starts.
    pub(crate) broken: Option<(OutlineError, usize)>,
}

/// Outlines the object in `bytes`, listing the elements of its array member `list`.
pub(crate) fn outline(bytes: &[u8], list: &str) -> Outline {
    let (mut out, mut scan) = (Outline::default(), Scan { bytes, at: 0, from: 0 });
    if let Err(error) = scan.object(list, &mut out) {
        out.broken = Some((error, scan.from));
    }
    out
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Start of the value being read.
    from: usize,
}

impl Scan<'_> {
    fn object(&mut self, list: &str, out: &mut Outline) -> Result<(), OutlineError> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            return self.expect(b'}');
        }
        loop {
            self.peek()?;
            let key = self.value()?;
            let key: String =
                serde_json::from_slice(&self.bytes[key.clone()]).map_err(|_| OutlineError::Malformed(key.start))?;
            self.expect(b':')?;
            if key == list && self.peek()? == b'[' {
                self.array(out.elements.insert(Vec::new()))?;
            } else {
                self.peek()?;
                let value = self.value()?;
                out.members.push((key, value));
            }
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    fn array(&mut self, elements: &mut Vec<Range<usize>>) -> Result<(), OutlineError> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            return self.expect(b']');
        }
        loop {
            self.peek()?;
            elements.push(self.value()?);
            if !self.goes_on(b']')? {
                return Ok(());
            }
        }
    }

    /// Skips one value of any kind.
    fn value(&mut self) -> Result<Range<usize>, OutlineError> {
        self.from = self.at;
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                c @ (b'{' | b'[') if open.len() < DEPTH_MAX => {
                    self.at += 1;
                    open.push(if c == b'{' { b'}' } else { b']' });
                    continue;
                }
                c @ (b'}' | b']') if open.last() == Some(&c) => {
                    self.at += 1;
                    open.pop();
                }
                b',' | b':' if !open.is_empty() => {
                    self.at += 1;
                    continue;
                }
                c if c.is_ascii_alphanumeric() || matches!(c, b'-' | b'+' | b'.') => {
                    while self.bytes.get(self.at).is_some_and(|c| !b",:]}\" \t\r\n[{".contains(c)) {
                        self.at += 1;
                    }
                }
                _ => return Err(OutlineError::Malformed(self.at)),
            }
            if open.is_empty() {
                return Ok(self.from..self.at);
            }
        }
    }

    fn string(&mut self) -> Result<(), OutlineError> {
        self.at += 1;
        loop {
            match self.bytes.get(self.at).ok_or(OutlineError::Cut)? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Result<u8, OutlineError> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied().ok_or(OutlineError::Cut)
    }

    fn expect(&mut self, byte: u8) -> Result<(), OutlineError> {
        if self.peek()? != byte {
            return Err(OutlineError::Malformed(self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// After a value: whether another one follows.
    fn goes_on(&mut self, close: u8) -> Result<bool, OutlineError> {
        self.from = self.at;
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            c if c == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(OutlineError::Malformed(self.at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let out = outline(text.as_bytes(), "jobs");
        let members = out.members.iter().map(|(k, v)| format!("{k}={}", &text[v.clone()]));
        let elements = out.elements.iter().flatten().map(|v| format!("-{}", &text[v.clone()]));
        let broken = out.broken.iter().map(|(e, from)| format!("{e:?}@{from}"));
        members.chain(elements).chain(broken).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn members_and_elements_are_found_and_a_cut_costs_the_last_only() {
        assert_eq!(show(r#"{"a":{"x":"}]\""},"jobs":[{"b":[1,2]},{"c":null}],"z":-1.5}"#), {
            r#"a={"x":"}]\""} z=-1.5 -{"b":[1,2]} -{"c":null}"#
        });
        assert_eq!(show(r#"{"jobs":[{"b":1},{"c""#), r#"-{"b":1} Cut@17"#);
        assert_eq!(show(r#"{"jobs":[{"b":1}"#), r#"-{"b":1} Cut@16"#);
        assert_eq!(show(r#"{"jobs":[]}"#), "");
        assert_eq!(show("{}"), "");
        assert_eq!(show(r#"{"jobs":7}"#), "jobs=7");
        assert_eq!(show(r#"{"jobs":[{"b":1} {"c":2}]}"#), r#"-{"b":1} Malformed(17)@16"#);
        assert_eq!(show(r#"{"a":}"#), "Malformed(5)@5");
        assert_eq!(show(r#"{"a":[1}"#), "Malformed(7)@5");
        assert_eq!(show(&format!("{{\"a\":{}", "[".repeat(1_000))), "Malformed(69)@5");
    }
}
