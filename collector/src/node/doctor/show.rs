//! Findings as a page for the terminal.

use super::{Finding, Severity};

/// Width of a line.
const WIDTH: usize = 100;
/// Where texts begin.
const INDENT: usize = 18;

/// The page: what is broken, what is limited, what works; then one line that sums up.
pub fn show(node: &str, findings: &[Finding]) -> String {
    let mut page = format!("{node}: what can be measured here\n");
    for (severity, title) in [
        (Severity::Broken, "Broken: mend this first"),
        (Severity::Limited, "Limited: recorded as unknown, never as zero"),
        (Severity::Good, "Works"),
    ] {
        let part: Vec<&Finding> = findings.iter().filter(|f| f.severity == severity).collect();
        if part.is_empty() {
            continue;
        }
        page += &format!("\n{title}\n");
        for finding in part {
            line(&mut page, &format!("  {}", finding.about), &finding.says);
            if let Some(means) = &finding.means {
                line(&mut page, "", &format!("So: {means}."));
            }
            if let Some(remedy) = &finding.remedy {
                line(&mut page, "", &format!("Do: {remedy}."));
            }
        }
    }
    page += &format!("\n{}\n", summary(findings));
    page
}

/// One line that sums up.
pub fn summary(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    match (count(Severity::Broken), count(Severity::Limited)) {
        (0, 0) => "Everything can be measured.".to_owned(),
        (0, limited) => format!("Ready; {limited} limited."),
        (broken, limited) => format!("Not ready: {broken} broken, {limited} limited."),
    }
}

/// A label and a text beside it, broken between words.
fn line(page: &mut String, label: &str, text: &str) {
    let mut row = format!("{label:INDENT$}");
    // A label that is too long still leaves a blank before its text.
    if !row.ends_with(' ') && !row.is_empty() {
        row.push(' ');
    }
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && row.chars().count() + 1 + word.chars().count() > WIDTH {
            page.push_str(row.trim_end());
            page.push('\n');
            row = " ".repeat(INDENT);
            empty = true;
        }
        if !empty {
            row.push(' ');
        }
        row.push_str(word);
        empty = false;
    }
    page.push_str(row.trim_end());
    page.push('\n');
}
