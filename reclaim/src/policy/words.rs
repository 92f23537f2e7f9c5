//! What a policy book means, in words: what a person should read before it is put into force.

use gpuledger_schema::reclaim::{ActKind, Approval, Class};

pub use crate::text::Lang;

use super::{Book, Exemption, Policy, Scope, Settings, Windows, dangers};
use crate::text::{Texts, utc};

/// A book in words, a line a sentence.
pub fn in_words(book: &Book, lang: Lang) -> String {
    let t = Texts::of(lang);
    let mut out = vec![t.fill("book", &[("hash", &book.hash[..12])])];
    let switch = |on: bool| t.fill(if on { "on" } else { "off" }, &[]);
    out.push(t.fill("switches", &[("notify", &switch(book.notify)), ("act", &switch(book.act))]));
    let caps = &book.caps;
    out.push(t.fill(
        "caps",
        &[
            ("round", &caps.per_round.to_string()),
            ("hour", &caps.per_hour.to_string()),
            ("team", &caps.per_team_hour.to_string()),
            ("node", &caps.per_node_hour.to_string()),
        ],
    ));
    let b = &book.breaker;
    out.push(t.fill(
        "breaker",
        &[
            ("newly", &percent(b.newly_idle_ppm)),
            ("min", &b.newly_idle_min.to_string()),
            ("coverage", &percent(b.coverage_fall_ppm)),
            ("disagree", &percent(b.disagree_ppm)),
            ("jobs", &percent(b.jobs_fall_ppm)),
        ],
    ));
    let f = &book.fresh;
    out.push(t.fill(
        "fresh",
        &[
            ("coverage", &percent(f.coverage_ppm)),
            ("tick", &t.span(f.tick_ms)),
            ("act_tick", &t.span(f.act_tick_ms)),
            ("reading", &t.span(f.reading_ms)),
            ("act_reading", &t.span(f.act_reading_ms)),
        ],
    ));
    for (model, mw) in &book.power_floor_mw {
        out.push(t.fill("power_floor", &[("model", model), ("watts", &(mw / 1_000).to_string())]));
    }
    for policy in &book.policies {
        out.push(String::new());
        out.extend(of_policy(policy, &t));
    }
    let lists = [("exempt", &book.exemptions), ("protect", &book.protected)];
    for (key, list) in lists {
        out.extend(list.iter().map(|e| of_exemption(key, e, &t)));
    }
    for danger in dangers(book) {
        let key = if danger.forced.is_some() { "danger_forced" } else { "danger" };
        out.push(t.fill(key, &[("what", &danger.to_string())]));
    }
    out.join("\n")
}

fn percent(ppm: i64) -> String {
    (ppm / 10_000).to_string()
}

fn of_policy(policy: &Policy, t: &Texts) -> Vec<String> {
    let s = &policy.settings;
    let scope = scope(&policy.scope, t);
    let mut out = vec![t.fill("policy", &[("name", &policy.name), ("scope", &scope)])];
    if policy.from_ms > 0 {
        out.push(t.fill("from", &[("at", &utc(policy.from_ms))]));
    }
    if let Some(to) = policy.to_ms {
        out.push(t.fill("to", &[("at", &utc(to))]));
    }
    let windows = |key: &str, w: Windows| {
        t.fill(key, &[("warned", &t.span(w.warned_ms)), ("final", &t.span(w.final_ms)), ("due", &t.span(w.due_ms))])
    };
    out.push(windows("never_touched_windows", s.never_touched));
    out.push(windows("idle_windows", s.windows(Class::IdleSince).unwrap_or(s.idle)));
    if s.warm_up_ms + s.staging_ms > 0 {
        out.push(t.fill("grace", &[("warm_up", &t.span(s.warm_up_ms)), ("staging", &t.span(s.staging_ms))]));
    }
    out.push(t.fill("low_use", &[("percent", &percent(s.low_use_ppm))]));
    out.push(t.fill("active", &[("active", &t.span(s.active_ms))]));
    out.extend(acts(s, t));
    out
}

fn acts(s: &Settings, t: &Texts) -> Vec<String> {
    let mut out = Vec::new();
    let approval = match s.approval {
        Approval::Automatic => "approval_automatic",
        Approval::Owner => "approval_owner",
        Approval::Operator => "approval_operator",
    };
    out.push(t.fill(approval, &[]));
    let act = |kind: ActKind| t.fill(&format!("act_{kind}"), &[]);
    out.push(t.fill("acts", &[("slurm", &act(s.slurm)), ("kubernetes", &act(s.kubernetes))]));
    match &s.checkpoint {
        Some(c) => {
            let key = if c.required { "checkpoint_required" } else { "checkpoint_wanted" };
            out.push(t.fill(key, &[("signal", &c.signal), ("wait", &t.span(c.wait_ms))]));
        }
        None => out.push(t.fill("checkpoint_none", &[])),
    }
    if let Some(max) = s.max_duration_ms {
        let key = if s.act_on_over_limit { "max_duration_acts" } else { "max_duration_tells" };
        out.push(t.fill(key, &[("max", &t.span(max))]));
    }
    if let Some(h) = &s.hours {
        let days = h.days.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let time = |m: u32| format!("{:02}:{:02}", m / 60, m % 60);
        let zone = h.zone.to_string();
        let (from, to) = (time(h.from_minute), time(h.to_minute));
        out.push(t.fill("hours", &[("days", &days), ("from", &from), ("to", &to), ("zone", &zone)]));
    }
    out.push(t.fill("keep", &[("keep", &t.span(s.keep_max_ms)), ("review", &t.span(s.review_ms))]));
    let retry = [
        ("attempts", &*s.attempts_max.to_string()),
        ("retry", &t.span(s.retry_ms)),
        ("confirm", &t.span(s.confirm_ms)),
    ];
    out.push(t.fill("retry", &retry));
    out
}

fn scope(scope: &Scope, t: &Texts) -> String {
    let parts = [
        ("cluster", &scope.cluster),
        ("pool", &scope.pool),
        ("task type", &scope.task_type),
        ("queue", &scope.queue),
        ("team", &scope.team),
        ("user", &scope.user),
        ("node", &scope.node),
        ("job", &scope.job),
        ("QoS", &scope.qos),
    ];
    let named: Vec<String> = parts.iter().filter_map(|(k, v)| v.as_ref().map(|v| format!("{k} {v}"))).collect();
    if named.is_empty() { t.fill("everything", &[]) } else { named.join(", ") }
}

fn of_exemption(key: &str, exemption: &Exemption, t: &Texts) -> String {
    let until = exemption.until_ms.map_or_else(|| t.fill("for_good", &[]), |at| t.fill("until", &[("at", &utc(at))]));
    t.fill(key, &[("scope", &scope(&exemption.scope, t)), ("until", &until), ("reason", &exemption.reason)])
}
