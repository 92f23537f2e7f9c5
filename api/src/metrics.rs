//! `/metrics`: the product's own health and the fleet's figures.

use crate::state::App;

/// The page in the text format of OpenMetrics.
pub async fn page(_app: &App) -> String {
    "# EOF\n".to_owned()
}
