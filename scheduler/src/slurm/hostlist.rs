//! Host lists: `node[1433,1787,1889-1890],gpu01,cpn-f13-03-[01-02]` to host names.

use super::number;

/// Most hosts a list may name; a longer one is a mistake or an attack.
pub const HOSTS_MAX: usize = 100_000;

/// Why a host list could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostlistError {
    /// Brackets or ranges are wrong, or it was cut off.
    #[error("host list part `{0}` is cut off or malformed")]
    Malformed(String),
    /// It names too many hosts.
    #[error("host list names more than {HOSTS_MAX} hosts")]
    TooMany,
}

/// Every host of a list, in its order, zeros in front kept.
pub fn hosts(text: &str) -> Result<Vec<String>, HostlistError> {
    let mut out = Vec::new();
    for part in parts(text.trim())? {
        let names = expand(part)?;
        if out.len() + names.len() > HOSTS_MAX {
            return Err(HostlistError::TooMany);
        }
        out.extend(names);
    }
    Ok(out)
}

/// Splits at the commas that stand outside brackets.
fn parts(text: &str) -> Result<Vec<&str>, HostlistError> {
    let (mut out, mut inside, mut from) = (Vec::new(), false, 0usize);
    let malformed = |from: usize| HostlistError::Malformed(text[from..].to_owned());
    for (at, c) in text.char_indices() {
        match (c, inside) {
            ('[', false) => inside = true,
            (']', true) => inside = false,
            ('[', true) | (']', false) => return Err(malformed(from)),
            (',', false) => {
                out.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(malformed(from));
    }
    out.push(&text[from..]);
    Ok(out)
}

/// One part: a prefix, then any number of `[ranges]suffix`.
fn expand(part: &str) -> Result<Vec<String>, HostlistError> {
    let malformed = || HostlistError::Malformed(part.to_owned());
    let is_name = |s: &str| s.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let mut pieces = part.split('[');
    let prefix = pieces.next().unwrap_or_default();
    if part.is_empty() || !is_name(prefix) {
        return Err(malformed());
    }
    let mut names = vec![prefix.to_owned()];
    for piece in pieces {
        let (ranges, suffix) = piece.split_once(']').ok_or_else(malformed)?;
        if !is_name(suffix) {
            return Err(malformed());
        }
        let numbers = numbers(ranges, part)?;
        if names.len().saturating_mul(numbers.len()) > HOSTS_MAX {
            return Err(HostlistError::TooMany);
        }
        names = names.iter().flat_map(|n| numbers.iter().map(move |k| format!("{n}{k}{suffix}"))).collect();
    }
    Ok(names)
}

fn numbers(ranges: &str, part: &str) -> Result<Vec<String>, HostlistError> {
    let malformed = || HostlistError::Malformed(part.to_owned());
    let mut out = Vec::new();
    for range in ranges.split(',') {
        let (lo, hi) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number::count(lo).ok_or_else(malformed)?, number::count(hi).ok_or_else(malformed)?);
        if first > last {
            return Err(malformed());
        }
        if usize::try_from(last - first).unwrap_or(usize::MAX) >= HOSTS_MAX - out.len() {
            return Err(HostlistError::TooMany);
        }
        out.extend((first..=last).map(|n| format!("{n:0width$}", width = lo.len())));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_expand_in_order_with_their_zeros() {
        for (text, expected) in [
            ("gpu01", "gpu01"),
            ("node[1433,1787,1889-1890],gpu01", "node1433 node1787 node1889 node1890 gpu01"),
            ("cpn-f13-03-[01-02],cpn-f13-04-[01-02]", "cpn-f13-03-01 cpn-f13-03-02 cpn-f13-04-01 cpn-f13-04-02"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("n[8-11]", "n8 n9 n10 n11"),
            ("r[1-2]n[01-02]-ib", "r1n01-ib r1n02-ib r2n01-ib r2n02-ib"),
            ("n[1]", "n1"),
        ] {
            assert_eq!(hosts(text).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn malformed_and_endless_lists_are_errors() {
        for bad in ["", "n[1-2", "n1-2]", "n[1-]", "n[]", "n[2-1]", "n[a-b]", "n[1,[2]]", "a,,b", "a,", "None assigned"]
        {
            assert!(matches!(hosts(bad), Err(HostlistError::Malformed(_))), "{bad}");
        }
        for endless in ["n[0-100000]", "n[0-999]x[0-999]", "n[1-60000],m[1-60000]", "n[1-9223372036854775807]"] {
            assert_eq!(hosts(endless), Err(HostlistError::TooMany), "{endless}");
        }
        assert_eq!(hosts("n[1-100000]").unwrap().len(), HOSTS_MAX);
    }
}
