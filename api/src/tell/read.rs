//! Reading documents: rows by the names of their columns. What is null is absent, what is missing or of another kind is an error
//! that names it: a document that changed its shape must not become a mail with empty places.

use serde_json::Value;

use super::figure::Decimal;

/// Why nothing was told.
pub(super) type Trouble = String;

/// A row, or any object of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a>(pub(super) &'a Value);

/// The rows of a document.
///
/// # Errors
/// There is no list of that name.
pub(super) fn rows<'a>(document: &'a Value, list: &str) -> Result<Vec<Row<'a>>, Trouble> {
    let found =
        document.get(list).and_then(Value::as_array).ok_or_else(|| format!("the document has no list `{list}`"))?;
    Ok(found.iter().map(Row).collect())
}

impl<'a> Row<'a> {
    fn field(self, name: &str) -> Result<Option<&'a Value>, Trouble> {
        match self.0.get(name) {
            Some(Value::Null) => Ok(None),
            Some(value) => Ok(Some(value)),
            None => Err(format!("the document has no field `{name}`")),
        }
    }

    /// Text; a dash and an empty text are none.
    ///
    /// # Errors
    /// There is no such field, or it is no text.
    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>, Trouble> {
        let Some(value) = self.field(name)? else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| format!("`{name}` is no text"))?;
        Ok(Some(text).filter(|t| !t.is_empty() && *t != "-"))
    }

    /// Text that is always there.
    ///
    /// # Errors
    /// As [`Row::text`], or it is absent.
    pub(super) fn word(self, name: &str) -> Result<String, Trouble> {
        self.text(name)?.map(str::to_owned).ok_or_else(|| format!("`{name}` is absent"))
    }

    /// A whole number.
    ///
    /// # Errors
    /// There is no such field, or it is none.
    pub(super) fn count(self, name: &str) -> Result<Option<i64>, Trouble> {
        let Some(value) = self.field(name)? else { return Ok(None) };
        value.as_i64().map(Some).ok_or_else(|| format!("`{name}` is no whole number"))
    }

    /// A decimal number.
    ///
    /// # Errors
    /// There is no such field, or it is none.
    pub(super) fn decimal(self, name: &str) -> Result<Option<Decimal>, Trouble> {
        let Some(value) = self.field(name)? else { return Ok(None) };
        let read = value.as_str().and_then(Decimal::read).ok_or_else(|| format!("`{name}` is no decimal number"))?;
        Ok(Some(read))
    }

    /// Milliseconds, a whole number as text.
    ///
    /// # Errors
    /// There is no such field, or it is none.
    pub(super) fn ms(self, name: &str) -> Result<Option<i128>, Trouble> {
        let Some(value) = self.field(name)? else { return Ok(None) };
        let read = value.as_str().and_then(|t| t.parse().ok()).ok_or_else(|| format!("`{name}` is no whole number"))?;
        Ok(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_null_is_absent_and_what_is_missing_is_an_error() {
        let value = json!({"rows": [{"team": "nlp", "user": "-", "hours": "1.5000", "gpus": 8, "cost": null, "held_ms": "3600000"}]});
        let row = rows(&value, "rows").unwrap()[0];
        assert_eq!((row.text("team"), row.text("user"), row.count("gpus")), (Ok(Some("nlp")), Ok(None), Ok(Some(8))));
        assert_eq!(row.decimal("hours").unwrap().unwrap().to_string(), "1.5000");
        assert_eq!((row.decimal("cost"), row.ms("held_ms")), (Ok(None), Ok(Some(3_600_000))));
        assert!(row.text("colour").unwrap_err().contains("`colour`"));
        assert!(row.word("cost").unwrap_err().contains("absent"));
        assert!(row.count("team").is_err() && row.decimal("gpus").is_err() && rows(&value, "lines").is_err());
    }
}
