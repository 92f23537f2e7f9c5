//! What a font file says: which characters it has and how wide they are. TrueType and OpenType, also in collections.

/// A face of a font file.
#[derive(Debug)]
pub(super) struct Face {
    /// Units of a em, in which widths are given.
    pub(super) units_per_em: u16,
    /// Characters and their glyphs, ordered by character.
    glyphs: Vec<(u32, u16)>,
    /// Widths of glyphs; those after the last are as wide as it.
    advances: Vec<u16>,
}

impl Face {
    /// Reads face `index` of a file. Absent: it is no font, or has no outlines, which alone can be printed at any size.
    pub(super) fn read(file: &[u8], index: u32) -> Option<Self> {
        let offset = match file.get(..4)? {
            b"ttcf" => u32_at(file, 12 + 4 * index as usize)? as usize,
            _ => 0,
        };
        let tables = Tables { file, offset };
        tables.find(b"glyf").or_else(|| tables.find(b"CFF ")).or_else(|| tables.find(b"CFF2"))?;
        let units_per_em = u16_at(tables.find(b"head")?, 18).filter(|u| *u > 0)?;
        let count = u16_at(tables.find(b"hhea")?, 34)? as usize;
        let hmtx = tables.find(b"hmtx")?;
        let advances = (0..count).map(|i| u16_at(hmtx, 4 * i)).collect::<Option<Vec<_>>>().filter(|a| !a.is_empty())?;
        let mut glyphs = characters(tables.find(b"cmap")?)?;
        glyphs.sort_unstable();
        glyphs.dedup_by_key(|(c, _)| *c);
        Some(Self { units_per_em, glyphs, advances })
    }

    /// The glyph of a character, where the face has one.
    pub(super) fn glyph(&self, c: char) -> Option<u16> {
        self.glyphs.binary_search_by_key(&u32::from(c), |(c, _)| *c).ok().map(|i| self.glyphs[i].1)
    }

    /// How wide a glyph is, in units.
    pub(super) fn advance(&self, glyph: u16) -> u16 {
        self.advances[(glyph as usize).min(self.advances.len() - 1)]
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
}

struct Tables<'a> {
    file: &'a [u8],
    offset: usize,
}

impl<'a> Tables<'a> {
    fn find(&self, tag: &[u8; 4]) -> Option<&'a [u8]> {
        let count = u16_at(self.file, self.offset + 4)? as usize;
        let records = (0..count).map(|i| self.offset + 12 + 16 * i);
        let record = records.into_iter().find(|at| self.file.get(*at..at + 4) == Some(tag))?;
        let (at, len) = (u32_at(self.file, record + 8)? as usize, u32_at(self.file, record + 12)? as usize);
        self.file.get(at..at.checked_add(len)?)
    }
}

/// Characters and glyphs of the best table of characters: the one of all Unicode, else the one of its first 65 536.
fn characters(cmap: &[u8]) -> Option<Vec<(u32, u16)>> {
    let count = u16_at(cmap, 2)? as usize;
    let mut best: Option<(u16, &[u8])> = None;
    for i in 0..count {
        let record = 4 + 8 * i;
        let (platform, encoding) = (u16_at(cmap, record)?, u16_at(cmap, record + 2)?);
        let unicode = platform == 0 && encoding != 5 || platform == 3 && (encoding == 1 || encoding == 10);
        let Some(table) = cmap.get(u32_at(cmap, record + 4)? as usize..) else { continue };
        let Some(format @ (4 | 12)) = u16_at(table, 0).filter(|_| unicode) else { continue };
        if best.is_none_or(|(f, _)| format > f) {
            best = Some((format, table));
        }
    }
    match best? {
        (12, table) => groups(table),
        (_, table) => segments(table),
    }
}

