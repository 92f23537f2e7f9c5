//! Contacts: where people, leads and roles are reached.

use super::table;

table! {
    /// An address of a user, of the lead of a team, or of a role. Somebody may have several at one time.
    ContactRow: "contact", grain "who x channel x address x interval", key ["kind", "name", "channel", "address", "from_ms"], by_day false {
        kind: String, None, "user, lead or role";
        name: String, None, "user as the scheduler names it; team of a lead; on-call, finance or operator";
        channel: String, None, "mail or webhook";
        address: String, None, "mail address, or name of a configured webhook";
        language: String, None, "en or zh";
        calendar: Option<String>, None, "name of a configured work calendar: what is not urgent waits for its hours; absent: any time";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}
