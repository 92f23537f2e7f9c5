//! Languages in which reports speak to people, and how wide their text stands on a terminal.

use std::str::FromStr;

/// A language of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

/// Not a language that texts are written in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a language of reports (en, zh)")]
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

impl Lang {
    /// The text of this language.
    pub(crate) fn of(self, en: &'static str, zh: &'static str) -> &'static str {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }
}

/// First and last of the characters that take two columns: East Asian wide and full-width forms.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x2e80, 0x303e),
    (0x3041, 0xa4cf),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1_f300, 0x1_f64f),
    (0x2_0000, 0x3_fffd),
];

/// Columns that a text takes on a terminal.
pub(super) fn width(text: &str) -> usize {
    let wide = |c: char| WIDE.iter().any(|(first, last)| (*first..=*last).contains(&(c as u32)));
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_takes_two_columns_a_character() {
        assert_eq!((width("GPU-hours"), width("显存 GiB"), width("，")), (9, 8, 2));
        assert_eq!("fr".parse::<Lang>().unwrap_err().to_string(), "`fr` is not a language of reports (en, zh)");
    }
}
