//! The pages: HTML made on the server from the same answers that the API gives, readable without script, in two languages.
//!
//! A page is a pure function of a [`View`] (who looks at what) and [`Answers`] (documents, or why there are none): it knows no
//! engine, no clock and no file. [`routes`] asks for the answers and serves the result. Templates, style, script and words
//! are in `dashboards/` and part of the program.

mod answer;
mod asset;
mod case;
mod chargeback;
mod chart;
mod close;
mod desk;
mod fleet;
mod health;
mod job;
mod number;
mod overview;
mod part;
mod reclaim;
mod serve;
mod services;
mod settings;
mod shell;
mod statement;
mod table;
mod template;
mod view;
mod want;
mod waste;
mod words;

pub use answer::{Answer, Answers};
pub use asset::{Asset, asset};
pub(crate) use desk::Desk;
pub use desk::SOON;
pub use serve::{routes, warm};
pub use template::PageError;
pub use view::{May, Told, View, Viewer};
pub use words::Lang;

use minijinja::Value;

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Page {
    /// The month in one look.
    Overview,
    /// Who pays what.
    Chargeback,
    /// Lines of a team's statement.
    Statement,
    /// What a line is made of.
    Line,
    /// What stands against closing a month, and closing it.
    Close,
    /// What closed months would be corrected by.
    Corrections,
    /// Findings.
    Waste,
    /// One run.
    Job,
    /// From a charge of a run down to its minutes.
    Explain,
    /// The machines.
    Fleet,
    /// Long-lived allocations.
    Services,
    /// The period in words.
    Health,
    /// Cases, caps, breaker, switches.
    Reclaim,
    /// One case.
    Case,
    /// Reference tables.
    Settings,
    /// Rows of one, and a form.
    Reference,
    /// Tokens.
    Tokens,
    /// The audit log.
    Audit,
    /// Who are you?
    SignIn,
}

impl Page {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Overview,
        Self::Chargeback,
        Self::Statement,
        Self::Line,
        Self::Close,
        Self::Corrections,
        Self::Waste,
        Self::Job,
        Self::Explain,
        Self::Fleet,
        Self::Services,
        Self::Health,
        Self::Reclaim,
        Self::Case,
        Self::Settings,
        Self::Reference,
        Self::Tokens,
        Self::Audit,
        Self::SignIn,
    ];

    /// Its path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::Chargeback => "/chargeback",
            Self::Statement => "/chargeback/statement",
            Self::Line => "/chargeback/line",
            Self::Close => "/chargeback/close",
            Self::Corrections => "/chargeback/corrections",
            Self::Waste => "/waste",
            Self::Job => "/job",
            Self::Explain => "/job/explain",
            Self::Fleet => "/fleet",
            Self::Services => "/services",
            Self::Health => "/health",
            Self::Reclaim => "/reclaim",
            Self::Case => "/reclaim/case",
            Self::Settings => "/settings",
            Self::Reference => "/settings/table",
            Self::Tokens => "/settings/tokens",
            Self::Audit => "/settings/audit",
            Self::SignIn => "/sign-in",
        }
    }

    /// The page of the navigation that it is under.
    const fn area(self) -> Self {
        match self {
            Self::Statement | Self::Line | Self::Close | Self::Corrections => Self::Chargeback,
            Self::Explain => Self::Job,
            Self::Case => Self::Reclaim,
            Self::Reference | Self::Tokens | Self::Audit => Self::Settings,
            other => other,
        }
    }

    /// Message of its title.
    const fn title(self) -> &'static str {
        match self {
            Self::Overview => "title.overview",
            Self::Chargeback => "title.chargeback",
            Self::Statement => "title.statement",
            Self::Line => "title.line",
            Self::Close => "title.close",
            Self::Corrections => "title.corrections",
            Self::Waste => "title.waste",
            Self::Job => "title.job",
            Self::Explain => "title.explain",
            Self::Fleet => "title.fleet",
            Self::Services => "title.services",
            Self::Health => "title.health",
            Self::Reclaim => "title.reclaim",
            Self::Case => "title.case",
            Self::Settings => "title.settings",
            Self::Reference => "title.reference",
            Self::Tokens => "title.tokens",
            Self::Audit => "title.audit",
            Self::SignIn => "title.sign_in",
        }
    }
}

/// What a page shows below its head.
struct Body {
    /// Template.
    template: &'static str,
    /// The first line: the answer in a sentence; absent where nothing is known to say it of.
    sentence: Option<String>,
    /// What the template uses.
    fields: Value,
}

/// The page as HTML.
///
/// # Errors
/// A template or message that is broken; tests render every page in every state.
pub fn render(page: Page, view: &View, answers: &Answers) -> Result<String, PageError> {
    let body = match page {
        Page::Overview => overview::body(view, answers),
        Page::Chargeback => chargeback::body(view, answers),
        Page::Statement => statement::body(view, answers),
        Page::Line => statement::line(view, answers),
        Page::Close => close::body(view, answers),
        Page::Corrections => close::corrections(view, answers),
        Page::Waste => waste::body(view, answers),
        Page::Job => job::body(view, answers),
        Page::Explain => job::explain(view, answers),
        Page::Fleet => fleet::body(view, answers),
        Page::Services => services::body(view, answers),
        Page::Health => health::body(view, answers),
        Page::Reclaim => reclaim::body(view, answers),
        Page::Case => case::body(view, answers),
        Page::Settings => settings::body(view),
        Page::Reference => settings::reference(view, answers),
        Page::Tokens => settings::tokens(view, answers),
        Page::Audit => settings::audit(view, answers),
        Page::SignIn => settings::sign_in(view),
    };
    shell::render(page, view, answers, body)
}

/// A page that says why there is none: forbidden, absent, failed.
///
/// # Errors
/// As [`render`].
pub fn refused(view: &View, status: u16, detail: &str) -> Result<String, PageError> {
    shell::refused(view, status, detail)
}

#[cfg(test)]
mod tests;
