//! One worker on a network of the caller's, on the calling thread: the door for the bench and the tests of memory.
//!
//! What the worker tells is collected whenever it waits, so that nothing piles up however long the run is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use measure::Nanos;
use plan::Share;
use record::RunEvent;
use wire::{Arrival, Asked, Checks, Complaint, ConnId, Dial, Errno, ListenerId, Network, Out, Place, Protocol, Rest};

use crate::barrier::Barrier;
use crate::builder::{WorkerBuilder, requests};
use crate::checked::Checked;
use crate::collector::Collector;
use crate::connections::Spinning;
use crate::lookup::Lookups;
use crate::message::Message;
use crate::{Setup, Stop};

/// Runs the plan of `setup` with one worker on `net`, beginning at `start` on its clock.
///
/// # Errors
/// What the protocol does not accept of what was asked.
pub fn run<N: Network>(
    protocol: &dyn Protocol,
    asked: &Asked,
    setup: &Setup,
    start: Nanos,
    net: N,
    sink: &mut dyn FnMut(RunEvent),
) -> Result<(), Complaint> {
    let dialogue = protocol.prepare(asked)?;
    let checks = Checks::read(asked, |url| protocol.checks(url))?;
    let checks = checks.and_then(|checks| Checked::of(checks, &*dialogue)).map(Arc::new);
    let pools: Vec<_> =
        dialogue.origins().iter().map(|o| (o.clone(), setup.resolver.resolve(o).unwrap_or_default())).collect();
    let named = Arc::clone(&dialogue);
    let code_name = move |code| named.code_name(code);
    let names = dialogue.names().list().len();
    let mut collector = Collector::new(1, setup.plan.load.is_open(), &code_name, sink).by_name(names);
    let (report, told) = channel();
    let requests = requests(&*dialogue);
    let seed = WorkerBuilder {
        dialogue,
        setup,
        share: Share::WHOLE,
        start,
        sources: vec![],
        fixed: false,
        barriers: [Barrier::of(1), Barrier::of(1)],
        pools: &pools,
        requests: &requests,
        report: Box::new(move |message| drop(report.send(message))),
        spinning: Spinning::Never,
        checks,
        stop: Stop::default(),
    };
    let mut heard = Heard { net, told, collector: &mut collector };
    seed.run(&mut heard, Lookups::at_once(Arc::clone(&setup.resolver)));
    heard.receive();
    collector.end(setup.plan.warmup);
    Ok(())
}

/// A network that hands on what the worker told before it sleeps.
struct Heard<'a, 'b, N> {
    net: N,
    told: Receiver<Message>,
    collector: &'a mut Collector<'b>,
}

impl<N> Heard<'_, '_, N> {
    fn receive(&mut self) {
        while let Ok(message) = self.told.try_recv() {
            self.collector.receive(0, message);
        }
    }
}

impl<N: Network> Network for &mut Heard<'_, '_, N> {
    fn now(&mut self) -> Nanos {
        self.net.now()
    }
    fn connect(&mut self, dial: &Dial) -> Result<ConnId, Errno> {
        self.net.connect(dial)
    }
    fn send(&mut self, conn: ConnId, out: &mut Out) {
        self.net.send(conn, out);
    }
    fn close(&mut self, conn: ConnId) {
        self.net.close(conn);
    }
    fn abort(&mut self, conn: ConnId) {
        self.net.abort(conn);
    }
    fn listen(&mut self, at: &Place, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.net.listen(at, backlog, shared)
    }
    fn listening_at(&self, listener: ListenerId) -> Option<SocketAddr> {
        self.net.listening_at(listener)
    }
    fn set_accepting(&mut self, listener: ListenerId, accepting: bool) {
        self.net.set_accepting(listener, accepting);
    }
    fn wait(&mut self, until: Nanos) {
        self.receive();
        self.net.wait(until);
    }
    fn next(&mut self) -> Option<Arrival<'_>> {
        self.net.next()
    }
    fn read_at(&mut self) -> Nanos {
        self.net.read_at()
    }
    fn rest(&mut self) -> Rest {
        self.net.rest()
    }
    fn bytes_sent(&self) -> u64 {
        self.net.bytes_sent()
    }
    fn refused(&self) -> u64 {
        self.net.refused()
    }
    fn unsent(&self, conn: ConnId) -> usize {
        self.net.unsent(conn)
    }
}
