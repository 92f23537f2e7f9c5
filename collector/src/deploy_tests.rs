//! The files of `deploy/`: they parse, and what they start can be started.
