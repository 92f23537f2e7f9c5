//! What stands now, for whoever is told of alerts again and again: open cases, and what stops the engine.

use gpuledger_control::NewAlert;
use gpuledger_notify::alertmanager;
use gpuledger_reclaim::plan::PlanBody;
use gpuledger_reclaim::port::Store as _;
use serde_json::json;

use super::{PlaceEngine, facts};
use crate::place::Place;

/// Kinds of alerts that reclaiming looks at: what it does not name any more has ended.
const KINDS: [&str; 3] = ["idle_gpus", "reclaim_alert", "reclaim_stopped"];

/// Writes down what stands, and tells the Alertmanager where one is configured. One that does not answer stops nothing.
pub(super) async fn standing(
    engine: &mut PlaceEngine,
    place: &Place,
    body: &PlanBody,
    now_ms: i64,
) -> anyhow::Result<()> {
    let mut now = Vec::new();
    for case in engine.store.open_cases()? {
        let Some(a) = facts(&case) else { continue };
        let labels = json!({
            "alertname": "gpuledger_idle_gpus",
            "severity": "warning",
            "subject": case.case_id.to_string(),
            "class": case.class.as_str(),
            "cluster": a.identity.cluster().unwrap_or("-"),
            "node": a.nodes.join(","),
            "team": a.owner.team,
        });
        let annotations = json!({
            "summary": format!("{} holds GPUs and does not use them: {}", a.identity.shown(), case.class),
            "description": format!("{} since {}", case.state, gpuledger_reclaim::utc(case.since_ms)),
        });
        now.push(alert("idle_gpus", case.case_id.to_string(), &labels, &annotations));
    }
    for told in &body.alerts {
        let kind = if told.allocation_id.is_some() { "reclaim_alert" } else { "reclaim_stopped" };
        let about = told.allocation_id.map_or_else(
            || told.text.split(':').next().unwrap_or_default().to_owned(),
            |id| format!("{}/{id}", told.kind),
        );
        let labels = json!({
            "alertname": format!("gpuledger_{}", told.kind),
            "severity": "critical",
            "subject": about,
        });
        now.push(alert(kind, about, &labels, &json!({"summary": told.text})));
    }
    now.sort_by(|a, b| (&a.kind, &a.subject).cmp(&(&b.kind, &b.subject)));
    now.dedup_by(|a, b| a.kind == b.kind && a.subject == b.subject);
    let outbox = engine.notifier.outbox();
    outbox.call(move |c| c.set_alerts(&KINDS, &now, now_ms)).await?;
    if let Some(manager) = &place.config.notify.alertmanager
        && let Err(e) = alertmanager::tell(outbox, manager, now_ms).await
    {
        tracing::error!(error = %e, "the Alertmanager was not told");
    }
    Ok(())
}

fn alert(kind: &str, subject: String, labels: &serde_json::Value, annotations: &serde_json::Value) -> NewAlert {
    NewAlert { kind: kind.to_owned(), subject, labels: labels.to_string(), annotations: annotations.to_string() }
}
