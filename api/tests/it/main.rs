//! Routes of a server over answers that are written down.
