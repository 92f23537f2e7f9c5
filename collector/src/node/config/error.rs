//! What is wrong with a configuration: file, line, key, and what would be right.

/// Why a configuration was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {file}: check the path, or give another with --config")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// Not TOML, an unknown key, a missing key or a value of the wrong kind.
    #[error("{file}:{line}: {}{why}", key.as_ref().map(|k| format!("{k}: ")).unwrap_or_default())]
    Toml {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key on that line, where there is one.
        key: Option<String>,
        /// What is wrong.
        why: String,
    },
    /// A value that makes no sense.
    #[error("{file}:{line}: {key} {why}")]
    Value {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key.
        key: &'static str,
        /// What is wrong with its value.
        why: String,
    },
}
