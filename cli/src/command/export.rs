//! `export`: documents of a bill, as files or on standard output.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use gpuledger_aggregator::close::{self, Billed};
use gpuledger_aggregator::lake::Lake;
use gpuledger_export::pdf::Fonts;
use gpuledger_export::{Lang, Warning, csv, focus, json, parquet, pdf, posting, rollup, table, xlsx};
use gpuledger_schema::bill::{Bill, State};
use gpuledger_schema::window::{month_name, month_number};

use super::close::{issuer, period};
use crate::args::Export;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

/// A document that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Document {
    Table,
    Json,
    Csv,
    Xlsx,
    Pdf,
    Posting,
    Parquet,
    Focus,
    FocusCsv,
}

impl Document {
    /// Every document: how it is asked for, and how its file is called behind the period.
    const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Table, "table", "bill.txt"),
        (Self::Json, "json", "bill.json"),
        (Self::Csv, "csv", "lines.csv"),
        (Self::Xlsx, "xlsx", "bill.xlsx"),
        (Self::Pdf, "pdf", "statement.pdf"),
        (Self::Posting, "posting", "posting.csv"),
        (Self::Parquet, "parquet", "lines.parquet"),
        (Self::Focus, "focus", "focus.parquet"),
        (Self::FocusCsv, "focus-csv", "focus.csv"),
    ];

    fn parse(word: &str) -> anyhow::Result<Self> {
        let known = || Self::ALL.map(|(_, word, _)| word).join(", ");
        let found = Self::ALL.into_iter().find(|(_, w, _)| *w == word);
        found.map(|(d, ..)| d).ok_or_else(|| usage(format!("--as `{word}` is not one of: {}", known())))
    }

    fn file_name(self, bill: &Bill) -> String {
        let end = Self::ALL.into_iter().find(|(d, ..)| *d == self).map_or("", |(.., end)| end);
        format!("{}-{end}", safe_name(&bill.period))
    }

    fn media(self) -> &'static str {
        match self {
            Self::Table => "text/plain; charset=utf-8",
            Self::Json => "application/json",
            Self::Csv | Self::Posting | Self::FocusCsv => "text/csv; charset=utf-8",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Pdf => "application/pdf",
            Self::Parquet | Self::Focus => "application/vnd.apache.parquet",
        }
    }

    /// Whether a terminal can show it.
    fn is_text(self) -> bool {
        !matches!(self, Self::Xlsx | Self::Pdf | Self::Parquet | Self::Focus)
    }
}

pub(super) async fn run(place: &Place, asked: &Export) -> anyhow::Result<Outcome> {
    let document = Document::parse(&asked.document)?;
    let lang: Lang = asked.lang.parse().map_err(|e: gpuledger_export::UnknownLang| usage(format!("--lang {e}")))?;
    if asked.team.is_some() && !matches!(document, Document::Pdf | Document::Table) {
        return Err(usage("--team is for pdf and table; other documents have every team"));
    }
    let postings = if document == Document::Posting { Some(postings(asked, lang)?) } else { None };
    let lake = place.lake()?;
    let billed = bill(place, &lake, asked, document).await?;
    if matches!(billed.bill.state, State::Draft { .. }) {
        eprintln!("{} is not closed: this is a draft", billed.bill.period);
    }
    if document == Document::Pdf {
        return statements(&billed.bill, asked, lang);
    }
    let to = target(asked, document, &billed.bill)?;
    let warnings = written(&to, |out| write(document, &billed, asked, lang, postings.as_ref(), out))?;
    warn(&warnings);
    Ok(Outcome::Done)
}

/// A document as it would be written: its name, media type and bytes. A PDF is of one team.
pub(crate) async fn exported(place: &Place, asked: &Export) -> anyhow::Result<(String, &'static str, Vec<u8>)> {
    let document = Document::parse(&asked.document)?;
    let lang: Lang = asked.lang.parse().map_err(|e: gpuledger_export::UnknownLang| usage(format!("--lang {e}")))?;
    if asked.team.is_some() && !matches!(document, Document::Pdf | Document::Table) {
        return Err(usage("--team is for pdf and table; other documents have every team"));
    }
    if asked.team.is_none() && document == Document::Pdf {
        return Err(usage("--team is needed: a statement in PDF is of one team"));
    }
    let postings = if document == Document::Posting { Some(postings(asked, lang)?) } else { None };
    let lake = place.lake()?;
    let billed = bill(place, &lake, asked, document).await?;
    let mut bytes = Vec::new();
    write(document, &billed, asked, lang, postings.as_ref(), &mut bytes)?;
    let name = match &asked.team {
        Some(team) => format!("{}-{}", safe_name(team), document.file_name(&billed.bill)),
        None => document.file_name(&billed.bill),
    };
    Ok((name, document.media(), bytes))
}

