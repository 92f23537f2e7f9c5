//! The lake: ingest, run a statement, publish a table, report.
