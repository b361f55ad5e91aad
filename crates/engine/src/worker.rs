//! A worker: one thread, one loop, one network, and no shared state.
//!
//! A worker has two parts. [`WorkerUsers`] handles users: scenarios, arrivals, pages, iterations. [`WorkerConnections`]
//! handles the transport of requests: pools, links, handshakes, backoff, recording. Their interface consists of
//! [`crate::due_request::DueRequest`] and [`crate::outcome::FinishedRequest`], which the loop passes from one part to
//! the other. Time, which concerns both, is in `time.rs`.

mod common_start;
mod ending;
mod time;

use brunt_contract::Network;

use crate::Stop;
use crate::connections::WorkerConnections;
use crate::control::ControlCursor;
use crate::links::LinkEvent;
use crate::users::WorkerUsers;

pub(crate) use self::common_start::CommonStart;

/// One worker, created by [`crate::builder::WorkerBuilder`].
pub(crate) struct Worker<N: Network> {
    users: WorkerUsers,
    connections: WorkerConnections<N>,
    common_start: Option<CommonStart>,
    control: ControlCursor,
    over: bool,
}

/// The parts of a worker.
pub(crate) struct WorkerParts<N: Network> {
    pub users: WorkerUsers,
    pub connections: WorkerConnections<N>,
    pub common_start: Option<CommonStart>,
    pub control: ControlCursor,
}

impl<N: Network> Worker<N> {
    /// Creates a worker that has not started.
    pub fn new(parts: WorkerParts<N>) -> Worker<N> {
        let WorkerParts { users, connections, common_start, control: heeding } = parts;
        Worker { users, connections, common_start, control: heeding, over: false }
    }

    /// Runs the loop.
    pub fn run(&mut self, stop: &Stop) {
        self.begin();
        while !self.over {
            self.connections.before_wait();
            let until = self.next_moment();
            let arrival = self.users.next_arrival(&self.connections);
            let waits = self.connections.wait_for_events(until, arrival);
            if stop.requested() {
                self.interrupted(stop, waits);
                break;
            }
            self.take_turn();
            self.keep_time(stop);
        }
    }

    /// Handles incoming events, at most one piece per connection, and sends due requests in between. A long turn is
    /// interrupted for timers and resumed afterwards.
    #[inline]
    fn take_turn(&mut self) {
        loop {
            self.users.send_due(&mut self.connections);
            let Some(arrived) = self.connections.next() else { break };
            self.dispatch(arrived);
            if self.connections.is_turn_long() {
                break;
            }
        }
        self.connections.end_turn();
    }

    /// Handles one event, and resumes the user that it concerns.
    #[inline]
    fn dispatch(&mut self, arrived: LinkEvent) {
        self.connections.process(arrived);
        self.users.process_and_flush(&mut self.connections);
        self.connections.mark_all_read();
    }
}
