//! Where in a TOML text something stands.

/// Line (from 1) and key at a byte offset.
pub(crate) fn at(text: &str, offset: usize) -> (usize, Option<String>) {
    let before = text.get(..offset).unwrap_or(text);
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    (number, key_of(line).map(str::to_owned))
}

/// The line (from 1) on which a key is given; 1 where it is not, because it has its default.
pub(crate) fn of_key(text: &str, key: &str) -> usize {
    let found = text.lines().position(|line| key_of(line) == Some(key) || line.trim() == format!("[{key}]"));
    found.map_or(1, |at| at + 1)
}

/// The key that a line gives.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
