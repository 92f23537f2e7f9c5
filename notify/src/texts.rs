//! The texts: files in `texts/en` and `texts/zh`, one for the mail's and the chat's words (`NAME.txt`: subject, sentence,
//! body) and one for the body of the mail as HTML (`NAME.html`). They are part of the program; a name that a text uses and a
//! notice does not have is an error, never an empty place.

use std::borrow::Cow;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};

use crate::notice::Notice;
use crate::value;
use crate::who::Who;

/// A language that there are texts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// English.
    En,
    /// Chinese, simplified.
    Zh,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::En, Self::Zh];

    /// The word in contacts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// Reads the word of a contact.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.as_str() == word)
    }
}

/// Why a text could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// A text is broken, or uses what the notice does not have.
    #[error("the text {name} in language {language} cannot be made: {source}")]
    Template {
        /// Notice.
        name: &'static str,
        /// en or zh.
        language: &'static str,
        /// What minijinja says.
        source: Error,
    },
    /// A notice that has no form as data.
    #[error("the notice {name} cannot be written: {source}")]
    Notice {
        /// Notice.
        name: &'static str,
        /// Why.
        source: serde_json::Error,
    },
}

/// A notice in words, for one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The fact, in one line.
    pub title: String,
    /// The sentence that stands first.
    pub lead: String,
    /// The whole mail as plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
}

/// Whom a text is made for.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// Name of the installation.
    pub site: &'a str,
    /// Who reads; absent: whoever asked for a test.
    pub who: Option<&'a Who>,
    /// Whether names of users and jobs may be shown.
    pub names: bool,
}

/// A text of the program: its file's name and what is in it.
macro_rules! texts {
    ($language:literal: $($name:literal),+ $(,)?) => {
        &[$(
            (concat!($name, ".txt"), include_str!(concat!("../texts/", $language, "/", $name, ".txt"))),
            (concat!($name, ".html"), include_str!(concat!("../texts/", $language, "/", $name, ".html"))),
        )+]
    };
}

/// The same list of names for every language.
macro_rules! texts_of {
    ($language:literal) => {
        texts!($language: "statement_finance", "statement_lead", "waste_digest", "health_assessment", "budget_alert",
            "late_node", "gap", "conflict", "uncalibrated", "unregistered_gpu", "memory_over_quota", "hung", "node_lost",
            "reclaim_warning", "reclaim_final", "reclaim_kept", "reclaim_freed", "reclaim_failed", "many_alerts", "no_contact",
            "undelivered", "test", "layout")
    };
}

const EN: &[(&str, &str)] = texts_of!("en");
const ZH: &[(&str, &str)] = texts_of!("zh");
/// Words that texts share: months, units, whole sentences of closed lists.
const WORDS: [&str; 2] = [include_str!("../texts/en/words.txt"), include_str!("../texts/zh/words.txt")];
/// How rows, links and bars look in HTML; no words.
const HTML: &str = include_str!("../texts/html.html");

