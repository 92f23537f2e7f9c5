//! The rules of the house, as tests, each with its reason. What a review asks for twice belongs here.
//!
//! Needs nothing but the standard library, so that it can be compiled alone, in seconds, without the engine:
//! `rustc --edition 2024 --test tests/tidy.rs -o target/tidy-alone && (cd tests && ../target/tidy-alone)`.

use std::collections::{BTreeMap, BTreeSet};

#[path = "tidy/repository.rs"]
mod repository;
#[path = "tidy/source.rs"]
mod source;

use repository::{File, files, own_dependencies, read, section};
use source::{Source, functions};

/// Lines of code a file may have: what one person reads in one sitting.
const FILE_LINES_MAX: usize = 400;
/// Lines a function may have: what fits on a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Files that were longer when the rule came, with their length then. The list only shrinks.
const LONG_FILES: &[(&str, usize)] = &[];
/// Functions that were longer when the rule came, with their length then. The list only shrinks.
const LONG_FUNCTIONS: &[(&str, usize)] = &[];

/// The only Rust strings outside tests that hold SQL, and why it is not in `sql/`.
const SQL_IN_STRINGS: &[(&str, &str)] = &[
    ("control/", "its SQLite file is its own; nothing of it reaches a rule"),
    ("cli/src/args.rs", "an example in the help of `gpuledger sql`"),
    ("cli/src/command/demo.rs", "a command for the reader to try"),
    ("cli/src/command/explain.rs", "a command for the reader to try"),
    ("cli/src/command/import.rs", "a command for the reader to try"),
    ("cli/src/command/live.rs", "a command for the reader to try"),
];

/// Which of our crates a crate may use: the arrows of ARCHITECTURE.md, and no others.
const ARROWS: &[(&str, &[&str])] = &[
    ("schema", &[]),
    ("scheduler", &["schema"]),
    ("native", &[]),
    ("allocator", &[]),
    ("collector", &["schema", "scheduler", "native", "nvml-sim"]),
    ("control", &["schema"]),
    ("aggregator", &["schema", "control"]),
    ("export", &["schema"]),
    ("notify", &["schema", "control"]),
    ("reclaim", &["schema", "control", "scheduler"]),
    ("api", &["schema", "control", "notify"]),
    (
        "cli",
        &[
            "schema",
            "scheduler",
            "allocator",
            "collector",
            "control",
            "aggregator",
            "export",
            "notify",
            "reclaim",
            "api",
            "nvml-sim",
        ],
    ),
    ("tests", &["schema", "scheduler", "collector", "control", "aggregator", "cli"]),
    ("tests/nvml-sim", &[]),
];

/// Crates that talk to C and therefore have lints of their own: nothing else of ours is unsafe.
const FOREIGN_CALLS: &[&str] = &["native", "allocator", "tests/nvml-sim"];
/// Where floats may stand, and why.
const FLOATS: &[(&str, &str)] = &[
    ("native/", "the driver's interface has doubles; they end there"),
    ("tests/nvml-sim/", "the driver's interface has doubles"),
    ("collector/src/node/metrics.rs", "the exposition format has doubles"),
    ("export/src/pdf/canvas.rs", "coordinates of a PDF are floats: whole twentieths of a point end there"),
    (
        "export/src/xlsx/cell.rs",
        "a cell is a double: a decimal of at most 15 digits is read into one, and comes back the same",
    ),
];

/// Dependencies that only some crates may name, and why.
const KEPT_APART: &[(&str, &[&str], &str)] = &[
    ("datafusion", &["aggregator", "tests"], "a collector runs on every node and stays small"),
    ("deltalake", &["aggregator", "tests"], "tables are written by one crate"),
    ("object_store", &["aggregator", "tests"], "the lake's paths are known to one crate"),
    ("rusqlite", &["control", "tests"], "the control file has one reader and writer"),
    ("clap", &["cli", "collector"], "what is typed is known to the binaries alone"),
    ("anyhow", &["cli", "collector", "tests"], "a library says what can go wrong in its types"),
    ("tracing-subscriber", &["cli", "collector"], "where a log goes is for the binaries to say"),
    (
        "tokio",
        &["aggregator", "api", "cli", "collector", "notify", "reclaim", "tests"],
        "parsers and importers are plain functions",
    ),
    ("nvml-wrapper", &["native", "tests/nvml-sim"], "everything unsafe of a node is in one crate"),
    ("nvml-wrapper-sys", &["native", "tests/nvml-sim"], "everything unsafe of a node is in one crate"),
    ("libc", &["native", "tests/nvml-sim"], "everything unsafe of a node is in one crate"),
    ("libmimalloc-sys", &["allocator"], "a collector that linked it would take its memory from it, too"),
];

