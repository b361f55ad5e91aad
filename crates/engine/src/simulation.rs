//! A run of one worker on a given network and on the calling thread: the entry point for the benchmark and the memory
//! tests.
//!
//! Messages of the worker are collected whenever it waits, so that they do not accumulate in a long run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use brunt_contract::{
    Checks, ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress, Protocol,
    ProtocolConfig, TurnRemainder, UsageError,
};
use brunt_measure::Nanos;
use brunt_plan::Share;
use brunt_record::RunEvent;

use crate::barrier::Barrier;
use crate::builder::{WorkerBuilder, requests};
use crate::collector::Collector;
use crate::connections::SpinBudget;
use crate::lookup::Lookups;
use crate::named_checks::NamedChecks;
use crate::worker_message::WorkerMessage;
use crate::{Setup, Stop};

/// Runs the plan of `setup` with one worker on `net`, beginning at `start` on its clock.
///
/// # Errors
/// The protocol does not accept the options.
pub fn run<N: Network>(
    protocol: &dyn Protocol,
    config: &ProtocolConfig,
    setup: &Setup,
    start: Nanos,
    net: N,
    sink: &mut dyn FnMut(RunEvent),
) -> Result<(), UsageError> {
    let dialogue = protocol.prepare(config)?;
    let checks = Checks::read(config, |url| protocol.checks(url))?;
    let checks = checks.and_then(|checks| NamedChecks::of(checks, &*dialogue)).map(Arc::new);
    let pools: Vec<_> =
        dialogue.origins().iter().map(|o| (o.clone(), setup.resolver.resolve(o).unwrap_or_default())).collect();
    let named = Arc::clone(&dialogue);
    let code_name = move |code| named.code_name(code);
    let names = dialogue.names().list().len();
    let mut collector = Collector::new(1, setup.plan.load.is_open(), &code_name, sink).by_name(names);
    let (report, told) = channel();
    let requests = requests(&*dialogue);
    let seed = WorkerBuilder {
        workload: dialogue,
        setup,
        share: Share::WHOLE,
        start,
        sources: vec![],
        fixed: false,
        barriers: [Barrier::for_workers(1), Barrier::for_workers(1)],
        pools: &pools,
        requests: &requests,
        report: Box::new(move |message| drop(report.send(message))),
        spinning: SpinBudget::Never,
        checks,
        stop: Stop::default(),
    };
    let mut heard = DrainingNetwork { net, messages: told, collector: &mut collector };
    seed.run(&mut heard, Lookups::at_once(Arc::clone(&setup.resolver)));
    heard.receive();
    collector.end(setup.plan.warmup);
    Ok(())
}

/// A network that passes the worker's messages on before it sleeps.
struct DrainingNetwork<'a, 'b, N> {
    net: N,
    messages: Receiver<WorkerMessage>,
    collector: &'a mut Collector<'b>,
}

impl<N> DrainingNetwork<'_, '_, N> {
    fn receive(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            self.collector.receive(0, message);
        }
    }
}

impl<N: Network> Network for &mut DrainingNetwork<'_, '_, N> {
    fn now(&mut self) -> Nanos {
        self.net.now()
    }
    fn connect(&mut self, dial: &ConnectParameters) -> Result<ConnId, Errno> {
        self.net.connect(dial)
    }
    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        self.net.send(conn, out);
    }
    fn end_sending(&mut self, conn: ConnId) -> bool {
        self.net.end_sending(conn)
    }
    fn close(&mut self, conn: ConnId) {
        self.net.close(conn);
    }
    fn abort(&mut self, conn: ConnId) {
        self.net.abort(conn);
    }
    fn listen(&mut self, at: &PeerAddress, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.net.listen(at, backlog, shared)
    }
    fn local_addr(&self, listener: ListenerId) -> Option<SocketAddr> {
        self.net.local_addr(listener)
    }
    fn set_accepting(&mut self, listener: ListenerId, accepting: bool) {
        self.net.set_accepting(listener, accepting);
    }
    fn wait(&mut self, until: Nanos) {
        self.receive();
        self.net.wait(until);
    }
    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        self.net.next()
    }
    fn last_read_at(&mut self) -> Nanos {
        self.net.last_read_at()
    }
    fn remaining(&mut self) -> TurnRemainder {
        self.net.remaining()
    }
    fn bytes_sent(&self) -> u64 {
        self.net.bytes_sent()
    }
    fn rejected_datagrams(&self) -> u64 {
        self.net.rejected_datagrams()
    }
    fn report_sent(&mut self, conn: ConnId) -> bool {
        self.net.report_sent(conn)
    }
    fn unsent(&self, conn: ConnId) -> usize {
        self.net.unsent(conn)
    }

    fn sends_at_once(&self) -> bool {
        self.net.sends_at_once()
    }
}
