//! What the engine of reclaiming keeps beside cases: who leads, what is switched, policies and plans as they were, and what people
//! have been told.

use rusqlite::{Connection, OptionalExtension, params};

use crate::control::Control;
use crate::error::ControlError;

/// What is being tried, for errors.
const WRITE: &str = "write the state of reclaiming to";
const READ: &str = "read the state of reclaiming from";

/// What can be switched, a closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Owners are told.
    Notify,
    /// Anything is acted upon.
    Act,
    /// The kill switch: on means that nothing is done.
    Kill,
    /// The breaker: on means that it tripped, and nothing is done until somebody resets it.
    Breaker,
}

impl Switch {
    /// Every switch.
    pub const ALL: [Self; 4] = [Self::Notify, Self::Act, Self::Kill, Self::Breaker];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notify => "notify",
            Self::Act => "act",
            Self::Kill => "kill",
            Self::Breaker => "breaker",
        }
    }
}

/// A switch as it was last set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    /// Whether it is on.
    pub is_on: bool,
    /// When it was set, epoch ms.
    pub at_ms: i64,
    /// Who set it.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// A policy that was put into force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyUse {
    /// When, epoch ms.
    pub at_ms: i64,
    /// Who did.
    pub actor: String,
    /// Name of the file that it was read from.
    pub file: String,
    /// SHA-256 of its text, in hex.
    pub hash: String,
}

