//! The engine against a fleet whose truth is known.

mod faults;
mod fleet;
mod kube_server;
mod kubernetes;
mod month;
mod policies;
mod scenario;
mod sim;
mod store;
mod worlds;
