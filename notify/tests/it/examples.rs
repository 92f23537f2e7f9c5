//! One notice of every kind, with names that try to be more than names.

use chrono::DateTime;
use chrono_tz::Tz;
use gpuledger_notify::notice::*;
use gpuledger_notify::{At, Notice};

/// A job's name that is markup, a formula, and a mark of the direction of writing.
const EVIL: &str = "=cmd|'/C calc'!A0 <script>alert(\"训练\")</script> & <b>x</b>";

fn at(text: &str) -> At {
    At { ms: DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis(), zone: Tz::Asia__Shanghai }
}

fn s(text: &str) -> String {
    text.to_owned()
}

fn page(of: &str) -> String {
    format!("https://gpu.example.org/{of}?team=nlp&month=2026-10")
}

fn waste(what: &str, user: Option<&str>, hours: &str, amount: &str) -> Waste {
    Waste {
        what: s(what),
        user: user.map(s),
        hours: s(hours),
        amount: Some(s(amount)),
        remedy: s("ask for 2 GPUs instead of 8"),
    }
}

pub(crate) fn finance() -> FinanceStatement {
    let team = |team: &str, held: &str, not_used: &str, amount: &str| TeamShare {
        team: s(team),
        held_hours: s(held),
        not_used_percent: Some(s(not_used)),
        amount: s(amount),
    };
    FinanceStatement {
        period: s("2026-10"),
        zone: s("Asia/Shanghai"),
        currency: s("CNY"),
        closed: Some(at("2026-11-01T09:00:00+08:00")),
        output_sha256: Some("5d".repeat(32)),
        billed: s("218400.00"),
        platform: s("81600.00"),
        fleet: s("300000.00"),
        corrections: s("-1200.00"),
        coverage_percent: Some(s("99.2")),
        teams: vec![
            team("nlp", "12480.0", "39", "124800.00"),
            team("视觉 <b>&</b>", "9360.0", "12", "93600.00"),
            team("(unassigned)", "0.0", "0", "0.00"),
        ],
        notes: vec![s("12.5 GPU-hours without a price: model <unknown>, waived by anna")],
        page: page("chargeback"),
        exports: page("exports"),
    }
}

pub(crate) fn team() -> TeamStatement {
    TeamStatement {
        team: s("nlp"),
        period: s("2026-10"),
        zone: s("Asia/Shanghai"),
        currency: s("CNY"),
        closed: Some(at("2026-11-01T09:00:00+08:00")),
        amount: s("124800.00"),
        shared_amount: s("4000.00"),
        held_hours: s("12480.0"),
        used: Some(Used {
            busy_hours: s("7612.8"),
            busy_percent: s("61"),
            not_used_hours: s("4867.2"),
            not_used_percent: s("39"),
            not_used_amount: s("48672.00"),
        }),
        unmeasured_hours: s("0.0"),
        unmeasured_percent: Some(s("0")),
        previous_amount: Some(s("98000.00")),
        budget: Some(BudgetUse { budget: s("150000.00"), used_percent: s("83") }),
        lines: vec![
            LineShare { what: s("H200, train"), hours: s("10000.0"), amount: s("100000.00") },
            LineShare { what: s("H200, debug"), hours: s("2480.0"), amount: s("24800.00") },
        ],
        findings: vec![waste("idle_whole_run alpha/2447150", Some("alice"), "3200.0", "32000.00")],
        notes: Vec::new(),
        page: page("chargeback"),
        findings_page: page("waste"),
    }
}

fn digest() -> WasteDigest {
    WasteDigest {
        team: s("nlp"),
        from: s("2026-10-26"),
        to: s("2026-11-01"),
        zone: s("Asia/Shanghai"),
        currency: s("CNY"),
        held_hours: s("2800.0"),
        not_used_hours: s("1092.0"),
        not_used_percent: s("39"),
        amount: s("10920.00"),
        findings: vec![
            waste("idle_whole_run alpha/2447150", Some("alice"), "800.0", "8000.00"),
            waste(EVIL, None, "292.0", "2920.00"),
        ],
        page: page("waste"),
    }
}

