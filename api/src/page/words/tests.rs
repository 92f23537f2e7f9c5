//! Both languages have every key, with the same places; no key is used that is not there, and none is there that nobody uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;

fn places(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

#[test]
fn both_languages_say_the_same() {
    let all = keys();
    assert!(all.len() > 100, "only {} messages", all.len());
    for (key, en, zh) in &all {
        assert!(!en.trim().is_empty() && !zh.trim().is_empty(), "{key} is empty");
        assert_eq!(places(en), places(zh), "{key}: the languages have other places");
    }
}

fn texts(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "html") {
            let text = std::fs::read_to_string(&path).expect("a text");
            found.push((path, text));
        }
    }
}

#[test]
fn every_key_is_used_and_every_used_key_is_there() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    texts(&here.join("src/page"), &mut found);
    texts(&here.join("../dashboards/templates"), &mut found);
    let all: BTreeSet<String> = keys().into_iter().map(|(k, _, _)| k).collect();
    // words of closed lists are looked up by the word
    let lists: BTreeSet<&str> = all.iter().filter_map(|k| k.split_once('.')).map(|(list, _)| list).collect();
    let mut used = BTreeSet::new();
    for (path, text) in found.iter().filter(|(p, _)| !p.ends_with("tests.rs")) {
        for quoted in text.split('"').skip(1) {
            let looks = quoted.bytes().all(|b| b.is_ascii_lowercase() || b"._0123456789".contains(&b));
            if looks && all.contains(quoted) {
                used.insert(quoted.to_owned());
            }
        }
        for asked in [" t(\"", ".word(\"", ".say(\""] {
            for call in text.split(asked).skip(1) {
                let key = call.split('"').next().unwrap_or_default();
                // the row of a report has words, too: those have no point
                let is_key = all.contains(key) || !key.contains('.') && asked == ".word(\"";
                assert!(is_key, "{}: `{key}` is not in dashboards/messages.json", path.display());
            }
        }
        let calls =
            ["listed(\"", "listed(lang, \"", "listed(view.lang, \"", "Kind::Word(\"", "word(\"", "listed(view, \""];
        for call in calls.iter().flat_map(|c| text.split(c).skip(1)) {
            let list = call.split('"').next().unwrap_or_default();
            if !lists.contains(list) {
                continue;
            }
            used.extend(all.iter().filter(|k| k.split_once('.').is_some_and(|(l, _)| l == list)).cloned());
        }
    }
    for list in &lists {
        // lists of choices are handed on by name
        if found.iter().any(|(_, text)| text.contains(&format!(", \"{list}\")"))) {
            used.extend(all.iter().filter(|k| k.split_once('.').is_some_and(|(l, _)| l == *list)).cloned());
        }
    }
    let unused: Vec<&String> = all.iter().filter(|k| !used.contains(*k)).collect();
    assert!(unused.is_empty(), "nobody uses {unused:?}");
}

#[test]
fn a_message_needs_what_it_names() {
    let args = [("a", "1")];
    assert!(plain(Lang::En, "no.such.key", &args).contains("no.such.key"));
    assert_eq!(Lang::accepted("fr;q=0.9, zh-CN;q=0.8, en"), Lang::Zh);
    assert_eq!(Lang::accepted(""), Lang::En);
}
