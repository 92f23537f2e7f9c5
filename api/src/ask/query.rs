//! The query of an address, read into an [`Ask`].

use chrono_tz::Tz;
use gpuledger_schema::unit::DAY_MS;
use gpuledger_schema::window;

use super::{Ask, Basis, DAYS_MAX, DIMENSIONS, Filter, Format, Lang, PAGE_MAX, Paging, Step, UNIFORM, Unallocated};
use crate::problem::Problem;

/// The parameters of an address, each looked at once; what nobody looked at is a problem.
#[derive(Debug)]
pub struct Query {
    pairs: Vec<(String, String, bool)>,
}

impl Query {
    /// Reads the part of an address behind `?`.
    pub fn read(raw: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(raw.unwrap_or_default().as_bytes());
        Self { pairs: pairs.map(|(k, v)| (k.into_owned(), v.into_owned(), false)).collect() }
    }

    /// The one value of a parameter.
    ///
    /// # Errors
    /// It was given twice.
    pub fn one(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let mut all = self.all(name);
        if all.len() > 1 {
            return Err(Problem::parameter(name, format!("`{name}` was given {} times; once is enough", all.len())));
        }
        Ok(all.pop())
    }

    /// Every value of a parameter.
    pub fn all(&mut self, name: &str) -> Vec<String> {
        let found = self.pairs.iter_mut().filter(|(k, ..)| k == name);
        found
            .map(|(_, v, seen)| {
                *seen = true;
                v.clone()
            })
            .collect()
    }

    /// The one value of a parameter that this route needs.
    ///
    /// # Errors
    /// It is absent or was given twice.
    pub fn needed(&mut self, name: &str) -> Result<String, Problem> {
        self.one(name)?.ok_or_else(|| Problem::parameter(name, format!("`{name}` is needed")))
    }

    /// `true` or `false`; absent is false.
    ///
    /// # Errors
    /// Another word.
    pub fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.one(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Problem::parameter(name, format!("`{other}` is not one of: true, false"))),
        }
    }

    /// A whole number of 0 or more.
    ///
    /// # Errors
    /// Anything else.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        let read = |text: String| {
            text.parse().map_err(|_| Problem::parameter(name, format!("`{text}` is not a whole number of 0 or more")))
        };
        self.one(name)?.map(read).transpose()
    }

    /// Says what was given and nobody looked at.
    ///
    /// # Errors
    /// There is such a parameter.
    pub fn done(&self) -> Result<(), Problem> {
        match self.pairs.iter().find(|(.., seen)| !seen) {
            Some((name, ..)) => Err(Problem::parameter(name, format!("there is no parameter `{name}` here"))),
            None => Ok(()),
        }
    }

    /// The uniform parameters, all of [`UNIFORM`].
    ///
    /// # Errors
    /// A problem that names the parameter.
    pub fn ask(&mut self, zone: Option<Tz>) -> Result<Ask, Problem> {
        self.ask_of(zone, UNIFORM)
    }

    /// Those uniform parameters that this question has; another one is left for [`Query::done`] to say so.
    /// They are from, to, month, tz, by, filter, step, basis, unallocated, as_of, format, lang, limit, offset.
    ///
    /// `zone` is the billing zone of this place; without one, `tz` is needed.
    ///
    /// # Errors
    /// A problem that names the parameter.
    pub fn ask_of(&mut self, zone: Option<Tz>, uses: &[&str]) -> Result<Ask, Problem> {
        let hidden: Vec<(String, String, bool)> = if uses.len() == UNIFORM.len() {
            Vec::new()
        } else {
            let other = |(name, ..): &(String, String, bool)| {
                UNIFORM.contains(&name.as_str()) && !uses.contains(&name.as_str())
            };
            self.pairs.extract_if(.., |pair| other(pair)).collect()
        };
        let ask = self.uniform(zone);
        self.pairs.extend(hidden);
        ask
    }

    fn uniform(&mut self, zone: Option<Tz>) -> Result<Ask, Problem> {
        let tz = match self.one("tz")? {
            Some(name) => window::zone(&name).map_err(|e| Problem::parameter("tz", e.to_string()))?,
            None => zone.ok_or_else(|| {
                let text = "days and months need a zone: tz=Europe/Berlin (no billing_zone is configured)";
                Problem::parameter("tz", text)
            })?,
        };
        let (month, from, to) = (self.one("month")?, self.one("from")?, self.one("to")?);
        let mut ask = Ask::in_zone(tz);
        ask.window = window_of(month.as_deref(), from.as_deref(), to.as_deref(), tz)?;
        ask.month = month;
        for word in self.all("by").iter().flat_map(|w| w.split(',')).filter(|w| !w.is_empty()) {
            ask.by.push(dimension("by", word)?);
        }
        for text in self.all("filter") {
            ask.filter.push(filter(&text)?);
        }
        ask.step = self.one("step")?.map(|w| Step::read("step", &w)).transpose()?;
        ask.basis = self.one("basis")?.map(|w| Basis::read("basis", &w)).transpose()?;
        ask.unallocated = self.one("unallocated")?.map(|w| Unallocated::read("unallocated", &w)).transpose()?;
        ask.as_of = self.number("as_of")?;
        ask.format = self.one("format")?.map(|w| Format::read("format", &w)).transpose()?.unwrap_or_default();
        ask.lang = self.one("lang")?.map(|w| Lang::read("lang", &w)).transpose()?.unwrap_or_default();
        ask.paging = self.paging()?;
        Ok(ask)
    }

    /// `limit` and `offset`.
    ///
    /// # Errors
    /// A limit of none or of too many rows.
    pub fn paging(&mut self) -> Result<Paging, Problem> {
        let limit = self.number("limit")?;
        if limit.is_some_and(|l| l == 0 || l > PAGE_MAX as u64) {
            return Err(Problem::parameter("limit", format!("a page has 1 to {PAGE_MAX} rows")));
        }
        let offset = self.number("offset")?.unwrap_or(0);
        let offset = usize::try_from(offset).map_err(|_| Problem::parameter("offset", "there are not so many rows"))?;
        Ok(Paging { limit: limit.map(|l| l as usize), offset })
    }
}

