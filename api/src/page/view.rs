//! Who looks at what: the language, the window, the address with everything that was chosen, and what this reader may do.

use chrono::{Datelike, NaiveDate};
use url::form_urlencoded;

use super::words::{self, Lang};

/// What of an address goes along from page to page.
const KEPT: [&str; 4] = ["month", "lang", "theme", "zone"];

/// What a reader may do; what they may see is decided where rows are selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct May {
    /// See the money and time of everybody: statements of all teams, closes, corrections, exports, the audit log.
    pub see_all: bool,
    /// Close months, waive, correct, change prices.
    pub bill: bool,
    /// Say what became of findings.
    pub answer: bool,
    /// Accept or dispute lines of a draft.
    pub dispute: bool,
    /// Answer for what is theirs: cases of their runs.
    pub own: bool,
    /// Approve, hold and exempt cases, use the switches.
    pub operate: bool,
    /// Make and end tokens.
    pub admin: bool,
}

/// Who looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Viewer {
    /// The name in the audit log.
    pub name: String,
    /// The word of the role.
    pub role: String,
    /// Teams of a lead.
    pub teams: Vec<String>,
    /// What they may do.
    pub may: May,
}

/// A look at a page.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// Language.
    pub lang: Lang,
    /// Path of the page, `/waste`.
    pub path: String,
    /// What was chosen, in the order of the address.
    pub query: Vec<(String, String)>,
    /// Billing month, YYYY-MM.
    pub month: String,
    /// IANA name of the zone of days.
    pub zone: String,
    /// Now, in that zone: `2026-10-29 14:05:09`.
    pub now: String,
    /// Now, epoch ms.
    pub now_ms: i64,
    /// Name of the installation.
    pub site: String,
    /// Who looks; absent: nobody signed in.
    pub viewer: Option<Viewer>,
    /// What was just done, or refused: shown once above the page.
    pub told: Option<Told>,
}

/// What became of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Whether it was done.
    pub done: bool,
    /// In words.
    pub text: String,
}

impl View {
    /// What was chosen under a name.
    pub fn chosen(&self, name: &str) -> Option<&str> {
        self.query.iter().rev().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// What was chosen under a name, if it is one of a closed list; else its first.
    pub(super) fn one_of<'a>(&self, name: &str, list: &[&'a str]) -> &'a str {
        let chosen = self.chosen(name).and_then(|word| list.iter().find(|l| **l == word));
        chosen.or(list.first()).copied().unwrap_or_default()
    }

    /// What the viewer may do.
    pub(super) fn may(&self) -> May {
        self.viewer.as_ref().map(|v| v.may).unwrap_or_default()
    }

    /// A message without places.
    pub(super) fn word(&self, key: &str) -> String {
        words::plain(self.lang, key, &[])
    }

    /// A message.
    pub(super) fn say(&self, key: &str, args: &[(&str, &str)]) -> String {
        words::plain(self.lang, key, args)
    }

    /// The address of a page with what goes along and these.
    pub(super) fn link(&self, path: &str, with: &[(&str, &str)]) -> String {
        let kept = KEPT.iter().filter_map(|k| Some((*k, self.chosen(k)?)));
        address(path, kept.filter(|(k, _)| !with.iter().any(|(w, _)| w == k)).chain(with.iter().copied()))
    }

    /// The address of this page with everything that was chosen, some of it changed; an empty value takes it away.
    pub(super) fn here(&self, with: &[(&str, &str)]) -> String {
        let kept = self.query.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let kept = kept.filter(|(k, _)| !with.iter().any(|(w, _)| w == k));
        address(&self.path, kept.chain(with.iter().copied()).filter(|(_, v)| !v.is_empty()))
    }

    /// The address of an answer of the API.
    pub(super) fn api(path: &str, with: &[(&str, &str)]) -> String {
        address(&format!("/api/v1{path}"), with.iter().copied().filter(|(_, v)| !v.is_empty()))
    }

    /// The address of the rows that a number is made of: an answer of the API over the same month, by these keys, of the rows in
    /// which each of these is that.
    pub(super) fn rows_of(&self, path: &str, by: &str, of: &[(&str, String)]) -> String {
        let filters: Vec<String> = of.iter().map(|(key, is)| format!("{key}={is}")).collect();
        let mut with = vec![("month", self.month.as_str()), ("tz", &self.zone), ("by", by)];
        with.extend(filters.iter().map(|f| ("filter", f.as_str())));
        with.push(("format", "csv"));
        Self::api(path, &with)
    }

    /// First and last day of the month that is looked at.
    pub(super) fn days(&self) -> Option<(NaiveDate, NaiveDate)> {
        month_days(&self.month)
    }

    /// The month in words.
    pub(super) fn month_words(&self) -> String {
        month_words(self.lang, &self.month)
    }

    /// The month's half-open range in words.
    pub(super) fn range_words(&self) -> String {
        let Some((_, last)) = self.days() else { return self.month.clone() };
        self.say("month_of.range", &[("last", &last.day().to_string()), ("month", &self.month_words())])
    }

    /// The day of the month that today is, where today lies in it.
    pub(super) fn day_today(&self) -> Option<u32> {
        let today = self.now.get(..10)?;
        let in_month = today.starts_with(&self.month) && !self.month.is_empty();
        in_month.then(|| today.get(8..10)?.parse().ok()).flatten()
    }
}

