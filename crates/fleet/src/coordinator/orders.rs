//! Orders to the agents of a run: a thread for each agent, so that one that does not answer holds up no other. An order is
//! repeated until the agent has it; its number makes that harmless.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brunt_engine::ClockOffset;
use brunt_measure::Nanos;
use brunt_messenger::Messenger;
use brunt_plan::Change;

use super::ANSWERS;
use crate::protocol::{AgentAnswer, AgentOrder, AgentQuestion, from_bytes, to_bytes};

/// Pause before an order is repeated.
const AGAIN: Duration = Duration::from_millis(200);

/// A change that an agent follows.
pub(crate) struct FollowedChange {
    /// Index of the agent.
    pub agent: usize,
    /// Number of the change among those that were passed on.
    pub change: usize,
    /// Time from which the agent follows it, on the coordinator's clock.
    pub from: Nanos,
}

/// An order, and the number of the change that it is.
struct NumberedOrder {
    number: u64,
    order: AgentOrder,
    change: Option<usize>,
}

/// The way of orders to one agent. Once it is dropped, what was not delivered is forgotten.
pub(crate) struct OrderLine {
    orders: Sender<NumberedOrder>,
    closed: Arc<AtomicBool>,
    clock: ClockOffset,
    last: u64,
}

impl OrderLine {
    /// Opens the way to an agent with this name, index and clock; `told` is told of the changes that it follows.
    pub fn open(
        messenger: &Arc<dyn Messenger>,
        run: &str,
        (agent, name, clock): (usize, &str, ClockOffset),
        told: Sender<FollowedChange>,
    ) -> OrderLine {
        let (orders, given) = channel();
        let closed = Arc::new(AtomicBool::new(false));
        let (messenger, until) = (Arc::clone(messenger), Arc::clone(&closed));
        let (run, address) = (run.to_owned(), format!("agent/{name}"));
        let follows = move |change, from_ns| {
            let from = clock.to_coordinator(Nanos(from_ns));
            let _ = told.send(FollowedChange { agent, change, from });
        };
        let pass = move || pass_on(&*messenger, (&run, &address), &given, &until, &follows);
        // Without a thread, the agent gets no orders, begins nothing, and is lost.
        drop(std::thread::Builder::new().name("orders".into()).spawn(pass));
        OrderLine { orders, closed, clock, last: 0 }
    }

    /// Releases a barrier at a time of the coordinator's clock.
    pub fn release(&mut self, barrier: u32, at: Nanos) {
        self.send(AgentOrder::Go { barrier, at_ns: self.clock.to_process(at).0 }, None);
    }

    /// Changes the load at a time of the coordinator's clock, as the change with this number.
    pub fn change(&mut self, number: usize, at: Nanos, change: Change) {
        self.send(AgentOrder::Change { at_ns: self.clock.to_process(at).0, change }, Some(number));
    }

    pub fn stop(&mut self) {
        self.send(AgentOrder::Stop, None);
    }

    fn send(&mut self, order: AgentOrder, change: Option<usize>) {
        // The numbers of a coordinator that is started again follow on those before.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        self.last = now.max(self.last + 1);
        let _ = self.orders.send(NumberedOrder { number: self.last, order, change });
    }
}

impl Drop for OrderLine {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

fn pass_on(
    messenger: &dyn Messenger,
    (run, address): (&str, &str),
    given: &Receiver<NumberedOrder>,
    closed: &AtomicBool,
    follows: &dyn Fn(usize, u64),
) {
    for NumberedOrder { number, order, change } in given {
        let question = to_bytes(&AgentQuestion::Order { run: run.to_owned(), number, order });
        loop {
            match messenger.ask(address, &question, ANSWERS).map(|answer| from_bytes(&answer)) {
                Ok(Some(AgentAnswer::Follows { from_ns })) => {
                    change.into_iter().for_each(|change| follows(change, from_ns));
                    break;
                }
                // One that has no share of the run any more needs no orders.
                Ok(Some(AgentAnswer::Yes | AgentAnswer::No { .. })) => break,
                _ if closed.load(Ordering::Relaxed) => return,
                _ => std::thread::sleep(AGAIN),
            }
        }
    }
}
