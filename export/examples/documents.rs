//! Writes every document of a made-up bill into a folder, for `tests/documents/check.py` and for people who want to look:
//! `cargo run --release -p gpuledger-export --example documents -- FOLDER`, or with `LINES CHARGES` behind it the time and size of
//! each document of a bill of that size.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use arrow_array::RecordBatch;
use gpuledger_export::pdf::Fonts;
use gpuledger_export::{Lang, csv, focus, json, parquet, pdf, posting, rollup, table, xlsx};
use gpuledger_schema::table::{self as tables, ChargeRow};

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use fixture::{Money, PLAIN_TEAMS, TEAMS, World, large, world};

type Failure = Box<dyn std::error::Error>;

fn batches(charges: &[ChargeRow]) -> Result<Vec<RecordBatch>, Failure> {
    charges.chunks(65_536).map(|rows| Ok(tables::batch(rows)?)).collect()
}

/// Writes one document, and says how long it took and how large it is.
fn document(folder: &Path, name: &str, write: impl FnOnce(&mut File) -> Result<(), Failure>) -> Result<(), Failure> {
    let path = folder.join(name);
    let mut file = File::create(&path)?;
    let since = Instant::now();
    write(&mut file)?;
    file.flush()?;
    println!("{name:32} {:>8} ms {:>12} bytes", since.elapsed().as_millis(), path.metadata()?.len());
    Ok(())
}

fn posting_options(lang: Lang) -> posting::Options {
    posting::Options {
        expense_account: "62000".to_owned(),
        recovery_account: "48500".to_owned(),
        platform_cost_center: "CC-IT".to_owned(),
        lang,
        bom: false,
    }
}

fn all(folder: &Path, world: &World, fonts: &Fonts, suffix: &str) -> Result<(), Failure> {
    let bill = &world.bill;
    let charges = batches(&world.charges)?;
    let lang = if suffix == "zh" { Lang::Zh } else { Lang::En };
    let named = |name: &str, kind: &str| format!("{name}-{suffix}.{kind}");
    document(folder, &named("table", "txt"), |f| Ok(table::write(bill, &table::Options { team: None, lang }, f)?))?;
    document(folder, &named("bill", "json"), |f| Ok(json::write(bill, f)?))?;
    document(folder, &named("lines", "csv"), |f| Ok(csv::write(bill, csv::Options { bom: false }, f)?))?;
    document(folder, &named("lines-bom", "csv"), |f| Ok(csv::write(bill, csv::Options { bom: true }, f)?))?;
    document(folder, &named("lines", "parquet"), |f| Ok(parquet::write(bill, f)?))?;
    document(folder, &named("bill", "xlsx"), |f| Ok(xlsx::write(bill, xlsx::Options { lang }, f)?))?;
    document(folder, &named("posting", "csv"), |f| {
        posting::write(bill, &posting_options(lang), f)?.iter().for_each(|w| println!("  {w}"));
        Ok(())
    })?;
    document(folder, &named("focus", "parquet"), |f| Ok(focus::write(bill, &charges, focus::Format::Parquet, f)?))?;
    document(folder, &named("focus", "csv"), |f| {
        Ok(focus::write(bill, &charges, focus::Format::Csv { bom: false }, f)?)
    })?;
    let mut teams: Vec<&str> = bill.lines.iter().filter(|l| !l.platform).map(|l| l.team.as_str()).collect();
    teams.dedup();
    for (i, team) in teams.iter().enumerate().take(8) {
        let options = pdf::Options { team: (*team).to_owned(), lang };
        document(folder, &named(&format!("statement-{i}"), "pdf"), |f| {
            pdf::write(bill, &options, fonts, f)?.iter().for_each(|w| println!("  {w}"));
            Ok(())
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, sizes) = words.split_first().ok_or("name a folder")?;
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let since = Instant::now();
    let fonts = Fonts::system();
    println!("fonts looked for in {} ms", since.elapsed().as_millis());
    if let [lines, charges] = sizes {
        return all(folder, &large(lines.parse()?, charges.parse()?), &fonts, "large");
    }
    all(folder, &world(&TEAMS, Money("EUR", 2)), &fonts, "en")?;
    all(folder, &world(&TEAMS, Money("JPY", 0)), &fonts, "zh")?;
    all(folder, &world(&PLAIN_TEAMS, Money("KWD", 3)), &fonts, "plain")?;
    let october = world(&TEAMS, Money("EUR", 2)).bill;
    let mut november = october.clone();
    november.period = "2026-11".to_owned();
    (november.from_ms, november.to_ms) = (october.to_ms, october.to_ms + 30 * 86_400_000);
    november.lines.iter_mut().for_each(|l| l.period = "2026-11".to_owned());
    let quarter = rollup::several("2026-Q4", &[november, october])?;
    document(folder, "bill-quarter.xlsx", |f| Ok(xlsx::write(&quarter, xlsx::Options { lang: Lang::En }, f)?))
}
