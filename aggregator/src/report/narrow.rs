//! Which rows a question may select: of everybody's, those of some teams or users; and terms that somebody asks about.
//!
//! Money is rounded over all rows and selected then, so that a team sees the figure that its statement has; nothing of the rows
//! that were left out reaches a sum, a sentence or a note. A report that cannot select refuses.

use chrono_tz::Tz;

use super::grouped::{Group, Measure, grouped};
use super::usage::total_of;
use super::{Ask, Currency, Dimension, Kind, Reader, Report, ReportError, Value};

/// Rows that have one of these words in their dimension.
pub type AnyOf = Vec<(Dimension, String)>;

/// What rows must have: of each list one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrow(pub Vec<AnyOf>);

/// How pools are billed and who bears what nobody used, instead of what their terms say; absent: as they say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AskedTerms {
    /// `held`, `busy`, `quota` or `showback`.
    pub mode: Option<&'static str>,
    /// `none`, `even`, `held` or `quota`.
    pub share: Option<&'static str>,
}

impl Narrow {
    /// Whether every row is meant.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Dimensions that rows must have beside those of `by`, for the words to be looked at.
    pub(super) fn wide(&self, by: &[Dimension]) -> Vec<Dimension> {
        let mut wide = by.to_vec();
        for (dimension, _) in self.0.iter().flatten() {
            if !wide.contains(dimension) {
                wide.push(*dimension);
            }
        }
        wide
    }

    /// Whether a row is meant, by the words of its dimensions.
    pub(super) fn has<'a>(&self, word: impl Fn(Dimension) -> Option<&'a str>) -> bool {
        self.0.iter().all(|any| any.iter().any(|(dimension, wanted)| word(*dimension) == Some(wanted.as_str())))
    }

    /// Whether what a team pays is meant, where rows are asked for by their teams.
    pub(crate) fn has_team(&self, team: &str) -> bool {
        let of_teams = |any: &&AnyOf| any.iter().any(|(dimension, _)| *dimension == Dimension::Team);
        self.0.iter().filter(of_teams).all(|any| any.iter().any(|(_, wanted)| wanted == team))
    }

    /// The teams that are meant, where rows are asked for by their teams.
    pub(super) fn teams(&self) -> Vec<&str> {
        let named = self.0.iter().flatten().filter(|(dimension, _)| *dimension == Dimension::Team);
        let teams: std::collections::BTreeSet<&str> = named.map(|(_, team)| team.as_str()).collect();
        teams.into_iter().filter(|team| self.has_team(team)).collect()
    }

    /// Which of the groups are meant, and which of the rows by `by` each belongs to. Groups with the same words of `by` are
    /// one row; rows are in the order in which they are first met.
    pub(super) fn places(&self, groups: &[Group], wide: &[Dimension], by: usize) -> Vec<(usize, usize)> {
        let mut keys: Vec<&[String]> = Vec::new();
        let mut places = Vec::new();
        for (i, group) in groups.iter().enumerate() {
            let word = |d: Dimension| wide.iter().position(|w| *w == d).map(|at| group.key[at].as_str());
            if self.has(word) {
                let key = &group.key[..by];
                let row = keys.iter().position(|k| *k == key).unwrap_or_else(|| {
                    keys.push(key);
                    keys.len() - 1
                });
                places.push((i, row));
            }
        }
        places
    }

    /// The groups that are meant, by their first `by` words; with each the numbers of the groups that it is made of.
    pub(super) fn select(
        &self,
        groups: &[Group],
        wide: &[Dimension],
        by: usize,
        measures: &[Measure],
    ) -> Vec<(Group, Vec<usize>)> {
        let mut rows: Vec<(Vec<Group>, Vec<usize>)> = Vec::new();
        for (i, row) in self.places(groups, wide, by) {
            if row == rows.len() {
                rows.push((Vec::new(), Vec::new()));
            }
            rows[row].0.push(groups[i].clone());
            rows[row].1.push(i);
        }
        let one = |(of, numbers): (Vec<Group>, Vec<usize>)| {
            let key = of.first().map(|g| g.key[..by].to_vec()).unwrap_or_default();
            (Group { key, sums: total_of(&of, measures) }, numbers)
        };
        rows.into_iter().map(one).collect()
    }

    /// Of a report whose rows are of teams, those that are meant; what speaks of all is left out.
    pub(super) fn rows(&self, mut report: Report) -> Report {
        if self.is_all() {
            return report;
        }
        let columns: Vec<(String, bool)> =
            report.columns.iter().map(|c| (c.name.clone(), c.kind == Kind::Text)).collect();
        report.rows.retain(|row| {
            self.has(|d| {
                let at = columns.iter().position(|(name, is_text)| *is_text && name == d.word())?;
                match &row[at] {
                    Value::Text(text) => Some(text.as_str()),
                    _ => None,
                }
            })
        });
        report.total = None;
        report.notes.clear();
        report.sentence = format!("{} rows of what was asked for", report.rows.len());
        report
    }
}