fn report(rule: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{rule}\n  {}", wrong.join("\n  "));
}

fn rust() -> Vec<File> {
    files().into_iter().filter(|f| f.path.ends_with(".rs")).collect()
}

fn sql() -> Vec<File> {
    files().into_iter().filter(|f| f.path.starts_with("sql/") && f.path.ends_with(".sql")).collect()
}

/// Whether a file is tests from its first line to its last.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[test]
fn every_rust_file_begins_with_what_it_is_for() {
    // A reader decides by this line whether the file is the one looked for. A file that is included has no such place.
    let included = "aggregator/src/statement_list.rs";
    let wrong: Vec<String> =
        rust().iter().filter(|f| f.path != included && !f.text.starts_with("//! ")).map(|f| f.path.clone()).collect();
    report("the first line of a file is `//! ...`", &wrong);
}

/// Compares sizes with a bound and a list of today's exceptions, which may shrink and never grow.
fn ratchet(rule: &str, sizes: &BTreeMap<String, usize>, max: usize, exceptions: &[(&str, usize)]) {
    let mut wrong = Vec::new();
    for (name, lines) in sizes {
        match exceptions.iter().find(|(n, _)| n == name) {
            Some((_, was)) if lines > was => wrong.push(format!("{name}: {lines} lines, {was} when the rule came")),
            Some(_) if *lines <= max => wrong.push(format!("{name}: {lines} lines: take it off the list")),
            None if *lines > max => wrong.push(format!("{name}: {lines} lines, at most {max}")),
            _ => {}
        }
    }
    wrong.extend(exceptions.iter().filter(|(n, _)| !sizes.contains_key(*n)).map(|(n, _)| format!("{n}: is gone")));
    report(rule, &wrong);
}

#[test]
fn files_are_read_in_one_sitting() {
    let sizes = rust()
        .iter()
        .filter(|f| !is_test(&f.path))
        .map(|f| (f.path.clone(), Source::of(&f.text).code_lines()))
        .collect();
    ratchet("code of a file is short; cut it by concept, not by kind", &sizes, FILE_LINES_MAX, LONG_FILES);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut sizes = BTreeMap::new();
    for f in rust().iter().filter(|f| !is_test(&f.path)) {
        for (name, lines) in functions(&Source::of(&f.text)) {
            let longest = sizes.entry(format!("{} {name}", f.path)).or_insert(lines);
            *longest = lines.max(*longest);
        }
    }
    assert!(sizes.len() > 300, "the search for functions found only {}", sizes.len());
    ratchet("a function is short", &sizes, FUNCTION_LINES_MAX, LONG_FUNCTIONS);
}

#[test]
fn lines_do_not_end_in_blanks() {
    // They show in every review and mean nothing.
    let mut wrong = Vec::new();
    for f in files() {
        let bad = f.text.lines().position(|l| l.ends_with([' ', '\t']));
        wrong.extend(bad.map(|i| format!("{}:{}", f.path, i + 1)));
        if !f.text.is_empty() && !f.text.ends_with('\n') {
            wrong.push(format!("{}: its last line does not end", f.path));
        }
    }
    report("no blanks at the end of a line, a line break at the end of a file", &wrong);
}

#[test]
fn nothing_names_a_machine() {
    // A path of somebody's machine is wrong on every other.
    let folders = ["root", "home", "work", "Users"].map(|f| format!("/{f}/"));
    let mut wrong = Vec::new();
    for f in files() {
        for (i, line) in f.text.lines().enumerate() {
            let found = folders.iter().any(|folder| {
                line.match_indices(folder.as_str())
                    .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '.'))
            });
            if found {
                wrong.push(format!("{}:{}", f.path, i + 1));
            }
        }
    }
    report("no path of one machine", &wrong);
}

#[test]
fn an_exception_from_a_lint_says_why() {
    let wrong: Vec<String> = rust()
        .iter()
        .flat_map(|f| {
            let code = Source::of(&f.text);
            let hits = code.code.match_indices("[allow(").map(|(at, _)| at).filter(|at| {
                let attribute = f.text[*at..].split(']').next().unwrap_or_default();
                !attribute.contains("reason")
            });
            hits.map(|at| format!("{}:{}", f.path, code.line(at))).collect::<Vec<_>>()
        })
        .collect();
    report("`#[allow(...)]` carries `reason = \"...\"`", &wrong);
}

#[test]
fn no_test_is_switched_off() {
    // A test that is not run is a promise that is not kept: say what is true today and why, or remove it.
    let wrong: Vec<String> =
        rust().iter().filter(|f| Source::of(&f.text).code.contains("#[ignore")).map(|f| f.path.clone()).collect();
    report("no `#[ignore]`", &wrong);
}

