//! Reports: which are due, what they are made of, and posting each once. What a report is known by is its cause in the outbox.

use std::collections::{BTreeMap, BTreeSet};

use gpuledger_control::Attachment;
use gpuledger_notify::{Language, Who as Reader};
use gpuledger_schema::window;
use serde_json::Value;

use super::month::{Beside, Month, UNASSIGNED, budgets};
use super::post::{Post, Telling};
use super::read::Trouble;
use super::when::{self, Stretch};
use super::{budget, half, week};
use crate::answer::{Export, Place, Report};
use crate::ask::{Ask, Format, Lang};
use crate::who::{Role, Who};

fn admin() -> Who {
    Who::of("gpuledger", Role::Admin)
}

fn lead(team: &str) -> Who {
    Who { teams: [team.to_owned()].into(), ..Who::of("lead", Role::Lead) }
}

const fn lang(language: Language) -> Lang {
    match language {
        Language::En => Lang::En,
        Language::Zh => Lang::Zh,
    }
}

async fn document(post: &Post<'_>, ask: &Ask, what: &Report) -> Result<Value, Trouble> {
    post.app.answers().document(&admin(), ask, what).await.map(|d| d.body).map_err(|e| e.detail)
}

async fn bill(post: &Post<'_>, period: &str) -> Result<Value, Trouble> {
    let what = Export {
        period: period.to_owned(),
        document: "json".to_owned(),
        team: None,
        lang: Lang::En,
        codes: BTreeMap::new(),
    };
    let ask = Ask::month(period, post.zone).map_err(|e| e.detail)?;
    let file = post.app.answers().export(&admin(), &ask, &what).await.map_err(|e| e.detail)?;
    serde_json::from_slice(&file.bytes).map_err(|e| format!("the bill of {period}: {e}"))
}

/// A file of a month, or the sentence that says why there is none: a mail goes out without it.
async fn file(post: &Post<'_>, who: &Who, what: Export, name: String) -> Result<Attachment, String> {
    let ask = Ask::month(&what.period, post.zone).map_err(|e| e.detail)?;
    match post.app.answers().export(who, &ask, &what).await {
        Ok(file) => Ok(Attachment { name, media_type: file.media.to_owned(), bytes: file.bytes }),
        Err(e) => Err(format!("{name} is not attached: {}", e.detail)),
    }
}

/// Languages to make a report in: English where nobody has an address, so that it is seen who lacks one.
fn needed(post: &Post<'_>, reader: &Reader) -> BTreeSet<Language> {
    let found = post.languages(std::slice::from_ref(reader));
    if found.is_empty() { BTreeSet::from([Language::En]) } else { found }
}

/// Posts every report that is due and was not told; what each did, in words. One that fails does not keep back the others.
pub(super) async fn due(post: &Post<'_>, handled: &mut BTreeSet<String>) -> (Vec<String>, Vec<Trouble>) {
    let place = post.app.answers().place().await;
    let (mut said, mut trouble) = (Vec::new(), Vec::new());
    let mut note = |name: &str, done: Result<Option<String>, Trouble>| match done {
        Ok(Some(words)) => said.push(words),
        Ok(None) => {}
        Err(why) => trouble.push(format!("{name}: {why}")),
    };
    for (month, hash) in closed_months(&place) {
        note("statement", month_of(post, handled, &month, Some(&hash)).await);
    }
    let draft = when::draft_month(post.now_ms, post.zone)
        .filter(|name| post.app.settings().tell.drafts && is_collecting(&place, name, post));
    if let Some(name) = draft {
        note("draft", month_of(post, handled, &name, None).await);
    }
    let known_ms = place.known_to_ms.unwrap_or(i64::MIN);
    if let Some(week) = when::week(post.now_ms, post.zone).filter(|s| s.window.to_ms <= known_ms) {
        note("digest", digest(post, handled, &week).await);
    }
    if let Some(half) = when::half_year(post.now_ms, post.zone).filter(|s| s.window.to_ms <= known_ms) {
        note("assessment", assessment(post, handled, &half).await);
    }
    if place.cut.is_some() {
        note("budgets", budget_alerts(post).await);
    }
    (said, trouble)
}

/// The two months that were closed last, with the hashes of their lines.
fn closed_months(place: &Place) -> Vec<(String, String)> {
    let closed = place.months.iter().rev().filter(|m| m.state == "closed");
    closed.filter_map(|m| Some((m.month.clone(), m.hash.clone()?))).take(2).collect()
}

