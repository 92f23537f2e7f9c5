//! Cases move as the list of moves says.
