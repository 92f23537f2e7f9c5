//! The real binary, as a person runs it: published data sets with published answers, cases with right answers, and
//! input that is wrong in every way the product promises to survive.
//!
//! Every test has a folder of its own and starts processes; nothing of the engine is linked here.
#![allow(clippy::disallowed_methods, reason = "tests write their inputs and start the program they test")]

mod site;
mod table;

mod alex;
mod audit;
mod bad_lines;
mod bad_places;
mod bad_reference;
mod bad_segments;
mod budgets;
mod case_collector;
mod case_definitions;
mod case_limits;
mod case_modes;
mod case_money;
mod case_slurm;
mod case_time;
mod close;
mod close_proof;
mod commands;
mod defects;
mod demo;
mod findings;
mod fleet;
mod keep;
mod live;
mod live_slurm;
mod openb;
mod philly;
mod prometheus;
mod quote;
mod reclaim;
mod reclaim_slurm;
mod repeat;
mod series;
mod serve;
mod server;
mod slurm_samples;
mod tell;
mod uio;
mod xdmod;
