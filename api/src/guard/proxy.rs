//! A proxy in front that signs people in and says in headers who asks: believed from its own addresses alone.

use std::collections::BTreeSet;
use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName};
use serde::Deserialize;

use crate::problem::Problem;
use crate::who::{Role, Who};

/// A proxy.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Header with the name of who asks.
    pub user_header: String,
    /// Header with their groups, separated by commas.
    pub groups_header: Option<String>,
    /// Who gets which role; the first that fits.
    #[serde(default)]
    pub grant: Vec<Grant>,
    /// Who fits no grant is a member with their own jobs; else they are nobody.
    #[serde(default)]
    pub members: bool,
}

/// What a user or a group may do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Of this user.
    pub user: Option<String>,
    /// Of this group.
    pub group: Option<String>,
    /// The role: admin, finance, lead, member, operator or metrics.
    pub role: String,
    /// Teams of a lead.
    #[serde(default)]
    pub teams: BTreeSet<String>,
}

/// What is wrong in the configuration of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("server.proxy: {0}")]
pub struct ProxyError(String);

impl Proxy {
    /// Whether everything in it makes sense.
    ///
    /// # Errors
    /// No address or header; a grant of nobody; a role that is none, or with a scope that it lacks.
    pub fn check(&self) -> Result<(), ProxyError> {
        let wrong = |text: String| Err(ProxyError(text));
        if self.addresses.is_empty() {
            return wrong("`addresses` names the proxy: without it anybody could say who they are".to_owned());
        }
        for name in std::iter::once(&self.user_header).chain(&self.groups_header) {
            if name.parse::<HeaderName>().is_err() {
                return wrong(format!("`{name}` is no name of a header"));
            }
        }
        for grant in &self.grant {
            let role: Role = grant.role.parse().map_err(|e| ProxyError(format!("{e}")))?;
            if grant.user.is_some() == grant.group.is_some() {
                return wrong(format!("a grant of `{role}` is for a user or for a group"));
            }
            if role == Role::Node || (role == Role::Lead) == grant.teams.is_empty() {
                return wrong(format!("`{role}`: a lead has teams, nobody else has, and a node bears a token"));
            }
        }
        Ok(())
    }

    /// Whether an address is the proxy's.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        self.addresses.contains(&peer.to_canonical())
    }

    /// Who the headers say asks; absent: they name nobody.
    ///
    /// # Errors
    /// The header is there twice, or is no text; the one that it names has no role here.
    pub fn who(&self, headers: &HeaderMap) -> Result<Option<Who>, Problem> {
        let Some(user) = single(headers, &self.user_header)? else { return Ok(None) };
        let groups = self.groups_header.as_ref().map(|name| single(headers, name)).transpose()?.flatten();
        let groups: Vec<&str> = groups.as_deref().unwrap_or_default().split(',').map(str::trim).collect();
        let fits = |g: &&Grant| {
            g.user.as_ref() == Some(&user) || g.group.as_deref().is_some_and(|group| groups.contains(&group))
        };
        let (role, teams) = match self.grant.iter().find(fits) {
            Some(grant) => (grant.role.parse().unwrap_or(Role::Member), grant.teams.clone()),
            None if self.members => (Role::Member, BTreeSet::new()),
            None => return Err(Problem::forbidden(format!("`{user}` has no role here; ask who runs the server"))),
        };
        let own = (role == Role::Member).then(|| user.clone());
        Ok(Some(Who { name: user, role, teams, user: own, node: None }))
    }
}

fn single(headers: &HeaderMap, name: &str) -> Result<Option<String>, Problem> {
    let mut all = headers.get_all(name).iter();
    let (first, second) = (all.next(), all.next());
    let bad = || Problem::new(axum::http::StatusCode::UNAUTHORIZED, format!("header `{name}` is not one text"));
    if second.is_some() {
        return Err(bad());
    }
    let text = first.map(|v| std::str::from_utf8(v.as_bytes()).map_err(|_| bad())).transpose()?;
    Ok(text.map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy() -> Proxy {
        let grant = |user: Option<&str>, group: Option<&str>, role: &str, teams: &[&str]| Grant {
            user: user.map(str::to_owned),
            group: group.map(str::to_owned),
            role: role.to_owned(),
            teams: teams.iter().map(|t| (*t).to_owned()).collect(),
        };
        Proxy {
            addresses: vec![IpAddr::from([10, 0, 0, 5])],
            user_header: "x-forwarded-user".to_owned(),
            groups_header: Some("x-forwarded-groups".to_owned()),
            grant: vec![grant(Some("grace"), None, "lead", &["nlp"]), grant(None, Some("books"), "finance", &[])],
            members: true,
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        map
    }

    #[test]
    fn the_first_grant_that_fits_counts() {
        let who = |pairs: &[(&'static str, &'static str)]| proxy().who(&headers(pairs)).unwrap();
        let grace = who(&[("x-forwarded-user", "grace"), ("x-forwarded-groups", "books")]).unwrap();
        assert_eq!((grace.role, grace.teams.len()), (Role::Lead, 1));
        assert_eq!(who(&[("x-forwarded-user", "b"), ("x-forwarded-groups", "a, books")]).unwrap().role, Role::Finance);
        let ada = who(&[("x-forwarded-user", "ada")]).unwrap();
        assert_eq!((ada.role, ada.user.as_deref()), (Role::Member, Some("ada")));
        assert_eq!(who(&[]), None);
        let strict = Proxy { members: false, ..proxy() };
        assert_eq!(strict.who(&headers(&[("x-forwarded-user", "ada")])).unwrap_err().status, 403);
        let twice = headers(&[("x-forwarded-user", "ada"), ("x-forwarded-user", "grace")]);
        assert_eq!(proxy().who(&twice).unwrap_err().status, 401);
    }

    #[test]
    fn only_its_own_addresses_are_believed() {
        assert!(proxy().trusts(IpAddr::from([10, 0, 0, 5])) && !proxy().trusts(IpAddr::from([10, 0, 0, 6])));
        assert!(proxy().trusts("::ffff:10.0.0.5".parse().unwrap()));
        assert!(proxy().check().is_ok());
        assert!(Proxy { addresses: Vec::new(), ..proxy() }.check().is_err());
        assert!(Proxy { user_header: "a b".to_owned(), ..proxy() }.check().is_err());
        let no_teams = Grant { user: Some("x".to_owned()), role: "lead".to_owned(), ..Grant::default() };
        assert!(Proxy { grant: vec![no_teams], ..proxy() }.check().is_err());
    }
}