/// Whether a month is over and not closed, and everything of it is known.
fn is_collecting(place: &Place, name: &str, post: &Post<'_>) -> bool {
    let over = place.months.iter().any(|m| m.month == name && m.state == "collecting");
    let end_ms = window::month(name, post.zone).map(|w| w.to_ms);
    over && end_ms.is_ok_and(|end_ms| place.known_to_ms.is_some_and(|known_ms| known_ms >= end_ms))
}

/// Posts the tellings of an occasion unless they were posted; remembers that they are.
async fn once(
    post: &Post<'_>,
    handled: &mut BTreeSet<String>,
    cause: &str,
    what: &str,
    tellings: Vec<Telling>,
) -> Result<Option<String>, Trouble> {
    let posted = post.post(cause, &tellings).await?;
    handled.insert(cause.to_owned());
    Ok((posted.waiting > 0).then(|| format!("{what}: {} messages", posted.waiting)))
}

async fn is_handled(post: &Post<'_>, handled: &mut BTreeSet<String>, cause: &str) -> Result<bool, Trouble> {
    if !handled.contains(cause) && post.was_told(cause).await? {
        handled.insert(cause.to_owned());
    }
    Ok(handled.contains(cause))
}

/// A month to finance and to every lead, with files; a close by the hash of its lines, else the draft.
async fn month_of(
    post: &Post<'_>,
    handled: &mut BTreeSet<String>,
    name: &str,
    hash: Option<&str>,
) -> Result<Option<String>, Trouble> {
    let cause = format!("statement/{name}/{}", hash.map_or("draft", |h| h.get(..16).unwrap_or(h)));
    if is_handled(post, handled, &cause).await? {
        return Ok(None);
    }
    let bill = bill(post, name).await?;
    let month = Month::read(&bill)?;
    // a close that is long over is not told by a server that starts today
    if month.closed.is_some_and(|closed| closed.ms + when::CLOSE_MS < post.now_ms) {
        handled.insert(cause);
        return Ok(None);
    }
    let mut tellings = vec![finance(post, &month, name, &cause).await?];
    let by_language = beside(post, name).await?;
    for team in month.teams()?.into_keys().filter(|team| team != UNASSIGNED) {
        tellings.push(team_of(post, &month, &by_language, name, &team, &cause).await?);
    }
    once(post, handled, &cause, &cause, tellings).await
}

async fn finance(post: &Post<'_>, month: &Month<'_>, name: &str, cause: &str) -> Result<Telling, Trouble> {
    let mut told = BTreeMap::new();
    for language in needed(post, &Reader::Role(gpuledger_notify::Role::Finance)) {
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        for (document, end) in [("xlsx", "bill.xlsx"), ("csv", "lines.csv")] {
            let what = Export {
                period: name.to_owned(),
                document: document.to_owned(),
                team: None,
                lang: lang(language),
                codes: BTreeMap::new(),
            };
            match file(post, &admin(), what, format!("{name}-{end}")).await {
                Ok(made) => files.push(made),
                Err(why) => missing.push(why),
            }
        }
        told.insert(language, (month.finance(post.links, &missing)?, files));
    }
    Ok(Telling { key: cause.to_owned(), told })
}

async fn team_of(
    post: &Post<'_>,
    month: &Month<'_>,
    beside: &BTreeMap<Language, Beside>,
    name: &str,
    team: &str,
    cause: &str,
) -> Result<Telling, Trouble> {
    let mut told = BTreeMap::new();
    let reader = Reader::Lead(team.to_owned());
    let has_address = !post.languages(std::slice::from_ref(&reader)).is_empty();
    for language in needed(post, &reader) {
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        if has_address {
            let what = Export {
                period: name.to_owned(),
                document: "pdf".to_owned(),
                team: Some(team.to_owned()),
                lang: lang(language),
                codes: BTreeMap::new(),
            };
            // by the lead's own eyes: a file cannot hold more than they may see
            match file(post, &lead(team), what, format!("{}-{name}-statement.pdf", safe(team))).await {
                Ok(made) => files.push(made),
                Err(why) => missing.push(why),
            }
            files.extend(findings_file(post, name, team, language).await);
        }
        let empty = Beside::default();
        let beside = beside.get(&language).unwrap_or(&empty);
        told.insert(language, (month.team(team, beside, post.links, &missing)?, files));
    }
    Ok(Telling { key: format!("{cause}/{team}"), told })
}

