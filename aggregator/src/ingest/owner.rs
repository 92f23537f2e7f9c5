//! Whose rows a segment may hold. A node delivers into a folder of its own, `inbox/<node>/`, and may speak of itself
//! only: its device rows and looks name it, and its minutes are of devices that no other node has.

use std::collections::{BTreeSet, HashMap};

use datafusion::arrow::array::{Array, AsArray, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::logical_expr::col;
use gpuledger_schema::path::{SegmentName, safe_writer};
use gpuledger_schema::table::{
    CalibrationRow, DeviceClaimRow, DeviceMinuteRow, DeviceRow, ProcessMinuteRow, ReadingRow, Row,
};

use super::segment::{Checked, Problem};
use super::{IngestError, compare};
use crate::engine::Engine;
use crate::lake::{Cut, Lake};

/// Tables that a node writes.
const OF_NODES: &[&str] = &[
    ProcessMinuteRow::TABLE.name,
    DeviceMinuteRow::TABLE.name,
    DeviceRow::TABLE.name,
    DeviceClaimRow::TABLE.name,
    ReadingRow::TABLE.name,
    CalibrationRow::TABLE.name,
];

/// Which nodes have (or had) a device.
#[derive(Debug, Default)]
pub(super) struct Owners {
    nodes_of: HashMap<i64, BTreeSet<String>>,
}

/// The node in whose folder a segment waits; `None` for one that lies in the inbox itself.
pub(super) fn folder_of(name: &str) -> Option<&str> {
    name.split_once('/').map(|(node, _)| node)
}

/// The segment's own name.
pub(super) fn file_of(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, file)| file)
}

impl Owners {
    /// What the lake knows.
    pub(super) async fn of(lake: &Lake, cut: &Cut) -> Result<Self, IngestError> {
        let spec = DeviceRow::TABLE;
        let mut owners = Self::default();
        let Some(version) = cut.tables.get(spec.name) else { return Ok(owners) };
        let engine = Engine::new(1);
        engine.register(spec.name, lake.provider_at(&spec, *version).await?)?;
        let fail = |e| compare(&spec, e);
        let table = engine.context().table(spec.name).await.map_err(fail)?;
        let known = table.select(vec![col("device_id"), col("node")]).map_err(fail)?.collect().await.map_err(fail)?;
        for batch in known {
            owners.learn(&batch);
        }
        Ok(owners)
    }

    /// Takes up device rows that were accepted.
    pub(super) fn learn(&mut self, devices: &RecordBatch) {
        let (ids, nodes) = (integers(devices, "device_id"), texts(devices, "node"));
        for (id, node) in ids.iter().zip(nodes.iter().flat_map(|n| n.iter())) {
            self.nodes_of.entry(*id).or_default().insert(node.unwrap_or_default().to_owned());
        }
    }

    /// Refuses what a node says of another.
    pub(super) fn admit(&self, checked: &Checked) -> Result<(), Problem> {
        let Some(node) = folder_of(&checked.entry.name) else { return Ok(()) };
        if !OF_NODES.contains(&checked.table.name) {
            return Err(Problem::NotOfANode(checked.table.name));
        }
        let writer = SegmentName::parse(file_of(&checked.entry.name)).map(|n| n.writer);
        if writer.as_deref() != Some(safe_writer(node).as_str()) {
            return Err(Problem::Foreign { node: node.to_owned(), other: writer.unwrap_or_default() });
        }
        for batch in &checked.rows {
            self.admit_rows(node, batch)?;
        }
        Ok(())
    }

    fn admit_rows(&self, node: &str, batch: &RecordBatch) -> Result<(), Problem> {
        let foreign = |other: &str| Problem::Foreign { node: node.to_owned(), other: other.to_owned() };
        if let Some(named) = texts(batch, "node") {
            // a look without a node is not a node's
            let other = named.iter().map(Option::unwrap_or_default).find(|n| safe_writer(n) != node);
            return other.map_or(Ok(()), |other| Err(foreign(other)));
        }
        for id in integers(batch, "device_id") {
            if let Some(nodes) = self.nodes_of.get(&id)
                && !nodes.iter().any(|n| safe_writer(n) == node)
            {
                return Err(foreign(nodes.first().map_or("", String::as_str)));
            }
        }
        Ok(())
    }
}

fn integers(batch: &RecordBatch, column: &str) -> Vec<i64> {
    let found = batch.column_by_name(column).and_then(|c| c.as_primitive_opt::<Int64Type>());
    found.map(|c| c.values().to_vec()).unwrap_or_default()
}

fn texts(batch: &RecordBatch, column: &str) -> Option<StringArray> {
    let plain = cast(batch.column_by_name(column)?, &DataType::Utf8).ok()?;
    plain.as_any().downcast_ref::<StringArray>().cloned()
}
