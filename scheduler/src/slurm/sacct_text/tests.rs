//! Layouts, line breaks and damage.

use super::*;

fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

/// Reads, and shows good records as `line:id` and bad ones as `line!reason`.
fn show(text: &[u8], fields: Option<&str>) -> String {
    let fields = fields.map(names);
    let read = read(text, fields.as_deref()).unwrap().read;
    let good = read.facts.iter().map(|r| format!("{}:{}", r.line, r.get("jobid").unwrap()));
    let bad = read.problems.iter().map(|p| format!("{}!{}", p.line.unwrap(), p.reason));
    good.chain(bad).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_header_or_a_list_of_fields_names_the_columns() {
    assert_eq!(show(b"JobID|State\n1|RUNNING\n2|FAILED\n", None), "2:1 3:2");
    assert_eq!(show(b"jobid|state\r\n1|RUNNING\r\n", None), "2:1");
    assert_eq!(show(b"\xef\xbb\xbfJobID|State\n\n1|RUNNING", None), "3:1");
    assert_eq!(show(b"1|RUNNING\n2|FAILED\n", Some("JobID%30,State")), "1:1 2:2");
    assert_eq!(show(b"JobID|State\n1|RUNNING\n", Some("jobid,state")), "2:1");
    assert_eq!(show(b"JobID|State|\n1|RUNNING|\n2|FAILED\n", None), "2:1 3!2 fields where 2 are expected");
    assert_eq!(show(b"1|RUNNING|\n2|FAILED|\n", Some("JobID,State")), "1:1 2:2");
    assert_eq!(show(b"JobID|#State\n1|#RUNNING\n", None), "2:1");
    assert_eq!(show(b"1|#RUNNING\n", Some("JobID,State")), "1:1");
    assert_eq!(show(b"JobID|State\n1|RUNNING\nState|JobID\nFAILED|2\n", None), "2:1 4:2");
    assert_eq!(show(b"JobID\n1\n2\n", None), "2:1 3:2");
    assert_eq!(show(b"", None), "");
    assert_eq!(show(b"\n \n", None), "");
}

#[test]
fn nothing_is_read_without_a_layout() {
    assert_eq!(read(b"1|RUNNING\n", None), Err(SacctTextError::NoHeader));
    assert_eq!(read(b"1|RUNNING\n", Some(&names("User,State"))), Err(SacctTextError::NoJobId));
    assert!(matches!(
        read(b"JobID|State\n1|RUNNING\n", Some(&names("State,JobID"))),
        Err(SacctTextError::FieldsDisagree { .. })
    ));
}

#[test]
fn a_bad_line_costs_itself_only() {
    for (text, expected) in [
        ("1|a|x\n2|b\n3|c|z\n", "2:1 4:3 3!2 fields where 3 are expected"),
        ("1|a|x\n2\n3|c|z\n", "2:1 4:3 3!1 fields where 3 are expected"),
        ("1|a|b|x\n2|b|y\n", "3:2 2!4 fields where 3 are expected"),
        ("1|a|x\n2|b", "2:1 3!2 fields where 3 are expected"),
        ("garbage\n2|b|y\n", "3:2 2!1 fields where 3 are expected"),
        ("1|a\n2|b\n3|c|z\n", "4:3 2!2 fields where 3 are expected 3!2 fields where 3 are expected"),
    ] {
        assert_eq!(show(format!("JobID|User|Name\n{text}").as_bytes(), None), expected, "{text}");
    }
    let bad = b"JobID|Name\n1|ok\n2|\xff\xfe\n3|ok\n";
    assert_eq!(show(bad, None), "2:1 4:3 3!the record is not UTF-8");
    assert_eq!(read(bad, None).unwrap().read.problems[0].raw, "2|\u{fffd}\u{fffd}");
}

#[test]
fn a_line_break_inside_a_field_does_not_end_the_record() {
    assert_eq!(show(b"JobID|Comment|Name\n1|two\nlines|x\n2|one|y\n", None), "2:1 4:2");
    assert_eq!(show(b"JobID|#Comment|#Name\n1|#a\n\n|b|#x\n2|#one|#y\n", None), "2:1 5:2");
    assert_eq!(show(b"User|#Comment|#JobID|#JobIDRaw\na|#two\n7|#1|#1\na|#one|#2|#2\n", None), "2:1 4:2");
    let text = read(b"JobID|#Comment|#Name\n1|#a\nb|#x\n", None).unwrap();
    assert_eq!(text.read.facts[0].get("comment"), Some("a\nb"));
    assert_eq!(text.read.facts[0].get("user"), None);
}

#[test]
fn a_column_that_stands_twice_must_agree() {
    assert_eq!(show(b"JobID|End|End\n1|a|a\n2|a|b\n", None), "2:1 3!the field stands twice with different values");
}
