//! What this node can and cannot measure, why, and what to do about it: a pure function from probed facts to findings.
//!
//! Every fact may be unknown; an unknown fact is a finding of its own, never good news.

pub mod facts;
pub mod from_nvml;
pub mod from_smi;
pub mod gather;
mod rule;
mod show;

pub use facts::{DeviceFacts, DriverFacts, Facts};
pub use show::{show, summary};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It works.
    Good,
    /// It works, with something missing that is stated in every row.
    Limited,
    /// Nothing, or nothing right, can be recorded until it is mended.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// What was looked at, a few words.
    pub about: String,
    /// What is so.
    pub says: String,
    /// What that does to the records.
    pub means: Option<String>,
    /// What mends it.
    pub remedy: Option<String>,
}

/// Every finding, the worst first, else in the order of [`rule`].
pub fn diagnose(facts: &Facts) -> Vec<Finding> {
    let mut findings = rule::all(facts);
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
    findings
}

/// Exit code: 0 where everything can be measured or only limits were found, 1 where something is broken.
pub fn exit_code(findings: &[Finding]) -> u8 {
    u8::from(findings.iter().any(|f| f.severity == Severity::Broken))
}

#[cfg(test)]
mod tests;
