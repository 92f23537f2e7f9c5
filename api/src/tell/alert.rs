//! What stands wrong: from the rows of `report watch` to notices. Each kind is told to whom it concerns once when it begins, and to
//! an Alertmanager while it stands.

use std::collections::BTreeMap;

use chrono_tz::Tz;
use gpuledger_control::{Alert, NewAlert};
use gpuledger_notify::notice::{
    BrokenCell, Conflict, Gap, Hung, LateNode, ManyAlerts, MemoryOverQuota, NodeLost, Uncalibrated, UnregisteredGpu,
};
use gpuledger_notify::{At, Language, Notice, alertmanager};
use serde_json::Value;

use super::figure::percent_of_share;
use super::link::Links;
use super::post::{Post, Telling};
use super::read::{Row, Trouble, rows};
use crate::answer::Report;
use crate::ask::Ask;
use crate::state::chain;
use crate::who::{Role, Who};

/// Kinds that a look sees: what is not in it any more has ended.
pub(super) const KINDS: [&str; 8] =
    ["late_node", "node_lost", "gap", "conflict", "uncalibrated", "unregistered_gpu", "memory_over_quota", "hung"];
/// More of one kind that begin in one look are told in one message: a switch that fails must not be a mail for each node behind it.
const MANY: usize = 10;
/// Places that such a message names.
const NAMED: usize = 20;

/// The notices of a document of `report watch`.
///
/// # Errors
/// A row lacks what its kind has.
pub(super) fn notices(document: &Value, links: &Links, zone: Tz) -> Result<Vec<Notice>, Trouble> {
    rows(document, "rows")?.into_iter().map(|row| notice(row, links, zone)).collect()
}

fn notice(row: Row<'_>, links: &Links, zone: Tz) -> Result<Notice, Trouble> {
    let (kind, cluster, node) = (row.word("kind")?, row.word("cluster")?, row.word("node")?);
    let at = |ms: Option<i64>| ms.map(|ms| At { ms, zone });
    let needed = |name: &str| -> Result<At, Trouble> {
        at(row.count(name)?).ok_or_else(|| format!("a row of {kind} has no `{name}`"))
    };
    let page = links.node(&node);
    let gpus = || -> Result<i64, Trouble> { Ok(row.count("gpus")?.unwrap_or(0)) };
    let cell = || -> Result<BrokenCell, Trouble> {
        let hours = row.decimal("hours")?.ok_or_else(|| format!("a row of {kind} has no `hours`"))?;
        Ok(BrokenCell {
            cluster: cluster.clone(),
            node: node.clone(),
            from: needed("since_ms")?,
            to: at(row.count("to_ms")?),
            hours: hours.to_digits(1).to_string(),
            page: page.clone(),
        })
    };
    let text = |name: &str| -> Result<Option<String>, Trouble> { Ok(row.text(name)?.map(str::to_owned)) };
    let percent = |name: &str| -> Result<String, Trouble> {
        let share = row.text(name)?.and_then(|t| percent_of_share(t, 0));
        share.ok_or_else(|| format!("a row of {kind} has no `{name}`"))
    };
    Ok(match kind.as_str() {
        "late_node" => Notice::LateNode(LateNode {
            gpus: gpus()?,
            last_seen: at(row.count("since_ms")?),
            late_minutes: row.count("late_minutes")?,
            cluster,
            node,
            page,
        }),
        "node_lost" => Notice::NodeLost(NodeLost {
            gpus: gpus()?,
            jobs: row.count("jobs")?.unwrap_or(0),
            last_seen: at(row.count("since_ms")?),
            state: match (text("state")?, text("reason")?) {
                (Some(state), Some(reason)) => Some(format!("{state}: {reason}")),
                (state, reason) => state.or(reason),
            },
            cluster,
            node,
            page,
        }),
        "uncalibrated" => Notice::Uncalibrated(Uncalibrated {
            gpus: gpus()?,
            model: row.word("model")?,
            since: needed("since_ms")?,
            cluster,
            node,
            page,
        }),
        "unregistered_gpu" => Notice::UnregisteredGpu(UnregisteredGpu {
            uuid: row.word("device")?,
            model: text("model")?.unwrap_or_else(|| "-".to_owned()),
            first_seen: needed("since_ms")?,
            cluster,
            node,
            page,
        }),
        "conflict" => Notice::Conflict(Conflict {
            at: cell()?,
            device: row.word("device")?,
            holders: row.word("job")?.split(", ").map(str::to_owned).collect(),
        }),
        "gap" => Notice::Gap(Gap { at: cell()?, reason: text("reason")? }),
        "memory_over_quota" => {
            let gib = |name: &str| -> Result<String, Trouble> {
                let gib = row.decimal(name)?.ok_or_else(|| format!("a row of {kind} has no `{name}`"))?;
                Ok(gib.to_digits(1).to_string())
            };
            let job = row.word("job")?;
            Notice::MemoryOverQuota(MemoryOverQuota {
                page: links.job(&cluster, &job),
                job_name: text("job_name")?,
                user: text("user")?,
                team: row.word("team")?,
                used_gib: gib("used_gib")?,
                limit_gib: gib("limit_gib")?,
                at: needed("to_ms")?,
                cluster,
                node,
                job,
            })
        }
        "hung" => {
            let job = row.word("job")?;
            let power_mw = row.count("power_mw")?.ok_or_else(|| format!("a row of {kind} has no `power_mw`"))?;
            Notice::Hung(Hung {
                page: links.job(&cluster, &job),
                job_name: text("job_name")?,
                user: text("user")?,
                team: row.word("team")?,
                gpus: gpus()?,
                since: needed("since_ms")?,
                sm_percent: percent("sm")?,
                dram_percent: percent("dram")?,
                power_watts: ((power_mw + 500) / 1_000).to_string(),
                cluster,
                node,
                job,
            })
        }
        other => return Err(format!("`{other}` is no kind of what stands wrong")),
    })
}