/// A month in words of a language.
pub(super) fn month_words(lang: Lang, month: &str) -> String {
    let parts = month.split_once('-').filter(|(y, m)| y.len() == 4 && m.len() == 2);
    let Some((year, number)) = parts else { return month.to_owned() };
    let name = words::listed(lang, "month", number);
    words::plain(lang, "month_of.year", &[("name", &name), ("year", year)])
}

/// First and last day of a month YYYY-MM.
pub(super) fn month_days(month: &str) -> Option<(NaiveDate, NaiveDate)> {
    let first: NaiveDate = format!("{month}-01").parse().ok()?;
    let next = first.checked_add_months(chrono::Months::new(1))?;
    Some((first, next.pred_opt()?))
}

/// The month before.
pub(super) fn month_before(month: &str) -> Option<String> {
    let (first, _) = month_days(month)?;
    Some(first.pred_opt()?.format("%Y-%m").to_string())
}

/// A path and its query.
pub(super) fn address<'a>(path: &str, query: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = form_urlencoded::Serializer::new(String::new());
    query.for_each(|(k, v)| _ = out.append_pair(k, v));
    match out.finish() {
        q if q.is_empty() => path.to_owned(),
        q => format!("{path}?{q}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(lang: Lang) -> View {
        let query = vec![("month".to_owned(), "2026-02".to_owned()), ("team".to_owned(), "a&b".to_owned())];
        View { lang, path: "/waste".to_owned(), query, month: "2026-02".to_owned(), ..View::default() }
    }

    #[test]
    fn what_was_chosen_goes_along() {
        let v = view(Lang::En);
        assert_eq!(v.link("/fleet", &[]), "/fleet?month=2026-02");
        assert_eq!(v.link("/fleet", &[("month", "2026-01")]), "/fleet?month=2026-01");
        assert_eq!(v.here(&[("sort", "x")]), "/waste?month=2026-02&team=a%26b&sort=x");
        assert_eq!(v.here(&[("team", "")]), "/waste?month=2026-02");
    }

    #[test]
    fn a_month_is_said_in_words() {
        assert_eq!(view(Lang::En).month_words(), "February 2026");
        assert_eq!(view(Lang::Zh).month_words(), "2026 年 2 月");
        assert_eq!(view(Lang::En).range_words(), "1\u{2013}28 February 2026");
        assert_eq!(month_before("2026-01").as_deref(), Some("2025-12"));
        assert_eq!(month_before("x"), None);
    }
}
