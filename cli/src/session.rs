//! A command that a server runs for somebody: what it prints goes to who asked, and what it changes is in their name.

use std::sync::{Arc, Mutex, PoisonError};

use gpuledger_aggregator::report::{Column, Dimension, Report, Value};
use gpuledger_schema::hash::sha256_hex;

tokio::task_local! {
    static SESSION: Arc<Heard>;
}

/// Who asks, and what a command said to them.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    actor: String,
    names: Option<Names>,
    said: Mutex<Said>,
}

/// What a command said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// What it printed.
    pub(crate) bytes: Vec<u8>,
    /// Columns of the report that it showed.
    pub(crate) columns: Vec<Column>,
}

/// Runs a command in the name of somebody, and gives what it said. A command holds the control file open while it waits, so it has a thread of
/// its own; none comes back where that was stopped by a fault.
pub(crate) async fn hear<T, F>(
    actor: &str,
    names: Option<Names>,
    command: impl FnOnce() -> F + Send + 'static,
) -> Option<(T, Said)>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let (runtime, actor) = (tokio::runtime::Handle::current(), actor.to_owned());
    let work = move || runtime.block_on(heard_by(&actor, names, command()));
    tokio::task::spawn_blocking(work).await.ok()
}

async fn heard_by<T>(actor: &str, names: Option<Names>, command: impl Future<Output = T>) -> (T, Said) {
    let heard = Arc::new(Heard { actor: actor.to_owned(), names, said: Mutex::default() });
    let done = SESSION.scope(Arc::clone(&heard), command).await;
    let said = std::mem::take(&mut *heard.said.lock().unwrap_or_else(PoisonError::into_inner));
    (done, said)
}

/// Whose command it is; absent: it was typed.
pub(crate) fn actor() -> Option<String> {
    SESSION.try_with(|s| s.actor.clone()).ok()
}

/// Hears what is printed; false: it was typed, and belongs on standard output.
pub(crate) fn heard(bytes: &[u8]) -> bool {
    let add = |s: &Arc<Heard>| s.said.lock().unwrap_or_else(PoisonError::into_inner).bytes.extend_from_slice(bytes);
    SESSION.try_with(add).is_ok()
}

/// Sees the columns of a report that is shown; gives it with pseudonyms, where who asks sees those.
pub(crate) fn saw(report: &Report) -> Option<Report> {
    let keep = |s: &Arc<Heard>| {
        s.said.lock().unwrap_or_else(PoisonError::into_inner).columns.clone_from(&report.columns);
        s.names.as_ref().map(|names| names.report(report))
    };
    SESSION.try_with(keep).ok().flatten()
}

/// Names of users as somebody may see them: their own, and of others a pseudonym that stays the same.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// Of this place, so that a pseudonym cannot be guessed from a list of names.
    pub(crate) key: String,
    /// Whose name is shown.
    pub(crate) own: Option<String>,
}

impl Names {
    /// A name as it is shown. What stands for nobody stays.
    fn shown(&self, user: &str) -> String {
        let is_nobody = user == "-" || user.is_empty() || user.starts_with('(');
        if is_nobody || self.own.as_deref() == Some(user) {
            return user.to_owned();
        }
        format!("user-{}", &sha256_hex(format!("{}/{user}", self.key).as_bytes())[..10])
    }

    fn report(&self, report: &Report) -> Report {
        let mut report = report.clone();
        let at: Vec<usize> =
            (0..report.columns.len()).filter(|i| report.columns[*i].name == Dimension::User.word()).collect();
        for row in &mut report.rows {
            for i in &at {
                if let Value::Text(user) = &mut row[*i] {
                    *user = self.shown(user);
                }
            }
        }
        report
    }

    /// The same in what is no report: the facts of a run, and sections of an explanation.
    pub(crate) fn json(&self, body: &mut serde_json::Value) {
        let mut users: Vec<String> = Vec::new();
        users_in(body, &mut users);
        users.sort();
        users.dedup();
        for user in users {
            replace(body, &user, &self.shown(&user));
        }
    }
}

/// Values of fields that are called `user`, and of rows `["user", name]`.
fn users_in(body: &serde_json::Value, into: &mut Vec<String>) {
    match body {
        serde_json::Value::Object(map) => {
            if let Some(serde_json::Value::String(user)) = map.get("user") {
                into.push(user.clone());
            }
            map.values().for_each(|v| users_in(v, into));
        }
        serde_json::Value::Array(all) => {
            if let [serde_json::Value::String(label), serde_json::Value::String(user)] = all.as_slice()
                && label == "user"
            {
                into.push(user.clone());
            }
            all.iter().for_each(|v| users_in(v, into));
        }
        _ => {}
    }
}

/// Puts another word for a word, wherever it stands as one.
fn replace(body: &mut serde_json::Value, word: &str, by: &str) {
    match body {
        serde_json::Value::String(text) if text.contains(word) => *text = replaced(text, word, by),
        serde_json::Value::Object(map) => map.values_mut().for_each(|v| replace(v, word, by)),
        serde_json::Value::Array(all) => all.iter_mut().for_each(|v| replace(v, word, by)),
        _ => {}
    }
}

fn replaced(text: &str, word: &str, by: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word).filter(|_| !word.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let inside = before.chars().next_back().is_some_and(part) || after.chars().next().is_some_and(part);
        out.push_str(before);
        out.push_str(if inside { word } else { by });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_stays_the_same_and_ones_own_name_is_shown() {
        let names = Names { key: "k".to_owned(), own: Some("ada".to_owned()) };
        assert_eq!(
            (names.shown("ada"), names.shown("-"), names.shown("(platform)")),
            ("ada".into(), "-".into(), "(platform)".into())
        );
        assert_eq!(names.shown("bob"), names.shown("bob"));
        assert!(names.shown("bob") != names.shown("eve") && names.shown("bob").starts_with("user-"));
        let mut body =
            serde_json::json!([{"title": "bob ran bobsled", "facts": {"user": "bob"}, "rows": [["user", "bob"]]}]);
        names.json(&mut body);
        let text = body.to_string();
        assert!(text.contains("ran bobsled") && !text.contains("\"bob\"") && !text.contains("\"bob "), "{text}");
    }
}
