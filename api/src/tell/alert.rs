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
    let read =
        Reader { row, kind: row.word("kind")?, cluster: row.word("cluster")?, node: row.word("node")?, links, zone };
    match read.kind.as_str() {
        "late_node" | "node_lost" => read.silent_node(),
        "uncalibrated" | "unregistered_gpu" => read.card(),
        "conflict" => Ok(Notice::Conflict(Conflict {
            at: read.cell()?,
            device: row.word("device")?,
            holders: row.word("job")?.split(", ").map(str::to_owned).collect(),
        })),
        "gap" => Ok(Notice::Gap(Gap { at: read.cell()?, reason: read.text("reason")? })),
        "memory_over_quota" => read.memory(),
        "hung" => read.hung(),
        other => Err(format!("`{other}` is no kind of what stands wrong")),
    }
}

/// A row with what every kind has.
struct Reader<'a> {
    row: Row<'a>,
    kind: String,
    cluster: String,
    node: String,
    links: &'a Links,
    zone: Tz,
}

impl Reader<'_> {
    fn needed<T>(&self, name: &str, found: Option<T>) -> Result<T, Trouble> {
        found.ok_or_else(|| format!("a row of {} has no `{name}`", self.kind))
    }

    fn at(&self, name: &str) -> Result<Option<At>, Trouble> {
        Ok(self.row.count(name)?.map(|ms| At { ms, zone: self.zone }))
    }

    fn instant(&self, name: &str) -> Result<At, Trouble> {
        self.needed(name, self.at(name)?)
    }

    fn text(&self, name: &str) -> Result<Option<String>, Trouble> {
        Ok(self.row.text(name)?.map(str::to_owned))
    }

    fn count(&self, name: &str) -> Result<i64, Trouble> {
        self.needed(name, self.row.count(name)?)
    }

    /// A decimal number with one digit.
    fn decimal(&self, name: &str) -> Result<String, Trouble> {
        Ok(self.needed(name, self.row.decimal(name)?)?.to_digits(1).to_string())
    }

    fn percent(&self, name: &str) -> Result<String, Trouble> {
        self.needed(name, self.row.text(name)?.and_then(|share| percent_of_share(share, 0)))
    }

    fn cell(&self) -> Result<BrokenCell, Trouble> {
        Ok(BrokenCell {
            cluster: self.cluster.clone(),
            node: self.node.clone(),
            from: self.instant("since_ms")?,
            to: self.at("to_ms")?,
            hours: self.decimal("hours")?,
            page: self.links.node(&self.node),
        })
    }

    fn silent_node(&self) -> Result<Notice, Trouble> {
        let (cluster, node, page) = (self.cluster.clone(), self.node.clone(), self.links.node(&self.node));
        let (gpus, last_seen) = (self.count("gpus")?, self.at("since_ms")?);
        if self.kind == "late_node" {
            let late_minutes = self.row.count("late_minutes")?;
            return Ok(Notice::LateNode(LateNode { cluster, node, gpus, last_seen, late_minutes, page }));
        }
        let state = match (self.text("state")?, self.text("reason")?) {
            (Some(state), Some(reason)) => Some(format!("{state}: {reason}")),
            (state, reason) => state.or(reason),
        };
        let jobs = self.count("jobs")?;
        Ok(Notice::NodeLost(NodeLost { cluster, node, gpus, jobs, last_seen, state, page }))
    }

    fn card(&self) -> Result<Notice, Trouble> {
        let (cluster, node, page) = (self.cluster.clone(), self.node.clone(), self.links.node(&self.node));
        let (model, since) = (self.text("model")?.unwrap_or_else(|| "-".to_owned()), self.instant("since_ms")?);
        if self.kind == "uncalibrated" {
            let gpus = self.count("gpus")?;
            return Ok(Notice::Uncalibrated(Uncalibrated { cluster, node, gpus, model, since, page }));
        }
        let uuid = self.row.word("device")?;
        Ok(Notice::UnregisteredGpu(UnregisteredGpu { cluster, node, uuid, model, first_seen: since, page }))
    }

    fn memory(&self) -> Result<Notice, Trouble> {
        let job = self.row.word("job")?;
        Ok(Notice::MemoryOverQuota(MemoryOverQuota {
            page: self.links.job(&self.cluster, &job),
            cluster: self.cluster.clone(),
            node: self.node.clone(),
            job,
            job_name: self.text("job_name")?,
            user: self.text("user")?,
            team: self.row.word("team")?,
            used_gib: self.decimal("used_gib")?,
            limit_gib: self.decimal("limit_gib")?,
            at: self.instant("to_ms")?,
        }))
    }

    fn hung(&self) -> Result<Notice, Trouble> {
        let job = self.row.word("job")?;
        Ok(Notice::Hung(Hung {
            page: self.links.job(&self.cluster, &job),
            cluster: self.cluster.clone(),
            node: self.node.clone(),
            job,
            job_name: self.text("job_name")?,
            user: self.text("user")?,
            team: self.row.word("team")?,
            gpus: self.count("gpus")?,
            since: self.instant("since_ms")?,
            sm_percent: self.percent("sm")?,
            dram_percent: self.percent("dram")?,
            power_watts: ((self.count("power_mw")? + 500) / 1_000).to_string(),
        }))
    }
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
        assert_eq!(hung.page, "https://h/job?run=alpha%2F7");
    }

    #[test]
    fn a_row_that_lacks_what_its_kind_has_is_an_error_that_names_it() {
        let one = |of: Value| notices(&json!({"rows": [row(of)]}), &Links::new(None), Tz::UTC).unwrap_err();
        assert!(one(json!({"kind": "gap", "since_ms": 0})).contains("hours"));
        assert!(one(json!({"kind": "hung", "job": "7", "team": "nlp"})).contains("gpus"));
        assert!(one(json!({"kind": "else"})).contains("`else`"));
    }
}
