//! The server's side of the binary: who answers its questions, what its loops do, and the right to write that it lends.

mod answers;
mod aside;
mod asked;
mod cases;
mod fault;
pub(crate) mod lend;
pub(crate) mod loops;
mod open;
mod scope;
mod told;

pub(crate) use answers::Ledger;
pub(crate) use aside::{Aside, Workers, aside};
