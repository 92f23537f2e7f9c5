//! Charts as SVG, drawn on the server: geometry in whole units, no style attributes (the pages' policy forbids them), colours
//! and patterns of classes as everywhere. Every chart has a title and a description for those who do not see it, and stands
//! beside its table.

mod bar;
mod heat;
mod line;
mod stack;

pub(super) use bar::{Part, bar};
pub(super) use heat::{Heat, heat, shades};
pub(super) use line::{Curve, Forecast, Series, series, spark};
pub(super) use stack::{Column, stack, strip};

/// A class of time, with its colour and pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The holder's kernels ran.
    Busy,
    /// Held and measured idle.
    Idle,
    /// Held and not measured.
    Unmeasured,
    /// In service and free.
    Unallocated,
    /// Failed, drained, down.
    Unavailable,
    /// Nobody looked.
    Unobserved,
}

impl Class {
    /// All of them, in the order of the bar.
    pub(super) const ALL: [Self; 6] =
        [Self::Busy, Self::Idle, Self::Unmeasured, Self::Unallocated, Self::Unavailable, Self::Unobserved];

    /// Its word, as in classes of the style sheet and keys of messages.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Idle => "held_idle",
            Self::Unmeasured => "held_unmeasured",
            Self::Unallocated => "unallocated",
            Self::Unavailable => "unavailable",
            Self::Unobserved => "unobserved",
        }
    }

    /// Its column of hours.
    pub(super) const fn hours(self) -> &'static str {
        match self {
            Self::Busy => "busy_hours",
            Self::Idle => "held_idle_hours",
            Self::Unmeasured => "held_unmeasured_hours",
            Self::Unallocated => "unallocated_hours",
            Self::Unavailable => "unavailable_hours",
            Self::Unobserved => "unobserved_hours",
        }
    }

    /// What it is filled with: a colour, or a pattern of [`DEFS`].
    pub(super) const fn fill(self) -> &'static str {
        match self {
            Self::Busy => "#0f766e",
            Self::Idle => "url(#p-idle)",
            Self::Unmeasured => "url(#p-unmeasured)",
            Self::Unallocated => "#cbd5e1",
            Self::Unavailable => "url(#p-unavailable)",
            Self::Unobserved => "url(#p-unobserved)",
        }
    }

    /// The line around it.
    const fn stroke(self) -> &'static str {
        match self {
            Self::Unobserved => "#57534e",
            Self::Unallocated => "#64748b",
            _ => "none",
        }
    }
}

/// Patterns, once a page: colours of classes with what tells them apart without colour.
pub(super) const DEFS: &str = concat!(
    r##"<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>"##,
    r##"<pattern id="p-idle" width="6" height="6" patternUnits="userSpaceOnUse">"##,
    r##"<rect width="6" height="6" fill="#f59e0b"/><circle cx="3" cy="3" r="1" fill="#78350f"/></pattern>"##,
    r##"<pattern id="p-unmeasured" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">"##,
    r##"<rect width="6" height="6" fill="#a8a29e"/><rect width="2" height="6" fill="#57534e"/></pattern>"##,
    r##"<pattern id="p-unavailable" width="6" height="6" patternUnits="userSpaceOnUse">"##,
    r##"<rect width="6" height="6" fill="#7f1d1d"/><path d="M0 0L6 6M6 0L0 6" stroke="#fca5a5" stroke-width="1"/></pattern>"##,
    r##"<pattern id="p-unobserved" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">"##,
    r##"<rect width="6" height="6" fill="#ffffff"/><rect width="1" height="6" fill="#57534e"/></pattern>"##,
    r##"</defs></svg>"##
);

/// Text inside an element or attribute of SVG.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The beginning of a chart: an image with a title and a description.
fn open(id: &str, class: &str, size: (i128, i128), stretch: bool, said: (&str, &str)) -> String {
    let (width, height) = size;
    let ratio = if stretch { r#" preserveAspectRatio="none""# } else { "" };
    format!(
        concat!(
            r#"<svg class="chart {}" viewBox="0 0 {} {}"{} role="img" aria-labelledby="{id}-t {id}-d">"#,
            r#"<title id="{id}-t">{}</title><desc id="{id}-d">{}</desc>"#
        ),
        class,
        width,
        height,
        ratio,
        escaped(said.0),
        escaped(said.1),
        id = id
    )
}

#[cfg(test)]
mod tests;