impl Control {
    /// Leads, or goes on leading, until `ttl_ms` from now: the fence to write with. None while another does.
    pub fn lead(&mut self, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<Option<i64>, ControlError> {
        self.change(WRITE, |c| {
            let found: Option<(String, i64, i64)> = c
                .query_row("SELECT holder, fence, until_ms FROM reclaim_lease WHERE name = 'reclaim'", [], |r| {
                    Ok((r.get(0)?, r.get(1)?, r.get(2)?))
                })
                .optional()?;
            let fence = match &found {
                Some((held_by, fence, until_ms)) if now_ms < *until_ms && held_by == holder => *fence,
                Some((_, _, until_ms)) if now_ms < *until_ms => return Ok(None),
                // whoever led before may still believe that it does
                Some((_, fence, _)) => fence + 1,
                None => 1,
            };
            c.execute(
                "INSERT INTO reclaim_lease (name, holder, fence, until_ms) VALUES ('reclaim', ?1, ?2, ?3) \
                 ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, \
                 until_ms = excluded.until_ms",
                params![holder, fence, now_ms.saturating_add(ttl_ms)],
            )?;
            Ok(Some(fence))
        })
    }

    /// Sets a switch.
    pub fn switch(&mut self, which: Switch, to: &Switched) -> Result<(), ControlError> {
        self.change(WRITE, |c| {
            c.execute(
                "INSERT INTO reclaim_switch (at_ms, actor, name, is_on, reason) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![to.at_ms, to.actor, which.as_str(), to.is_on, to.reason],
            )?;
            Ok(())
        })
    }

    /// How a switch was last set; absent: it never was.
    pub fn switched(&self, which: Switch) -> Result<Option<Switched>, ControlError> {
        let select =
            "SELECT is_on, at_ms, actor, reason FROM reclaim_switch WHERE name = ?1 ORDER BY switch_id DESC LIMIT 1";
        self.look(READ, |c| {
            let read = c.query_row(select, [which.as_str()], |r| {
                Ok(Switched { is_on: r.get(0)?, at_ms: r.get(1)?, actor: r.get(2)?, reason: r.get(3)? })
            });
            Ok(read.optional()?)
        })
    }

    /// Keeps a policy as it was read. The same text is kept once.
    pub fn keep_policy(&mut self, hash: &str, at_ms: i64, actor: &str, text: &str) -> Result<(), ControlError> {
        self.change(WRITE, |c| {
            c.execute(
                "INSERT INTO reclaim_policy (hash, at_ms, actor, text) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                params![hash, at_ms, actor, text],
            )?;
            Ok(())
        })
    }

    /// Puts a policy into force: from now on it is the one that counts. One that is in force already changes nothing.
    pub fn use_policy(&mut self, of: &PolicyUse, text: &str) -> Result<(), ControlError> {
        self.change(WRITE, |c| {
            c.execute(
                "INSERT INTO reclaim_policy (hash, at_ms, actor, text) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                params![of.hash, of.at_ms, of.actor, text],
            )?;
            let select = "SELECT hash FROM reclaim_policy_use ORDER BY use_id DESC LIMIT 1";
            let now: Option<String> = c.query_row(select, [], |r| r.get(0)).optional()?;
            if now.as_deref() != Some(of.hash.as_str()) {
                c.execute(
                    "INSERT INTO reclaim_policy_use (at_ms, actor, file, hash) VALUES (?1, ?2, ?3, ?4)",
                    params![of.at_ms, of.actor, of.file, of.hash],
                )?;
            }
            Ok(())
        })
    }

    /// Every policy that was put into force, oldest first; the last one is in force.
    pub fn policies_used(&self) -> Result<Vec<PolicyUse>, ControlError> {
        self.look(READ, |c| {
            let mut find = c.prepare("SELECT at_ms, actor, file, hash FROM reclaim_policy_use ORDER BY use_id")?;
            let read = |r: &rusqlite::Row<'_>| {
                Ok(PolicyUse { at_ms: r.get(0)?, actor: r.get(1)?, file: r.get(2)?, hash: r.get(3)? })
            };
            Ok(find.query_map([], read)?.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The text of a policy by its hash.
    pub fn policy_text(&self, hash: &str) -> Result<Option<String>, ControlError> {
        self.look(READ, |c| Ok(text(c, "SELECT text FROM reclaim_policy WHERE hash = ?1", hash)?))
    }

    /// Keeps a plan as it was made.
    pub fn keep_plan(&mut self, hash: &str, made_ms: i64, body: &str) -> Result<(), ControlError> {
        self.change(WRITE, |c| {
            c.execute(
                "INSERT INTO reclaim_plan (hash, made_ms, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                params![hash, made_ms, body],
            )?;
            Ok(())
        })
    }

    /// A plan by its hash, as JSON.
    pub fn plan_body(&self, hash: &str) -> Result<Option<String>, ControlError> {
        self.look(READ, |c| Ok(text(c, "SELECT body FROM reclaim_plan WHERE hash = ?1", hash)?))
    }

    /// Whether people are to be told: not where they were told the same less than `pause_ms` ago. Takes note that they are.
    pub fn is_news(&mut self, name: &str, text: &str, now_ms: i64, pause_ms: i64) -> Result<bool, ControlError> {
        self.change(WRITE, |c| {
            let told: Option<(String, i64)> = c
                .query_row("SELECT text, told_ms FROM reclaim_alert WHERE name = ?1", [name], |r| {
                    Ok((r.get(0)?, r.get(1)?))
                })
                .optional()?;
            if told.is_some_and(|(before, at)| before == text && now_ms - at < pause_ms) {
                return Ok(false);
            }
            c.execute(
                "INSERT INTO reclaim_alert (name, text, told_ms) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (name) DO UPDATE SET text = excluded.text, told_ms = excluded.told_ms",
                params![name, text, now_ms],
            )?;
            Ok(true)
        })
    }

    /// Forgets that people were told of something: nobody took it.
    pub fn not_told(&mut self, name: &str) -> Result<(), ControlError> {
        self.change(WRITE, |c| {
            c.execute("DELETE FROM reclaim_alert WHERE name = ?1", [name])?;
            Ok(())
        })
    }
}

/// The one text of a row that is named by its hash.
fn text(connection: &Connection, select: &str, hash: &str) -> rusqlite::Result<Option<String>> {
    connection.query_row(select, [hash], |r| r.get(0)).optional()
}
