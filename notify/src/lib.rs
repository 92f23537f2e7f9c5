//! Mail, chat and alerts: what people are told, in their language, and how it reaches them.
//!
//! Three steps, each of which can be looked at alone. A typed [`Notice`] says what happened; [`compose`] makes messages of
//! it, one for each address of everybody whom it concerns, with texts that are files (`texts/en`, `texts/zh`); they are
//! posted into the outbox of the control file, and can be by the transaction that writes what they tell of. A [`Courier`] delivers what
//! is due: by SMTP or to webhooks. Alerts that stand are told to an Alertmanager by [`alertmanager`].
//!
//! This crate knows no lake, no SQL, no prices and no pages: figures come in as decimal text, links as URLs. It reads no
//! clock; the one who runs the courier lends one.

// A test that unwraps says where it failed.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that unwraps says where it failed"))]

pub mod alertmanager;
mod base64;
mod calendar;
mod compose;
pub mod config;
mod courier;
pub mod doctor;
mod http;
pub mod mail;
pub mod notice;
pub mod smtp;
mod store;
mod texts;
mod value;
pub mod webhook;
mod who;

pub use calendar::{CalendarError, WorkCalendar};
pub use compose::{Composed, Occasion, compose, test_message};
pub use courier::{Clock, Courier, Round, backoff_ms};
pub use notice::Notice;
pub use store::Store;
pub use texts::{Language, Reader, Rendered, TextError, Texts};
pub use value::At;
pub use who::{Role, Who};