/// What a look found and did.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Alerts that stand, by kind.
    pub(super) standing: BTreeMap<&'static str, usize>,
    /// Messages posted.
    pub(super) posted: usize,
}

/// Looks at what stands wrong now, keeps it, and posts what is told of it. Done again it posts nothing more: the key of a message
/// is the alert's number.
///
/// # Errors
/// The look failed (then nothing has ended), a text, or the control file.
pub(super) async fn look(post: &Post<'_>) -> Result<Looked, Trouble> {
    let who = Who::of("gpuledger", Role::Admin);
    let ask = Ask::in_zone(post.zone);
    let what = Report::Watch { at_ms: Some(post.now_ms) };
    let document = post.app.answers().document(&who, &ask, &what).await.map_err(|e| e.detail)?;
    let found = notices(&document.body, post.links, post.zone)?;
    let made: Result<Vec<NewAlert>, _> =
        found.iter().map(|notice| alertmanager::alert(post.texts, post.config, notice, Language::En)).collect();
    let (alerts, now_ms) = (made.map_err(|e| chain(&e))?, post.now_ms);
    let standing = post
        .app
        .control(move |control| {
            control.set_alerts(&KINDS, &alerts, now_ms)?;
            control.alerts_standing()
        })
        .await
        .map_err(|e| e.detail)?;
    let mut looked = Looked::default();
    for kind in KINDS {
        let of_kind: Vec<(&Alert, &Notice)> = standing
            .iter()
            .filter(|a| a.kind == kind)
            .filter_map(|a| found.iter().find(|n| n.name() == kind && n.subject() == a.subject).map(|n| (a, n)))
            .collect();
        looked.standing.insert(kind, of_kind.len());
        looked.posted += begun(post, kind, &of_kind).await?;
    }
    Ok(looked)
}

