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

/// The way of orders to one agent. Once it is dropped, what was not delivered is forgotten.
pub(crate) struct OrderLine {
    orders: Sender<(u64, AgentOrder)>,
    closed: Arc<AtomicBool>,
    clock: ClockOffset,
    last: u64,
}

impl OrderLine {
    pub fn open(messenger: &Arc<dyn Messenger>, run: &str, agent: &str, clock: ClockOffset) -> OrderLine {
        let (orders, given) = channel();
        let closed = Arc::new(AtomicBool::new(false));
        let (messenger, until) = (Arc::clone(messenger), Arc::clone(&closed));
        let (run, address) = (run.to_owned(), format!("agent/{agent}"));
        let pass = move || pass_on(&*messenger, &run, &address, &given, &until);
        // Without a thread, the agent gets no orders, begins nothing, and is lost.
        drop(std::thread::Builder::new().name("orders".into()).spawn(pass));
        OrderLine { orders, closed, clock, last: 0 }
    }

    /// Releases a barrier at a time of the coordinator's clock.
    pub fn release(&mut self, barrier: u32, at: Nanos) {
        self.send(AgentOrder::Go { barrier, at_ns: self.clock.to_process(at).0 });
    }

    /// Changes the load at a time of the coordinator's clock.
    pub fn change(&mut self, at: Nanos, change: Change) {
        self.send(AgentOrder::Change { at_ns: self.clock.to_process(at).0, change });
    }

    pub fn stop(&mut self) {
        self.send(AgentOrder::Stop);
    }

    fn send(&mut self, order: AgentOrder) {
        // The numbers of a coordinator that is started again follow on those before.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        self.last = now.max(self.last + 1);
        let _ = self.orders.send((self.last, order));
    }
}

impl Drop for OrderLine {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

fn pass_on(
    messenger: &dyn Messenger,
    run: &str,
    address: &str,
    given: &Receiver<(u64, AgentOrder)>,
    closed: &AtomicBool,
) {
    for (number, order) in given {
        let question = to_bytes(&AgentQuestion::Order { run: run.to_owned(), number, order });
        loop {
            match messenger.ask(address, &question, ANSWERS).map(|answer| from_bytes(&answer)) {
                // One that has no share of the run any more needs no orders.
                Ok(Some(AgentAnswer::Yes | AgentAnswer::No { .. })) => break,
                _ if closed.load(Ordering::Relaxed) => return,
                _ => std::thread::sleep(AGAIN),
            }
        }
    }
}
