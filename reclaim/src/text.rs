//! Texts for people, English and Chinese, as files: `texts/en.toml` and `texts/zh.toml`, the same keys in both.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Language of texts for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lang {
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// Not a language that texts are written in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are no texts in `{0}`; en or zh")]
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

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::En => "en",
            Self::Zh => "zh",
        })
    }
}

/// The texts of a language.
#[derive(Debug, Clone)]
pub(crate) struct Texts(BTreeMap<String, String>);

impl Texts {
    /// Reads the file of a language. It is part of the program, and a test reads every one.
    pub(crate) fn of(lang: Lang) -> Self {
        let file = match lang {
            Lang::En => include_str!("../texts/en.toml"),
            Lang::Zh => include_str!("../texts/zh.toml"),
        };
        Self(toml::from_str(file).unwrap_or_default())
    }

    /// A text with its places filled: `{name}` stands for the value of that name.
    pub(crate) fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        let Some(text) = self.0.get(key) else { return key.to_owned() };
        let mut out = String::with_capacity(text.len() + 64);
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, behind)) = after.split_once('}') else { break };
            out.push_str(values.iter().find(|(n, _)| *n == name).map_or("", |(_, v)| v));
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// A span of time.
    pub(crate) fn span(&self, ms: i64) -> String {
        let (minutes, seconds) = (ms / 60_000, ms % 60_000 / 1_000);
        let (key, number) = match (minutes, seconds) {
            (m, 0) if m >= 1_440 && m % 1_440 == 0 => ("span_days", m / 1_440),
            (m, 0) if m >= 120 && m % 60 == 0 => ("span_hours", m / 60),
            (m, 0) if m > 0 => ("span_minutes", m),
            _ => ("span_seconds", ms / 1_000),
        };
        self.fill(key, &[("n", &number.to_string())])
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> BTreeMap<String, std::collections::BTreeSet<String>> {
        let of = |text: &String| {
            text.split('{').skip(1).filter_map(|p| p.split_once('}')).map(|(name, _)| name.to_owned()).collect()
        };
        self.0.iter().map(|(key, text)| (key.clone(), of(text))).collect()
    }
}

/// An instant for people, in UTC.
pub fn utc(ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(ms)
        .map_or_else(|| ms.to_string(), |t| t.format("%Y-%m-%d %H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_say_the_same_things_of_the_same_values() {
        let (en, zh) = (Texts::of(Lang::En).places(), Texts::of(Lang::Zh).places());
        assert!(en.len() > 40, "{} texts", en.len());
        assert_eq!(en, zh);
    }

    #[test]
    fn places_are_filled_and_spans_read_as_people_say_them() {
        let en = Texts::of(Lang::En);
        assert_eq!(en.span(90_000), "90 seconds");
        assert_eq!(en.span(120 * 60_000), "2 hours");
        assert_eq!(en.span(105 * 60_000), "105 minutes");
        assert_eq!(en.span(14 * 24 * 3_600_000), "14 days");
        assert_eq!(Texts::of(Lang::Zh).span(60_000), "1 分钟");
        assert_eq!("fr".parse::<Lang>().unwrap_err().to_string(), "there are no texts in `fr`; en or zh");
    }
}
