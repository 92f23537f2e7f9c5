//! Fonts of the machine, in the order in which a character is looked for in them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use fontdb::{Database, FaceInfo, ID, Source, Stretch, Style};
use krilla::text::Font;

use super::face::Face;
use crate::error::{ExportError, Warning};

/// Families in order: Latin first, so that figures look the same in every statement; then Chinese; then signs. Others that
/// are installed come last, by name.
const FAMILIES: [&str; 22] = [
    "Noto Sans",
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Noto Sans CJK TC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Droid Sans Fallback",
    "AR PL UMing CN",
    "Noto Sans Symbols",
    "Noto Sans Symbols 2",
    "Noto Sans Symbols2",
    "Noto Emoji",
    "Symbola",
    "FreeSans",
    "Unifont",
    "Unifont Upper",
];

/// What stands for a character that no font has, best first.
const REPLACEMENTS: [char; 3] = ['\u{fffd}', '\u{25a1}', '?'];

/// How strong letters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// A face that was opened.
pub(super) struct Opened {
    pub(super) font: Font,
    pub(super) face: Face,
}

/// Fonts that statements are set in. They are looked for once, and opened when a character needs them.
pub struct Fonts {
    database: Database,
    /// Per weight: one face a family, in order.
    order: [Vec<ID>; 2],
    opened: HashMap<ID, OnceCell<Option<Opened>>>,
    files: RefCell<BTreeMap<PathBuf, Arc<Vec<u8>>>>,
    found: RefCell<HashMap<(Weight, char), Option<(ID, u16)>>>,
    missing: RefCell<BTreeSet<char>>,
}

impl fmt::Debug for Fonts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fonts").field("faces", &self.database.len()).finish_non_exhaustive()
    }
}

impl Fonts {
    /// The fonts that are installed on this machine.
    pub fn system() -> Self {
        let mut database = Database::new();
        database.load_system_fonts();
        Self::of(database)
    }

    /// The fonts of these files, instead of those of the machine.
    pub fn of_files(files: Vec<Vec<u8>>) -> Self {
        let mut database = Database::new();
        files.into_iter().for_each(|file| database.load_font_data(file));
        Self::of(database)
    }

    fn of(database: Database) -> Self {
        let order = [order(&database, 400), order(&database, 700)];
        let opened = order.iter().flatten().map(|id| (*id, OnceCell::new())).collect();
        Self {
            database,
            order,
            opened,
            files: RefCell::default(),
            found: RefCell::default(),
            missing: RefCell::default(),
        }
    }

    /// That there is a font with letters and digits at all.
    pub(super) fn check(&self) -> Result<(), ExportError> {
        match self.find(Weight::Regular, '0').and(self.find(Weight::Regular, 'a')) {
            Some(_) => Ok(()),
            None => Err(ExportError::NoFont { looked_for: FAMILIES[..9].join(", ") }),
        }
    }

    /// Characters that no font had since the last call, as warnings.
    pub(super) fn take_missing(&self) -> Vec<Warning> {
        let missing = std::mem::take(&mut *self.missing.borrow_mut());
        missing.into_iter().map(|character| Warning::NoGlyph { character, package: package(character) }).collect()
    }

    /// The face and glyph of a character; the replacement's where no font has it, which is noted.
    pub(super) fn glyph(&self, weight: Weight, c: char) -> Option<(ID, u16)> {
        if let Some(found) = self.find(weight, c) {
            return Some(found);
        }
        self.missing.borrow_mut().insert(c);
        REPLACEMENTS.into_iter().find_map(|r| self.find(weight, r))
    }

    fn find(&self, weight: Weight, c: char) -> Option<(ID, u16)> {
        if let Some(found) = self.found.borrow().get(&(weight, c)) {
            return *found;
        }
        let order = &self.order[usize::from(weight == Weight::Bold)];
        let found = order.iter().find_map(|id| Some((*id, self.open(*id)?.face.glyph(c)?)));
        self.found.borrow_mut().insert((weight, c), found);
        found
    }

    /// The face, opened; absent where its file cannot be read or has no outlines.
    pub(super) fn open(&self, id: ID) -> Option<&Opened> {
        self.opened.get(&id)?.get_or_init(|| self.read(id)).as_ref()
    }

    fn read(&self, id: ID) -> Option<Opened> {
        let info = self.database.face(id)?;
        let data = match &info.source {
            Source::File(path) => {
                let known = self.files.borrow().get(path).cloned();
                let data = known.or_else(|| self.copy(id))?;
                self.files.borrow_mut().insert(path.clone(), Arc::clone(&data));
                data
            }
            Source::Binary(_) => self.copy(id)?,
        };
        let face = Face::read(&data, info.index)?;
        Some(Opened { font: Font::new(data.into(), info.index)?, face })
    }

    fn copy(&self, id: ID) -> Option<Arc<Vec<u8>>> {
        self.database.with_face_data(id, |data, _| Arc::new(data.to_vec()))
    }
}

/// One face a family: upright, of normal width, its weight nearest to the wanted one.
fn order(database: &Database, weight: u16) -> Vec<ID> {
    let mut best: BTreeMap<&str, &FaceInfo> = BTreeMap::new();
    let rank = |f: &FaceInfo| {
        let stretched = f.stretch != Stretch::Normal;
        (f.style != Style::Normal, stretched, f.weight.0.abs_diff(weight), f.post_script_name.clone())
    };
    for face in database.faces() {
        // colours are drawn by no printer of text
        let Some((family, _)) = face.families.first().filter(|(name, _)| !name.contains("Color Emoji")) else {
            continue;
        };
        let known = best.entry(family).or_insert(face);
        if rank(face) < rank(known) {
            *known = face;
        }
    }
    let mut out: Vec<ID> = FAMILIES.iter().filter_map(|family| best.remove(family)).map(|f| f.id).collect();
    out.extend(best.into_values().map(|f| f.id));
    out
}

/// Debian's package that has a character.
fn package(c: char) -> Option<&'static str> {
    Some(match u32::from(c) {
        0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f
        | 0xff00..=0xffef
        | 0x2_0000..=0x3_ffff => "fonts-noto-cjk",
        0x2190..=0x2bff | 0x1_f000..=0x1_faff => "fonts-symbola",
        0x300..=0x2fff | 0xa4d0..=0xdfff | 0x1_0000..=0x1_efff => "fonts-noto-core",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_font_is_an_error_that_says_what_to_install() {
        let error = Fonts::of_files(Vec::new()).check().unwrap_err().to_string();
        assert!(error.contains("apt-get install fonts-dejavu-core"), "{error}");
        assert!(Fonts::of_files(vec![b"no font".to_vec()]).check().is_err());
    }

    #[test]
    fn a_missing_character_names_its_package() {
        assert_eq!(package('自'), Some("fonts-noto-cjk"));
        assert_eq!(package('🚀'), Some("fonts-symbola"));
        assert_eq!(package('ก'), Some("fonts-noto-core"));
        assert_eq!(package('\u{10fffd}'), None);
    }
}
