//! Running a statement: the only place that gives SQL text to DataFusion.
//!
//! Settings that change results are set here and nowhere else. A statement's parameters are compared with the
//! values given, both ways, with their types; step tables are registered through one function.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::datasource::{MemTable, ViewTable};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};

use crate::statement::{self, HeaderError, Statement};

mod whole_window;

use whole_window::WholeWindow;

/// Values bound to a statement's parameters.
pub type Params = BTreeMap<&'static str, ScalarValue>;

/// Why a statement could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No file of that name.
    #[error("there is no statement `{0}`")]
    Unknown(String),
    /// A header is wrong.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Parameters declared, used and given differ.
    #[error("sql/{statement}.sql: parameters {what}")]
    Parameters {
        /// The statement.
        statement: String,
        /// What differs.
        what: String,
    },
    /// The engine refused or failed.
    #[error("sql/{statement}.sql failed")]
    Run {
        /// The statement.
        statement: String,
        /// Why.
        #[source]
        source: Box<DataFusionError>,
    },
    /// A table could not be registered.
    #[error("cannot register table `{table}`")]
    Register {
        /// The table.
        table: String,
        /// Why.
        #[source]
        source: Box<DataFusionError>,
    },
}

/// A session with the tables of one run.
#[derive(Clone)]
pub struct Engine {
    context: SessionContext,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// An `i64` to bind as BIGINT.
pub fn bigint(value: i64) -> ScalarValue {
    ScalarValue::Int64(Some(value))
}

/// An `i32` to bind as INT.
pub fn int(value: i32) -> ScalarValue {
    ScalarValue::Int32(Some(value))
}

/// A text to bind as VARCHAR.
pub fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8(Some(value.to_owned()))
}

impl Engine {
    /// A session that uses `partitions` threads; results do not depend on their number.
    pub fn new(partitions: usize) -> Self {
        let mut config = SessionConfig::new().with_target_partitions(partitions.max(1)).with_information_schema(true);
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        config.options_mut().execution.time_zone = Some("UTC".into());
        // sizes are estimated through joins and groupings too, so that the smaller side of a join is the one kept in memory
        config.options_mut().optimizer.use_statistics_registry = true;
        // the generic dialect takes `, cluster` for a trailing comma before CLUSTER BY
        config.options_mut().sql_parser.dialect = datafusion::config::Dialect::PostgreSQL;
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .with_physical_optimizer_rule(Arc::new(WholeWindow))
            .build();
        Self { context: SessionContext::new_with_state(state) }
    }

    /// A session of its own over the tables of this one: what either registers from now on, the other does not see.
    pub async fn fork(&self, partitions: usize) -> Result<Self, EngineError> {
        let other = Self::new(partitions);
        for table in self.tables() {
            let fail = |e| EngineError::Register { table: table.clone(), source: Box::new(e) };
            let provider = self.context.table_provider(table.as_str()).await.map_err(fail)?;
            other.register(&table, provider)?;
        }
        Ok(other)
    }

    /// Names of everything that is registered.
    fn tables(&self) -> Vec<String> {
        let options = self.context.copied_config();
        let catalog = &options.options().catalog;
        let schema = self.context.catalog(&catalog.default_catalog).and_then(|c| c.schema(&catalog.default_schema));
        schema.map(|s| s.table_names()).unwrap_or_default()
    }

    /// Threads that a statement of this session uses.
    pub fn partitions(&self) -> usize {
        self.context.copied_config().target_partitions()
    }

    /// The session, for a reader's own SQL and for tests.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Registers what a table is read from, replacing what stood under that name.
    pub fn register(&self, table: &str, provider: Arc<dyn TableProvider>) -> Result<(), EngineError> {
        let fail = |e| EngineError::Register { table: table.to_owned(), source: Box::new(e) };
        self.context.deregister_table(table).map_err(fail)?;
        self.context.register_table(table, provider).map_err(fail)?;
        Ok(())
    }

    /// Registers rows as a step table. A cluster would put them into Parquet here; SQL cannot tell.
    pub fn register_rows(&self, table: &str, schema: SchemaRef, rows: Vec<RecordBatch>) -> Result<(), EngineError> {
        let memory = MemTable::try_new(schema, vec![rows])
            .map_err(|e| EngineError::Register { table: table.to_owned(), source: Box::new(e) })?;
        self.register(table, Arc::new(memory))
    }

    /// Registers an empty table with the columns of `spec`.
    pub fn register_empty(&self, spec: &gpuledger_schema::table::Table) -> Result<(), EngineError> {
        self.register_rows(spec.name, spec.schema(), Vec::new())
    }

