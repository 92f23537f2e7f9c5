//! Reading schedulers: parsers from what they print or send to plain facts.
//!
//! Text or JSON in, facts out: nothing here opens a file, runs a command, reads a clock or knows the lake. A parser
//! returns what could be read and, beside it, what could not, with the place, the field and the reason.

pub mod kubernetes;
pub mod slurm;
