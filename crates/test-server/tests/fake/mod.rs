//! A scripted network: the test sets the clock and injects arrivals, and everything sent is recorded.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use brunt_contract::{ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress};
use brunt_measure::Nanos;
use brunt_protocols::http1::Http1Server;
use brunt_test_server::{Config, Responder, Stats, Tallies, TargetSession, TargetWorker};

/// The end of a connection as seen by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    Closed,
    Aborted,
}

#[derive(Debug)]
enum Happening {
    Accepted(ConnId),
    Received(ConnId, Vec<u8>),
    Closed(ConnId),
}

/// The state shared by the test and the network.
#[derive(Debug, Default)]
pub struct ScriptedState {
    now: Nanos,
    pending: VecDeque<Happening>,
    buffer: Vec<u8>,
    /// Bytes the client has received.
    received: BTreeMap<u32, Vec<u8>>,
    /// Sent bytes that the client has not read; held back if it is slow.
    unsent: BTreeMap<u32, usize>,
    /// Number of bytes after which a client stops reading.
    read_limit: BTreeMap<u32, usize>,
    gone: BTreeMap<u32, ClosedBy>,
    sends: usize,
    sent: u64,
    /// Deadlines passed to the waits.
    waits: Vec<Nanos>,
    accepting: bool,
}

#[derive(Clone)]
pub struct ScriptedNetwork(Rc<RefCell<ScriptedState>>);

impl Network for ScriptedNetwork {
    fn now(&mut self) -> Nanos {
        self.0.borrow().now
    }
    fn connect(&mut self, _: &ConnectParameters) -> Result<ConnId, Errno> {
        Err(Errno(111))
    }
    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        let mut world = self.0.borrow_mut();
        world.sends += 1;
        let mut bytes = out.bytes().to_vec();
        bytes.extend_from_slice(out.tail().map_or(&[], |t| t));
        out.clear();
        let room = world.read_limit.get(&conn.0).copied().unwrap_or(usize::MAX);
        let had = world.received.entry(conn.0).or_default().len();
        let taken = bytes.len().min(room.saturating_sub(had));
        world.received.get_mut(&conn.0).unwrap().extend_from_slice(&bytes[..taken]);
        world.sent += taken as u64;
        *world.unsent.entry(conn.0).or_default() += bytes.len() - taken;
    }
    fn close(&mut self, conn: ConnId) {
        self.0.borrow_mut().gone.entry(conn.0).or_insert(ClosedBy::Closed);
    }
    fn abort(&mut self, conn: ConnId) {
        self.0.borrow_mut().gone.insert(conn.0, ClosedBy::Aborted);
    }
    fn listen(&mut self, _: &PeerAddress, _: u32, _: bool) -> Result<ListenerId, Errno> {
        Ok(ListenerId(0))
    }
    fn local_addr(&self, _: ListenerId) -> Option<SocketAddr> {
        None
    }
    fn set_accepting(&mut self, _: ListenerId, accepting: bool) {
        self.0.borrow_mut().accepting = accepting;
    }
    fn wait(&mut self, until: Nanos) {
        self.0.borrow_mut().waits.push(until);
    }
    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        let happening = self.0.borrow_mut().pending.pop_front()?;
        Some(match happening {
            Happening::Accepted(conn) => NetworkEvent::Accepted(ListenerId(0), conn),
            Happening::Closed(conn) => NetworkEvent::Closed(conn, None),
            Happening::Received(conn, bytes) => {
                // Leaked so that it can be borrowed out of the cell; tests are short.
                self.0.borrow_mut().buffer.clear();
                NetworkEvent::Received(conn, bytes.leak())
            }
        })
    }
    fn bytes_sent(&self) -> u64 {
        self.0.borrow().sent
    }
    fn unsent(&self, conn: ConnId) -> usize {
        self.0.borrow().unsent.get(&conn.0).copied().unwrap_or(0)
    }
}

/// A worker on a scripted network.
pub struct WorkerScene<S = Http1Server> {
    world: Rc<RefCell<ScriptedState>>,
    worker: TargetWorker<ScriptedNetwork, S, fn() -> S>,
    tallies: std::sync::Arc<Tallies>,
    most_wait: Nanos,
}

impl WorkerScene {
    /// A worker that speaks HTTP/1.1.
    pub fn new(config: &Config) -> WorkerScene {
        WorkerScene::speaking(config, Http1Server::new)
    }
}

impl<S: TargetSession> WorkerScene<S> {
    pub fn speaking(config: &Config, session: fn() -> S) -> WorkerScene<S> {
        let world = Rc::new(RefCell::new(ScriptedState {
            now: Nanos::from_secs(1),
            accepting: true,
            ..ScriptedState::default()
        }));
        let tallies = Tallies::new(1);
        let responder = Responder::alone(config);
        let mut worker =
            TargetWorker::new(ScriptedNetwork(Rc::clone(&world)), ListenerId(0), session, responder, &tallies, 0);
        if let Some(most) = config.max_connections {
            worker = worker.bounded(most);
        }
        WorkerScene { world, worker, tallies, most_wait: Nanos::from_secs(3600) }
    }

    pub fn connect(&mut self, conn: u32) {
        self.world.borrow_mut().gone.remove(&conn);
        self.world.borrow_mut().received.remove(&conn);
        self.happen(Happening::Accepted(ConnId(conn)));
    }
    pub fn hang_up(&mut self, conn: u32) {
        self.happen(Happening::Closed(ConnId(conn)));
    }
    pub fn say(&mut self, conn: u32, bytes: &[u8]) {
        self.happen(Happening::Received(ConnId(conn), bytes.to_vec()));
    }
    pub fn get(&mut self, conn: u32, path: &str) {
        self.say(conn, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    }
    fn happen(&mut self, happening: Happening) {
        self.world.borrow_mut().pending.push_back(happening);
        self.turn();
    }
    pub fn turn(&mut self) {
        self.worker.turn(self.most_wait);
    }
    /// Advances time by `span`, with one turn at its end.
    pub fn pass(&mut self, span: Nanos) {
        self.world.borrow_mut().now += span;
        self.turn();
    }
    /// Returns the time from now to the end of the last wait.
    pub fn waited_for(&self) -> Nanos {
        let world = self.world.borrow();
        world.waits.last().copied().unwrap_or_default() - world.now
    }
    /// Lets the client read `bytes` bytes in total, and no more for now.
    pub fn reads_only(&mut self, conn: u32, bytes: usize) {
        let mut world = self.world.borrow_mut();
        world.read_limit.insert(conn, bytes);
        // The content held back is discarded: only its size matters to the server.
        world.unsent.insert(conn, 0);
    }
    /// Returns the bytes the client received since the last call.
    pub fn heard(&mut self, conn: u32) -> Vec<u8> {
        std::mem::take(self.world.borrow_mut().received.entry(conn).or_default())
    }
    pub fn heard_text(&mut self, conn: u32) -> String {
        String::from_utf8(self.heard(conn)).expect("the answer is text")
    }
    pub fn unsent(&self, conn: u32) -> usize {
        self.world.borrow().unsent.get(&conn).copied().unwrap_or(0)
    }
    pub fn gone(&self, conn: u32) -> Option<ClosedBy> {
        self.world.borrow().gone.get(&conn).copied()
    }
    pub fn sends(&self) -> usize {
        self.world.borrow().sends
    }
    pub fn accepting(&self) -> bool {
        self.world.borrow().accepting
    }
    pub fn stats(&self) -> Stats {
        self.tallies.read()
    }
    pub fn finish(self) -> Stats {
        self.worker.finish();
        self.tallies.read()
    }
}
