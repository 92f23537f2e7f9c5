//! Reading Slurm: parsers from its text and JSON to plain facts.
//!
//! Text in, facts out: nothing here opens a file, runs a command, reads a clock or knows the lake. A parser returns
//! what could be read and, beside it, what could not, with line, field and reason (see [`slurm::problem`]).

pub mod slurm;
