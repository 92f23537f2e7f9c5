//! Whom a message is for, and the addresses they have.

use std::fmt;

use gpuledger_schema::table::ContactRow;

/// A role that messages go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Whoever looks after the machines now.
    OnCall,
    /// Whoever books the bills.
    Finance,
    /// Whoever runs gpuledger and decides about cases.
    Operator,
}

impl Role {
    /// The word in contacts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnCall => "on-call",
            Self::Finance => "finance",
            Self::Operator => "operator",
        }
    }
}

/// Somebody a message is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A user, as the scheduler names it.
    User(String),
    /// The lead of a team.
    Lead(String),
    /// A role.
    Role(Role),
}

impl Who {
    /// user, lead or role.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Lead(_) => "lead",
            Self::Role(_) => "role",
        }
    }

    /// The user, the team, or the role's word.
    pub fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::Lead(name) => name,
            Self::Role(role) => role.as_str(),
        }
    }

    /// Their contacts that are valid at an instant, epoch ms.
    pub fn contacts<'a>(&'a self, rows: &'a [ContactRow], now_ms: i64) -> impl Iterator<Item = &'a ContactRow> {
        let valid = move |row: &&ContactRow| row.from_ms <= now_ms && row.to_ms.is_none_or(|to_ms| now_ms < to_ms);
        rows.iter().filter(valid).filter(|row| row.kind == self.kind() && row.name == self.name())
    }
}

/// `lead:nlp`, as silences name it.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.name())
    }
}
