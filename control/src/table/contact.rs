//! Contacts: where users, leads and roles are reached. Any number of addresses of one name stand side by side.

use gpuledger_schema::table::{ContactRow, Row};

use super::{FROM, Fields, Spec, TO, no_check_whole, optional, reference_row, required};
use crate::kind::Kind;

/// What a contact is the address of.
const KINDS: &[&str] = &["user", "lead", "role"];
/// Roles that messages go to.
const ROLES: &[&str] = &["on-call", "finance", "operator"];
/// Ways to reach somebody.
const CHANNELS: &[&str] = &["mail", "webhook"];
/// Languages that there are texts in.
const LANGUAGES: &[&str] = &["en", "zh"];
/// Longest mail address, of its local part, and of its domain (RFC 5321).
const MAIL_BYTES_MAX: [usize; 3] = [254, 64, 253];

pub(crate) const SPEC: Spec = Spec {
    table: ContactRow::TABLE,
    columns: &[
        required("kind", "kind", Kind::Text),
        required("name", "name", Kind::Text),
        required("channel", "channel", Kind::Text),
        required("address", "address", Kind::Text),
        required("language", "language", Kind::Text),
        optional("calendar", "calendar", Kind::Text),
        FROM,
        TO,
    ],
    selector: &["kind", "name", "channel", "address"],
    beside: &[],
    derived: &[],
    check,
    check_whole: no_check_whole,
};

reference_row!(ContactRow, Contacts; kind, name, channel, address, language, calendar, from_ms, to_ms);

fn check(row: &Fields<'_>) -> Option<(&'static str, String)> {
    let of = |column: &'static str, list: &[&str]| match row.text(column) {
        Some(word) if !list.contains(&word) => {
            Some((column, format!("unknown {column} `{word}`; it is one of {}", list.join(", "))))
        }
        _ => None,
    };
    of("kind", KINDS).or_else(|| of("channel", CHANNELS)).or_else(|| of("language", LANGUAGES)).or_else(|| {
        match (row.text("kind")?, row.text("channel")?) {
            ("role", _) if !ROLES.contains(&row.text("name")?) => of("name", ROLES),
            (_, "mail") => mail(row.text("address")?).map(|why| ("address", why)),
            _ => name_of_webhook(row.text("address")?).map(|why| ("address", why)),
        }
    })
}

/// What is wrong with a mail address. Narrower than what mail allows: no comments, no quotes, no addresses by number.
fn mail(address: &str) -> Option<String> {
    let [whole_max, local_max, domain_max] = MAIL_BYTES_MAX;
    let Some((local, domain)) = address.rsplit_once('@') else {
        return Some(format!("`{address}` is not a mail address: it has no @"));
    };
    let dots = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.contains("..");
    let local_char = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let domain_char = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let label = |l: &str| l.len() > 63 || l.starts_with('-') || l.ends_with('-');
    let wrong = dots(local)
        || dots(domain)
        || !local.chars().all(local_char)
        || !domain.chars().all(domain_char)
        || domain.split('.').any(label)
        || address.len() > whole_max
        || local.len() > local_max
        || domain.len() > domain_max;
    wrong.then(|| format!("`{address}` is not a mail address of the form name@host"))
}

/// What is wrong with the name of a webhook: it is a key of the configuration.
fn name_of_webhook(name: &str) -> Option<String> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    (!plain)
        .then(|| format!("`{name}` is not the name of a webhook: letters, digits, `-` and `_` (its URL is configured)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_address_and_nothing_else() {
        for good in
            ["a@b.example", "first.last+gpu@mail.example.org", "王@例子.cn", "x@localhost", "o'neil@a-b.example"]
        {
            assert_eq!(mail(good), None, "{good}");
        }
        for bad in [
            "nobody",
            "@b.example",
            "a@",
            "a..b@c.example",
            ".a@c.example",
            "a@b..c",
            "a@-b.c",
            "a b@c.example",
            "a@b.example,c@d.example",
            "A <a@b.example>",
            "a@b.example>",
            "a@b\r\nBcc: x@y.example",
            "\"a\"@b.example",
            "a@[127.0.0.1]",
        ] {
            assert!(mail(bad).is_some(), "{bad}");
        }
        assert!(mail(&format!("{}@b.example", "a".repeat(65))).is_some());
        assert!(mail(&format!("a@{}.example", "b".repeat(64))).is_some());
    }

    #[test]
    fn words_that_are_none_are_refused_with_their_column() {
        let folder = tempfile::tempdir().unwrap();
        let mut control = crate::Control::open(&folder.path().join("control.sqlite")).unwrap();
        let options = || crate::ImportOptions {
            zone: None,
            currency: None,
            now_ms: 0,
            actor: "anna".into(),
            force: false,
            reason: None,
            approver: None,
        };
        let mut import = |row: &str| {
            let csv = format!("kind,name,channel,address,language\n{row}\n");
            control.import(crate::ReferenceTable::Contacts, "in.csv", csv.as_bytes(), options())
        };
        for (row, column) in [
            ("team,nlp,mail,a@b.example,en", "kind"),
            ("role,boss,mail,a@b.example,en", "name"),
            ("role,finance,sms,123,en", "channel"),
            ("role,finance,mail,nobody,en", "address"),
            ("role,finance,webhook,https://h/x,en", "address"),
            ("role,finance,mail,a@b.example,fr", "language"),
        ] {
            let problems = import(row).unwrap_err().problems().to_vec();
            assert_eq!(problems.iter().map(|p| p.column.as_deref()).collect::<Vec<_>>(), [Some(column)], "{row}");
        }
        assert_eq!(import("role,finance,mail,a@b.example,en\nrole,finance,mail,b@b.example,zh").unwrap().added, 2);
    }

    #[test]
    fn a_webhook_is_named_and_no_url_stands_in_the_table() {
        assert_eq!(name_of_webhook("ops-chat_2"), None);
        assert!(name_of_webhook("https://hooks.example/T0/B0/secret").is_some());
    }
}
