//! What breaks the chain, and where it shows. The triggers are taken off first: whoever forges a log does that too.

use super::*;
use crate::import::ImportOptions;
use crate::table::ReferenceTable;

/// A log of four entries: three rates and the end of one.
fn four() -> (tempfile::TempDir, Control) {
    let folder = tempfile::tempdir().unwrap();
    let mut control = Control::open(&folder.path().join("control.sqlite")).unwrap();
    for (n, csv) in ["price\n10\n", "team,price\na,7\n", "price,from\n12,2026-03-15T00:00:00Z\n"].iter().enumerate() {
        let options = ImportOptions {
            currency: Some("EUR".into()),
            now_ms: n as i64,
            actor: "anna".into(),
            ..ImportOptions::default()
        };
        control.import(ReferenceTable::Rates, "rates.csv", csv.as_bytes(), options).unwrap();
    }
    (folder, control)
}

fn forge(control: &Control, statement: &str) {
    control
        .connection()
        .execute_batch(&format!(
            "DROP TRIGGER audit_is_not_updated; DROP TRIGGER audit_is_not_deleted; DROP TRIGGER audit_is_appended; {statement}"
        ))
        .unwrap();
}

#[test]
fn a_whole_log_verifies_and_every_head_it_ever_had_is_in_it() {
    let (_folder, control) = four();
    let entries = control.audit(&AuditQuery::default()).unwrap();
    assert_eq!(
        entries.iter().map(|e| (e.seq, e.action.as_str(), e.at_ms)).collect::<Vec<_>>(),
        [(1, "add", 0), (2, "add", 1), (3, "end", 2), (4, "add", 2)]
    );
    assert_eq!(entries[2].subject, "price=10 currency=EUR from the beginning to 2026-03-15T00:00:00+00:00");
    let heads: Vec<Head> = entries.iter().map(|e| Head { seq: e.seq, hash: e.hash.clone() }).collect();
    let check = control.verify_audit(&heads).unwrap();
    assert_eq!((check.entries, check.heads, check.broken), (4, 4, None));
    assert_eq!(check.head, control.audit_head().unwrap());
    assert_eq!(check.head.as_ref(), heads.last());
}

#[test]
fn the_text_form_is_fixed() {
    let (_folder, control) = four();
    let first = &control.audit(&AuditQuery::default()).unwrap()[0];
    assert_eq!(
        first.text(),
        format!(
            "gpuledger audit 1\nseq 1:1\nat_ms 1:0\nactor 4:anna\naction 3:add\ntable 4:rate\n\
             subject {subject_length}:{subject}\nversion 1:1\nsource 9:rates.csv\nbefore -\nafter {length}:{after}\nreason -\napprover -\n\
             previous 64:{NOTHING_BEFORE}\n",
            subject_length = first.subject.len(),
            subject = first.subject,
            length = first.after.as_ref().unwrap().len(),
            after = first.after.as_ref().unwrap(),
        )
    );
    assert_eq!(first.hash, sha256_hex(first.text().as_bytes()));
}

#[test]
fn the_first_broken_link_is_named() {
    let changed = "its hash is not that of what it says: it was changed";
    for (statement, seq, reason) in [
        ("UPDATE audit SET actor = 'nobody' WHERE seq = 2", 2, changed),
        ("UPDATE audit SET after = replace(after, '7000000', '1') WHERE seq IN (2, 4)", 2, changed),
        ("UPDATE audit SET reason = '' WHERE seq = 4", 4, changed),
        ("DELETE FROM audit WHERE seq = 2", 3, "entry 2 is missing"),
        ("DELETE FROM audit WHERE seq = 1", 2, "entry 1 is missing"),
        (
            "DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2",
            2,
            "it is not chained to the entry before it",
        ),
    ] {
        let (_folder, control) = four();
        forge(&control, statement);
        let broken = control.verify_audit(&[]).unwrap().broken.unwrap();
        assert_eq!((broken.seq, broken.reason.as_str()), (seq, reason), "{statement}");
    }
}

#[test]
fn a_cut_tail_and_a_log_written_anew_show_by_a_head_kept_elsewhere() {
    let (_folder, control) = four();
    let head = control.audit_head().unwrap().unwrap();
    forge(&control, "DELETE FROM audit WHERE seq > 2");
    assert_eq!(control.verify_audit(&[]).unwrap().broken, None, "without a head nothing shows");
    let broken = control.verify_audit(std::slice::from_ref(&head)).unwrap().broken.unwrap();
    assert_eq!(broken.reason, "the log ends at entry 2; it once had 4: its tail was cut off");
    assert_eq!(broken.seq, 3);

    let (_folder, other) = four();
    let stranger = Head { seq: 2, hash: "ab".repeat(32) };
    let broken = other.verify_audit(&[head, stranger]).unwrap().broken.unwrap();
    assert_eq!(
        (broken.seq, broken.reason),
        (2, format!("its hash was once {}: the log was written anew", "ab".repeat(32)))
    );
}

#[test]
fn the_log_cannot_be_changed_with_its_triggers_on() {
    let (_folder, control) = four();
    for statement in [
        "DELETE FROM audit",
        "UPDATE audit SET actor = 'nobody'",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 2",
        "INSERT INTO audit SELECT 9, at_ms, actor, action, table_name, subject, version, source, before, after, reason, \
         approver, previous, hash FROM audit WHERE seq = 2",
    ] {
        let error = control.connection().execute(statement, []).unwrap_err();
        assert_eq!(error.to_string(), "the audit log is append-only", "{statement}");
    }
}

#[test]
fn the_log_is_asked_by_table_and_time() {
    let (_folder, control) = four();
    let seqs = |query: AuditQuery| -> Vec<i64> { control.audit(&query).unwrap().iter().map(|e| e.seq).collect() };
    assert_eq!(seqs(AuditQuery { table: Some("owner".into()), ..AuditQuery::default() }), [0_i64; 0]);
    assert_eq!(seqs(AuditQuery { from_ms: Some(1), to_ms: Some(2), ..AuditQuery::default() }), [2]);
    assert_eq!(seqs(AuditQuery { table: Some("rate".into()), from_ms: Some(2), to_ms: None }), [3, 4]);
}
