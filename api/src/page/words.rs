//! The words of the pages: whole sentences in both languages from one file, `dashboards/messages.json`. A key that is not there
//! is an error and never an empty place.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;

/// The message file.
const FILE: &str = include_str!("../../../dashboards/messages.json");

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese, simplified.
    Zh,
}

impl Lang {
    /// The word in addresses.
    pub const fn word(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// What `lang` of HTML says.
    pub const fn html(self) -> &'static str {
        match self {
            Self::En => "en-GB",
            Self::Zh => "zh-Hans",
        }
    }

    /// Reads the word of an address.
    pub fn of(word: &str) -> Option<Self> {
        [Self::En, Self::Zh].into_iter().find(|l| l.word() == word)
    }

    /// The first language of an `Accept-Language` header that there are words in.
    pub fn accepted(header: &str) -> Self {
        let wanted = header.split(',').map(|part| part.split(';').next().unwrap_or_default().trim().to_lowercase());
        wanted.filter_map(|tag| Self::of(tag.split('-').next().unwrap_or_default())).next().unwrap_or_default()
    }
}

/// A message in both languages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    en: String,
    zh: String,
}

static MESSAGES: LazyLock<Result<BTreeMap<String, Message>, String>> =
    LazyLock::new(|| serde_json::from_str(FILE).map_err(|e| format!("dashboards/messages.json: {e}")));

/// Why there are no words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WordsError {
    /// The file is broken.
    #[error("{0}")]
    File(String),
    /// Nobody wrote them.
    #[error("there is no message `{0}`")]
    Missing(String),
    /// A message asks for what was not given.
    #[error("the message `{key}` needs `{name}`")]
    Argument {
        /// Its key.
        key: String,
        /// What it asks for.
        name: String,
    },
}

/// A message with its places filled; `fill` gives the text of a place.
pub(super) fn message(
    lang: Lang,
    key: &str,
    fill: impl Fn(&str) -> Option<String>,
    escape: impl Fn(&str) -> String,
) -> Result<String, WordsError> {
    let messages = MESSAGES.as_ref().map_err(|e| WordsError::File(e.clone()))?;
    let found = messages.get(key).ok_or_else(|| WordsError::Missing(key.to_owned()))?;
    let mut rest = match lang {
        Lang::En => found.en.as_str(),
        Lang::Zh => found.zh.as_str(),
    };
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').unwrap_or((after, ""));
        let value = fill(name).ok_or_else(|| WordsError::Argument { key: key.to_owned(), name: name.to_owned() })?;
        let _ = write!(out, "{}{value}", escape(before));
        rest = behind;
    }
    out.push_str(&escape(rest));
    Ok(out)
}

/// A message as plain text; what is missing shows as its key, which a test finds.
pub(super) fn plain(lang: Lang, key: &str, args: &[(&str, &str)]) -> String {
    let fill = |name: &str| args.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
    message(lang, key, fill, str::to_owned).unwrap_or_else(|e| format!("[{e}]"))
}

/// The word of a closed list in words, where there is one; else as it is.
pub(super) fn listed(lang: Lang, list: &str, word: &str) -> String {
    let key = format!("{list}.{word}");
    let known = MESSAGES.as_ref().is_ok_and(|m| m.contains_key(&key));
    if known { plain(lang, &key, &[]) } else { word.to_owned() }
}

#[cfg(test)]
pub(super) fn keys() -> Vec<(String, String, String)> {
    let all = MESSAGES.as_ref().expect("the message file");
    all.iter().map(|(k, m)| (k.clone(), m.en.clone(), m.zh.clone())).collect()
}

#[cfg(test)]
mod tests;
