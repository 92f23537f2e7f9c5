//! Why columns of a row are absent, in one text.

use crate::node::seen::{Absent, Measure};

/// Gathers reasons, each with the columns that it explains.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    absent: Vec<(Absent, Vec<&'static str>)>,
    notes: Vec<String>,
}

impl Reasons {
    /// The value for a column; where there is none, its reason is kept.
    pub(super) fn take<T>(&mut self, column: &'static str, value: Measure<T>) -> Option<T> {
        match value {
            Ok(value) => Some(value),
            Err(why) => {
                match self.absent.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, columns)) => columns.push(column),
                    None => self.absent.push((why, vec![column])),
                }
                None
            }
        }
    }

    /// Something else that a reader of the row should know.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// `reason: column, column; reason: column; note`, or nothing.
    pub(super) fn finish(self) -> Option<String> {
        let absent = self.absent.into_iter().map(|(why, columns)| format!("{why}: {}", columns.join(", ")));
        let all: Vec<String> = absent.chain(self.notes).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_gathered_under_their_reason() {
        let mut reasons = Reasons::default();
        assert_eq!(reasons.take("a", Ok(3)), Some(3));
        assert_eq!(reasons.take::<i64>("b", Err(Absent::NotSupported)), None);
        assert_eq!(reasons.take::<i64>("c", Err(Absent::Failed("x: 999".to_owned()))), None);
        assert_eq!(reasons.take::<String>("d", Err(Absent::NotSupported)), None);
        reasons.note("a row waits for a reset");
        assert_eq!(reasons.finish().as_deref(), Some("not supported: b, d; x: 999: c; a row waits for a reset"));
        assert_eq!(Reasons::default().finish(), None);
    }
}
