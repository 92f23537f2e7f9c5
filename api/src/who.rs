//! Who asks, and which rows that may select.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;

/// What somebody is here: a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Everything.
    Admin,
    /// All money: every team's figures, closes, corrections, exports, the audit log.
    Finance,
    /// Rows of their own teams.
    Lead,
    /// Rows of their own jobs.
    Member,
    /// The whole fleet, and cases: approve, hold, kill switch, silence.
    Operator,
    /// Brings segments of one node.
    Node,
    /// Reads `/metrics` alone.
    Metrics,
}

/// Not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of: admin, finance, lead, member, operator, node, metrics")]
pub struct UnknownRole(String);

impl Role {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Admin, Self::Finance, Self::Lead, Self::Member, Self::Operator, Self::Node, Self::Metrics];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Finance => "finance",
            Self::Lead => "lead",
            Self::Member => "member",
            Self::Operator => "operator",
            Self::Node => "node",
            Self::Metrics => "metrics",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|r| r.word() == word).ok_or_else(|| UnknownRole(word.to_owned()))
    }
}

/// Who asks. Made by the guard from a token, a session or the headers of a trusted proxy; never from what a page was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The name that stands in the audit log.
    pub name: String,
    /// What they are.
    pub role: Role,
    /// Teams of a lead.
    pub teams: BTreeSet<String>,
    /// User name of a member on the clusters.
    pub user: Option<String>,
    /// Node that a node's token is for.
    pub node: Option<String>,
}

/// Which rows somebody may select. Empty lists select nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every row.
    All,
    /// Rows of these teams.
    Teams(BTreeSet<String>),
    /// Rows of this user.
    User(String),
    /// No row.
    Nothing,
}

impl Who {
    /// Somebody with a role and nothing else.
    pub fn of(name: &str, role: Role) -> Self {
        Self { name: name.to_owned(), role, teams: BTreeSet::new(), user: None, node: None }
    }

    /// The rows they may select: where rows are selected, and nowhere later.
    pub fn scope(&self) -> Scope {
        match self.role {
            Role::Admin | Role::Finance | Role::Operator => Scope::All,
            Role::Lead => Scope::Teams(self.teams.clone()),
            Role::Member => self.user.clone().map_or(Scope::Nothing, Scope::User),
            Role::Node | Role::Metrics => Scope::Nothing,
        }
    }

    /// Whether they have one of the roles.
    pub fn is(&self, roles: &[Role]) -> bool {
        roles.contains(&self.role)
    }
}

/// Who asks, as handlers take it: absent is 401 (pages are sent to the sign-in page by the guard before).
#[derive(Debug, Clone)]
pub struct Asker(pub Who);

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Who>().cloned().map(Self).ok_or_else(Problem::unknown)
    }
}
