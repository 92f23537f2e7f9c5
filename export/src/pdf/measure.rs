//! How wide texts are, where lines break, and what is cut: whole twentieths of a point, from the widths in the font.

use fontdb::ID;

use super::fonts::{Fonts, Weight};

/// A twentieth of a point: 1440 to the inch.
pub(super) type Twip = i32;

/// Characters of one face that follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) face: ID,
    /// The characters as they were typed, also where the glyph is the replacement: whoever copies them has the name.
    pub(super) text: String,
    /// Glyphs, each with its length in `text` and its width in units of the face.
    pub(super) glyphs: Vec<(u16, usize, u16)>,
}

/// Letters and size of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letters {
    pub(super) size: Twip,
    pub(super) weight: Weight,
}

/// Characters that say how others are drawn and are none themselves: joiners, directions, variations, the byte order mark.
fn invisible(c: char) -> bool {
    matches!(u32::from(c), 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff | 0xe_0000..=0xe_0fff)
}

/// Runs of a text. A character that breaks lines or rings bells has no place in one: it shows as the replacement.
pub(super) fn runs(fonts: &Fonts, weight: Weight, text: &str) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for c in text.chars().filter(|c| !invisible(*c)) {
        let shown = if c.is_control() { '\u{fffd}' } else { c };
        let Some((face, glyph)) = fonts.glyph(weight, shown) else { continue };
        let advance = fonts.open(face).map_or(0, |o| o.face.advance(glyph));
        let part = (glyph, shown.len_utf8(), advance);
        match out.last_mut().filter(|run| run.face == face) {
            Some(run) => {
                run.text.push(shown);
                run.glyphs.push(part);
            }
            None => out.push(Run { face, text: shown.to_string(), glyphs: vec![part] }),
        }
    }
    out
}

/// How wide a run is.
pub(super) fn run_width(fonts: &Fonts, run: &Run, size: Twip) -> Twip {
    let units: i64 = run.glyphs.iter().map(|(_, _, advance)| i64::from(*advance)).sum();
    let per_em = fonts.open(run.face).map_or(1000, |o| i64::from(o.face.units_per_em));
    (units * i64::from(size) / per_em) as Twip
}

/// How wide a text is.
pub(super) fn width(fonts: &Fonts, letters: Letters, text: &str) -> Twip {
    runs(fonts, letters.weight, text).iter().map(|run| run_width(fonts, run, letters.size)).sum()
}

/// The text in at most so much width; what is cut away shows as `…`.
pub(super) fn cut(fonts: &Fonts, letters: Letters, text: &str, room: Twip) -> String {
    if width(fonts, letters, text) <= room {
        return text.to_owned();
    }
    let room = room - width(fonts, letters, "…");
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += width(fonts, letters, c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// Lines of a text, each at most so wide: broken after blanks and between Chinese characters, and within a word only where
/// it alone is wider. At most `lines` of them; the last then ends in `…`.
pub(super) fn wrap(fonts: &Fonts, letters: Letters, text: &str, room: Twip, lines: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut used = 0;
    for piece in pieces(text) {
        let wide = width(fonts, letters, piece);
        let visible = width(fonts, letters, piece.trim_end());
        if used > 0 && used + visible > room {
            out.push(String::new());
            used = 0;
        }
        if visible > room {
            for c in piece.chars() {
                let w = width(fonts, letters, c.encode_utf8(&mut [0; 4]));
                if used > 0 && used + w > room {
                    out.push(String::new());
                    used = 0;
                }
                used += w;
                last(&mut out).push(c);
            }
            continue;
        }
        used += wide;
        last(&mut out).push_str(piece);
    }
    if out.len() > lines {
        let rest: String = out.drain(lines - 1..).collect();
        out.push(cut(fonts, letters, &rest, room));
    }
    out.iter().map(|l| l.trim_end().to_owned()).collect()
}

fn last(lines: &mut Vec<String>) -> &mut String {
    if lines.is_empty() {
        lines.push(String::new());
    }
    let at = lines.len() - 1;
    &mut lines[at]
}

/// Pieces between which a line may break.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut from = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let Some((_, next)) = chars.peek() else { break };
        let closes = "，。、；：！？）》”’,.;:!?)".contains(*next);
        if (c == ' ' && *next != ' ' || ideograph(c) || ideograph(*next)) && !closes {
            out.push(&text[from..end]);
            from = end;
        }
    }
    out.push(&text[from..]);
    out
}

fn ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x2e80..=0x9fff | 0xf900..=0xfaff | 0xff00..=0xffef | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_after_blanks_and_between_ideographs() {
        assert_eq!(pieces("a bc  d"), ["a ", "bc  ", "d"]);
        assert_eq!(pieces("占用，空闲"), ["占", "用，", "空", "闲"]);
        assert_eq!(pieces(""), [""]);
        assert_eq!(pieces("team 自然"), ["team ", "自", "然"]);
    }
}
