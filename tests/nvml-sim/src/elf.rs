//! Hiding symbols of a shared library: just enough of the ELF format for it.

/// Size of a section's header and of a symbol; the type of the section that holds the symbols for the dynamic loader.
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const DYNAMIC_SYMBOLS: u32 = 11;

/// Breaks the names for which `hidden` is true, so that a lookup no longer finds them. None: not such a library.
///
/// The hash that leads to a symbol stays, but the loader compares names last, and the name now begins otherwise.
pub(crate) fn hide(image: &mut [u8], hidden: impl Fn(&str) -> bool) -> Option<()> {
    if image.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let sections = word(image, 0x28)?;
    let count = usize::from(u16::from_le_bytes(image.get(0x3c..0x3e)?.try_into().ok()?));
    let at = |index: usize| sections.checked_add(index.checked_mul(SECTION)?);
    let symbols = (0..count).filter_map(at).find(|at| half(image, at + 4) == Some(DYNAMIC_SYMBOLS))?;
    let strings = at(half(image, symbols + 0x28)? as usize)?;
    let (first, size, text) =
        (word(image, symbols + 0x18)?, word(image, symbols + 0x20)?, word(image, strings + 0x18)?);
    for symbol in 0..size / SYMBOL {
        let name = text.checked_add(half(image, first + symbol * SYMBOL)? as usize)?;
        let rest = image.get(name..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        if std::str::from_utf8(&rest[..end]).is_ok_and(&hidden) {
            *image.get_mut(name)? = b'-';
        }
    }
    Some(())
}

fn word(image: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(image.get(at..at.checked_add(8)?)?.try_into().ok()?)).ok()
}

fn half(image: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(image.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
