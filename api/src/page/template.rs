//! The templates of `dashboards/templates`, read once. A name that a template uses and a page does not give is an error.

use std::borrow::Cow;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

use super::number::Decimal;
use super::words::{self, Lang};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A template is broken, or uses what the page does not have.
    #[error("the page `{template}` cannot be made")]
    Template {
        /// The template.
        template: String,
        /// What minijinja says.
        #[source]
        source: Error,
    },
    /// The templates cannot be read.
    #[error("the templates cannot be read: {0}")]
    Templates(String),
}

macro_rules! templates {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../dashboards/templates/", $name)))),+]
    };
}

const TEMPLATES: &[(&str, &str)] = templates![
    "layout.html",
    "parts.html",
    "overview.html",
    "chargeback.html",
    "statement.html",
    "line.html",
    "close.html",
    "corrections.html",
    "waste.html",
    "job.html",
    "explain.html",
    "fleet.html",
    "services.html",
    "health.html",
    "reclaim.html",
    "case.html",
    "settings.html",
    "reference.html",
    "tokens.html",
    "audit.html",
    "sign_in.html",
    "refused.html",
    "done.html",
];

static ENGLISH: LazyLock<Result<Environment<'static>, String>> = LazyLock::new(|| environment(Lang::En));
static CHINESE: LazyLock<Result<Environment<'static>, String>> = LazyLock::new(|| environment(Lang::Zh));

fn environment(lang: Lang) -> Result<Environment<'static>, String> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::Html);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(|e| e.to_string())?;
    env.set_syntax(syntax);
    env.add_function("t", move |key: Cow<'_, str>, args: Kwargs| said(lang, &key, &args));
    env.add_function("word", move |list: Cow<'_, str>, word: Cow<'_, str>| words::listed(lang, &list, &word));
    env.add_filter("grouped", |text: Cow<'_, str>| {
        Decimal::read(&text).map_or_else(|| text.to_string(), Decimal::show_all)
    });
    for (name, source) in TEMPLATES {
        env.add_template(name, source).map_err(|e| format!("{name}: {e:#}"))?;
    }
    Ok(env)
}

/// A message in a template: text is escaped, what is markup already stays.
fn said(lang: Lang, key: &str, args: &Kwargs) -> Result<Value, Error> {
    let fill = |name: &str| {
        let value: Value = args.get(name).ok()?;
        Some(if value.is_safe() { value.to_string() } else { super::chart::escaped(&value.to_string()) })
    };
    let text = words::message(lang, key, fill, super::chart::escaped)
        .map_err(|e| Error::new(ErrorKind::InvalidOperation, e.to_string()))?;
    args.assert_all_used()?;
    Ok(Value::from_safe_string(text))
}

/// A value for a template.
pub(super) fn value(of: impl Serialize) -> Value {
    Value::from(Serde(of))
}

/// Renders a template.
pub(super) fn render(lang: Lang, template: &str, fields: Value) -> Result<String, PageError> {
    let env = match lang {
        Lang::En => ENGLISH.as_ref(),
        Lang::Zh => CHINESE.as_ref(),
    };
    let env = env.map_err(|e| PageError::Templates(e.clone()))?;
    let broken = |source| PageError::Template { template: template.to_owned(), source };
    env.get_template(template).and_then(|t| t.render(fields)).map_err(broken)
}