fn health() -> HealthAssessment {
    let trend = |now: &str, before: Option<&str>| Trend { now: s(now), before: before.map(s) };
    let advice = |kind, hours: &str, amount: &str| Advice { kind, hours: s(hours), amount: Some(s(amount)) };
    HealthAssessment {
        from: s("2026-04-01"),
        to: s("2026-09-30"),
        zone: s("Asia/Shanghai"),
        currency: s("CNY"),
        gpus: 256,
        verdict: Verdict::Watch,
        allocated: trend("81.4", Some("76.0")),
        busy: trend("49.7", Some("48.2")),
        not_used: trend("31.7", Some("27.8")),
        unavailable: trend("2.1", None),
        unallocated: trend("16.5", Some("21.0")),
        coverage: trend("98.9", Some("91.3")),
        advice: vec![
            advice(AdviceKind::Reclaim, "350000.0", "3500000.00"),
            advice(AdviceKind::Share, "60000.0", "600000.00"),
            advice(AdviceKind::Defragment, "20000.0", "200000.00"),
            advice(AdviceKind::Repair, "9000.0", "90000.00"),
            advice(AdviceKind::Measure, "1000.0", "10000.00"),
            advice(AdviceKind::DoNotBuy, "350000.0", "3500000.00"),
        ],
        page: page("health"),
    }
}

fn budget() -> BudgetAlert {
    BudgetAlert {
        team: s("nlp"),
        from: s("2026-10-01"),
        to: s("2026-12-31"),
        zone: s("Asia/Shanghai"),
        measure: Measure::Money,
        currency: s("CNY"),
        mark_percent: s("80"),
        used_percent: s("83.2"),
        used: s("124800.00"),
        budget: s("150000.00"),
        forecast: Some(s("391000.00")),
        days_left: 61,
        page: page("budgets"),
    }
}

fn cell() -> BrokenCell {
    BrokenCell {
        cluster: s("alpha"),
        node: s("gpu01"),
        from: at("2026-11-03T08:00:00+08:00"),
        to: Some(at("2026-11-03T14:30:00+08:00")),
        hours: s("52.0"),
        page: page("gaps"),
    }
}

pub(crate) fn case() -> ReclaimCase {
    ReclaimCase {
        id: s("case-17"),
        cluster: s("alpha"),
        job: s("2447150"),
        job_name: Some(s(EVIL)),
        user: Some(s("alice")),
        team: s("nlp"),
        nodes: s("gpu[01-02]"),
        gpus: 8,
    }
}

pub(crate) fn warning(class: ZombieClass, action: Action) -> ReclaimWarning {
    ReclaimWarning {
        case: case(),
        class,
        since: at("2026-11-04T02:00:00+08:00"),
        idle_hours: s("64.0"),
        cards: vec![
            Card {
                gpu: s("gpu01/0"),
                sm_max_percent: Some(s("0")),
                power_max_watts: Some(s("71")),
                memory_gib: Some(s("38.2")),
            },
            Card { gpu: s("gpu02/0"), sm_max_percent: Some(s("0")), power_max_watts: None, memory_gib: None },
        ],
        amount: Some(s("640.00")),
        currency: Some(s("CNY")),
        action,
        due: at("2026-11-04T15:00:00+08:00"),
        links: ReclaimLinks {
            keep: page("reclaim/case-17/keep"),
            intended: page("reclaim/case-17/intended"),
            release: page("reclaim/case-17/release"),
            why: page("reclaim/case-17/why"),
            page: page("reclaim/case-17"),
        },
    }
}

