//! How window functions run: over their input as a whole.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

/// Takes the plain form of a window function where the engine would take the one for endless inputs. That one keeps a state
/// for every partition of the window, which is most of the time where partitions are cells: some ten thousand of a row or
/// two. All that a window reads here is about to lie in memory anyway. Both give the same rows in the same order.
#[derive(Debug)]
pub(super) struct WholeWindow;

impl PhysicalOptimizerRule for WholeWindow {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() else { return Ok(Transformed::no(node)) };
            if window.input_order_mode != InputOrderMode::Sorted {
                return Ok(Transformed::no(node));
            }
            let by_partition = !window.partition_keys().is_empty();
            let whole =
                WindowAggExec::try_new(window.window_expr().to_vec(), Arc::clone(window.input()), by_partition)?;
            Ok(Transformed::yes(Arc::new(whole) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &str {
        "whole_window"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
