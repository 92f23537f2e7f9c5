//! Bracketed host lists: `gpu[01-03,07]` is gpu01, gpu02, gpu03 and gpu07.

/// Most names that one list may stand for.
const NAMES_MAX: usize = 100_000;

/// Why a host list cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostListError {
    #[error("`{0}` has a bracket that is not closed, not opened or inside another")]
    Brackets(String),
    #[error("`{list}` has `{part}` in brackets, which is neither a number nor a range such as 01-08")]
    Part { list: String, part: String },
    #[error("`{0}` has a name that is empty")]
    EmptyName(String),
    #[error("`{list}` stands for more than {max} nodes")]
    TooMany { list: String, max: usize },
}

/// The names of a host list: names with any number of bracket groups, separated by commas.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, HostListError> {
    let mut names = Vec::new();
    let mut rest = list;
    loop {
        let (item, after) = next_item(list, rest)?;
        let expanded = expand_item(list, item)?;
        if names.len() + expanded.len() > NAMES_MAX {
            return Err(too_many(list));
        }
        names.extend(expanded);
        match after {
            Some(after) => rest = after,
            None => return Ok(names),
        }
    }
}

/// Splits at the first comma outside brackets.
fn next_item<'a>(list: &str, rest: &'a str) -> Result<(&'a str, Option<&'a str>), HostListError> {
    let mut inside = false;
    for (at, c) in rest.char_indices() {
        match (c, inside) {
            ('[', false) => inside = true,
            (']', true) => inside = false,
            ('[', true) | (']', false) => return Err(HostListError::Brackets(list.to_owned())),
            (',', false) => return Ok((rest[..at].trim(), Some(&rest[at + 1..]))),
            _ => {}
        }
    }
    if inside { Err(HostListError::Brackets(list.to_owned())) } else { Ok((rest.trim(), None)) }
}

/// One name with its groups multiplied out, the last group fastest.
fn expand_item(list: &str, item: &str) -> Result<Vec<String>, HostListError> {
    if item.is_empty() {
        return Err(HostListError::EmptyName(list.to_owned()));
    }
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((plain, after)) = rest.split_once('[') {
        let (group, after) = after.split_once(']').ok_or_else(|| HostListError::Brackets(list.to_owned()))?;
        let numbers = numbers(list, group)?;
        if names.len().saturating_mul(numbers.len()) > NAMES_MAX {
            return Err(too_many(list));
        }
        names = names.iter().flat_map(|head| numbers.iter().map(move |n| format!("{head}{plain}{n}"))).collect();
        rest = after;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// The numbers of a group, with the zeros in front that the start of a range has.
fn numbers(list: &str, group: &str) -> Result<Vec<String>, HostListError> {
    let mut numbers = Vec::new();
    for part in group.split(',').map(str::trim) {
        let bad = || HostListError::Part { list: list.to_owned(), part: part.to_owned() };
        let number = |s: &str| {
            let plain = !s.is_empty() && s.len() <= 9 && s.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| s.parse::<usize>().ok()).flatten().ok_or_else(bad)
        };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (number(first)?, number(last)?);
        if low > high {
            return Err(bad());
        }
        if numbers.len() + (high - low) >= NAMES_MAX {
            return Err(too_many(list));
        }
        numbers.extend((low..=high).map(|n| format!("{n:0width$}", width = first.len())));
    }
    Ok(numbers)
}

fn too_many(list: &str) -> HostListError {
    HostListError::TooMany { list: list.to_owned(), max: NAMES_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_expand_in_order_with_their_zeros() {
        for (list, names) in [
            ("gpu1", vec!["gpu1"]),
            ("gpu[08-11]", vec!["gpu08", "gpu09", "gpu10", "gpu11"]),
            ("gpu[8-10,12]-ib", vec!["gpu8-ib", "gpu9-ib", "gpu10-ib", "gpu12-ib"]),
            ("r[1-2]n[01-02]", vec!["r1n01", "r1n02", "r2n01", "r2n02"]),
            ("a[1-2], b", vec!["a1", "a2", "b"]),
        ] {
            assert_eq!(expand(list).unwrap(), names, "{list}");
        }
        assert_eq!(expand("n[000000-099999]").unwrap().len(), 100_000);
    }

    #[test]
    fn broken_and_boundless_lists_are_refused() {
        for (list, reason) in [
            ("gpu[1-2", "`gpu[1-2` has a bracket that is not closed, not opened or inside another"),
            ("gpu1-2]", "`gpu1-2]` has a bracket that is not closed, not opened or inside another"),
            ("gpu[[1]]", "`gpu[[1]]` has a bracket that is not closed, not opened or inside another"),
            ("gpu[]", "`gpu[]` has `` in brackets, which is neither a number nor a range such as 01-08"),
            ("gpu[5-2]", "`gpu[5-2]` has `5-2` in brackets, which is neither a number nor a range such as 01-08"),
            ("a,,b", "`a,,b` has a name that is empty"),
            ("n[0-100000]", "`n[0-100000]` stands for more than 100000 nodes"),
            ("a[1-999]b[1-999]", "`a[1-999]b[1-999]` stands for more than 100000 nodes"),
        ] {
            assert_eq!(expand(list).unwrap_err().to_string(), reason);
        }
    }
}
