//! What people say of periods, kept in the control file: waivers, answers to lines of drafts, and that a period is closed.

use gpuledger_aggregator::audit;
use gpuledger_aggregator::close::{Answer, Manifest, Waiver};
use gpuledger_aggregator::lake::Lake;
use gpuledger_control::{Control, LineAnswer, Period, PeriodState, Verdict, Who};

use crate::place::Place;

/// Notes in the control file which periods are closed: their documents in the lake are the truth, and a close that died after its
/// document, or went by another control file, left no note here.
pub(in crate::command) fn note_closed(control: &mut Control, manifests: &[Manifest]) -> anyhow::Result<()> {
    for m in manifests {
        let who = Who { actor: m.closed_by.clone(), at_ms: m.closed_ms, reason: None, approver: None };
        let period = Period {
            period: m.period.clone(),
            state: PeriodState::Closed,
            zone: m.zone.clone(),
            from_ms: m.from_ms,
            to_ms: m.to_ms,
            close_id: Some(m.close_id.clone()),
            closed_ms: Some(m.closed_ms),
        };
        control.record_period(&period, &who)?;
    }
    Ok(())
}

/// The control file, or none where nothing was ever written into one.
pub(in crate::command) struct Kept(Option<Control>);

impl Kept {
    /// For reading.
    pub(in crate::command) fn to_read(place: &Place, lake: &Lake) -> anyhow::Result<Self> {
        Ok(Self(place.control(lake)?))
    }

    /// For writing; the writer's lock is held.
    pub(in crate::command) fn to_write(place: &Place, lake: &Lake) -> anyhow::Result<Self> {
        Ok(Self(Some(place.control_to_write(lake)?)))
    }

    fn control(&mut self) -> anyhow::Result<&mut Control> {
        self.0.as_mut().ok_or_else(|| anyhow::anyhow!("the control file is not open"))
    }

    /// What is waived of a period.
    pub(in crate::command) fn waivers(&self, period: &str) -> anyhow::Result<Vec<Waiver>> {
        let found = self.0.as_ref().map(|c| c.waivers(period)).transpose()?.unwrap_or_default();
        let waiver = |w: gpuledger_control::Waiver| Waiver {
            item: w.item,
            reason: w.reason,
            approver: w.approver,
            at_ms: w.at_ms,
        };
        Ok(found.into_iter().map(waiver).collect())
    }

    /// What teams answered to lines of a period.
    pub(in crate::command) fn answers(&self, period: &str) -> anyhow::Result<Vec<Answer>> {
        let found = self.0.as_ref().map(|c| c.answers(period)).transpose()?.unwrap_or_default();
        let answer = |a: LineAnswer| Answer {
            line_id: a.line_id,
            disputed: a.verdict == Verdict::Disputed,
            reason: a.reason.unwrap_or_default(),
            by: a.by,
            at_ms: a.at_ms,
        };
        Ok(found.into_iter().map(answer).collect())
    }

    /// Number and hash of the newest entry of the audit log.
    pub(in crate::command) fn audit_head(&self) -> anyhow::Result<Option<String>> {
        let head = self.0.as_ref().map(Control::audit_head).transpose()?.flatten();
        Ok(head.map(|h| h.to_string()))
    }

    /// Keeps a waiver.
    pub(in crate::command) fn waive(&mut self, period: &str, waiver: &Waiver, actor: &str) -> anyhow::Result<()> {
        Ok(self.control()?.waive(&gpuledger_control::Waiver {
            period: period.to_owned(),
            item: waiver.item.clone(),
            reason: waiver.reason.clone(),
            approver: waiver.approver.clone(),
            actor: actor.to_owned(),
            at_ms: waiver.at_ms,
        })?)
    }

    /// Keeps an answer.
    pub(in crate::command) fn answer(&mut self, period: &str, said: &Answer) -> anyhow::Result<()> {
        Ok(self.control()?.answer(&LineAnswer {
            period: period.to_owned(),
            line_id: said.line_id,
            verdict: if said.disputed { Verdict::Disputed } else { Verdict::Accepted },
            reason: Some(said.reason.clone()).filter(|r| !r.is_empty()),
            by: said.by.clone(),
            at_ms: said.at_ms,
        })?)
    }

    /// Notes that periods are closed, as their documents say; what is noted already changes nothing.
    pub(in crate::command) fn closed(&mut self, manifests: &[Manifest]) -> anyhow::Result<()> {
        note_closed(self.control()?, manifests)
    }

    /// Keeps the head of the audit log in the lake.
    pub(in crate::command) async fn keep_head(&self, lake: &Lake) -> anyhow::Result<()> {
        match &self.0 {
            Some(control) => Ok(audit::keep_head(lake, control).await?),
            None => Ok(()),
        }
    }
}
