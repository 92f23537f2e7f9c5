//! Style and script, served from the program: nothing is fetched from elsewhere.

/// A static file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Its path.
    pub path: &'static str,
    /// Its media type.
    pub media: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// How pages look.
pub(super) const STYLE: Asset = Asset {
    path: "/static/page.css",
    media: "text/css; charset=utf-8",
    text: include_str!("../../../dashboards/static/page.css"),
};

/// What script adds.
pub(super) const SCRIPT: Asset = Asset {
    path: "/static/page.js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../../../dashboards/static/page.js"),
};

/// The sign of the site.
const ICON: Asset = Asset {
    path: "/static/icon.svg",
    media: "image/svg+xml",
    text: include_str!("../../../dashboards/static/icon.svg"),
};

/// The static file of a path.
pub fn asset(path: &str) -> Option<Asset> {
    [STYLE, SCRIPT, ICON].into_iter().find(|a| a.path == path)
}
