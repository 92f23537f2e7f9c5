//! Routes of a server over answers that are written down: every route by everybody, what is wrong, what a browser is told.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says where it failed")]

mod description;
mod desk;
mod door;
mod ingest;
mod roles;
mod stand_in;
mod stream;
mod tell;
mod tokens;