/// The bill of a month, or of several that follow one another.
async fn bill(place: &Place, lake: &Lake, asked: &Export, document: Document) -> anyhow::Result<Billed> {
    let months = months(&asked.period)?;
    let several = months.len() > 1;
    if several && matches!(document, Document::Focus | Document::FocusCsv) {
        return Err(usage("FOCUS is written month by month: a billing period is a month"));
    }
    let reader = place.reader(lake).await?;
    let mut all = Vec::new();
    for month in &months {
        let of = period(place, lake, month, asked.zone.as_deref())?;
        all.push(close::bill(lake, &reader, &of, &issuer(place)).await?);
    }
    if !several {
        return all.pop().context("no month was asked for");
    }
    let bills: Vec<Bill> = all.into_iter().map(|b| b.bill).collect();
    Ok(Billed { bill: rollup::several(&asked.period, &bills)?, charges: Vec::new() })
}

/// The months of a period as it is typed.
fn months(text: &str) -> anyhow::Result<Vec<String>> {
    let wrong = || usage(format!("`{text}` is no month YYYY-MM, quarter YYYY-Qn or range of months YYYY-MM..YYYY-MM"));
    let number = |month: &str| month_number(month).ok();
    let (from, to) = match (text.split_once(".."), text.split_once("-Q")) {
        (Some((from, to)), _) => (number(from).ok_or_else(wrong)?, number(to).ok_or_else(wrong)?),
        (None, Some((year, quarter @ ("1" | "2" | "3" | "4")))) => {
            let quarter: i64 = quarter.parse().map_err(|_| wrong())?;
            let first = number(&format!("{year}-{:02}", quarter * 3 - 2)).ok_or_else(wrong)?;
            (first, first + 2)
        }
        (None, Some(_)) => return Err(wrong()),
        (None, None) => return number(text).map(|n| vec![month_name(n)]).ok_or_else(wrong),
    };
    if to < from || to - from > 120 {
        return Err(wrong());
    }
    Ok((from..=to).map(month_name).collect())
}

fn postings(asked: &Export, lang: Lang) -> anyhow::Result<posting::Options> {
    let needed = |value: &Option<String>, flag: &str| {
        value.clone().ok_or_else(|| usage(format!("a posting file needs {flag}: the code that your books have for it")))
    };
    Ok(posting::Options {
        expense_account: needed(&asked.expense_account, "--expense-account")?,
        recovery_account: needed(&asked.recovery_account, "--recovery-account")?,
        platform_cost_center: needed(&asked.platform_cost_center, "--platform-cost-center")?,
        lang,
        bom: asked.bom,
    })
}

fn write(
    document: Document,
    billed: &Billed,
    asked: &Export,
    lang: Lang,
    postings: Option<&posting::Options>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Warning>> {
    let (bill, bom) = (&billed.bill, asked.bom);
    match document {
        Document::Table => table::write(bill, &table::Options { team: asked.team.clone(), lang }, out)?,
        Document::Json => json::write(bill, out)?,
        Document::Csv => csv::write(bill, csv::Options { bom }, out)?,
        Document::Xlsx => xlsx::write(bill, xlsx::Options { lang }, out)?,
        Document::Parquet => parquet::write(bill, out)?,
        Document::Focus => focus::write(bill, &billed.charges, focus::Format::Parquet, out)?,
        Document::FocusCsv => focus::write(bill, &billed.charges, focus::Format::Csv { bom }, out)?,
        Document::Posting => {
            let options = postings.context("a posting file has accounts")?;
            return Ok(posting::write(bill, options, out)?);
        }
        Document::Pdf => {
            let options = pdf::Options { team: asked.team.clone().unwrap_or_default(), lang };
            return Ok(pdf::write(bill, &options, &Fonts::system(), out)?);
        }
    }
    Ok(Vec::new())
}

/// Where a document goes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Stdout,
    File(PathBuf),
}

