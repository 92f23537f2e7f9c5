//! Alerts that stand: the set of what is wrong now, by kind and subject. An alert manager is told of each again and again
//! while it stands, and of its end until it took that; both survive a restart.

use rusqlite::{Connection, Row, Transaction, params};

use crate::control::Control;
use crate::error::ControlError;

/// Something that is wrong now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// Kind, e.g. `late_node`.
    pub kind: String,
    /// What it is about; with the kind its identity.
    pub subject: String,
    /// Labels as a JSON object: what does not change while it stands.
    pub labels: String,
    /// Annotations as a JSON object: texts and numbers, which may change.
    pub annotations: String,
}

/// An alert as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// Number.
    pub alert_id: i64,
    /// Kind.
    pub kind: String,
    /// What it is about.
    pub subject: String,
    /// Labels as a JSON object.
    pub labels: String,
    /// Annotations as a JSON object.
    pub annotations: String,
    /// Since when, epoch ms.
    pub started_ms: i64,
    /// When it was last seen to stand, epoch ms.
    pub seen_ms: i64,
    /// Its end, epoch ms; absent while it stands.
    pub ended_ms: Option<i64>,
}

impl Alert {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            alert_id: row.get("alert_id")?,
            kind: row.get("kind")?,
            subject: row.get("subject")?,
            labels: row.get("labels")?,
            annotations: row.get("annotations")?,
            started_ms: row.get("started_ms")?,
            seen_ms: row.get("seen_ms")?,
            ended_ms: row.get("ended_ms")?,
        })
    }
}

/// What a look at the world changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertChanges {
    /// Alerts that stand now and did not before.
    pub started: Vec<Alert>,
    /// Alerts that stood and do not any more.
    pub ended: Vec<Alert>,
}

impl Control {
    /// Takes over everything that is wrong now among these kinds: what is new starts, what is not in it ends. A kind that
    /// could not be looked at must not be named: what is not seen has not ended.
    pub fn set_alerts(&mut self, kinds: &[&str], now: &[NewAlert], now_ms: i64) -> Result<AlertChanges, ControlError> {
        self.change("write alerts into", |transaction| Ok(set_within(transaction, kinds, now, now_ms)?))
    }

    /// What an alert manager is to be told: everything that stands, and every end that it has not taken yet.
    pub fn alerts_to_tell(&self) -> Result<Vec<Alert>, ControlError> {
        let select = "SELECT * FROM alert WHERE ended_ms IS NULL OR (told_ms IS NOT NULL AND told_end_ms IS NULL) \
                      ORDER BY alert_id";
        self.alerts(select)
    }

    /// Every alert that stands, oldest first.
    pub fn alerts_standing(&self) -> Result<Vec<Alert>, ControlError> {
        self.alerts("SELECT * FROM alert WHERE ended_ms IS NULL ORDER BY started_ms, alert_id")
    }

    /// Records that an alert manager took these.
    pub fn alerts_told(&mut self, alerts: &[Alert], now_ms: i64) -> Result<(), ControlError> {
        self.change("record alerts in", |transaction| {
            let update = "UPDATE alert SET told_ms = ?2, told_end_ms = ?3 WHERE alert_id = ?1";
            for alert in alerts {
                let end = alert.ended_ms.map(|_| now_ms);
                transaction.prepare_cached(update)?.execute(params![alert.alert_id, now_ms, end])?;
            }
            Ok(())
        })
    }

    fn alerts(&self, select: &str) -> Result<Vec<Alert>, ControlError> {
        let read = || -> rusqlite::Result<Vec<Alert>> {
            self.connection.prepare_cached(select)?.query_map([], Alert::read)?.collect()
        };
        read().map_err(|e| self.error("read alerts from", e))
    }
}

fn standing_of(connection: &Connection, kind: &str) -> rusqlite::Result<Vec<Alert>> {
    let select = "SELECT * FROM alert WHERE kind = ?1 AND ended_ms IS NULL ORDER BY alert_id";
    connection.prepare_cached(select)?.query_map([kind], Alert::read)?.collect()
}

fn set_within(
    transaction: &Transaction<'_>,
    kinds: &[&str],
    now: &[NewAlert],
    now_ms: i64,
) -> rusqlite::Result<AlertChanges> {
    let mut changes = AlertChanges::default();
    for kind in kinds {
        let before = standing_of(transaction, kind)?;
        for mut gone in before.into_iter().filter(|a| !now.iter().any(|n| n.kind == a.kind && n.subject == a.subject)) {
            let ended_ms = now_ms.max(gone.started_ms);
            transaction
                .prepare_cached("UPDATE alert SET ended_ms = ?2 WHERE alert_id = ?1")?
                .execute(params![gone.alert_id, ended_ms])?;
            gone.ended_ms = Some(ended_ms);
            changes.ended.push(gone);
        }
        for new in now.iter().filter(|n| n.kind == *kind) {
            let stood = transaction
                .prepare_cached(
                    "UPDATE alert SET seen_ms = ?3, labels = ?4, annotations = ?5 \
                     WHERE kind = ?1 AND subject = ?2 AND ended_ms IS NULL",
                )?
                .execute(params![new.kind, new.subject, now_ms, new.labels, new.annotations])?;
            if stood == 1 {
                continue;
            }
            transaction
                .prepare_cached(
                    "INSERT INTO alert (kind, subject, labels, annotations, started_ms, seen_ms) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
                )?
                .execute(params![new.kind, new.subject, new.labels, new.annotations, now_ms])?;
            changes.started.push(Alert {
                alert_id: transaction.last_insert_rowid(),
                kind: new.kind.clone(),
                subject: new.subject.clone(),
                labels: new.labels.clone(),
                annotations: new.annotations.clone(),
                started_ms: now_ms,
                seen_ms: now_ms,
                ended_ms: None,
            });
        }
    }
    Ok(changes)
}
