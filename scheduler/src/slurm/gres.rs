//! GRES strings: `gpu:a100:4`, `gpu:h100:4(IDX:0-3)`, `gpu:ampere:8(S:0-1)`, `gpu(IDX:0,2),shard:5(-/5,5/5)`.

use super::gpu::{GpuError, GpuType, Gpus};
use super::{is_blank, number};

/// Greatest device index that is believed.
const INDEX_MAX: i64 = 4_095;

/// Where a string comes from: a request may leave the count out (it is 1 then), a printed allocation never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// What Slurm granted or has.
    Granted,
    /// What a user asked for.
    Asked,
}

/// One resource of a GRES string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gres {
    /// Name, e.g. `gpu`.
    pub name: String,
    /// Type, where it has one.
    pub kind: Option<String>,
    /// Count; absent where a resource other than GPUs has one that is no plain number.
    pub count: Option<i64>,
    /// Device indices on the node, where they are listed.
    pub index: Option<Vec<i64>>,
    /// Parts of devices, where they are listed (shards): what is held of each device of the node, in their order.
    pub parts: Vec<Part>,
}

/// What is held of one device that is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Index of the device on the node.
    pub index: i64,
    /// Parts held.
    pub held: i64,
    /// Parts that the device has.
    pub of: i64,
}

/// Why a GRES string could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GresError {
    /// Cut off, or not of this form.
    #[error("GRES part `{0}` is cut off or not of the form name[:type]:count")]
    Malformed(String),
    /// A list of indices that cannot be read.
    #[error("GRES index `{0}` is cut off or no list of numbers")]
    Index(String),
    /// A number of GPUs that cannot be.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Reads a GRES string into its resources.
pub fn gres(text: &str, form: Form) -> Result<Vec<Gres>, GresError> {
    let text = text.trim();
    if is_blank(text) {
        return Ok(Vec::new());
    }
    parts(text)?.into_iter().map(|part| resource(part, form)).collect()
}

/// The GPUs among the resources.
pub fn gpus(list: &[Gres]) -> Result<Gpus, GpuError> {
    let (mut untyped, mut types): (Option<i64>, Vec<GpuType>) = (None, Vec::new());
    for g in list.iter().filter(|g| g.name == "gpu") {
        let count = g.count.unwrap_or_default();
        match &g.kind {
            None => untyped = Some(untyped.unwrap_or_default().checked_add(count).ok_or(GpuError::Absurd(count))?),
            Some(name) => types.push(GpuType { name: name.clone(), count }),
        }
    }
    Gpus::of(untyped, types)
}

/// Splits at the commas that stand outside parentheses.
fn parts(text: &str) -> Result<Vec<&str>, GresError> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0u32, 0usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(|| GresError::Malformed(text.to_owned()))?,
            ',' if depth == 0 => {
                out.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(GresError::Malformed(text[from..].to_owned()));
    }
    out.push(&text[from..]);
    Ok(out)
}

fn resource(part: &str, form: Form) -> Result<Gres, GresError> {
    let malformed = || GresError::Malformed(part.to_owned());
    let (body, details) = match part.find('(') {
        Some(at) => (&part[..at], &part[at..]),
        None => (part, ""),
    };
    let index = index_of(details).ok_or_else(malformed)?.map(indices).transpose()?;
    let parts = parts_of(details).ok_or_else(malformed)?;
    // TRES writes `gres/gpu=4` and `gres/gpu:a100=4`; the rest is the same.
    let body = body.strip_prefix("gres/").or_else(|| body.strip_prefix("gres:")).unwrap_or(body).replace('=', ":");
    let words: Vec<&str> = body.split(':').filter(|w| *w != "no_consume").collect();
    if words.iter().any(|w| w.is_empty()) {
        return Err(malformed());
    }
    let listed = index.as_ref().map(|list| list.len() as i64);
    let unsaid = listed.or((form == Form::Asked).then_some(1));
    let (name, kind, count) = match words.as_slice() {
        [name] => (*name, None, Some(unsaid.ok_or_else(malformed)?)),
        [name, word] => match (number::count(word), unsaid) {
            (Some(n), _) => (*name, None, Some(n)),
            (None, Some(n)) => (*name, Some(*word), Some(n)),
            (None, None) => (*name, None, counted(name, word, part)?),
        },
        [name, kind, count] => (*name, Some(*kind), counted(name, count, part)?),
        _ => return Err(malformed()),
    };
    Ok(Gres { name: name.to_owned(), kind: kind.map(str::to_owned), count, index, parts })
}

/// A count; only GPUs must have a plain number.
fn counted(name: &str, word: &str, part: &str) -> Result<Option<i64>, GpuError> {
    match number::count(word) {
        None if name == "gpu" => Err(GpuError::NotANumber { part: part.to_owned(), count: word.to_owned() }),
        count => Ok(count),
    }
}

/// The text after `IDX:` among the parenthesised details; the outer `None` if they are malformed.
fn index_of(details: &str) -> Option<Option<&str>> {
    let (mut rest, mut found) = (details, None);
    while !rest.is_empty() {
        let (inside, after) = rest.strip_prefix('(')?.split_once(')')?;
        found = inside.strip_prefix("IDX:").or(found);
        rest = after;
    }
    Some(found)
}

/// `(-/5,5/5)`: parts held and parts there are, a device each; `-` is none. Absent if such a list is malformed.
fn parts_of(details: &str) -> Option<Vec<Part>> {
    let Some(list) = details.split(['(', ')']).find(|d| d.contains('/') && !d.contains(':')) else {
        return Some(Vec::new());
    };
    let mut out = Vec::new();
    for (index, device) in (0i64..).zip(list.split(',')) {
        let (held, of) = device.split_once('/')?;
        let held = if held == "-" { 0 } else { number::count(held)? };
        let of = number::count(of).filter(|of| *of > 0 && held <= *of)?;
        if held > 0 {
            out.push(Part { index, held, of });
        }
    }
    Some(out)
}

fn indices(text: &str) -> Result<Vec<i64>, GresError> {
    if is_blank(text) {
        return Ok(Vec::new());
    }
    let bad = || GresError::Index(text.to_owned());
    let mut out = Vec::new();
    for part in text.split(',') {
        let (lo, hi) = part.split_once('-').unwrap_or((part, part));
        let (lo, hi) = (number::count(lo).ok_or_else(bad)?, number::count(hi).ok_or_else(bad)?);
        if lo > hi || hi > INDEX_MAX {
            return Err(bad());
        }
        out.extend(lo..=hi);
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
