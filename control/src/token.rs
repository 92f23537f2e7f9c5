//! Tokens: who may ask the server, as what, until when. Kept by the hash of their secret, which is shown once.
//!
//! A secret is 256 random bits, so that a plain hash is enough: there is nothing to guess. It is written
//! `glt_<id>_<64 hex digits>`; the id is no secret and names the token in lists and in the audit log.

use std::collections::BTreeSet;

use gpuledger_schema::hash::{hex, sha256_hex};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::audit::{Action, Happened, Who};
use crate::control::Control;
use crate::error::ControlError;
use crate::period::refused;

/// Beginning of every token.
const PREFIX: &str = "glt_";
/// Longest life of a token: a year and a day.
const LIFE_MAX_MS: i64 = 366 * 86_400_000;
/// Roles, a closed list.
const ROLES: [&str; 7] = ["admin", "finance", "lead", "member", "operator", "node", "metrics"];
const COLUMNS: &str = "token_id, name, role, teams, user_name, node, created_ms, created_by, expires_ms, revoked_ms, \
                       revoked_by, rotates";

/// What a token lets its bearer do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grant {
    /// Who bears it, as the audit log will name them.
    pub name: String,
    /// `admin`, `finance`, `lead`, `member`, `operator`, `node` or `metrics`.
    pub role: String,
    /// Teams, of a lead alone.
    pub teams: BTreeSet<String>,
    /// User name on the clusters, of a member alone.
    pub user: Option<String>,
    /// Node, of a node alone.
    pub node: Option<String>,
}

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id: 12 hex digits, no secret.
    pub id: String,
    /// What it lets its bearer do.
    pub grant: Grant,
    /// When it was made, epoch ms.
    pub created_ms: i64,
    /// By whom.
    pub created_by: String,
    /// First instant at which it no longer counts, epoch ms.
    pub expires_ms: i64,
    /// When it was taken back.
    pub revoked_ms: Option<i64>,
    /// By whom.
    pub revoked_by: Option<String>,
    /// The token that it takes the place of.
    pub rotates: Option<String>,
}

impl Token {
    /// Whether it counts at an instant.
    pub fn counts(&self, now_ms: i64) -> bool {
        now_ms < self.expires_ms && self.revoked_ms.is_none_or(|at| now_ms < at)
    }

    /// In a word: `counts`, `expired`, `revoked`.
    pub fn state(&self, now_ms: i64) -> &'static str {
        match self.revoked_ms {
            Some(at) if at <= now_ms => "revoked",
            _ if self.expires_ms <= now_ms => "expired",
            _ => "counts",
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            grant: Grant {
                name: row.get(1)?,
                role: row.get(2)?,
                teams: BTreeSet::new(),
                user: row.get(4)?,
                node: row.get(5)?,
            },
            created_ms: row.get(6)?,
            created_by: row.get(7)?,
            expires_ms: row.get(8)?,
            revoked_ms: row.get(9)?,
            revoked_by: row.get(10)?,
            rotates: row.get(11)?,
        })
    }
}

/// A token that was just made, with the text that is shown this once.
#[derive(Clone, PartialEq, Eq)]
pub struct Minted {
    /// What is kept of it.
    pub token: Token,
    /// What its bearer sends.
    pub secret: String,
}

impl std::fmt::Debug for Minted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Minted").field("token", &self.token).finish_non_exhaustive()
    }
}

/// What a text that is no token looks like from outside: nothing is looked up for it.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_hex =
        |t: &str, n: usize| t.len() == n && t.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (is_hex(id, 12) && is_hex(secret, 64)).then_some((id, secret))
}

impl Control {
    /// Makes a token. `random` is 32 bytes that nobody can guess; `who` makes it, now.
    ///
    /// # Errors
    /// [`ControlError::Not`]: an unknown role, a scope that the role does not have or lacks, a life of no time or of over 366 days.
    pub fn mint(
        &mut self,
        grant: &Grant,
        expires_ms: i64,
        random: [u8; 32],
        who: &Who,
    ) -> Result<Minted, ControlError> {
        self.mint_for(grant, expires_ms, random, who, None)
    }

