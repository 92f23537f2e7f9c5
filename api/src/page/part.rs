//! A part of a page, which came or did not: templates draw each state, so that one failed answer never empties a page.

use serde::Serialize;

use super::answer::{Answer, Answers, Report};

/// A part and how it is.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Part<T> {
    /// `ready`, `empty`, `building`, `forbidden`, `absent`, `failed`.
    pub(super) state: &'static str,
    /// Why it is not there.
    pub(super) detail: String,
    /// What there is.
    pub(super) of: Option<T>,
}

impl<T> Part<T> {
    /// It is there.
    pub(super) const fn ready(of: T) -> Self {
        Self { state: "ready", detail: String::new(), of: Some(of) }
    }

    /// There is nothing to show.
    pub(super) const fn empty() -> Self {
        Self { state: "empty", detail: String::new(), of: None }
    }
}

/// A part made of the answer under a name; `make` gives nothing where there is nothing to show.
pub(super) fn part<T>(answers: &Answers, name: &str, make: impl FnOnce(Report<'_>) -> Option<T>) -> Part<T> {
    let none = |state, detail: &str| Part { state, detail: detail.to_owned(), of: None };
    match answers.get(name) {
        Some(Answer::Ready(_)) => answers.report(name).and_then(make).map_or_else(Part::empty, Part::ready),
        Some(Answer::Building) => none("building", ""),
        Some(Answer::Forbidden(why)) => none("forbidden", why),
        Some(Answer::Absent(why)) => none("absent", why),
        Some(Answer::Failed(why)) => none("failed", why),
        None => none("empty", ""),
    }
}