#[test]
fn rust_has_no_floats() {
    // Money, time and measures are integers with a unit: a float adds up differently in another order. Elapsed time on
    // the screen can be integer seconds.
    let mut wrong = Vec::new();
    for f in rust().into_iter().filter(|f| !FLOATS.iter().any(|(place, _)| f.path.starts_with(place))) {
        let code = Source::of(&f.text);
        for float in ["f32", "f64"] {
            for (at, _) in code.code.match_indices(float) {
                let around = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                if !around(code.code[..at].chars().last()) && !around(code.code[at + 3..].chars().next()) {
                    wrong.push(format!("{}:{}", f.path, code.line(at)));
                }
            }
        }
    }
    report("no f32 and no f64", &wrong);
}

#[test]
fn sql_stands_in_sql_files() {
    // What stands in a file can be read, run, reviewed and tested as what it is.
    let words = ["SELECT ", "INSERT INTO ", "DELETE FROM ", "CREATE TABLE ", "WITH "];
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for f in rust().iter().filter(|f| !is_test(&f.path)) {
        for (line, text) in Source::of(&f.text).strings {
            if !words.iter().any(|w| text.contains(w)) {
                continue;
            }
            match SQL_IN_STRINGS.iter().find(|(path, _)| f.path.starts_with(path)) {
                Some((path, _)) => _ = used.insert(*path),
                None => wrong.push(format!("{}:{line}", f.path)),
            }
        }
    }
    wrong.extend(
        SQL_IN_STRINGS.iter().filter(|(p, _)| !used.contains(p)).map(|(p, _)| format!("{p}: take it off the list")),
    );
    report("no SQL in Rust strings: a statement is a file of sql/", &wrong);
}

#[test]
fn a_statement_says_what_it_reads_and_has_its_tests() {
    let mut wrong = Vec::new();
    for f in sql() {
        let header: Vec<&str> = f.text.lines().take_while(|l| l.starts_with("--")).collect();
        for needed in ["-- grain: ", "-- inputs: ", "-- parameters: ", "-- output: "] {
            if header.iter().filter(|l| l.starts_with(needed)).count() != 1 {
                wrong.push(format!("{}: the header has no line `{}`, or several", f.path, needed.trim_end()));
            }
        }
        if header.first().is_none_or(|l| ["-- grain:", "-- inputs:"].iter().any(|k| l.starts_with(k))) {
            wrong.push(format!("{}: the header does not begin with what the statement says", f.path));
        }
        let slt = f.path.replacen("sql/", "tests/slt/", 1).replace(".sql", ".slt");
        if read(&slt).is_none() {
            wrong.push(format!("{}: there is no {slt}", f.path));
        }
    }
    assert!(!sql().is_empty(), "no statements found");
    report("a statement has a header and an .slt", &wrong);
}

#[test]
fn statements_have_no_clock_zone_float_or_estimate() {
    // The same rows give the same answer at any time, in any zone, with any number of partitions.
    let banned = [
        "now()",
        "current_timestamp",
        "current_date",
        "at time zone",
        "to_timestamp",
        "approx_",
        "random()",
        " as double",
        " as float",
        " as real",
        "::double",
        "::float",
        "::real",
    ];
    let mut wrong = Vec::new();
    for f in sql() {
        for (i, line) in f.text.lines().enumerate() {
            let code = line.split("--").next().unwrap_or_default().to_lowercase();
            wrong.extend(
                banned.iter().filter(|b| code.contains(*b)).map(|b| format!("{}:{}: `{}`", f.path, i + 1, b.trim())),
            );
        }
    }
    report("instants are bound, zones are a calendar table, numbers are integers or decimals", &wrong);
}

#[test]
fn crates_depend_along_the_arrows() {
    let members: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let manifest = read("Cargo.toml").expect("Cargo.toml");
    let listed = manifest.lines().find(|l| l.starts_with("members")).unwrap_or_default();
    let found: BTreeSet<String> = listed.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(found, members, "a crate came or went: ARROWS and ARCHITECTURE.md name all of them");
    let mut wrong = Vec::new();
    for (name, allowed) in ARROWS {
        let text = read(&format!("{name}/Cargo.toml")).expect("a manifest");
        for dependency in own_dependencies(&text) {
            let own = dependency.strip_prefix("gpuledger-");
            if own.is_some_and(|d| !allowed.contains(&d)) {
                wrong.push(format!("{name} -> {dependency}"));
            }
            let kept = KEPT_APART.iter().find(|(d, users, _)| *d == dependency && !users.contains(name));
            wrong.extend(kept.map(|(d, _, why)| format!("{name} -> {d}: {why}")));
        }
    }
    report("a crate depends only on what ARCHITECTURE.md says it may know", &wrong);
}

