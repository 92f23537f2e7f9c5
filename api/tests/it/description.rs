//! The description of the routes is locked: whoever changes a route changes it too, and sees what clients will see.

use std::path::Path;

use gpuledger_api::openapi;

#[test]
fn the_description_is_the_one_that_was_agreed_on() {
    let made = format!("{:#}\n", openapi::document("0.0.0"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/openapi.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept,
        "the routes differ from {}: look at what differs, and run with UPDATE_GOLDEN=1",
        path.display()
    );
}