fn target(asked: &Export, document: Document, bill: &Bill) -> anyhow::Result<Target> {
    match &asked.out {
        Some(out) => Ok(Target::File(in_folder(out, &document.file_name(bill)))),
        None if document.is_text() || !std::io::stdout().is_terminal() => Ok(Target::Stdout),
        None => Err(usage(format!("`--as {}` is no text: give --out, or send it on", asked.document))),
    }
}

/// The path itself, or a file of the usual name in it where it is a folder.
fn in_folder(out: &str, name: &str) -> PathBuf {
    let path = Path::new(out);
    if path.is_dir() || out.ends_with('/') { path.join(name) } else { path.to_owned() }
}

/// Statements of one team or of all, each a file.
fn statements(bill: &Bill, asked: &Export, lang: Lang) -> anyhow::Result<Outcome> {
    let fonts = Fonts::system();
    let all = || {
        let mut teams: Vec<&str> = bill.lines.iter().filter(|l| !l.platform).map(|l| l.team.as_str()).collect();
        teams.sort_unstable();
        teams.dedup();
        teams
    };
    let teams = asked.team.as_deref().map_or_else(all, |team| vec![team]);
    let out = asked.out.as_deref().unwrap_or(".");
    if teams.len() > 1 && !Path::new(out).is_dir() {
        return Err(usage(format!("{} statements need a folder that is there: `{out}` is none", teams.len())));
    }
    let mut warnings = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for team in teams {
        let base = format!("{}-{}-statement", safe_name(team), safe_name(&bill.period));
        // two names may be the same when what no file name may have is taken out
        let same = names.iter().filter(|n| **n == base).count();
        names.push(base.clone());
        let name = if same == 0 { format!("{base}.pdf") } else { format!("{base}-{}.pdf", same + 1) };
        let to = Target::File(in_folder(out, &name));
        let options = pdf::Options { team: team.to_owned(), lang };
        warnings.extend(written(&to, |out| Ok(pdf::write(bill, &options, &fonts, out)?))?);
    }
    warnings.sort_unstable();
    warnings.dedup();
    warn(&warnings);
    Ok(Outcome::Done)
}

/// A name as a file may have it on any system: letters, digits, `_`, `.`, `-`.
fn safe_name(text: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    let name: String = text.chars().take(80).map(plain).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

fn warn(warnings: &[Warning]) {
    warnings.iter().for_each(|w| eprintln!("{w}"));
}

/// Writes whole or not at all: into a file beside, which then takes the name.
#[allow(
    clippy::disallowed_methods,
    reason = "a document for people lies where they say, and may replace the one before"
)]
fn written<T>(to: &Target, write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let Target::File(path) = to else {
        let mut out = BufWriter::new(std::io::stdout());
        let made = write(&mut out)?;
        out.flush().context("cannot write to standard output")?;
        return Ok(made);
    };
    let mut part = path.clone().into_os_string();
    part.push(".part");
    let shown = || format!("cannot write {}", path.display());
    let file = File::create(&part).with_context(shown)?;
    let mut out = BufWriter::new(file);
    let made = write(&mut out);
    let done = made.and_then(|made| {
        out.flush().with_context(shown)?;
        std::fs::rename(&part, path).with_context(shown)?;
        Ok(made)
    });
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    } else {
        eprintln!("wrote {}", path.display());
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_months_quarters_and_ranges() {
        let of = |text: &str| months(text).map(|m| m.join(" ")).unwrap_or_default();
        assert_eq!(of("2026-10"), "2026-10");
        assert_eq!(of("2026-Q4"), "2026-10 2026-11 2026-12");
        assert_eq!(of("2025-12..2026-02"), "2025-12 2026-01 2026-02");
        for wrong in ["2026", "2026-13", "2026-Q5", "2026-02..2026-01", "26-10", "2026-10..", ""] {
            assert_eq!(of(wrong), "", "{wrong}");
        }
    }

    #[test]
    fn a_team_is_a_file_name() {
        assert_eq!(safe_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(safe_name("自然语言 组"), "自然语言-组");
        assert_eq!(safe_name("///"), "unnamed");
    }
}
