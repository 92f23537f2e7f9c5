//! The server: routes under `/api/v1`, who may see what, the pages, what is told to whom, and the product's own metrics.
//!
//! Knows no Parquet and no SQL: what a route answers comes from [`answer::Answers`], which the binary fills with the builders
//! that the command line prints from, so that both say the same to the cent. It has no way to stop a job.

// A test that unwraps says where it failed.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod answer;
pub mod ask;
pub mod event;
pub mod guard;
pub mod metrics;
pub mod openapi;
pub mod page;
pub mod problem;
pub mod route;
pub mod server;
pub mod session;
pub mod state;
pub mod tell;
pub mod who;

pub use axum::http::StatusCode;