    /// Makes a token with the grant of another, which stays good until `old_until_ms` and no longer.
    ///
    /// # Errors
    /// As [`Control::mint`], and where there is no such token or it counts no more.
    pub fn rotate_token(
        &mut self,
        id: &str,
        expires_ms: i64,
        old_until_ms: i64,
        random: [u8; 32],
        who: &Who,
    ) -> Result<Minted, ControlError> {
        let old = self.tokens()?.into_iter().find(|t| t.id == id);
        let old = old.filter(|t| t.counts(who.at_ms)).ok_or_else(|| none(id))?;
        let minted = self.mint_for(&old.grant, expires_ms, random, who, Some(id))?;
        self.end_token(&old, old_until_ms.min(old.expires_ms).max(who.at_ms), who)?;
        Ok(minted)
    }

    /// Takes a token back at once.
    ///
    /// # Errors
    /// [`ControlError::Not`]: there is no such token, or it was taken back before.
    pub fn revoke_token(&mut self, id: &str, who: &Who) -> Result<(), ControlError> {
        let old = self.tokens()?.into_iter().find(|t| t.id == id);
        let old = old.filter(|t| t.revoked_ms.is_none_or(|at| at > who.at_ms)).ok_or_else(|| none(id))?;
        self.end_token(&old, who.at_ms, who)
    }

    /// Every token there ever was, oldest first.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn tokens(&self) -> Result<Vec<Token>, ControlError> {
        all(self.connection()).map_err(|e| self.error("read tokens from", e))
    }

    /// The token of a text that somebody sent, if it counts at that instant.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn token_of(&self, text: &str, now_ms: i64) -> Result<Option<Token>, ControlError> {
        let Some((id, secret)) = parts(text) else { return Ok(None) };
        let read = || -> rusqlite::Result<Option<Token>> {
            let select = format!("SELECT {COLUMNS} FROM token WHERE token_id = ?1 AND sha256 = ?2");
            let hash = sha256_hex(secret.as_bytes());
            let found = self
                .connection()
                .query_row(&select, params![id, hash], |r| Ok((Token::read(r)?, r.get::<_, String>(3)?)))
                .optional()?;
            found.map(|(token, teams)| with_teams(self.connection(), token, &teams)).transpose()
        };
        let token = read().map_err(|e| self.error("read tokens from", e))?;
        Ok(token.filter(|t| t.counts(now_ms)))
    }

    /// Random bytes that are kept here under a name, as hexadecimal digits: `random` the first time, and the same ever after.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn secret(&mut self, name: &str, random: [u8; 32]) -> Result<String, ControlError> {
        self.change("write to", |c| {
            c.execute(
                "INSERT INTO secret (name, hex) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![name, hex(&random)],
            )?;
            Ok(c.query_row("SELECT hex FROM secret WHERE name = ?1", [name], |r| r.get(0))?)
        })
    }

    fn mint_for(
        &mut self,
        grant: &Grant,
        expires_ms: i64,
        random: [u8; 32],
        who: &Who,
        rotates: Option<&str>,
    ) -> Result<Minted, ControlError> {
        fits(grant)?;
        if expires_ms <= who.at_ms || expires_ms - who.at_ms > LIFE_MAX_MS {
            return Err(refused("token", "a token counts for 1 ms to 366 days".to_owned()));
        }
        let secret = hex(&random);
        // the id comes from the secret by a hash, so that it says nothing of it
        let id = sha256_hex(format!("id of {secret}").as_bytes())[..12].to_owned();
        let token = Token {
            id: id.clone(),
            grant: grant.clone(),
            created_ms: who.at_ms,
            created_by: who.actor.clone(),
            expires_ms,
            revoked_ms: None,
            revoked_by: None,
            rotates: rotates.map(str::to_owned),
        };
        let hash = sha256_hex(secret.as_bytes());
        self.write(who, |transaction, log| {
            let teams = list_json(transaction, &grant.teams)?;
            transaction.execute(
                "INSERT INTO token (token_id, name, role, teams, user_name, node, sha256, created_ms, created_by, \
                 expires_ms, rotates) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    token.id,
                    grant.name,
                    grant.role,
                    teams,
                    grant.user,
                    grant.node,
                    hash,
                    token.created_ms,
                    token.created_by,
                    token.expires_ms,
                    token.rotates
                ],
            )?;
            log.append(Happened {
                action: Action::Add,
                table: "token",
                subject: format!("{} {} ({})", token.id, grant.name, grant.role),
                version: None,
                source: None,
                before: None,
                after: Some(token_json(transaction, &token, &teams)?),
            })?;
            Ok(())
        })?;
        Ok(Minted { secret: format!("{PREFIX}{id}_{secret}"), token })
    }

    fn end_token(&mut self, old: &Token, at_ms: i64, who: &Who) -> Result<(), ControlError> {
        self.write(who, |transaction, log| {
            let teams = list_json(transaction, &old.grant.teams)?;
            transaction.execute(
                "UPDATE token SET revoked_ms = ?2, revoked_by = ?3 WHERE token_id = ?1",
                params![old.id, at_ms, who.actor],
            )?;
            let mut new = old.clone();
            (new.revoked_ms, new.revoked_by) = (Some(at_ms), Some(who.actor.clone()));
            log.append(Happened {
                action: Action::End,
                table: "token",
                subject: format!("{} {} ({})", old.id, old.grant.name, old.grant.role),
                version: None,
                source: None,
                before: Some(token_json(transaction, old, &teams)?),
                after: Some(token_json(transaction, &new, &teams)?),
            })?;
            Ok(())
        })
    }
}

