//! Names of users that a name service knows, does not know, and knows again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// Names that know 1000 and, once they are back, 20117; and how often they were asked.
fn service(back: bool) -> (NameOf, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let name_of: NameOf = Box::new(move |uid| {
        count.fetch_add(1, Ordering::Relaxed);
        match uid {
            1000 => Some("alice".into()),
            20_117 if back => Some("dora".into()),
            3 => Some(" ".into()),
            _ => None,
        }
    });
    (name_of, asked)
}

#[test]
fn a_number_without_a_name_stays_visible_as_itself() {
    // C11: the number is in LDAP only; never blank, never root
    let mut users = Users::new(service(false).0);
    assert_eq!(users.name(20_117, 0), "uid:20117");
    assert_eq!(users.name(1000, 0), "alice");
    assert_eq!(users.name(3, 0), "uid:3", "a blank name is no name");
    assert_eq!(users.name(0, 0), "uid:0");
}

#[test]
fn the_name_service_is_asked_again_when_it_may_be_back() {
    let (away, asked) = service(false);
    let mut users = Users::new(away);
    assert_eq!(users.name(20_117, 0), "uid:20117");
    assert_eq!(users.name(20_117, UNKNOWN_FOR_MS - 1), "uid:20117");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    users.name_of = service(true).0;
    assert_eq!(users.name(20_117, UNKNOWN_FOR_MS), "dora");
}

#[test]
fn a_name_is_believed_for_a_while() {
    let (names, asked) = service(false);
    let mut users = Users::new(names);
    users.name(1000, 0);
    users.name(1000, KNOWN_FOR_MS - 1);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    users.name(1000, KNOWN_FOR_MS);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn the_numbers_that_are_remembered_are_bounded() {
    let mut users = Users::new(service(false).0);
    for uid in 0..2 * u32::try_from(USERS_MAX).unwrap() + 5 {
        users.name(uid, 0);
        assert!(users.known.len() <= USERS_MAX);
    }
}

#[test]
fn this_machine_knows_root() {
    assert_eq!(Users::new(system_names()).name(0, 0), "root");
}
