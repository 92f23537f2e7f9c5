//! What is asked is done, what is not an ask changes nothing.

use super::*;
use crate::node::spool::disk::RealDisk;

fn parse(text: &str) -> Result<Ask, AskError> {
    Ask::parse(text.as_bytes(), PathBuf::from("n1.json"))
}

#[test]
fn an_ask_holds_until_it_has_run_out() {
    let ask = parse(r#"{"seal_ticks":1,"until_ms":5000}"#).unwrap();
    assert_eq!(Ask::seal_ticks(Some(ask), 5, 4_999), 1);
    assert_eq!(Ask::seal_ticks(Some(ask), 5, 5_000), 5);
    assert_eq!(Ask::seal_ticks(None, 5, 0), 5);
}

#[test]
fn nobody_can_ask_a_node_to_seal_less_often() {
    let ask = parse(r#"{"seal_ticks":4000,"until_ms":5000}"#).unwrap();
    assert_eq!(Ask::seal_ticks(Some(ask), 5, 0), 5);
}

#[test]
fn what_is_not_an_ask_is_refused() {
    for (text, said) in [
        (r#"{"seal_ticks":0,"until_ms":1}"#, "n1.json asks to seal every 0 ticks"),
        (r#"{"seal_ticks":1}"#, "n1.json is not an ask"),
        (r#"{"seal_ticks":1,"until_ms":1,"act":true}"#, "n1.json is not an ask"),
        ("", "n1.json is not an ask"),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), said, "{text}");
    }
}

#[test]
fn no_file_is_no_ask() {
    assert_eq!(Ask::read(&RealDisk, Path::new("/nonexistent"), "n1").unwrap(), None);
}
