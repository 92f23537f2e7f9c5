//! The tables of the fleet: which columns, in which order, under which words.

use crate::page::table::{Col, Kind, Shown};

pub(super) const POOLS: [Col; 9] = [
    Col::new("pool", "head.pool", Kind::Text),
    Col::new("held_hours", "head.held", Kind::Hours)
        .to(|v, r| Some(v.rows_of("/usage", "team,cluster,job", &[("pool", r.word("pool"))]))),
    Col::new("allocation_rate", "head.allocated", Kind::Percent),
    Col::new("busy_rate", "head.busy_rate", Kind::Percent),
    Col::new("effective_rate", "head.effective_rate", Kind::Percent),
    Col::new("ineffective_occupancy", "head.ineffective", Kind::Percent),
    Col::new("wait_p95_hours", "head.wait_p95", Kind::Hours),
    Col::new("failure_rate", "head.failed", Kind::Percent),
    Col::new("cost_per_effective_hour", "head.cost_effective", Kind::Money),
];

pub(super) const FRAGMENTS: Shown<'_> = Shown {
    id: "fragments",
    caption: "fleet.fragments",
    empty: "empty.fragments",
    columns: &[
        Col::new("cluster", "head.cluster", Kind::Text),
        Col::new("kind", "head.kind", Kind::Word("fragment")),
        Col::new("size", "head.size", Kind::Text),
        Col::new("fragment_hours", "head.hours", Kind::Hours),
        Col::new("jobs", "head.jobs_blocked", Kind::Count),
        Col::new("asked_hours", "head.asked_hours", Kind::Hours),
        Col::new("free_hours", "head.free_hours", Kind::Hours),
    ],
    most: 40,
};

pub(super) const QUOTA: Shown<'_> = Shown {
    id: "quota",
    caption: "fleet.quota",
    empty: "empty.quota",
    columns: &[
        Col::new("team", "head.team", Kind::Text),
        Col::new("pool", "head.pool", Kind::Text),
        Col::new("quota_hours", "head.quota", Kind::Hours),
        Col::new("held_hours", "head.held", Kind::Hours).to(|v, r| {
            let of = [("team", r.word("team")), ("pool", r.word("pool"))];
            Some(v.rows_of("/usage", "cluster,job", &of))
        }),
        Col::new("used_of_quota", "head.used_of_quota", Kind::Percent),
        Col::new("borrowed_hours", "head.borrowed", Kind::Hours),
        Col::new("lent_hours", "head.lent", Kind::Hours),
        Col::new("unmet_hours", "head.unmet", Kind::Hours),
    ],
    most: 25,
};

pub(super) const ASSETS: Shown<'_> = Shown {
    id: "assets",
    caption: "fleet.assets",
    empty: "empty.assets",
    columns: &[
        Col::new("cluster", "head.cluster", Kind::Text),
        Col::new("node", "head.node", Kind::Text).to(|v, r| Some(v.link("/fleet", &[("node", &r.word("node"))]))),
        Col::new("model", "head.model", Kind::Text),
        Col::new("registered", "head.registered", Kind::Count),
        Col::new("seen", "head.seen", Kind::Count),
        Col::new("measured", "head.measured", Kind::Count),
        Col::new("offered", "head.offered", Kind::Count),
        Col::new("difference", "head.difference", Kind::Text),
    ],
    most: 100,
};

pub(super) const CENSUS: Shown<'_> = Shown {
    id: "census",
    caption: "fleet.census",
    empty: "empty.census",
    columns: &[
        Col::new("node", "head.node", Kind::Text),
        Col::new("device", "head.card", Kind::Text),
        Col::new("verdict", "head.verdict", Kind::Text),
        Col::new("coverage", "head.coverage", Kind::Percent),
        Col::new("sm_mean", "head.sm_mean", Kind::Percent),
        Col::new("sm_peak", "head.sm_peak", Kind::Percent),
        Col::new("mem_peak_gib", "head.mem_peak", Kind::Gib),
        Col::new("temperature_peak_c", "head.temperature", Kind::Count),
    ],
    most: 20,
};

pub(super) const WATCH: Shown<'_> = Shown {
    id: "watch",
    caption: "fleet.watch",
    empty: "empty.watch",
    columns: &[
        Col::new("kind", "head.what", Kind::Word("watch")),
        Col::new("cluster", "head.cluster", Kind::Text),
        Col::new("node", "head.node", Kind::Text),
        Col::new("device", "head.card", Kind::Text),
        Col::new("job", "head.job", Kind::Text),
        Col::new("since", "head.since", Kind::Text),
        Col::new("hours", "head.hours", Kind::Hours),
        Col::new("reason", "head.reason", Kind::Text),
    ],
    most: 60,
};