/// Tells of what has begun, each on its own or, where it is much at once, together. Those that began in one look have its time.
async fn begun(post: &Post<'_>, kind: &'static str, standing: &[(&Alert, &Notice)]) -> Result<usize, Trouble> {
    let mut by_start: BTreeMap<i64, Vec<&(&Alert, &Notice)>> = BTreeMap::new();
    for one in standing {
        by_start.entry(one.0.started_ms).or_default().push(one);
    }
    let mut posted = 0;
    for (started_ms, together) in by_start {
        if together.len() > MANY {
            let cause = format!("alerts/{kind}/{started_ms}");
            if post.was_told(&cause).await? {
                continue;
            }
            let named = together.iter().map(|(alert, _)| alert.subject.clone()).take(NAMED).collect();
            let notice = Notice::ManyAlerts(ManyAlerts {
                notice: kind.to_owned(),
                count: i64::try_from(together.len()).unwrap_or(i64::MAX),
                named,
                urgent: together[0].1.urgent(),
                since: At { ms: started_ms, zone: post.zone },
                page: post.links.budgets(),
            });
            posted += post.post(&cause, &[Telling::plain(cause.clone(), &notice)]).await?.waiting;
        } else {
            for (alert, notice) in together {
                let cause = format!("alert/{}", alert.alert_id);
                if !post.was_told(&cause).await? {
                    posted += post.post(&cause, &[Telling::plain(cause.clone(), notice)]).await?.waiting;
                }
            }
        }
    }
    Ok(posted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A row as the document has it: every column, null where there is nothing.
    fn row(of: Value) -> Value {
        let mut row = json!({
            "kind": null, "cluster": "alpha", "node": "gpu01", "device": null, "model": null, "job": null, "job_name": null,
            "user": null, "team": null, "gpus": null, "since": null, "to": null, "hours": null, "late_minutes": null, "jobs": null,
            "state": null, "reason": null, "sm": null, "dram": null, "power_mw": null, "used_gib": null, "limit_gib": null,
            "since_ms": null, "to_ms": null,
        });
        for (name, value) in of.as_object().unwrap() {
            row[name] = value.clone();
        }
        row
    }

    #[test]
    fn every_kind_becomes_its_notice() {
        let document = json!({"rows": [
            row(json!({"kind": "late_node", "gpus": 8})),
            row(json!({"kind": "node_lost", "gpus": 8, "jobs": 2, "state": "down", "reason": "Not responding", "since_ms": 5})),
            row(json!({"kind": "gap", "since_ms": 0, "to_ms": 900000, "hours": "12.2500"})),
            row(json!({"kind": "conflict", "device": "GPU-1", "since_ms": 0, "to_ms": 900000, "hours": "0.2500", "job": "alpha/7, alpha/8"})),
            row(json!({"kind": "uncalibrated", "gpus": 8, "model": "H200", "since_ms": 0})),
            row(json!({"kind": "unregistered_gpu", "gpus": 1, "device": "GPU-1", "since_ms": 0})),
            row(json!({"kind": "memory_over_quota", "job": "7", "team": "nlp", "used_gib": "41.5", "limit_gib": "40.0", "to_ms": 5})),
            row(json!({"kind": "hung", "job": "7", "team": "nlp", "user": "ada", "gpus": 8, "since_ms": 5, "sm": "0.996000", "dram": "0.004000",
                "power_mw": 142400})),
        ]});
        let found = notices(&document, &Links::new(Some("https://h")), Tz::UTC).unwrap();
        let mut kinds: Vec<&str> = found.iter().map(Notice::name).collect();
        assert_eq!(kinds[0], "late_node");
        kinds.sort_unstable();
        let mut known = KINDS.to_vec();
        known.sort_unstable();
        assert_eq!(kinds, known, "each kind that ends when it is not seen is one that can be seen");
        let Notice::LateNode(late) = &found[0] else { panic!() };
        assert_eq!((late.last_seen, late.late_minutes), (None, None), "never seen is not seen at 0");
        let Notice::NodeLost(lost) = &found[1] else { panic!() };
        assert_eq!(lost.state.as_deref(), Some("down: Not responding"));
        let Notice::Conflict(conflict) = &found[3] else { panic!() };
        assert_eq!((conflict.holders.len(), conflict.at.hours.as_str()), (2, "0.3"));
        let Notice::Hung(hung) = &found[7] else { panic!() };
        assert_eq!(
            (hung.sm_percent.as_str(), hung.dram_percent.as_str(), hung.power_watts.as_str()),
            ("100", "0", "142")
        );
        assert_eq!(hung.page, "https://h/job?job=alpha%2F7");
    }

    #[test]
    fn a_row_that_lacks_what_its_kind_has_is_an_error_that_names_it() {
        let one = |of: Value| notices(&json!({"rows": [row(of)]}), &Links::new(None), Tz::UTC).unwrap_err();
        assert!(one(json!({"kind": "gap", "since_ms": 0})).contains("hours"));
        assert!(one(json!({"kind": "hung", "job": "7", "team": "nlp"})).contains("power_mw"));
        assert!(one(json!({"kind": "else"})).contains("`else`"));
    }
}
