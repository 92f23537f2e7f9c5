//! A server over a fleet, with a store in memory: what longer tests are made of.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use gpuledger_reclaim::actuator::Schedulers;
use gpuledger_reclaim::actuator::slurm::Slurm;
use gpuledger_reclaim::apply::Engine;
use gpuledger_reclaim::policy::Book;

use super::sim::ports::{Memory, SimClock, SimMail, SimSlurm, SimWorld};
use super::sim::{Fleet, Shared, lock};

pub(crate) type Server = Engine<SimWorld, Schedulers, SimMail, Memory>;

/// A server over a fleet of so many nodes.
pub(crate) fn server(nodes: i64, cards_each: i64, policy: &str) -> (Shared, Server) {
    let fleet: Shared = Arc::new(Mutex::new(Fleet::new(nodes, cards_each)));
    let book = Book::read(policy).expect("a policy");
    lock(&fleet).policy = Some(book.clone());
    let slurm = Slurm { runner: SimSlurm(Arc::clone(&fleet)) };
    let engine = Engine {
        world: SimWorld(Arc::clone(&fleet)),
        actuator: Schedulers::default().with("alpha", Box::new(slurm)),
        notifier: SimMail::default(),
        store: Memory::new(),
        clock: Arc::new(SimClock { fleet: Arc::clone(&fleet), off_ms: AtomicI64::new(0) }),
        book,
    };
    (fleet, engine)
}
