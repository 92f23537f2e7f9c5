//! `nvidia-smi -q` and `-q -x`: the same nested facts, once indented and once as XML, read into one tree.

use super::SmiError;

/// Deepest nesting that is followed.
const DEPTH_MAX: usize = 32;

/// A thing with a name, perhaps a text, and things inside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// Its name: a heading, or a tag.
    pub name: String,
    /// What stands behind the colon, between the tags, or in the tag's `id`; empty where there is nothing.
    pub text: String,
    /// What is inside it, in the order printed.
    pub inside: Vec<Outline>,
}

impl Outline {
    /// The first thing of that name directly inside.
    pub fn get(&self, name: &str) -> Option<&Outline> {
        self.inside.iter().find(|o| o.name == name)
    }

    /// The text of the thing at the end of a path of names.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        let mut at = self;
        for name in path {
            at = at.get(name)?;
        }
        Some(&at.text)
    }

    /// Every thing directly inside whose name is, or begins with, `name`.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Outline> {
        self.inside.iter().filter(move |o| o.name.starts_with(name))
    }

    /// Reads the indented form. A line is inside the nearest line above that stands further left.
    pub fn from_indented(text: &str) -> Result<Self, SmiError> {
        // Things still open, outermost first, with their indentation; the root stands left of everything.
        let mut open: Vec<(Option<usize>, Outline)> = vec![(None, Outline::default())];
        for (at, line) in super::said(text).filter(|(_, l)| !l.starts_with("=====")) {
            let indent = line.len() - line.trim_start().len();
            while open.len() > 1 && open.last().is_some_and(|(left, _)| *left >= Some(indent)) {
                close(&mut open);
            }
            if open.len() > DEPTH_MAX {
                return Err(SmiError::new(at, "nested too deeply"));
            }
            // A bus id holds colons too; what separates name and text has blanks on both sides.
            let (name, text) = line.split_once(" : ").unwrap_or((line, ""));
            let (name, text) = (name.trim().to_owned(), text.trim().to_owned());
            open.push((Some(indent), Outline { name, text, inside: Vec::new() }));
        }
        while open.len() > 1 {
            close(&mut open);
        }
        Ok(open.pop().map(|(_, root)| root).unwrap_or_default())
    }

    /// Reads the XML form: elements, text and an `id`. What nvidia-smi prints has nothing else that matters.
    pub fn from_xml(text: &str) -> Result<Self, SmiError> {
        let mut open = vec![(None, Outline::default())];
        let mut at = 0;
        while let Some(start) = text[at..].find('<').map(|i| at + i) {
            let wrong = |why: &str| SmiError::new(text[..start].matches('\n').count(), why);
            if let Some((_, top)) = open.last_mut() {
                top.text.push_str(unescape(text[at..start].trim()).as_str());
            }
            let comment = text[start..].starts_with("<!--");
            let close_mark = if comment { "-->" } else { ">" };
            let end =
                text[start..].find(close_mark).map(|i| start + i).ok_or_else(|| wrong("a tag that does not end"))?;
            at = end + close_mark.len();
            if comment || text[start..].starts_with("<?") || text[start..].starts_with("<!") {
                continue;
            }
            let tag = text[start + 1..end].trim();
            if let Some(name) = tag.strip_prefix('/') {
                if open.len() < 2 || open.last().is_none_or(|(_, top)| top.name != name.trim()) {
                    return Err(wrong("an end without its beginning"));
                }
                close(&mut open);
                continue;
            }
            if open.len() > DEPTH_MAX {
                return Err(wrong("nested too deeply"));
            }
            let empty = tag.ends_with('/');
            let tag = tag.trim_end_matches('/').trim();
            let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            let id = attributes.split_once("id=\"").and_then(|(_, rest)| rest.split_once('"')).map_or("", |(id, _)| id);
            open.push((None, Outline { name: name.to_owned(), text: unescape(id), inside: Vec::new() }));
            if empty {
                close(&mut open);
            }
        }
        match (open.len(), open.pop()) {
            (1, Some((_, root))) => Ok(root),
            _ => Err(SmiError::new(text.lines().count().saturating_sub(1), "the document is cut off")),
        }
    }
}

/// Puts the innermost open thing into the one around it.
fn close(open: &mut Vec<(Option<usize>, Outline)>) {
    if let Some((_, done)) = open.pop()
        && let Some((_, around)) = open.last_mut()
    {
        around.inside.push(done);
    }
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

/// A MIG instance as `-q` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldInstance {
    /// Number inside the card.
    pub index: u32,
    /// GPU instance id.
    pub gpu_instance: u32,
    /// Compute instance id.
    pub compute_instance: u32,
    /// Multiprocessors.
    pub multiprocessors: super::Measure<i64>,
    /// Memory in use.
    pub mem_used_bytes: super::Measure<i64>,
    /// Memory of the instance.
    pub mem_total_bytes: super::Measure<i64>,
}

/// Names of one fact in the indented form and in XML.
type Names = (&'static str, &'static str);

/// The MIG instances of a card, from either form; `gpu` is the card's own part of the tree.
pub fn instances(gpu: &Outline) -> Vec<ToldInstance> {
    let listed = gpu.get("mig_devices").map_or(gpu, |l| l);
    let names = ["MIG Device", "mig_device"];
    let parts = listed.inside.iter().filter(|o| names.contains(&o.name.as_str()) && !o.inside.is_empty());
    parts.filter_map(instance).collect()
}

fn instance(part: &Outline) -> Option<ToldInstance> {
    let text = |path: &[Names]| {
        let indented: Vec<&str> = path.iter().map(|n| n.0).collect();
        let xml: Vec<&str> = path.iter().map(|n| n.1).collect();
        part.text_at(&indented).or_else(|| part.text_at(&xml))
    };
    let id = |names: Names| text(&[names])?.parse().ok();
    let memory: Names = ("Shared FB Memory Usage", "fb_memory_usage");
    let multiprocessors: &[Names] = &[
        ("Device Attributes", "device_attributes"),
        ("Shared", "shared"),
        ("Multiprocessor count", "multiprocessor_count"),
    ];
    Some(ToldInstance {
        index: id(("Index", "index"))?,
        gpu_instance: id(("GPU Instance ID", "gpu_instance_id"))?,
        compute_instance: id(("Compute Instance ID", "compute_instance_id"))?,
        multiprocessors: super::count(text(multiprocessors).unwrap_or("")),
        mem_used_bytes: super::mib_bytes(text(&[memory, ("Used", "used")]).unwrap_or("")),
        mem_total_bytes: super::mib_bytes(text(&[memory, ("Total", "total")]).unwrap_or("")),
    })
}