/// The team's findings of the month as CSV, where there are any to be had.
async fn findings_file(post: &Post<'_>, name: &str, team: &str, language: Language) -> Option<Attachment> {
    let mut ask = Ask::month(name, post.zone).ok()?;
    (ask.format, ask.lang) = (Format::Csv, lang(language));
    let what = Report::Findings { rules: Vec::new(), top: None };
    match post.app.answers().file(&lead(team), &ask, &what).await {
        Ok(file) => Some(Attachment {
            name: format!("{}-{name}-findings.csv", safe(team)),
            media_type: file.media.to_owned(),
            bytes: file.bytes,
        }),
        Err(e) => {
            tracing::warn!(team, why = %e, "findings are not attached");
            None
        }
    }
}

/// What stands beside the bills of teams, in each language.
async fn beside(post: &Post<'_>, name: &str) -> Result<BTreeMap<Language, Beside>, Trouble> {
    let ask = Ask::month(name, post.zone).map_err(|e| e.detail)?;
    let end_ms = ask.window.map(|w| w.1);
    let findings = document(post, &ask, &Report::Findings { rules: Vec::new(), top: None }).await?;
    let state = document(post, &Ask::in_zone(post.zone), &Report::Budgets { at_ms: end_ms }).await?;
    let number = window::month_number(name).map_err(|e| e.to_string())?;
    let previous = window::month_name(number - 1);
    let known = post.app.answers().place().await.months.iter().any(|m| m.month == previous);
    let before = if known { Month::read(&bill(post, &previous).await?)?.teams()? } else { BTreeMap::new() };
    let mut out = BTreeMap::new();
    for language in Language::ALL {
        let of_language =
            Beside { before: before.clone(), budgets: budgets(&state)?, findings: week::by_team(&findings, language)? };
        out.insert(language, of_language);
    }
    Ok(out)
}

async fn digest(post: &Post<'_>, handled: &mut BTreeSet<String>, stretch: &Stretch) -> Result<Option<String>, Trouble> {
    let cause = format!("waste/{}", stretch.name);
    if is_handled(post, handled, &cause).await? {
        return Ok(None);
    }
    let mut ask = Ask::in_zone(post.zone);
    ask.window = Some((stretch.window.from_ms, stretch.window.to_ms));
    let charges = document(post, &ask.clone().by(&["team"]), &Report::Charges).await?;
    let findings = document(post, &ask, &Report::Findings { rules: Vec::new(), top: None }).await?;
    let mut tellings: BTreeMap<String, Telling> = BTreeMap::new();
    for language in Language::ALL {
        let made = week::digests(&charges, &findings, stretch, post.zone.name(), post.links, language)?;
        for (team, notice) in made.into_iter().filter(|(team, _)| team != UNASSIGNED) {
            if needed(post, &Reader::Lead(team.clone())).contains(&language) {
                let key = format!("{cause}/{team}");
                let telling = tellings.entry(team).or_insert_with(|| Telling { key, told: BTreeMap::new() });
                telling.told.insert(language, (notice, Vec::new()));
            }
        }
    }
    once(post, handled, &cause, &cause, tellings.into_values().collect()).await
}

async fn assessment(
    post: &Post<'_>,
    handled: &mut BTreeSet<String>,
    stretch: &Stretch,
) -> Result<Option<String>, Trouble> {
    let cause = format!("health/{}", stretch.name);
    if is_handled(post, handled, &cause).await? {
        return Ok(None);
    }
    let mut ask = Ask::in_zone(post.zone);
    ask.window = Some((stretch.window.from_ms, stretch.window.to_ms));
    let made = document(post, &ask, &Report::Assessment).await?;
    let notice = half::assessment(&made, stretch, post.zone.name(), post.links)?;
    let tellings: Vec<Telling> = notice.iter().map(|notice| Telling::plain(cause.clone(), notice)).collect();
    once(post, handled, &cause, &cause, tellings).await
}

/// Marks of budgets, each on its own: that one team's figures lack something keeps back no other's.
async fn budget_alerts(post: &Post<'_>) -> Result<Option<String>, Trouble> {
    let state = document(post, &Ask::in_zone(post.zone), &Report::Budgets { at_ms: None }).await?;
    let mut posted = 0;
    for reached in budget::reached(&state, post.links, post.zone, post.now_ms)? {
        if !post.was_told(&reached.key).await? {
            let telling = Telling::plain(reached.key.clone(), &reached.notice);
            posted += post.post(&reached.key, &[telling]).await?.waiting;
        }
    }
    Ok((posted > 0).then(|| format!("budgets: {posted} messages")))
}

/// A team's name as part of a file's: what no file system takes stands as a dash.
fn safe(team: &str) -> String {
    team.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect()
}