fn none(id: &str) -> ControlError {
    refused("token", format!("there is no token `{id}` that counts; `gpuledger token list` shows them"))
}

/// Whether role and scope belong together.
fn fits(grant: &Grant) -> Result<(), ControlError> {
    let wrong = |reason: String| Err(refused("token", reason));
    if grant.name.trim().is_empty() {
        return wrong("a token names who bears it".to_owned());
    }
    let role = grant.role.as_str();
    if !ROLES.contains(&role) {
        return wrong(format!("`{role}` is not one of: {}", ROLES.join(", ")));
    }
    let blank = |text: &String| text.trim().is_empty();
    if grant.teams.iter().any(blank) || grant.user.as_ref().is_some_and(blank) || grant.node.as_ref().is_some_and(blank)
    {
        return wrong("a team, user or node has a name".to_owned());
    }
    for (of, what, there) in [
        ("lead", "teams", !grant.teams.is_empty()),
        ("member", "a user", grant.user.is_some()),
        ("node", "a node", grant.node.is_some()),
    ] {
        if (role == of) != there {
            let text = if there {
                format!("{what} belong to a {of}, not to `{role}`")
            } else {
                format!("a {of} needs {what}")
            };
            return wrong(text);
        }
    }
    Ok(())
}

fn all(connection: &Connection) -> rusqlite::Result<Vec<Token>> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM token ORDER BY created_ms, token_id"))?;
    let found = statement.query_map([], |r| Ok((Token::read(r)?, r.get::<_, String>(3)?)))?;
    found.map(|one| one.and_then(|(token, teams)| with_teams(connection, token, &teams))).collect()
}

