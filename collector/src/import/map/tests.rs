//! A map that could be misread stops before the first record.

use super::*;

const LEAST: &str = r#"
source = "x"
[time]
submit = { column = "t", format = "epoch_s" }
start = { from = "submit" }
[granted]
gpus = "n"
"#;

/// The error and all its sources, as a user sees them.
fn says(text: &str) -> String {
    let error = Map::parse(text).unwrap_err();
    let mut out = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        out = format!("{out}: {inner}");
        source = inner.source();
    }
    out
}

/// The least map with one line put in place of another.
fn with(from: &str, to: &str) -> String {
    assert!(LEAST.contains(from), "{from}");
    LEAST.replace(from, to)
}

#[test]
fn shipped_maps_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/maps");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let map = Map::parse(&text);
        let series = crate::import::series::SeriesMap::parse(&text);
        assert!(map.is_ok() != series.is_ok(), "{}: {map:?} {series:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 4);
}

#[test]
fn the_least_map_names_its_columns() {
    let map = Map::parse(LEAST).unwrap();
    assert_eq!(map.named_columns(), [("time.submit".to_owned(), "t"), ("granted.gpus".to_owned(), "n")]);
    assert_eq!((map.source(), map.delimiter, map.local_key()), ("x", b',', None));
}

#[test]
fn unknown_keys_and_words_are_named() {
    for (text, expected) in [
        (format!("sauce = \"y\"\n{LEAST}"), "unknown field `sauce`"),
        (with("gpus = \"n\"", "gpus = \"n\"\ngpuz = \"m\""), "unknown field `gpuz`"),
        (with("gpus = \"n\"", "gpus = { column = \"n\", off = 1000 }"), "unknown field `off`"),
        (with("gpus = \"n\"", "gpus = { of = 1000 }"), "give either `column` or `constant`"),
        (with("gpus = \"n\"", "gpus = 8"), "a column's name, or a table"),
        (with("\"epoch_s\"", "\"unix\""), "unknown format `unix`"),
        (with("\"epoch_s\"", "\"%Y-%m-%d\""), "does not give a whole date and time"),
        (with("\"epoch_s\"", "\"%Y-%m-%d %H:%M:%Q\""), "does not give a whole date and time"),
        (with(", format = \"epoch_s\"", ""), "give `column` and `format`"),
        (format!("{LEAST}\n[state]\nconstant = \"DONE\""), "`DONE` is no state: use one of PENDING, RUNNING"),
        (format!("{LEAST}\n[state]\ncolumn = \"s\"\nwords = {{ ok = \"Done\" }}"), "`state.words.ok` is not valid"),
        (
            format!("{LEAST}\n[[average]]\nmeasure = \"gpu\"\ncolumn = \"u\"\nunit = \"percent\""),
            "unknown variant `gpu`",
        ),
    ] {
        let got = says(&text);
        assert!(got.contains(expected), "{got}\nshould say: {expected}");
    }
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let average = "[[average]]\nmeasure = \"gpu_util\"\ncolumn = \"u\"\nunit = \"percent\"\n";
    for (text, expected) in [
        (with("source = \"x\"", "source = \" \""), "`source` is not valid: name the system"),
        (with("[time]", "[file]\ndelimiter = \", \"\n[time]"), "one ASCII character"),
        (with("[time]", "[time]\nzone = \"Mars/Olympus\""), "unknown time zone `Mars/Olympus`"),
        (with("\"epoch_s\"", "\"relative_s\""), "`time.origin` is not valid"),
        (with("[time]", "[time]\norigin = \"yesterday\""), "`time.origin` is not valid"),
        (with("{ from = \"submit\" }", "{ from = \"start\" }"), "cannot be taken from itself"),
        (with("{ column = \"t\", format = \"epoch_s\" }", "{ from = \"start\" }"), "each taken from the other"),
        (
            with(
                "submit = { column = \"t\", format = \"epoch_s\" }\nstart = { from = \"submit\" }",
                "start = { column = \"t\", format = \"epoch_s\" }\nsubmit = { from = \"start\" }\nno_start = \"never_started\"",
            ),
            "needs a `submit` of its own",
        ),
        (
            with("[granted]", "end = { from = \"start\" }\nduration = { column = \"d\", unit = \"s\" }\n[granted]"),
            "give either `end` or `duration`",
        ),
        (format!("{LEAST}\n{average}{average}"), "`gpu_util` is mapped twice"),
        (format!("{LEAST}\n{}", average.replace("percent", "mib")), "`gpu_util` cannot have this unit"),
        (format!("{LEAST}\n[state]\nconstant = \"ENDED\"\ncolumn = \"s\""), "give `column` (and `words`)"),
    ] {
        let got = says(&text);
        assert!(got.contains(expected), "{got}\nshould say: {expected}");
    }
}

#[test]
fn a_local_time_is_told_from_one_with_an_offset() {
    let local = Map::parse(&with("epoch_s", "%Y-%m-%dT%H:%M:%S")).unwrap();
    assert_eq!(local.local_key(), Some("time.submit"));
    for zoned in ["%Y-%m-%dT%H:%M:%S%:z", "%Y-%m-%d %H:%M:%S %z", "rfc3339", "epoch_ms"] {
        assert_eq!(Map::parse(&with("epoch_s", zoned)).unwrap().local_key(), None, "{zoned}");
    }
}
