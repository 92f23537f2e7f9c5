//! Statements as PDF: the same bytes each time, warnings for what no font has, errors where there is nothing to set it in.

use gpuledger_export::pdf::{self, Fonts};
use gpuledger_export::{ExportError, Lang, Warning};

mod fixture;

use fixture::{Money, PLAIN_TEAMS, TEAMS, world};

fn options(team: &str) -> pdf::Options {
    pdf::Options { team: team.to_owned(), lang: Lang::En }
}

/// Fonts of this machine; without any there is nothing to test here but the error.
fn fonts() -> Option<Fonts> {
    let bill = world(&PLAIN_TEAMS, Money("EUR", 2)).bill;
    let fonts = Fonts::system();
    match pdf::write(&bill, &options("nlp"), &fonts, &mut Vec::new()) {
        Err(ExportError::NoFont { .. }) => None,
        _ => Some(fonts),
    }
}

#[test]
fn the_same_bill_gives_the_same_bytes() {
    let Some(fonts) = fonts() else { return };
    let bill = world(&TEAMS, Money("EUR", 2)).bill;
    for team in TEAMS {
        let write = |fonts: &Fonts| {
            let mut out = Vec::new();
            let warnings = pdf::write(&bill, &options(team), fonts, &mut out).unwrap();
            (out, warnings)
        };
        let (first, warnings) = write(&fonts);
        assert!(first.starts_with(b"%PDF-") && first.len() > 5_000);
        assert_eq!((first, warnings), write(&Fonts::system()), "{team}");
    }
}

#[test]
fn what_no_font_has_is_a_warning_and_not_a_hole() {
    let Some(fonts) = fonts() else { return };
    let mut bill = world(&PLAIN_TEAMS, Money("EUR", 2)).bill;
    // a character that is assigned to nobody
    bill.notes.push("see \u{10fffd}".to_owned());
    let mut out = Vec::new();
    let warnings = pdf::write(&bill, &options("nlp"), &fonts, &mut out).unwrap();
    assert_eq!(warnings, [Warning::NoGlyph { character: '\u{10fffd}', package: None }]);
    assert!(warnings[0].to_string().starts_with("no font has U+10FFFD"));
    bill.notes.pop();
    assert!(pdf::write(&bill, &options("nlp"), &fonts, &mut out).unwrap().is_empty());
}

#[test]
fn without_fonts_or_team_there_is_no_statement() {
    let bill = world(&PLAIN_TEAMS, Money("EUR", 2)).bill;
    let error = pdf::write(&bill, &options("nlp"), &Fonts::of_files(Vec::new()), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no font is installed"), "{error}");
    let error = pdf::write(&bill, &options("nobody"), &Fonts::of_files(Vec::new()), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("it has: climate, genomics, nlp"), "{error}");
}
