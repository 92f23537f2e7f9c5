//! `quarantine`: input that could not be used, kept with the place it came from and the reason.

super::table! {
    /// A record that was refused. Its text is kept; the rest of its file went in.
    QuarantineRow: "quarantine", grain "refused record", key ["refusal_id"], by_day false {
        refusal_id: i64, Id, "id of file name, line, reason and text";
        source: String, None, "file name without its folder";
        line: Option<i64>, Count, "line the record starts on, from 1";
        field: Option<String>, None, "field at fault";
        reason: String, None, "what is wrong";
        raw: String, None, "the record as it was (at most 4 000 characters)";
        cluster: Option<String>, None, "cluster it was imported for";
    }
}