/// All texts, read and checked.
#[derive(Debug)]
pub struct Texts {
    by_language: Vec<(Language, Environment<'static>)>,
}

impl Texts {
    /// Reads the texts of the program.
    ///
    /// # Errors
    ///
    /// A text that is no template.
    pub fn new() -> Result<Self, TextError> {
        let mut by_language = Vec::new();
        for (language, (files, words)) in Language::ALL.into_iter().zip([EN, ZH].into_iter().zip(WORDS)) {
            let broken = |source| TextError::Template { name: "(all)", language: language.as_str(), source };
            let mut env = Environment::new();
            env.set_undefined_behavior(UndefinedBehavior::Strict);
            env.set_auto_escape_callback(|name| match name.rsplit_once('.') {
                Some((_, "html")) => AutoEscape::Html,
                _ => AutoEscape::None,
            });
            // a line that holds nothing but a tag leaves no line
            env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(broken)?);
            env.add_filter("grouped", grouped);
            env.add_filter("pad", |text: Cow<'_, str>, width: usize| padded(&text, width, false));
            env.add_filter("right", |text: Cow<'_, str>, width: usize| padded(&text, width, true));
            env.add_template("words.txt", words).map_err(broken)?;
            env.add_template("html.html", HTML).map_err(broken)?;
            for (name, source) in files {
                // What every text uses stands before it, on its first line, so that lines are still counted right.
                let uses = if name.ends_with(".html") { "{% import 'html.html' as h %}" } else { "" };
                let source = format!("{{% import 'words.txt' as w %}}{uses}{source}");
                env.add_template_owned(*name, source).map_err(broken)?;
            }
            by_language.push((language, env));
        }
        Ok(Self { by_language })
    }

    /// A notice in the words of a language.
    ///
    /// # Errors
    ///
    /// A text that uses what the notice does not have.
    pub fn render(&self, notice: &Notice, language: Language, reader: Reader<'_>) -> Result<Rendered, TextError> {
        let name = notice.name();
        let json = notice.json().map_err(|source| TextError::Notice { name, source })?;
        let env = self.by_language.iter().find(|(l, _)| *l == language).map(|(_, env)| env);
        let broken = |source| TextError::Template { name, language: language.as_str(), source };
        let missing = || broken(Error::from(minijinja::ErrorKind::TemplateNotFound));
        render(env.ok_or_else(missing)?, name, &json, language, reader).map_err(broken)
    }
}

fn render(
    env: &Environment<'_>,
    name: &str,
    json: &serde_json::Value,
    language: Language,
    reader: Reader<'_>,
) -> Result<Rendered, Error> {
    let hidden = if reader.names { None } else { Some(macro_of(env, "hidden")?) };
    let notice = value::context(json, hidden.as_deref());
    let read = |file: String, block: &'static str| -> Result<String, Error> {
        let mut made = env.get_template(&file)?.render_captured(notice.clone())?;
        made.with_state_mut(|state| state.render_block(block)).map(|text| text.trim().to_owned())
    };
    let text = |block| read(format!("{name}.txt"), block);
    let (title, lead) = (text("subject")?.replace('\n', " "), text("lead")?);
    let (plain, html) = (text("body")?, read(format!("{name}.html"), "body")?);
    let (kind, who) = reader.who.map_or(("test", ""), |who| (who.kind(), who.name()));
    let layout = |file: &str, body: Value| -> Result<String, Error> {
        let fields = [
            ("language", Value::from(language.as_str())),
            ("title", Value::from(title.as_str())),
            ("lead", Value::from(lead.as_str())),
            ("body", body),
            ("site", Value::from(reader.site)),
            ("reader_kind", Value::from(kind)),
            ("reader_name", Value::from(who)),
        ];
        env.get_template(file)?.render(Value::from_pairs(fields))
    };
    let text = layout("layout.txt", Value::from(plain))?;
    // the body was escaped where it was made
    let html = layout("layout.html", Value::from_safe_string(html))?;
    Ok(Rendered { title, lead, text, html })
}

/// A word of the words that takes nothing.
fn macro_of(env: &Environment<'_>, name: &str) -> Result<String, Error> {
    let mut made = env.get_template("words.txt")?.render_captured(Value::from(()))?;
    made.with_state_mut(|state| state.call_macro(name, &[])).map(|text| text.trim().to_owned())
}

/// Decimal text with its thousands apart: `-1248000.50` is `-1,248,000.50`. What is no decimal number stays as it is.
fn grouped(text: Cow<'_, str>) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", &*text), |rest| ("-", rest));
    let (whole, part) = rest.split_once('.').map_or((rest, None), |(w, p)| (w, Some(p)));
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || part.is_some_and(|p| !digits(p)) {
        return text.into_owned();
    }
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(part) = part {
        out.push('.');
        out.push_str(part);
    }
    out
}

/// Text filled up to a width, and apart from its neighbour where it is longer; characters of Chinese take two places.
fn padded(text: &str, width: usize, right: bool) -> String {
    let wide = |c: char| {
        matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}'
        | '\u{20000}'..='\u{3fffd}')
    };
    let taken: usize = text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum();
    let blanks = " ".repeat(width.saturating_sub(taken).max(usize::from(width > 0)));
    if right { format!("{blanks}{text}") } else { format!("{text}{blanks}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (text, shown) in [
            ("0", "0"),
            ("999.50", "999.50"),
            ("1248000.00", "1,248,000.00"),
            ("-1000", "-1,000"),
            ("100000", "100,000"),
            ("unknown", "unknown"),
            ("1.2.3", "1.2.3"),
            ("", ""),
        ] {
            assert_eq!(grouped(text.into()), shown);
        }
    }

    #[test]
    fn columns_stand_under_each_other_in_chinese_too() {
        assert_eq!(padded("团队", 6, false), "团队  ");
        assert_eq!(padded("12", 4, true), "  12");
        assert_eq!(padded("longer", 3, false), "longer ");
        assert_eq!(padded("last", 0, false), "last");
    }

    #[test]
    fn every_notice_has_its_texts_in_every_language() {
        Texts::new().unwrap();
        for files in [EN, ZH] {
            for name in Notice::NAMES {
                assert!(files.iter().any(|(file, _)| *file == format!("{name}.txt")), "{name}");
            }
        }
    }
}
