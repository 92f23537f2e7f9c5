//! The text format in which Prometheus exporters speak: a line is a name, labels, a value and sometimes a time.

/// A line that carries a value, as it stands: the value is text, because what it means depends on the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Metric name.
    pub name: String,
    /// Labels in the order written, escapes undone.
    pub labels: Vec<(String, String)>,
    /// The value, unread: `0.156205`, `NaN`, `9223372036854775792`.
    pub value: String,
}

impl Sample {
    /// The first of `names` that is a label with something in it.
    pub fn label(&self, names: &[&str]) -> Option<&str> {
        let find = |name: &&str| self.labels.iter().find(|(key, text)| key == name && !text.is_empty());
        names.iter().find_map(find).map(|(_, text)| text.as_str())
    }
}

/// A line that is neither blank, comment nor sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Every sample of a page, and every line that is none.
pub fn samples(page: &str) -> (Vec<Sample>, Vec<BadLine>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (at, line) in page.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match sample(line) {
            Ok(found) => good.push(found),
            Err(why) => bad.push(BadLine { line: at + 1, why }),
        }
    }
    (good, bad)
}

fn sample(line: &str) -> Result<Sample, &'static str> {
    let name_end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).ok_or("no value")?;
    let (name, rest) = line.split_at(name_end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("no metric name");
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().ok_or("no value")?;
    // A time may follow; dcgm-exporter writes none, and the age of a value is judged by whether it moves.
    let more = words.next();
    if more.is_some_and(|time| time.parse::<i64>().is_err()) || words.next().is_some() {
        return Err("something after the value");
    }
    Ok(Sample { name: name.to_owned(), labels, value: value.to_owned() })
}

type Labels = Vec<(String, String)>;

/// The labels up to the closing brace, and what follows it.
fn labels(text: &str) -> Result<(Labels, &str), &'static str> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((out, after));
        }
        let (key, after) = rest.split_once('=').ok_or("a label without a value")?;
        let (value, after) = quoted(after.trim_start()).ok_or("a label whose quotes do not close")?;
        out.push((key.trim().to_owned(), value));
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
}

/// A text in double quotes with `\\`, `\"` and `\n` undone, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &inside[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                other => out.push(other),
            },
            _ => out.push(c),
        }
    }
    None
}
