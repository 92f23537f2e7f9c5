//! Slurm's formats, one module a format, over a few modules that read its values.

pub mod duration;
pub mod gpu;
pub mod gres;
pub mod hostlist;
pub mod job_id;
mod json_outline;
pub mod memory;
mod number;
pub mod problem;
pub mod sacct_job;
pub mod sacct_json;
pub mod sacct_record;
pub mod sacct_text;
pub mod scontrol;
pub mod squeue;
pub mod state;
pub mod time;
pub mod tres;
pub mod witness;

/// Words that Slurm writes where it has no value.
pub(crate) fn is_blank(text: &str) -> bool {
    matches!(text, "" | "(null)" | "N/A" | "None" | "NONE" | "Unknown" | "NOT_SET" | "n/a")
}
