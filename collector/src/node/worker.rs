//! A thread that may hang, and the patience of whoever waits for it.
//!
//! A call into a driver can block for minutes or for ever and cannot be cancelled. So each card has one thread of its
//! own; whoever waits does so until a deadline and goes on with the others. A thread that did not answer gets no new
//! order until it has: there is never more than one stuck thread a card, and none is ever joined.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// The driver's library keeps its larger buffers on the heap; readers need little more than a page of locals.
const STACK_BYTES: usize = 256 * 1024;

/// A thread that takes an order and gives an answer.
#[derive(Debug)]
pub struct Worker<O, A> {
    orders: SyncSender<O>,
    answers: Receiver<A>,
    owes_answer: bool,
}

/// What became of waiting for an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Waited<A> {
    /// It came.
    Answer(A),
    /// It did not come in time; the thread is still at it.
    Late,
    /// The thread has ended (its work panicked), or was given no order.
    None,
}

impl<O: Send + 'static, A: Send + 'static> Worker<O, A> {
    /// Starts a thread that works for as long as this end is kept.
    pub fn start(name: &str, mut work: impl FnMut(O) -> A + Send + 'static) -> std::io::Result<Self> {
        let (orders, inbox) = sync_channel::<O>(1);
        let (outbox, answers) = sync_channel::<A>(1);
        let thread = move || {
            while let Ok(order) = inbox.recv() {
                if outbox.send(work(order)).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(thread)?;
        Ok(Self { orders, answers, owes_answer: false })
    }

    /// Gives an order, unless the thread has not answered the last one yet; says whether it was given.
    ///
    /// An answer that came too late for whoever asked is thrown away here: it speaks of a time that is over.
    pub fn order(&mut self, order: O) -> bool {
        if self.is_stuck() || self.orders.try_send(order).is_err() {
            return false;
        }
        self.owes_answer = true;
        true
    }

    /// Whether the thread still works on an order whose time is over.
    pub fn is_stuck(&mut self) -> bool {
        if self.owes_answer {
            self.owes_answer = matches!(self.answers.try_recv(), Err(TryRecvError::Empty));
        }
        self.owes_answer
    }

    /// Waits for the answer to the last order.
    pub fn answer(&mut self, patience: Duration) -> Waited<A> {
        if !self.owes_answer {
            return Waited::None;
        }
        match self.answers.recv_timeout(patience) {
            Ok(answer) => {
                self.owes_answer = false;
                Waited::Answer(answer)
            }
            Err(RecvTimeoutError::Timeout) => Waited::Late,
            Err(RecvTimeoutError::Disconnected) => {
                self.owes_answer = false;
                Waited::None
            }
        }
    }
}

#[cfg(test)]
mod tests;