#[test]
fn versions_stand_in_one_place() {
    let mut wrong = Vec::new();
    for (name, _) in ARROWS {
        let text = read(&format!("{name}/Cargo.toml")).expect("a manifest");
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let own = section(&text, kind).into_iter().filter(|l| !l.contains("workspace = true"));
            wrong.extend(own.map(|l| format!("{name}/Cargo.toml: {l}")));
        }
        if !FOREIGN_CALLS.contains(name) && !text.contains("[lints]\nworkspace = true") {
            wrong.push(format!("{name}/Cargo.toml: does not take the lints of the workspace"));
        }
    }
    report("versions and lints are the workspace's", &wrong);
}

#[test]
fn an_observed_table_has_a_file_of_its_name() {
    let together = ["mod", "tests", "reference", "money", "statement", "usage"];
    let mut wrong = Vec::new();
    for f in rust().iter().filter(|f| f.path.starts_with("schema/src/table/")) {
        let stem = f.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        // a derived table has no rows of its own in Rust
        let derived = f.text.contains(&format!("pub const {}: Table", stem.to_uppercase()));
        if together.contains(&stem) || derived {
            continue;
        }
        let row = f.text.lines().find(|l| l.contains("Row: \"")).unwrap_or_default();
        if !row.contains(&format!(": \"{stem}\"")) || f.text.matches("table! {").count() != 1 {
            wrong.push(f.path.clone());
        }
    }
    report("schema/src/table/<name>.rs declares the table <name>, alone", &wrong);
}

#[test]
fn an_invariant_has_its_check_and_its_line() {
    let text = read("schema/src/invariant.rs").expect("the invariants");
    let ids: Vec<&str> = text.split("id: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(ids.len() > 5, "the search for invariants found only {ids:?}");
    let page = read("ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for id in ids {
        if read(&format!("sql/check/{id}.sql")).is_none() {
            wrong.push(format!("{id}: there is no sql/check/{id}.sql"));
        }
        if !page.contains(&format!("| {id} |")) {
            wrong.push(format!("{id}: ARCHITECTURE.md has no line for it"));
        }
    }
    report("an invariant is checked by a statement of its id and stands in ARCHITECTURE.md", &wrong);
}

#[test]
fn pages_name_what_is_there() {
    // A page that leads to a file that is gone leads nowhere.
    let mut wrong = Vec::new();
    for page in ["README.md", "ARCHITECTURE.md"] {
        let text = read(page).unwrap_or_else(|| panic!("{page}"));
        for word in text.split('`').skip(1).step_by(2) {
            let a_file = [".rs", ".sql", ".toml", ".svg", ".md", ".csv"].iter().any(|e| word.ends_with(e));
            let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            if a_file && plain && word.contains('/') && !word.starts_with('.') && read(word).is_none() {
                wrong.push(format!("{page}: `{word}`"));
            }
        }
    }
    report("every file that a page names is there", &wrong);
}

#[test]
fn architecture_names_every_table_and_crate() {
    let page = read("ARCHITECTURE.md").expect("ARCHITECTURE.md");
    let mut names: Vec<String> = ARROWS.iter().map(|(name, _)| format!("{name}/")).collect();
    for f in files().iter().filter(|f| f.path.starts_with("schema/src/table/") && !f.path.ends_with("tests.rs")) {
        let tables = f.text.split("Row: \"").skip(1).chain(f.text.split("    name: \"").skip(1));
        names.extend(tables.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
    }
    assert!(names.len() > 25, "the search for tables found only {names:?}");
    let missing = names.into_iter().filter(|n| !page.contains(&format!("`{n}`"))).collect::<Vec<_>>();
    report("ARCHITECTURE.md names every crate and table", &missing);
}

#[test]
fn the_changelog_says_what_is_not_released() {
    let text = read("CHANGELOG.md").expect("CHANGELOG.md");
    let unreleased = text.split("\n## ").find(|s| s.starts_with("Unreleased")).expect("a section `## Unreleased`");
    let wrong: Vec<String> = text
        .lines()
        .filter(|l| l.starts_with("- "))
        .filter(|l| {
            let kinds = ["[FEATURE] ", "[CHANGE] ", "[FIX] ", "[REMOVED] "];
            !kinds.iter().any(|k| l[2..].strip_prefix(k).is_some_and(|rest| rest.contains(": ")))
        })
        .map(str::to_owned)
        .collect();
    assert!(unreleased.contains("\n- "), "nothing is unreleased");
    report("a line is `- [FEATURE|CHANGE|FIX|REMOVED] area: text`", &wrong);
}
