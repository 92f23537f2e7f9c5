//! Reference tables: dated rows in one SQLite file.