fn with_teams(connection: &Connection, mut token: Token, teams: &str) -> rusqlite::Result<Token> {
    let mut statement = connection.prepare("SELECT value FROM json_each(?1) ORDER BY value")?;
    token.grant.teams = statement.query_map([teams], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(token)
}

fn list_json(connection: &Connection, teams: &BTreeSet<String>) -> rusqlite::Result<String> {
    let mut json = "[]".to_owned();
    for team in teams {
        json = connection.query_row("SELECT json_insert(?1, '$[#]', ?2)", params![json, team], |r| r.get(0))?;
    }
    Ok(json)
}

/// A token for the audit log: neither its secret nor the hash of it.
fn token_json(connection: &Connection, t: &Token, teams: &str) -> rusqlite::Result<String> {
    connection.query_row(
        "SELECT json_object('token_id', ?1, 'name', ?2, 'role', ?3, 'teams', json(?4), 'user', ?5, 'node', ?6, \
         'expires_ms', ?7, 'revoked_ms', ?8, 'rotates', ?9)",
        params![
            t.id,
            t.grant.name,
            t.grant.role,
            teams,
            t.grant.user,
            t.grant.node,
            t.expires_ms,
            t.revoked_ms,
            t.rotates
        ],
        |r| r.get(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditQuery;

    const DAY: i64 = 86_400_000;

    fn who(at_ms: i64) -> Who {
        Who { actor: "root".to_owned(), at_ms, ..Who::default() }
    }

    fn lead() -> Grant {
        Grant {
            name: "grace".to_owned(),
            role: "lead".to_owned(),
            teams: ["nlp".to_owned(), "视觉 组\"".to_owned()].into(),
            ..Grant::default()
        }
    }

    #[test]
    fn a_token_counts_until_it_expires_or_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let minted = control.mint(&lead(), 10 * DAY, [7; 32], &who(1)).unwrap();
        let found = control.token_of(&minted.secret, DAY).unwrap().unwrap();
        assert_eq!((found.grant.clone(), found.id.len()), (lead(), 12));
        assert_eq!(control.token_of(&minted.secret, 10 * DAY).unwrap(), None);
        // one digit off, and texts that are no tokens
        let mut other = minted.secret.clone();
        other.replace_range(other.len() - 1.., if other.ends_with('0') { "1" } else { "0" });
        for text in [other.as_str(), "", "glt_", "glt_0_0", "' OR 1=1 --", &minted.secret[4..]] {
            assert_eq!(control.token_of(text, DAY).unwrap(), None, "{text}");
        }
        control.revoke_token(&minted.token.id, &who(2 * DAY)).unwrap();
        assert_eq!(control.token_of(&minted.secret, 2 * DAY).unwrap(), None);
        assert!(control.revoke_token(&minted.token.id, &who(3 * DAY)).is_err());
        assert_eq!(control.tokens().unwrap()[0].state(3 * DAY), "revoked");
    }

    #[test]
    fn a_rotated_token_is_good_for_a_while_beside_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let old = control.mint(&lead(), 10 * DAY, [7; 32], &who(1)).unwrap();
        let new = control.rotate_token(&old.token.id, 20 * DAY, 3 * DAY, [8; 32], &who(2 * DAY)).unwrap();
        assert_eq!(new.token.grant, lead());
        assert!(control.token_of(&old.secret, 3 * DAY - 1).unwrap().is_some());
        assert!(control.token_of(&old.secret, 3 * DAY).unwrap().is_none());
        assert!(control.token_of(&new.secret, 15 * DAY).unwrap().is_some());
    }

    #[test]
    fn neither_file_nor_audit_log_has_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sqlite");
        let mut control = Control::open(&path).unwrap();
        let minted = control.mint(&lead(), 10 * DAY, [7; 32], &who(1)).unwrap();
        let secret = minted.secret.rsplit('_').next().unwrap().to_owned();
        let log = format!("{:?}", control.audit(&AuditQuery::default()).unwrap());
        assert!(log.contains("grace") && !log.contains(&secret) && !log.contains(&sha256_hex(secret.as_bytes())));
        assert!(!format!("{minted:?}").contains(&secret));
        drop(control);
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()));
    }

    #[test]
    fn a_secret_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let first = control.secret("pseudonym", [7; 32]).unwrap();
        assert_eq!((control.secret("pseudonym", [8; 32]).unwrap(), first.len()), (first, 64));
    }

    #[test]
    fn a_scope_belongs_to_its_role() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
        let admin = Grant { name: "root".to_owned(), role: "admin".to_owned(), ..Grant::default() };
        let wrong = [
            Grant { role: "lead".to_owned(), ..admin.clone() },
            Grant { role: "member".to_owned(), ..admin.clone() },
            Grant { role: "node".to_owned(), ..admin.clone() },
            Grant { role: "king".to_owned(), ..admin.clone() },
            Grant { name: " ".to_owned(), ..admin.clone() },
            Grant { node: Some("n1".to_owned()), ..admin.clone() },
            Grant { role: "finance".to_owned(), ..lead() },
            Grant { teams: [String::new()].into(), ..lead() },
        ];
        for grant in wrong {
            assert!(control.mint(&grant, DAY, [1; 32], &who(1)).is_err(), "{grant:?}");
        }
        assert!(control.mint(&admin, 1, [1; 32], &who(1)).is_err());
        assert!(control.mint(&admin, 400 * DAY, [1; 32], &who(1)).is_err());
        assert!(control.mint(&admin, DAY, [1; 32], &who(1)).is_ok());
    }
}