/// Groups a table, of the rows that the reader may select.
pub(super) async fn selected(
    reader: &Reader,
    table: &str,
    by: &[Dimension],
    measures: &[Measure],
) -> Result<Vec<Group>, ReportError> {
    let wide = reader.narrow().wide(by);
    let groups = grouped(reader.engine(), table, &wide, measures).await?;
    if reader.narrow().is_all() {
        return Ok(groups);
    }
    Ok(reader.narrow().select(&groups, &wide, by.len(), measures).into_iter().map(|(group, _)| group).collect())
}

/// Quota by team and pool, of the teams that may be selected.
///
/// # Errors
/// As [`super::quota::quota`].
pub async fn quota(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    Ok(reader.narrow().rows(super::quota::quota(reader, ask).await?))
}

/// Runs that hold what their teams borrow, of the teams that may be selected.
///
/// # Errors
/// As [`super::quota::quota_runs`].
pub async fn quota_runs(reader: &Reader, ask: &Ask) -> Result<Report, ReportError> {
    Ok(reader.narrow().rows(super::quota::quota_runs(reader, ask).await?))
}

/// Budgets, of the teams that may be selected.
///
/// # Errors
/// As [`super::budgets::budgets`].
pub async fn budgets(
    reader: &Reader,
    at_ms: Option<i64>,
    zone: Tz,
    currency: &Currency,
) -> Result<Report, ReportError> {
    Ok(reader.narrow().rows(super::budgets::budgets(reader, at_ms, zone, currency).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(key: &[&str], sum: i128) -> Group {
        Group { key: key.iter().map(|k| (*k).to_owned()).collect(), sums: vec![Some(sum)] }
    }

    #[test]
    fn rows_that_are_not_meant_reach_no_sum() {
        let narrow = Narrow(vec![
            vec![(Dimension::Team, "nlp".to_owned()), (Dimension::Team, "ops".to_owned())],
            vec![(Dimension::Pool, "a".to_owned())],
        ]);
        let wide = narrow.wide(&[Dimension::User]);
        assert_eq!(wide, [Dimension::User, Dimension::Team, Dimension::Pool]);
        let groups = [
            group(&["ada", "nlp", "a"], 1),
            group(&["ada", "ops", "a"], 2),
            group(&["ada", "vision", "a"], 4),
            group(&["bob", "nlp", "b"], 8),
            group(&["eve", "nlp", "a"], 16),
        ];
        let found = narrow.select(&groups, &wide, 1, &[Measure::Sum("x")]);
        let shown: Vec<(&str, Option<i128>, &[usize])> =
            found.iter().map(|(g, of)| (g.key[0].as_str(), g.sums[0], of.as_slice())).collect();
        assert_eq!(shown, [("ada", Some(3), &[0, 1][..]), ("eve", Some(16), &[4][..])]);
        // a list of no words selects nothing
        assert!(Narrow(vec![Vec::new()]).select(&groups, &wide, 1, &[Measure::Sum("x")]).is_empty());
    }
}
