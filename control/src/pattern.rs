//! Patterns as people type them (`*` any run of characters, `?` one), as anchored regular expressions.

/// The regular expression that matches exactly what the pattern does; everything but `*` and `?` stands for itself.
pub(crate) fn to_regex(pattern: &str) -> String {
    let mut regex = String::from("^");
    let mut buffer = [0u8; 4];
    for c in pattern.chars() {
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            c => regex.push_str(&regex::escape(c.encode_utf8(&mut buffer))),
        }
    }
    regex.push('$');
    regex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_star_and_question_mark_are_special() {
        for (pattern, matches, other) in [
            ("gpu*", "gpu01.example", "xgpu01"),
            ("gpu0?", "gpu01", "gpu001"),
            ("NVIDIA H200*", "NVIDIA H200 NVL", "nvidia h200"),
            ("a.b", "a.b", "axb"),
            ("a+(b)[c]|^$\\", "a+(b)[c]|^$\\", "a"),
            ("训练*", "训练-1", "训"),
        ] {
            let regex = regex::Regex::new(&to_regex(pattern)).unwrap();
            assert!(regex.is_match(matches), "{pattern} should match {matches}");
            assert!(!regex.is_match(other), "{pattern} should not match {other}");
        }
        assert_eq!(to_regex("a.b*"), "^a\\.b.*$");
    }
}