    /// Plans a statement with its parameters bound.
    #[allow(clippy::disallowed_methods, reason = "the one place that gives the text of a statement to the engine")]
    pub async fn plan(&self, name: &str, params: &Params) -> Result<DataFrame, EngineError> {
        let statement = statement::find(name).ok_or_else(|| EngineError::Unknown(name.to_owned()))?;
        let declared = statement.header()?.parameters;
        let fail = |e| EngineError::Run { statement: name.to_owned(), source: Box::new(e) };
        let frame = self.context.sql(statement.text).await.map_err(fail)?;
        let used = frame.logical_plan().get_parameter_names().map_err(fail)?;
        agree(&statement, &declared, &used.into_iter().collect(), params)?;
        if params.is_empty() {
            return Ok(frame);
        }
        let values: Vec<(&str, ScalarValue)> = params.iter().map(|(k, v)| (*k, v.clone())).collect();
        frame.with_param_values(ParamValues::from(values)).map_err(fail)
    }

    /// Runs a statement.
    pub async fn run(&self, name: &str, params: &Params) -> Result<(SchemaRef, Vec<RecordBatch>), EngineError> {
        let fail = |e| EngineError::Run { statement: name.to_owned(), source: Box::new(e) };
        let frame = self.plan(name, params).await?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        let rows = frame.collect().await.map_err(fail)?;
        tracing::debug!(statement = name, rows = rows.iter().map(RecordBatch::num_rows).sum::<usize>(), "ran");
        Ok((schema, rows))
    }

    /// Runs a statement and registers what it gives under its declared output. Gives the number of rows.
    pub async fn step(&self, name: &str, params: &Params) -> Result<usize, EngineError> {
        Ok(self.step_rows(name, params).await?.iter().map(RecordBatch::num_rows).sum())
    }

    /// Registers a statement as a view under its declared output: each statement that reads it runs it again, with the columns that it
    /// asks for. For what has too many rows to be kept.
    pub async fn view(&self, name: &str, params: &Params) -> Result<(), EngineError> {
        let statement = statement::find(name).ok_or_else(|| EngineError::Unknown(name.to_owned()))?;
        let output = statement.header()?.output;
        let plan = self.plan(name, params).await?.into_unoptimized_plan();
        self.register(&output, Arc::new(ViewTable::new(plan, None)))
    }

    /// The same as [`Self::step`], giving the rows.
    pub async fn step_rows(&self, name: &str, params: &Params) -> Result<Vec<RecordBatch>, EngineError> {
        let statement = statement::find(name).ok_or_else(|| EngineError::Unknown(name.to_owned()))?;
        let output = statement.header()?.output;
        let (schema, rows) = self.run(name, params).await?;
        let schema = rows.first().map_or(schema, RecordBatch::schema);
        self.register_rows(&output, schema, rows.clone())?;
        Ok(rows)
    }
}

fn agree(
    statement: &Statement,
    declared: &BTreeMap<String, String>,
    used: &std::collections::BTreeSet<String>,
    given: &Params,
) -> Result<(), EngineError> {
    let fail = |what: String| EngineError::Parameters { statement: statement.name.to_owned(), what };
    let used: Vec<String> = used.iter().map(|n| n.trim_start_matches('$').to_owned()).collect();
    for name in &used {
        if !declared.contains_key(name) {
            return Err(fail(format!("use ${name}, which the header does not declare")));
        }
    }
    for (name, kind) in declared {
        if !used.contains(name) {
            return Err(fail(format!("declare ${name}, which the statement does not use")));
        }
        let Some(value) = given.get(name.as_str()) else { return Err(fail(format!("lack a value for ${name}"))) };
        let found = match value.data_type() {
            DataType::Int64 => "BIGINT",
            DataType::Int32 => "INT",
            DataType::Utf8 => "VARCHAR",
            DataType::Boolean => "BOOLEAN",
            _ => "another type",
        };
        if found != kind {
            return Err(fail(format!("declare ${name} as {kind}, and it was given as {found}")));
        }
    }
    match given.keys().find(|k| !declared.contains_key(**k)) {
        Some(surplus) => Err(fail(format!("do not include ${surplus}, which was given"))),
        None => Ok(()),
    }
}

/// The first expression or column of a floating type in a plan: rules of ledger, charge and check may have none.
pub fn float_in(plan: &LogicalPlan) -> Result<Option<String>, DataFusionError> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        for field in node.schema().fields() {
            if field.data_type().is_floating() {
                found = Some(format!("column {}", field.name()));
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        for e in node.expressions() {
            e.apply(|inner| {
                if let datafusion::logical_expr::Expr::Literal(value, _) = inner
                    && value.data_type().is_floating()
                {
                    found = Some(format!("literal {value}"));
                    return Ok(TreeNodeRecursion::Stop);
                }
                if let datafusion::logical_expr::Expr::Cast(cast) = inner
                    && cast.field.data_type().is_floating()
                {
                    found = Some(format!("cast {inner}"));
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}
