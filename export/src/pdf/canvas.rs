//! Drawing. The only place of statements where numbers become floats, because the coordinates of a PDF are: twentieths of a
//! point are divided by twenty, and nothing is computed from the result.

use krilla::Document;
use krilla::color::rgb;
use krilla::geom::{Path, PathBuilder, Point, Rect};
use krilla::metadata::{DateTime as PdfTime, Metadata};
use krilla::page::PageSettings;
use krilla::paint::{Fill, Stroke};
use krilla::surface::Surface;
use krilla::text::{GlyphId, KrillaGlyph, TextDirection};

use super::color::Color;
use super::fonts::Fonts;
use super::measure::{Letters, Run, Twip, run_width, runs};
use super::page::{Item, PAGE};
use crate::error::ExportError;

/// Distance of the lines of a hatched area.
const HATCH: Twip = 60;

/// Pages as a PDF. The same pages give the same bytes.
pub(super) fn draw(pages: &[Vec<Item>], fonts: &Fonts, metadata: Metadata) -> Result<Vec<u8>, ExportError> {
    let mut document = Document::new();
    document.set_metadata(metadata);
    for items in pages {
        let settings = PageSettings::from_wh(points(PAGE.0), points(PAGE.1));
        let mut page = match settings {
            Some(settings) => document.start_page_with(settings),
            None => document.start_page(),
        };
        let mut surface = page.surface();
        items.iter().for_each(|item| draw_item(&mut surface, fonts, item));
        surface.finish();
        page.finish();
    }
    document.finish().map_err(|e| ExportError::Pdf(format!("{e:?}")))
}

/// An instant, as PDF has it.
pub(super) fn time(at: chrono::DateTime<chrono::Utc>) -> PdfTime {
    use chrono::{Datelike, Timelike};
    let small = |n: u32| u8::try_from(n).unwrap_or(0);
    PdfTime::new(u16::try_from(at.year()).unwrap_or(0))
        .month(small(at.month()))
        .day(small(at.day()))
        .hour(small(at.hour()))
        .minute(small(at.minute()))
        .second(small(at.second()))
        .utc_offset_hour(0)
        .utc_offset_minute(0)
}

fn points(twips: Twip) -> f32 {
    twips as f32 / 20.0
}

fn draw_item(surface: &mut Surface<'_>, fonts: &Fonts, item: &Item) {
    match item {
        Item::Text { at, letters, color, text } => draw_text(surface, fonts, *at, *letters, *color, text),
        Item::Filled { area, color } => fill(surface, rectangle(*area), *color),
        Item::Rule { line: [left, top, width], color } => fill(surface, rectangle([*left, *top, *width, 10]), *color),
        Item::Hatched { area, color } => hatch(surface, *area, *color),
    }
}

fn rectangle([left, top, width, height]: [Twip; 4]) -> Option<Path> {
    let mut path = PathBuilder::new();
    path.push_rect(Rect::from_xywh(points(left), points(top), points(width), points(height))?);
    path.finish()
}

fn fill(surface: &mut Surface<'_>, path: Option<Path>, color: Color) {
    surface.set_stroke(None);
    surface.set_fill(Some(Fill { paint: paint(color), ..Fill::default() }));
    path.iter().for_each(|path| surface.draw_path(path));
}

fn paint((red, green, blue): Color) -> krilla::paint::Paint {
    rgb::Color::new(red, green, blue).into()
}

/// Oblique lines inside a frame.
fn hatch(surface: &mut Surface<'_>, [left, top, width, height]: [Twip; 4], color: Color) {
    let mut path = PathBuilder::new();
    let mut offset = HATCH;
    while offset < width + height {
        // from the lower left upwards to the right, kept inside the frame
        let (x0, y0) = if offset <= height { (0, offset) } else { (offset - height, height) };
        let (x1, y1) = if offset <= width { (offset, 0) } else { (width, offset - width) };
        path.move_to(points(left + x0), points(top + y0));
        path.line_to(points(left + x1), points(top + y1));
        offset += HATCH;
    }
    let frame = [(left, top), (left + width, top), (left + width, top + height), (left, top + height)];
    path.move_to(points(left), points(top));
    frame[1..].iter().for_each(|(x, y)| path.line_to(points(*x), points(*y)));
    path.close();
    surface.set_fill(None);
    surface.set_stroke(Some(Stroke { paint: paint(color), width: points(9), ..Stroke::default() }));
    path.finish().iter().for_each(|path| surface.draw_path(path));
    surface.set_stroke(None);
}

fn draw_text(
    surface: &mut Surface<'_>,
    fonts: &Fonts,
    (mut x, y): (Twip, Twip),
    letters: Letters,
    color: Color,
    text: &str,
) {
    surface.set_stroke(None);
    surface.set_fill(Some(Fill { paint: paint(color), ..Fill::default() }));
    for run in runs(fonts, letters.weight, text) {
        draw_run(surface, fonts, Point::from_xy(points(x), points(y)), letters, &run);
        x += run_width(fonts, &run, letters.size);
    }
}

fn draw_run(surface: &mut Surface<'_>, fonts: &Fonts, start: Point, letters: Letters, run: &Run) {
    let Some(opened) = fonts.open(run.face) else { return };
    let (font, size) = (opened.font.clone(), points(letters.size));
    if run.text.chars().any(joins) {
        surface.draw_text(start, font, size, &run.text, false, TextDirection::Auto);
        return;
    }
    let per_em = f32::from(opened.face.units_per_em);
    let mut at = 0;
    let glyphs: Vec<KrillaGlyph> = run
        .glyphs
        .iter()
        .map(|(glyph, length, advance)| {
            let range = at..at + length;
            at += length;
            let advance = f32::from(*advance) / per_em;
            KrillaGlyph::new(GlyphId::new(u32::from(*glyph)), advance, 0.0, 0.0, 0.0, range, None)
        })
        .collect();
    surface.draw_glyphs(start, &glyphs, font, &run.text, size, false);
}

/// Characters whose form depends on their neighbours: marks, Hebrew, Arabic, the scripts of India and South-East Asia.
fn joins(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36f | 0x590..=0x109f | 0x1780..=0x18af | 0xfb1d..=0xfdff | 0xfe70..=0xfefc)
}
