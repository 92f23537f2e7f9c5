//! Changes: each is one transaction of the control file, made whole or not at all, with no other writer in between.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::control::Control;
use crate::error::ControlError;

/// Why what is read or changed in a transaction came to nothing.
#[derive(Debug)]
pub(crate) enum Stop<E> {
    /// SQLite failed.
    Sql(rusqlite::Error),
    /// It was refused.
    Refused(E),
}

impl<E> From<rusqlite::Error> for Stop<E> {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sql(e)
    }
}

impl From<ControlError> for Stop<ControlError> {
    fn from(e: ControlError) -> Self {
        Self::Refused(e)
    }
}

impl Control {
    /// Makes a change: what `work` does is kept where it succeeds, and nothing of it where it does not. `doing` says in errors
    /// what was being done to the file, e.g. "write to".
    pub(crate) fn change<T, E: From<ControlError>>(
        &mut self,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Stop<E>>,
    ) -> Result<T, E> {
        let path = &self.path;
        let sql = |e| E::from(ControlError::sql(path, doing, e));
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let done = work(&transaction).map_err(|stop| stop.named(sql))?;
        transaction.commit().map_err(sql)?;
        Ok(done)
    }

    /// Reads; `doing` as above.
    pub(crate) fn look<T, E: From<ControlError>>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, Stop<E>>,
    ) -> Result<T, E> {
        read(&self.connection).map_err(|stop| stop.named(|e| E::from(self.error(doing, e))))
    }
}

impl<E> Stop<E> {
    fn named(self, sql: impl FnOnce(rusqlite::Error) -> E) -> E {
        match self {
            Self::Sql(e) => sql(e),
            Self::Refused(e) => e,
        }
    }
}