/// Format 12: runs of characters that have glyphs one after another.
fn groups(table: &[u8]) -> Option<Vec<(u32, u16)>> {
    let count = u32_at(table, 12)? as usize;
    let mut out = Vec::new();
    for i in 0..count {
        let at = 16 + 12 * i;
        let (first, last, glyph) = (u32_at(table, at)?, u32_at(table, at + 4)?, u32_at(table, at + 8)?);
        for c in first..=last.min(0x10_ffff) {
            let glyph = u16::try_from(glyph + (c - first)).ok()?;
            out.extend((glyph != 0).then_some((c, glyph)));
        }
    }
    Some(out)
}

/// Format 4: segments whose glyphs are at a distance from their characters, or in a list.
fn segments(table: &[u8]) -> Option<Vec<(u32, u16)>> {
    let double = u16_at(table, 6)? as usize;
    let (ends, starts) = (14, 16 + double);
    let (deltas, offsets) = (starts + double, starts + 2 * double);
    let mut out = Vec::new();
    for i in (0..double).step_by(2) {
        let (first, last) = (u16_at(table, starts + i)?, u16_at(table, ends + i)?);
        let (delta, offset) = (u16_at(table, deltas + i)?, u16_at(table, offsets + i)? as usize);
        for c in first..=last {
            let glyph = match offset {
                0 => c.wrapping_add(delta),
                _ => match u16_at(table, offsets + i + offset + 2 * usize::from(c - first)) {
                    Some(0) | None => 0,
                    Some(glyph) => glyph.wrapping_add(delta),
                },
            };
            out.extend((glyph != 0 && c != 0xffff).then_some((u32::from(c), glyph)));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A font of three characters, by hand: `A` and `B` by distance, `一` by list.
    fn font() -> Vec<u8> {
        let mut cmap: Vec<u16> = vec![0, 1, 3, 1, 0, 12];
        cmap.extend([4, 0, 0, 6, 0, 0, 0]);
        cmap.extend([0x42, 0x4e00, 0xffff, 0, 0x41, 0x4e00, 0xffff]);
        cmap.extend([1_u16.wrapping_sub(0x41), 0, 1, 0, 4, 0, 3]);
        let bytes = |words: &[u16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
        let mut head = vec![0; 54];
        head[18..20].copy_from_slice(&1000_u16.to_be_bytes());
        let mut hhea = vec![0; 36];
        hhea[34..36].copy_from_slice(&3_u16.to_be_bytes());
        let tables: [(&[u8; 4], Vec<u8>); 5] = [
            (b"cmap", bytes(&cmap)),
            (b"glyf", vec![0; 4]),
            (b"head", head),
            (b"hhea", hhea),
            (b"hmtx", bytes(&[500, 0, 600, 0, 700, 0])),
        ];
        let mut out = bytes(&[0, 1, 5, 0, 0, 0]);
        let mut at = 12 + 16 * tables.len();
        for (tag, data) in &tables {
            out.extend(*tag);
            out.extend(0_u32.to_be_bytes());
            out.extend((at as u32).to_be_bytes());
            out.extend((data.len() as u32).to_be_bytes());
            at += data.len();
        }
        tables.iter().for_each(|(_, data)| out.extend(data));
        out
    }

    #[test]
    fn a_face_knows_its_characters_and_widths() {
        let face = Face::read(&font(), 0).unwrap();
        assert_eq!(face.units_per_em, 1000);
        assert_eq!(face.glyph('A'), Some(1));
        assert_eq!(face.glyph('B'), Some(2));
        assert_eq!(face.glyph('一'), Some(3));
        assert_eq!(face.glyph('C'), None);
        assert_eq!((face.advance(1), face.advance(2), face.advance(9)), (600, 700, 700));
    }

    #[test]
    fn what_is_no_font_is_none() {
        assert!(Face::read(b"", 0).is_none());
        assert!(Face::read(&vec![0; 4096], 0).is_none());
        let good = font();
        // a file that was cut is no font, and never a panic
        for length in 0..good.len() {
            let _ = Face::read(&good[..length], 0);
        }
    }
}