fn alerts() -> Vec<Notice> {
    let (cluster, node, job) = (s("alpha"), s("gpu01"), s("2447150"));
    let seen = at("2026-11-04T09:15:00+08:00");
    vec![
        Notice::LateNode(LateNode {
            cluster: cluster.clone(),
            node: node.clone(),
            gpus: 8,
            last_seen: Some(seen),
            late_minutes: Some(45),
            page: page("fleet"),
        }),
        Notice::Gap(Gap { at: cell(), reason: None }),
        Notice::Conflict(Conflict { at: cell(), device: s("GPU-3f1c"), holders: vec![s("alpha/17"), s("alpha/18")] }),
        Notice::Uncalibrated(Uncalibrated {
            cluster: cluster.clone(),
            node: node.clone(),
            gpus: 1,
            model: s("NVIDIA H200"),
            since: seen,
            page: page("fleet"),
        }),
        Notice::UnregisteredGpu(UnregisteredGpu {
            cluster: cluster.clone(),
            node: node.clone(),
            uuid: s("GPU-3f1c"),
            model: s("NVIDIA H200"),
            first_seen: seen,
            page: page("fleet"),
        }),
        Notice::MemoryOverQuota(MemoryOverQuota {
            cluster: cluster.clone(),
            node: node.clone(),
            job: job.clone(),
            job_name: Some(s(EVIL)),
            user: Some(s("alice")),
            team: s("nlp"),
            used_gib: s("41.5"),
            limit_gib: s("40.0"),
            at: seen,
            page: page("job"),
        }),
        Notice::Hung(Hung {
            cluster: cluster.clone(),
            node: node.clone(),
            job,
            job_name: Some(s(EVIL)),
            user: Some(s("alice")),
            team: s("nlp"),
            gpus: 8,
            since: seen,
            sm_percent: s("100"),
            dram_percent: s("0"),
            power_watts: s("142"),
            page: page("job"),
        }),
        Notice::NodeLost(NodeLost {
            cluster,
            node,
            gpus: 8,
            jobs: 1,
            last_seen: Some(seen),
            state: Some(s("DOWN*")),
            page: page("fleet"),
        }),
    ]
}

/// One of every kind.
pub(crate) fn all() -> Vec<Notice> {
    let mut all = vec![
        Notice::StatementFinance(finance()),
        Notice::StatementLead(team()),
        Notice::WasteDigest(digest()),
        Notice::HealthAssessment(health()),
        Notice::BudgetAlert(budget()),
    ];
    all.extend(alerts());
    all.extend([
        Notice::ReclaimWarning(warning(ZombieClass::IdleSince, Action::Requeue)),
        Notice::ReclaimFinal(warning(ZombieClass::MemoryHeld, Action::Cancel)),
        Notice::ReclaimKept(Kept {
            case: case(),
            by: None,
            until: at("2026-11-06T18:00:00+08:00"),
            reason: s("data is being staged <b>until Friday</b>"),
            page: page("reclaim/case-17"),
        }),
        Notice::ReclaimFreed(Freed {
            case: case(),
            action: Action::Requeue,
            freed: at("2026-11-04T15:03:00+08:00"),
            idle_hours: s("104.0"),
            checkpoint: Some(at("2026-11-04T15:01:00+08:00")),
            page: page("reclaim/case-17"),
        }),
        Notice::ReclaimFailed(ReclaimFailure {
            case: case(),
            action: Action::Cancel,
            tried: at("2026-11-04T15:01:00+08:00"),
            error: s("slurmctld: Invalid job id specified"),
            again: None,
            page: page("reclaim/case-17"),
        }),
        Notice::ManyAlerts(ManyAlerts {
            notice: s("late_node"),
            count: 48,
            named: vec![s("alpha/gpu01"), s("alpha/gpu02")],
            urgent: false,
            since: at("2026-11-04T09:15:00+08:00"),
            page: page(""),
        }),
        Notice::NoContact(NoContact {
            person: s("user:alice"),
            notice: s("reclaim_warning"),
            about: s("case-17"),
            page: page("reclaim/case-17"),
        }),
        Notice::Undelivered(Undelivered {
            person: s("lead:nlp"),
            address: s("lead@example.org"),
            title: s("nlp, October 2026: CNY 124,800.00"),
            answer: s("550 5.1.1 <lead@example.org> unknown"),
            at: at("2026-11-04T15:01:00+08:00"),
            page: page("outbox"),
        }),
        Notice::Test(Test { address: s("gpu@example.org"), at: at("2026-11-04T15:01:00+08:00") }),
    ]);
    all
}
