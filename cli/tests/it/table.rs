//! CSV that the binary printed (or that a reference publishes), and exact decimals in it.

/// A CSV table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads CSV with a header.
    pub(crate) fn read(text: &str) -> Self {
        let mut reader = csv::ReaderBuilder::new().flexible(false).from_reader(text.as_bytes());
        let words = |r: &csv::StringRecord| r.iter().map(str::to_owned).collect::<Vec<_>>();
        let header = words(reader.headers().unwrap());
        Self { header, rows: reader.records().map(|r| words(&r.unwrap())).collect() }
    }

    /// Where a column stands.
    #[track_caller]
    pub(crate) fn at(&self, column: &str) -> usize {
        let found = self.header.iter().position(|h| h == column);
        found.unwrap_or_else(|| panic!("no column `{column}` in {:?}", self.header))
    }

    /// A column, from the first row to the last.
    #[track_caller]
    pub(crate) fn column(&self, column: &str) -> Vec<&str> {
        let at = self.at(column);
        self.rows.iter().map(|r| r[at].as_str()).collect()
    }

    /// The value of `column` in the only row that has these keys; absent where no row has them.
    #[track_caller]
    pub(crate) fn find(&self, keys: &[(&str, &str)], column: &str) -> Option<&str> {
        let keys: Vec<(usize, &str)> = keys.iter().map(|(k, v)| (self.at(k), *v)).collect();
        let mut fitting = self.rows.iter().filter(|r| keys.iter().all(|(at, v)| r[*at] == *v));
        let row = fitting.next()?;
        assert!(fitting.next().is_none(), "several rows have {keys:?}");
        Some(row[self.at(column)].as_str())
    }

    /// The value of `column` in the only row that has these keys.
    #[track_caller]
    pub(crate) fn get(&self, keys: &[(&str, &str)], column: &str) -> &str {
        self.find(keys, column).unwrap_or_else(|| panic!("no row has {keys:?} in {self:#?}"))
    }

    /// The value of `column` in the only row there is.
    #[track_caller]
    pub(crate) fn one(&self, column: &str) -> &str {
        self.get(&[], column)
    }

    /// The exact sum of a column of decimals, in units of its 10 000th.
    #[track_caller]
    pub(crate) fn sum(&self, column: &str) -> i128 {
        self.column(column).iter().map(|v| decimal(v)).sum()
    }
}

/// A decimal of at most four digits after the point, in 10 000ths.
#[track_caller]
pub(crate) fn decimal(text: &str) -> i128 {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    assert!(part.len() <= 4, "`{text}` has more than four decimals");
    let number = format!("{whole}{part:0<4}").parse::<i128>();
    sign * number.unwrap_or_else(|_| panic!("`{text}` is no decimal"))
}

/// `over / under` in 10 000ths, rounded half up, as `12.3456`.
pub(crate) fn four_places(over: i128, under: i128) -> String {
    let parts = (over * 20_000 + under) / (2 * under);
    format!("{}.{:04}", parts / 10_000, parts % 10_000)
}