fn window_of(month: Option<&str>, from: Option<&str>, to: Option<&str>, tz: Tz) -> Result<Option<(i64, i64)>, Problem> {
    let instant =
        |name: &str, text: &str| window::instant(text, tz).map_err(|e| Problem::parameter(name, e.to_string()));
    let (from_ms, to_ms) = match (month, from, to) {
        (None, None, None) => return Ok(None),
        (Some(_), Some(_), _) => return Err(Problem::parameter("from", "either month, or from and to")),
        (Some(_), _, Some(_)) => return Err(Problem::parameter("to", "either month, or from and to")),
        (Some(month), None, None) => {
            let window = window::month(month, tz).map_err(|e| Problem::parameter("month", e.to_string()))?;
            (window.from_ms, window.to_ms)
        }
        (None, Some(from), Some(to)) => (instant("from", from)?, instant("to", to)?),
        (None, Some(_), None) => return Err(Problem::parameter("to", "`to` is needed beside `from`")),
        (None, None, Some(_)) => return Err(Problem::parameter("from", "`from` is needed beside `to`")),
    };
    if to_ms <= from_ms {
        return Err(Problem::parameter("to", window::WindowError::Empty.to_string()));
    }
    if to_ms.saturating_sub(from_ms) > DAYS_MAX * DAY_MS {
        return Err(Problem::parameter("to", format!("a window has at most {DAYS_MAX} days")));
    }
    Ok(Some((from_ms, to_ms)))
}

/// A dimension by its word, or by a few that people type for the same thing.
fn dimension(parameter: &str, word: &str) -> Result<&'static str, Problem> {
    let plain = match word.trim() {
        "type" => "task_type",
        "partition" => "queue",
        "namespace" | "project" => "account",
        "unit" => "device",
        w => w,
    };
    DIMENSIONS
        .iter()
        .copied()
        .find(|d| *d == plain)
        .ok_or_else(|| Problem::parameter(parameter, format!("`{word}` is not one of: {}", DIMENSIONS.join(", "))))
}

/// `team=nlp`, `team=nlp|vision`: rows that have one of the words.
fn filter(text: &str) -> Result<Filter, Problem> {
    let (name, words) = text
        .split_once('=')
        .ok_or_else(|| Problem::parameter("filter", format!("`{text}` is not DIMENSION=WORD, e.g. filter=team=nlp")))?;
    let words: Vec<String> = words.split('|').map(str::to_owned).collect();
    if words.iter().any(String::is_empty) {
        return Err(Problem::parameter("filter", format!("`{text}` names nothing after the sign")));
    }
    Ok(Filter { dimension: dimension("filter", name)?, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> Result<Ask, Problem> {
        let mut query = Query::read(Some(query));
        let ask = query.ask(Some(chrono_tz::Asia::Shanghai))?;
        query.done().map(|()| ask)
    }

    #[test]
    fn a_window_is_a_month_or_two_instants_of_the_zone() {
        let march = ask("month=2026-03").unwrap();
        assert_eq!(march.window, ask("from=2026-03-01&to=2026-04-01").unwrap().window);
        // C28: the boundary of a month is local midnight, whatever the zone of the machine
        let april = ask("month=2026-04").unwrap().window.unwrap();
        assert_eq!(gpuledger_schema::window::show_ms(april.0, chrono_tz::UTC), "2026-03-31T16:00:00+00:00");
        assert_eq!(ask("").unwrap().window, None);
    }

    #[test]
    fn a_problem_names_its_parameter() {
        let table = [
            ("month=2026-13", "month"),
            ("month=2026-03&from=2026-03-01", "from"),
            ("from=2026-03-01", "to"),
            ("to=2026-03-01", "from"),
            ("from=2026-03-02&to=2026-03-02", "to"),
            ("from=2026-03-02T00:00:00&to=2026-03-03", "from"),
            ("from=1970-01-01&to=2026-03-02", "to"),
            ("tz=Mars/Base", "tz"),
            ("by=team,colour", "by"),
            ("filter=nlp", "filter"),
            ("filter=team=", "filter"),
            ("step=week", "step"),
            ("basis=loved", "basis"),
            ("unallocated=me", "unallocated"),
            ("as_of=-1", "as_of"),
            ("format=xml", "format"),
            ("lang=fr", "lang"),
            ("limit=0", "limit"),
            ("limit=10001", "limit"),
            ("offset=x", "offset"),
            ("month=2026-03&month=2026-04", "month"),
            ("colour=red", "colour"),
        ];
        for (query, name) in table {
            let problem = ask(query).unwrap_err();
            assert_eq!(
                (problem.parameter.as_deref(), problem.status),
                (Some(name), 400),
                "{query}: {}",
                problem.detail
            );
        }
    }

    #[test]
    fn words_are_read_as_people_type_them() {
        let asked = ask("by=type,partition&filter=team=nlp|a%26b&filter=pool=x&limit=5&offset=10&basis=busy").unwrap();
        assert_eq!(asked.by, ["task_type", "queue"]);
        assert_eq!(asked.filter[0].words, ["nlp", "a&b"]);
        assert_eq!(asked.filter[1], Filter { dimension: "pool", words: vec!["x".to_owned()] });
        assert_eq!((asked.paging.limit, asked.paging.offset, asked.basis), (Some(5), 10, Some(Basis::Busy)));
    }
}
