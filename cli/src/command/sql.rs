//! `sql`: one read-only question to the lake.

use std::fmt::Write as _;

use anyhow::Context;
use gpuledger_aggregator::close;
use gpuledger_aggregator::explain::{Answer, ask_sql};
use gpuledger_aggregator::report::Format;

use super::print;
use crate::args::Sql;
use crate::outcome::Outcome;
use crate::place::Place;

pub(super) async fn run(place: &Place, asked: &Sql, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let reader = place.reader(&lake).await?;
    // charges of all closed months are many: they are read where they are asked for
    if asked.query.to_lowercase().contains("closed_") {
        close::closed_tables(&lake, &reader).await?;
    }
    let answer = ask_sql(&reader, &asked.query).await.context("the query was refused or failed")?;
    print(&rendered(&answer, format)?)?;
    Ok(Outcome::Done)
}

fn rendered(answer: &Answer, format: Format) -> anyhow::Result<Vec<u8>> {
    Ok(match format {
        Format::Table => text_table(&answer.header, &answer.text_rows()?).into_bytes(),
        Format::Csv => answer.csv()?,
        Format::Json => answer.json()?,
        Format::Parquet => answer.parquet()?,
    })
}

/// A plain table: columns as wide as their content, two blanks between.
pub(super) fn text_table(header: &[String], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(cell.chars().count());
        }
    }
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut out = format!("{}\n", line(header));
    let _ = writeln!(out, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)));
    for row in rows {
        let _ = writeln!(out, "{}", line(row));
    }
    out
}
