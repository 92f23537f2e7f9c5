//! The TOML of a policy book, and how it becomes one.

use std::collections::BTreeMap;

use chrono::DateTime;
use gpuledger_schema::hash::sha256_hex;
use gpuledger_schema::state::TaskType;
use serde::Deserialize;

use self::part::Part;
use super::{Book, Breaker, Caps, Exemption, Fresh, Policy, Scope, Settings, Windows};

mod part;

/// Parts per million in a percent.
const PERCENT_PPM: i64 = 10_000;
/// More than any card draws with nothing to do.
const FLOOR_WATTS_MAX: i64 = 200;
/// Names of the policies that are there unless a book has its own: training rests longer before anybody is asked.
const BUILT_IN: [(&str, TaskType); 2] = [("train", TaskType::Train), ("finetune", TaskType::Finetune)];

/// Why a policy book is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not the TOML that is expected.
    #[error("the policy cannot be read: {0}")]
    Text(String),
    /// A value that cannot be.
    #[error("the policy cannot be: {0}")]
    Value(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    switch: Switch,
    caps: CapsPart,
    breaker: BreakerPart,
    fresh: FreshPart,
    defaults: Part,
    policy: Vec<PolicyPart>,
    exemption: Vec<ExemptionPart>,
    protected: Vec<ProtectedPart>,
    power_floor_watts: BTreeMap<String, i64>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            switch: Switch::default(),
            caps: CapsPart::default(),
            breaker: BreakerPart::default(),
            fresh: FreshPart::default(),
            defaults: Part::default(),
            policy: Vec::new(),
            exemption: Vec::new(),
            protected: Vec::new(),
            power_floor_watts: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Switch {
    notify: bool,
    act: bool,
}

impl Default for Switch {
    fn default() -> Self {
        Self { notify: true, act: false }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CapsPart {
    actions_per_round: i64,
    actions_per_hour: i64,
    actions_per_team_hour: i64,
    actions_per_node_hour: i64,
}

impl Default for CapsPart {
    fn default() -> Self {
        Self { actions_per_round: 4, actions_per_hour: 12, actions_per_team_hour: 4, actions_per_node_hour: 4 }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BreakerPart {
    newly_idle_percent: i64,
    newly_idle_min: i64,
    coverage_fall_percent: i64,
    disagree_percent: i64,
    disagree_min: i64,
    jobs_fall_percent: i64,
}

impl Default for BreakerPart {
    fn default() -> Self {
        Self {
            newly_idle_percent: 20,
            newly_idle_min: 4,
            coverage_fall_percent: 10,
            disagree_percent: 10,
            disagree_min: 3,
            jobs_fall_percent: 50,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FreshPart {
    tick_seconds: i64,
    act_tick_seconds: i64,
    reading_seconds: i64,
    act_reading_seconds: i64,
    coverage_percent: i64,
}

impl Default for FreshPart {
    fn default() -> Self {
        Self {
            tick_seconds: 900,
            act_tick_seconds: 120,
            reading_seconds: 300,
            act_reading_seconds: 120,
            coverage_percent: 90,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyPart {
    name: String,
    from: Option<String>,
    to: Option<String>,
    force: Option<String>,
    #[serde(default)]
    scope: ScopePart,
    #[serde(default)]
    set: Part,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScopePart {
    cluster: Option<String>,
    pool: Option<String>,
    task_type: Option<String>,
    queue: Option<String>,
    team: Option<String>,
    user: Option<String>,
    node: Option<String>,
    job: Option<String>,
    qos: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExemptionPart {
    scope: ScopePart,
    reason: String,
    until: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProtectedPart {
    scope: ScopePart,
    reason: String,
    until: Option<String>,
}

fn wrong(why: impl Into<String>) -> PolicyError {
    PolicyError::Value(why.into())
}

pub(super) fn read(text: &str) -> Result<Book, PolicyError> {
    let file: File = toml::from_str(text).map_err(|e| PolicyError::Text(e.to_string().trim_end().to_owned()))?;
    let defaults = file.defaults.over(&Settings::built_in()).map_err(|e| wrong(format!("defaults: {e}")))?;
    let mut policies = vec![Policy {
        name: "default".to_owned(),
        scope: Scope::default(),
        from_ms: 0,
        to_ms: None,
        settings: defaults.clone(),
        forced: None,
    }];
    for part in &file.policy {
        policies.push(policy(part, &defaults).map_err(|e| wrong(format!("policy `{}`: {e}", part.name)))?);
    }
    for (name, task_type) in BUILT_IN {
        let scope = Scope { task_type: Some(task_type.as_str().to_owned()), ..Scope::default() };
        if !policies.iter().any(|p| p.scope == scope || p.name == name) {
            let mut settings = defaults.clone();
            settings.idle = Windows::minutes(1440, 1470, 1500);
            policies.push(Policy { name: name.to_owned(), scope, from_ms: 0, to_ms: None, settings, forced: None });
        }
    }
    policies.sort_by(|a, b| (&a.name, a.from_ms).cmp(&(&b.name, b.from_ms)));
    no_two_at_once(&policies)?;
    let exempt = |p: &ExemptionPart| exemption(&p.scope, &p.reason, Some(&p.until));
    let protect = |p: &ProtectedPart| exemption(&p.scope, &p.reason, p.until.as_deref());
    Ok(Book {
        hash: sha256_hex(text.as_bytes()),
        text: text.to_owned(),
        notify: file.switch.notify,
        act: file.switch.act,
        caps: caps(&file.caps)?,
        breaker: breaker(&file.breaker)?,
        fresh: fresh(&file.fresh)?,
        policies,
        exemptions: file.exemption.iter().map(exempt).collect::<Result<_, _>>()?,
        protected: file.protected.iter().map(protect).collect::<Result<_, _>>()?,
        power_floor_mw: floors(&file.power_floor_watts)?,
    })
}

fn instant(text: &str) -> Result<i64, String> {
    let at = DateTime::parse_from_rfc3339(text);
    at.map(|t| t.timestamp_millis())
        .map_err(|_| format!("`{text}` is no instant with its offset, e.g. 2026-10-05T00:00:00Z"))
}

fn policy(part: &PolicyPart, defaults: &Settings) -> Result<Policy, String> {
    if part.name.trim().is_empty() {
        return Err("it has no name".to_owned());
    }
    let scope = scope(&part.scope)?;
    if scope.user.is_some() || scope.node.is_some() || scope.job.is_some() || scope.qos.is_some() {
        return Err("a policy is about cluster, pool, task_type, queue and team".to_owned());
    }
    let from_ms = part.from.as_deref().map_or(Ok(0), instant)?;
    let to_ms = part.to.as_deref().map(instant).transpose()?;
    if to_ms.is_some_and(|to| to <= from_ms) {
        return Err("it ends before it begins".to_owned());
    }
    if part.force.as_ref().is_some_and(|f| f.trim().is_empty()) {
        return Err("`force` needs a reason".to_owned());
    }
    let settings = part.set.over(defaults)?;
    Ok(Policy { name: part.name.clone(), scope, from_ms, to_ms, settings, forced: part.force.clone() })
}

fn scope(part: &ScopePart) -> Result<Scope, String> {
    if let Some(word) = &part.task_type {
        word.parse::<TaskType>().map_err(|e| e.to_string())?;
    }
    let part = part.clone();
    Ok(Scope {
        cluster: part.cluster,
        pool: part.pool,
        task_type: part.task_type,
        queue: part.queue,
        team: part.team,
        user: part.user,
        node: part.node,
        job: part.job,
        qos: part.qos,
    })
}

fn exemption(part: &ScopePart, reason: &str, until: Option<&str>) -> Result<Exemption, PolicyError> {
    let of = |e: String| wrong(format!("exemption or protection `{reason}`: {e}"));
    let scope = scope(part).map_err(of)?;
    if scope == Scope::default() {
        return Err(of("it names nothing, and so would everything".to_owned()));
    }
    if reason.trim().is_empty() {
        return Err(of("it needs a reason".to_owned()));
    }
    let until_ms = until.map(instant).transpose().map_err(of)?;
    Ok(Exemption { scope, reason: reason.to_owned(), until_ms })
}

/// Two policies about the same thing at the same time: nobody could say which counts.
fn no_two_at_once(policies: &[Policy]) -> Result<(), PolicyError> {
    for (i, a) in policies.iter().enumerate() {
        for b in &policies[i + 1..] {
            let together = a.from_ms < b.to_ms.unwrap_or(i64::MAX) && b.from_ms < a.to_ms.unwrap_or(i64::MAX);
            if together && a.scope == b.scope {
                return Err(wrong(format!(
                    "policies `{}` and `{}` are about the same at the same time",
                    a.name, b.name
                )));
            }
            if together && a.name == b.name {
                return Err(wrong(format!("two policies are called `{}` at the same time", a.name)));
            }
        }
    }
    Ok(())
}

/// A floor above what an idle card can draw would make work look like rest.
fn floors(watts: &BTreeMap<String, i64>) -> Result<BTreeMap<String, i64>, PolicyError> {
    let one = |(model, watts): (&String, &i64)| match watts {
        1..=FLOOR_WATTS_MAX => Ok((model.clone(), watts * 1_000)),
        _ => Err(wrong(format!("`power_floor_watts` of `{model}` is {watts}, not from 1 to {FLOOR_WATTS_MAX}"))),
    };
    watts.iter().map(one).collect()
}

fn at_least(name: &str, value: i64, least: i64) -> Result<i64, PolicyError> {
    if value < least { Err(wrong(format!("`{name}` is {value}, at least {least}"))) } else { Ok(value) }
}

fn percent(name: &str, value: i64) -> Result<i64, PolicyError> {
    if (0..=100).contains(&value) {
        Ok(value * PERCENT_PPM)
    } else {
        Err(wrong(format!("`{name}` is {value}, not from 0 to 100")))
    }
}

fn caps(part: &CapsPart) -> Result<Caps, PolicyError> {
    Ok(Caps {
        per_round: at_least("actions_per_round", part.actions_per_round, 0)?,
        per_hour: at_least("actions_per_hour", part.actions_per_hour, 0)?,
        per_team_hour: at_least("actions_per_team_hour", part.actions_per_team_hour, 0)?,
        per_node_hour: at_least("actions_per_node_hour", part.actions_per_node_hour, 0)?,
    })
}

fn breaker(part: &BreakerPart) -> Result<Breaker, PolicyError> {
    Ok(Breaker {
        newly_idle_ppm: percent("newly_idle_percent", part.newly_idle_percent)?,
        newly_idle_min: at_least("newly_idle_min", part.newly_idle_min, 1)?,
        coverage_fall_ppm: percent("coverage_fall_percent", part.coverage_fall_percent)?,
        disagree_ppm: percent("disagree_percent", part.disagree_percent)?,
        disagree_min: at_least("disagree_min", part.disagree_min, 1)?,
        jobs_fall_ppm: percent("jobs_fall_percent", part.jobs_fall_percent)?,
    })
}

fn fresh(part: &FreshPart) -> Result<Fresh, PolicyError> {
    let seconds = |name: &str, value: i64| at_least(name, value, 1).map(|s| s * 1_000);
    let found = Fresh {
        tick_ms: seconds("tick_seconds", part.tick_seconds)?,
        act_tick_ms: seconds("act_tick_seconds", part.act_tick_seconds)?,
        reading_ms: seconds("reading_seconds", part.reading_seconds)?,
        act_reading_ms: seconds("act_reading_seconds", part.act_reading_seconds)?,
        coverage_ppm: percent("coverage_percent", part.coverage_percent)?,
    };
    if found.act_tick_ms > found.tick_ms || found.act_reading_ms > found.reading_ms {
        return Err(wrong("acting needs fresher facts than judging"));
    }
    if found.coverage_ppm < 90 * PERCENT_PPM {
        return Err(wrong("`coverage_percent` is under 90: no verdict goes by less"));
    }
    Ok(found)
}
