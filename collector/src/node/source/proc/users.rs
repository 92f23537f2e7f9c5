//! Names of users by their numbers, remembered for a while.

use std::collections::HashMap;
use std::fmt;

use nix::unistd::{Uid, User};

/// How long a name is believed.
const KNOWN_FOR_MS: i64 = 10 * 60_000;
/// How long a number without a name is not asked for again: a name service that is away must not be hammered.
const UNKNOWN_FOR_MS: i64 = 60_000;
/// Most numbers that are remembered.
const USERS_MAX: usize = 4096;

/// Stands for the user of a process that was gone before its user could be read. No user's name has a colon in it.
pub const UNREAD_USER: &str = "uid:unknown";

/// Finds a user's name by number; none where no name service knows it.
pub type NameOf = Box<dyn Fn(u32) -> Option<String> + Send + Sync>;

/// The name services of this machine.
///
/// In a container that is the container's own list, which is not the host's: give [`Users::new`] a function that
/// finds nothing there.
pub fn system_names() -> NameOf {
    Box::new(|uid| User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name))
}

/// Names by number.
pub struct Users {
    name_of: NameOf,
    known: HashMap<u32, (Option<String>, i64)>,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Users {
    /// No name is known yet.
    pub fn new(name_of: NameOf) -> Self {
        Self { name_of, known: HashMap::new() }
    }

    /// The user's name, or `uid:<number>` where there is none: never blank, never another's.
    pub fn name(&mut self, uid: u32, now_boot_ms: i64) -> String {
        let name = match self.known.get(&uid) {
            Some((name, until)) if now_boot_ms < *until => name.clone(),
            _ => self.ask(uid, now_boot_ms),
        };
        name.unwrap_or_else(|| format!("uid:{uid}"))
    }

    fn ask(&mut self, uid: u32, now_boot_ms: i64) -> Option<String> {
        let name = (self.name_of)(uid).filter(|name| !name.trim().is_empty());
        if self.known.len() >= USERS_MAX {
            self.known.clear();
        }
        let for_ms = if name.is_some() { KNOWN_FOR_MS } else { UNKNOWN_FOR_MS };
        self.known.insert(uid, (name.clone(), now_boot_ms + for_ms));
        name
    }
}

#[cfg(test)]
mod tests;
