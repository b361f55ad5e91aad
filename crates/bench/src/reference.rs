//! The reference client: a run of its own beside the run, of the same requests at a few a second, on one connection and a thread that
//! carries no load. Queueing inside the generator is in the figures of the load and not in its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use engine::{Control, PreparedRun, Setup, Stop};
use measure::Nanos;
use net::Lateness;
use plan::{Arrivals, Load, NetKind, Plan, Stage};
use record::{Reference, RunEvent, Second};

/// Longer than any run.
const FOR_EVER: Nanos = Nanos::from_secs(100 * 24 * 3600);
/// Far from the run's own choices.
const SEED: u64 = 0x5eed_0f2e_fe2e_4ce5;

/// The client beside a run, from the run's first event to its last.
pub struct Client {
    thread: Option<JoinHandle<()>>,
    stop: Stop,
    told: Receiver<(Nanos, Reference)>,
    /// When the window of the load begins, once that is known.
    window: Option<Nanos>,
}

impl Client {
    /// Starts it where the plan asks for one. A thread that cannot be had leaves it without requests, which its figures show.
    pub fn begin(prepared: &Arc<PreparedRun>, setup: &Setup) -> Option<Client> {
        let rate = setup.plan.reference?;
        let (prepared, stop, (tell, told)) = (Arc::clone(prepared), Stop::default(), channel());
        let lateness = Lateness::default();
        let setup = Setup {
            plan: Arc::new(plan(&setup.plan, rate)),
            processes: None,
            control: Control::default(),
            read_late: Some(lateness.clone()),
            scenario: None,
            ..setup.clone()
        };
        let stopped = stop.clone();
        let body = move || run(prepared, &setup, &stopped, &lateness, &tell);
        let thread = std::thread::Builder::new().name("reference".into()).spawn(body).ok();
        Some(Client { thread, stop, told, window: None })
    }

    /// Hands on an event of the run, and what the client found until then in front of it.
    pub fn pass(&mut self, event: RunEvent, sink: &mut dyn FnMut(RunEvent)) {
        match &event {
            RunEvent::Began(began) => self.window = Some(Nanos(began.clock_ns)),
            RunEvent::Ended(_) => self.end(),
            _ => {}
        }
        // The head of a record comes first.
        if let Some(window) = self.window.filter(|_| !matches!(event, RunEvent::Began(_))) {
            for (own, client) in self.told.try_iter() {
                sink(RunEvent::Reference(Box::new(moved(client, own, window))));
            }
        }
        sink(event);
    }

    fn end(&mut self) {
        self.stop.request();
        // What it panicked of was said; the run has its own figures.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

/// The same requests at this rate over one connection, from the beginning of the run to its end.
fn plan(of: &Plan, rate: f64) -> Plan {
    let stages = vec![Stage { lasts: of.duration.unwrap_or(FOR_EVER), from: rate, to: rate }];
    Plan {
        load: Load::Open { stages, arrivals: Arrivals::Poisson },
        requests: None,
        max_connections: 1,
        workers: 1,
        pin: false,
        precise: false,
        // No core is polled away beside the load.
        slack: Nanos(1),
        connect_rate: None,
        hold: None,
        heartbeat: None,
        reference: None,
        net: NetKind::Epoll,
        seed: of.seed ^ SEED,
        ..of.clone()
    }
}

fn run(prepared: Arc<PreparedRun>, setup: &Setup, stop: &Stop, lateness: &Lateness, tell: &Sender<(Nanos, Reference)>) {
    let mut window = Nanos::ZERO;
    prepared.run(setup, stop, &mut |event| match event {
        RunEvent::Began(began) => window = Nanos(began.clock_ns),
        // Nobody listens any more only once the run is over.
        RunEvent::Second(second) => drop(tell.send((window, found(*second, lateness)))),
        _ => {}
    });
}

fn found(second: Second, lateness: &Lateness) -> Reference {
    Reference {
        from_ns: second.from_ns,
        to_ns: second.to_ns,
        scheduled: second.due,
        succeeded: second.finished,
        failed: second.failed,
        unfinished: second.censored,
        service: second.latency.service,
        read_late: lateness.take(),
    }
}

/// The same, its moments told from the window of the load instead of its own.
fn moved(client: Reference, own: Nanos, window: Nanos) -> Reference {
    let by = i64::try_from(i128::from(own.0) - i128::from(window.0)).unwrap_or(0);
    let (from_ns, to_ns) = (client.from_ns.saturating_add(by), client.to_ns.saturating_add(by));
    Reference { from_ns, to_ns, ..client }
}
