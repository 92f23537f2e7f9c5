//! Letters to owners: what was seen, until when, and what they can do. In English and Chinese, one below the other.

use gpuledger_schema::reclaim::{ActKind, Allocation, Case, Class, Identity};

use crate::plan::{Doing, Notice};
use crate::policy::Settings;
use crate::text::{Lang, Texts, utc};

/// A letter. Its link opens a page; only what is sent from that page acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Where it goes: an address of `contact`.
    pub to: String,
    /// The case.
    pub case_id: i64,
    /// Which letter: `warned`, `final`, `long`, `wanted`, `asked`, `freed` or `ended`.
    pub kind: &'static str,
    /// Subject, English.
    pub subject: String,
    /// Subject, Chinese.
    pub subject_zh: String,
    /// Text, English.
    pub body: String,
    /// Text, Chinese.
    pub body_zh: String,
    /// Path of the page that it names, below wherever pages are.
    pub link: String,
    /// The deadline that it names, or when the GPUs were seen free, epoch ms.
    pub at_ms: Option<i64>,
    /// What is, or was, asked of the scheduler.
    pub act: Option<ActKind>,
}

/// The letter that a notice is.
pub fn notice(case: &Case, a: &Allocation, which: Notice, deadline_ms: Option<i64>, s: &Settings) -> Option<Letter> {
    let kind = match (which, case.class) {
        (Notice::Question, _) => "asked",
        (_, Class::OverLimit) => "long",
        (_, Class::Capacity) => "wanted",
        (Notice::First, _) => "warned",
        (Notice::Last, _) => "final",
    };
    write(kind, case, a, deadline_ms, Some(act_of(a, s)))
}

/// The letter after the GPUs were seen free, and not before.
pub fn freed(case: &Case, a: &Allocation, seen_ms: i64, s: &Settings) -> Option<Letter> {
    let kind = if case.class.is_rest() { "freed" } else { "ended" };
    write(kind, case, a, Some(seen_ms), Some(act_of(a, s)))
}

/// What a policy has asked of the scheduler of an allocation.
pub fn act_of(a: &Allocation, s: &Settings) -> ActKind {
    match a.identity {
        Identity::Kubernetes { .. } => s.kubernetes,
        _ => s.slurm,
    }
}

/// The act of a step, where it is one.
pub fn act_in(doing: &Doing) -> Option<ActKind> {
    match doing {
        Doing::Order { act, .. } => Some(*act),
        _ => None,
    }
}

fn write(kind: &'static str, case: &Case, a: &Allocation, at_ms: Option<i64>, act: Option<ActKind>) -> Option<Letter> {
    let to = a.owner.contact.clone()?;
    let of = |lang: Lang, part: &str| {
        let t = Texts::of(lang);
        let act = act.map_or_else(String::new, |act| t.fill(&format!("act_{act}"), &[]));
        let at = at_ms.map_or_else(String::new, utc);
        t.fill(
            &format!("{kind}_{part}"),
            &[
                ("what", &a.identity.shown()),
                ("user", &a.owner.user),
                ("nodes", &a.nodes.join(", ")),
                ("gpus", &gpus(a.gpu_units)),
                ("since", &case.rest_from_ms.map_or_else(|| utc(case.opened_ms), utc)),
                ("told", &case.warned_ms.map_or_else(String::new, utc)),
                ("evidence", &seen(a, &t)),
                ("deadline", &at),
                ("at", &at),
                ("act", &act),
                ("mean", &a.judgement.mean_ppm.map_or_else(|| "?".to_owned(), tenths_of_percent)),
                ("link", &page(case.case_id)),
            ],
        )
    };
    Some(Letter {
        to,
        case_id: case.case_id,
        kind,
        subject: of(Lang::En, "subject"),
        subject_zh: of(Lang::Zh, "subject"),
        body: of(Lang::En, "body"),
        body_zh: of(Lang::Zh, "body"),
        link: page(case.case_id),
        at_ms,
        act,
    })
}

/// The page of a case.
fn page(case_id: i64) -> String {
    format!("/reclaim/{case_id}")
}

/// Share units as GPUs.
pub fn gpus(units: i64) -> String {
    let hundredths = i128::from(units) * 100 / i128::from(gpuledger_schema::unit::CARD_UNITS);
    match (hundredths / 100, hundredths % 100) {
        (1, 0) => "1 GPU".to_owned(),
        (n, 0) => format!("{n} GPUs"),
        (n, part) => format!("{n}.{part:02} GPUs"),
    }
}

fn tenths_of_percent(ppm: i64) -> String {
    format!("{}.{}", ppm / 10_000, ppm % 10_000 / 1_000)
}

/// What was seen, in numbers.
pub fn evidence(a: &Allocation) -> String {
    seen(a, &Texts::of(Lang::En))
}

fn seen(a: &Allocation, t: &Texts) -> String {
    let j = &a.judgement;
    let mut out = Vec::new();
    let percent = |key: &str, ppm: i64| t.fill(key, &[("percent", &tenths_of_percent(ppm))]);
    out.extend(j.peak_ppm.map(|p| percent("seen_peak", p)));
    out.extend(j.power_mw.zip(j.floor_mw).map(|(power, floor)| {
        t.fill("seen_power", &[("power", &(power / 1_000).to_string()), ("floor", &(floor / 1_000).to_string())])
    }));
    out.extend(j.coverage_ppm.map(|c| percent("seen_coverage", c)));
    out.join(", ")
}
