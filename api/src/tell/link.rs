//! Addresses of pages in mails. They are whole URLs where the configuration says under which people reach the pages, and paths else.

use std::fmt::Write as _;

/// Where people reach the pages.
#[derive(Debug, Clone)]
pub(super) struct Links {
    base: String,
}

impl Links {
    /// Links below an address; absent: paths alone.
    pub(super) fn new(public_url: Option<&str>) -> Self {
        Self { base: public_url.unwrap_or_default().trim_end_matches('/').to_owned() }
    }

    fn to(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let mut out = format!("{}{path}", self.base);
        for (n, (name, value)) in parameters.iter().enumerate() {
            let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            let _ = write!(out, "{}{name}={value}", if n == 0 { '?' } else { '&' });
        }
        out
    }

    /// A month's bill; of one team its statement.
    pub(super) fn statement(&self, month: &str, team: Option<&str>) -> String {
        match team {
            None => self.to("/chargeback", &[("month", month)]),
            Some(team) => self.to("/chargeback/statement", &[("month", month), ("team", team)]),
        }
    }

    /// Findings of a month.
    pub(super) fn waste(&self, month: &str, team: &str) -> String {
        self.to("/waste", &[("month", month), ("team", team)])
    }

    /// The health assessment up to a month.
    pub(super) fn health(&self, month: &str) -> String {
        self.to("/health", &[("month", month)])
    }

    /// Budgets stand on the overview.
    pub(super) fn budgets(&self) -> String {
        self.to("/", &[])
    }

    /// A node of the fleet.
    pub(super) fn node(&self, node: &str) -> String {
        self.to("/fleet", &[("node", node)])
    }

    /// A run.
    pub(super) fn job(&self, cluster: &str, job: &str) -> String {
        self.to("/job", &[("run", &format!("{cluster}/{job}"))])
    }

    /// Where contacts are.
    pub(super) fn contacts(&self) -> String {
        self.to("/settings/table", &[("table", "contacts")])
    }

    /// Where it stands what became of messages.
    pub(super) fn outbox(&self) -> String {
        self.to("/settings", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_an_address_stays_a_name() {
        let links = Links::new(Some("https://gpu.example.org/"));
        assert_eq!(
            links.statement("2026-10", Some("视觉 <b>&month=x")),
            "https://gpu.example.org/chargeback/statement?month=2026-10&team=%E8%A7%86%E8%A7%89+%3Cb%3E%26month%3Dx"
        );
        assert_eq!(Links::new(None).job("alpha", "7[2]"), "/job?run=alpha%2F7%5B2%5D");
    }
}
