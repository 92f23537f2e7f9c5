//! What documents say, in English and Chinese: whole sentences with named places, one file a language.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use gpuledger_schema::bill::LineKind;

/// A language of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

/// Not a language that documents are written in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a language of documents (en, zh)")]
pub struct UnknownLang(String);

impl FromStr for Lang {
    type Err = UnknownLang;

    fn from_str(word: &str) -> Result<Self, UnknownLang> {
        match word {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            _ => Err(UnknownLang(word.to_owned())),
        }
    }
}

type Messages = BTreeMap<&'static str, &'static str>;

static EN: LazyLock<Messages> = LazyLock::new(|| messages(include_str!("../text/en.txt")));
static ZH: LazyLock<Messages> = LazyLock::new(|| messages(include_str!("../text/zh.txt")));

/// Lines `key = text`; a line that begins with `#` is for translators.
fn messages(file: &'static str) -> Messages {
    let lines = file.lines().filter(|l| !l.starts_with('#'));
    lines.filter_map(|l| l.split_once('=')).map(|(key, text)| (key.trim(), text.trim())).collect()
}

impl Lang {
    /// Code as it is typed, and as documents carry it.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The text of a key. A key that no file has reads as itself; a test keeps that from happening.
    pub(crate) fn say(self, key: &'static str) -> &'static str {
        let file = match self {
            Self::En => &*EN,
            Self::Zh => &*ZH,
        };
        file.get(key).copied().unwrap_or(key)
    }

    /// The text of a key with `{name}` replaced by values.
    pub(crate) fn fill(self, key: &'static str, values: &[(&str, &str)]) -> String {
        let mut rest = self.say(key);
        let mut out = String::new();
        // one pass: what a value contains is not looked at again
        while let Some(open) = rest.find('{') {
            let Some(close) = rest[open..].find('}').map(|i| open + i) else { break };
            out.push_str(&rest[..open]);
            let name = &rest[open + 1..close];
            match values.iter().find(|(n, _)| *n == name) {
                Some((_, value)) => out.push_str(value),
                None => out.push_str(&rest[open..=close]),
            }
            rest = &rest[close + 1..];
        }
        out.push_str(rest);
        out
    }

    /// Name of a kind of line; a word that is no kind reads as itself.
    pub(crate) fn kind(self, word: &str) -> String {
        let key = match word.parse() {
            Ok(LineKind::Use) => "kind.use",
            Ok(LineKind::Reserved) => "kind.reserved",
            Ok(LineKind::Overage) => "kind.overage",
            Ok(LineKind::SharedUnallocated) => "kind.shared_unallocated",
            Ok(LineKind::SharedUnavailable) => "kind.shared_unavailable",
            Ok(LineKind::SharedUnobserved) => "kind.shared_unobserved",
            Ok(LineKind::Credit) => "kind.credit",
            Ok(LineKind::Adjustment) => "kind.adjustment",
            Ok(LineKind::Correction) => "kind.correction",
            Ok(LineKind::UnbilledHeld) => "kind.unbilled_held",
            Ok(LineKind::ToSettle) => "kind.to_settle",
            Ok(LineKind::Unallocated) => "kind.unallocated",
            Ok(LineKind::Unavailable) => "kind.unavailable",
            Ok(LineKind::Unobserved) => "kind.unobserved",
            Ok(LineKind::SharedOut) => "kind.shared_out",
            Ok(LineKind::Rounding) => "kind.rounding",
            Err(_) => return word.to_owned(),
        };
        self.say(key).to_owned()
    }

    /// Name of a month, 1 to 12.
    pub(crate) fn month(self, month: u32) -> &'static str {
        const KEYS: [&str; 12] = [
            "month.1", "month.2", "month.3", "month.4", "month.5", "month.6", "month.7", "month.8", "month.9",
            "month.10", "month.11", "month.12",
        ];
        KEYS.get(month.wrapping_sub(1) as usize).map_or("", |key| self.say(key))
    }
}

/// First and last of the characters that take two columns of a terminal: East Asian wide and full-width forms, emoji.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x2e80, 0x303e),
    (0x3041, 0xa4cf),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1_f300, 0x1_faff),
    (0x2_0000, 0x3_fffd),
];

/// Columns that a text takes on a terminal and, in widths of a digit, in a spreadsheet.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    if WIDE.iter().any(|(first, last)| (*first..=*last).contains(&(c as u32))) { 2 } else { 1 }
}

/// A text in at most so many columns; what is cut away shows as `…`. Control characters, which would break a line of a
/// terminal, show as `\u{fffd}`.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if width(&clean) <= columns {
        return clean;
    }
    let mut out = String::new();
    let mut used = 1;
    for c in clean.chars() {
        used += char_width(c);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> = text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn both_files_have_the_same_keys_and_places() {
        assert_eq!(EN.keys().collect::<Vec<_>>(), ZH.keys().collect::<Vec<_>>());
        for (key, text) in EN.iter() {
            assert_eq!(places(text), places(ZH[key]), "places of {key}");
            assert!(!text.is_empty() && !ZH[key].is_empty(), "{key} has no text");
        }
    }

    #[test]
    fn every_key_that_is_used_is_there_and_every_key_is_used() {
        fn read(folder: &std::path::Path, out: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    read(&path, out);
                } else {
                    out.push_str(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
        let mut source = String::new();
        read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut source);
        for key in EN.keys() {
            assert!(source.contains(&format!("\"{key}\"")), "{key} is in the files and nowhere used");
        }
        for rest in source.split("say(\"").skip(1).chain(source.split("fill(\"").skip(1)) {
            let key = rest.split('"').next().unwrap();
            assert!(EN.contains_key(key), "`{key}` is used and in no file");
        }
        assert!(EN.len() > 80, "the search found only {} messages", EN.len());
    }

    #[test]
    fn a_value_is_not_a_template() {
        let text = Lang::En.fill("statement.title", &[("team", "{period}"), ("period", "2026-10")]);
        assert!(text.contains("{period}") && text.contains("2026-10"), "{text}");
    }

    #[test]
    fn a_text_is_cut_by_its_columns() {
        assert_eq!((width("nlp"), width("显存 GiB"), width("🚀")), (3, 8, 2));
        assert_eq!(fit("nlp", 3), "nlp");
        assert_eq!(fit("language", 5), "lang…");
        assert_eq!(fit("自然语言处理", 6), "自然…");
        assert_eq!(fit("a\u{1b}[31m", 9), "a\u{fffd}[31m");
    }
}
