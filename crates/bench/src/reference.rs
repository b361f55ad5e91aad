//! The reference client: a small run parallel to the main one, with the same requests at a few per second, on its own
//! connection and an otherwise idle thread. Queueing inside the generator affects the results of the load but not those
//! of the client.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use brunt_engine::{Control, PreparedRun, Setup, Stop};
use brunt_measure::Nanos;
use brunt_net::ReadLateness;
use brunt_plan::{Arrivals, Load, NetKind, Plan, Stage};
use brunt_record::{ReferenceSecond, RunEvent, Second};

/// A duration longer than any run.
const FOR_EVER: Nanos = Nanos::from_secs(100 * 24 * 3600);
/// Offset that makes the seed of the client differ from that of the run.
const SEED: u64 = 0x5eed_0f2e_fe2e_4ce5;

/// The client of a run, from the run's first event to its last.
pub struct ReferenceClient {
    thread: Option<JoinHandle<()>>,
    stop: Stop,
    told: Receiver<(Nanos, ReferenceSecond)>,
    /// The beginning of the load's window, once it is known.
    window: Option<Nanos>,
}

impl ReferenceClient {
    /// Starts the client if the plan asks for one. If no thread can be started, its results show no requests.
    pub fn begin(prepared: &Arc<PreparedRun>, setup: &Setup) -> Option<ReferenceClient> {
        let rate = setup.plan.reference?;
        let (prepared, stop, (tell, told)) = (Arc::clone(prepared), Stop::default(), channel());
        let lateness = ReadLateness::default();
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
        Some(ReferenceClient { thread, stop, told, window: None })
    }

    /// Passes on an event of the run, preceded by the client's results so far.
    pub fn pass(&mut self, event: RunEvent, sink: &mut dyn FnMut(RunEvent)) {
        match &event {
            RunEvent::Began(began) => self.window = Some(Nanos(began.clock_ns)),
            RunEvent::Ended(_) => self.end(),
            _ => {}
        }
        // The record's header comes first.
        if let Some(window) = self.window.filter(|_| !matches!(event, RunEvent::Began(_))) {
            for (own, client) in self.told.try_iter() {
                sink(RunEvent::Reference(Box::new(shift_times(client, own, window))));
            }
        }
        sink(event);
    }

    fn end(&mut self) {
        self.stop.request();
        // A panic has already been reported, and does not affect the results of the run.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for ReferenceClient {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns the plan of the client: the same requests at this rate over one connection, for the whole run.
fn plan(of: &Plan, rate: f64) -> Plan {
    let stages = vec![Stage { lasts: of.duration.unwrap_or(FOR_EVER), from: rate, to: rate }];
    Plan {
        load: Load::Open { stages, arrivals: Arrivals::Poisson },
        requests: None,
        max_connections: 1,
        workers: 1,
        pin: false,
        precise: false,
        // The client must not busy-poll on a core while the load runs.
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

fn run(
    prepared: Arc<PreparedRun>,
    setup: &Setup,
    stop: &Stop,
    lateness: &ReadLateness,
    tell: &Sender<(Nanos, ReferenceSecond)>,
) {
    let mut window = Nanos::ZERO;
    prepared.run(setup, stop, &mut |event| match event {
        RunEvent::Began(began) => window = Nanos(began.clock_ns),
        // The receiver is dropped only after the run.
        RunEvent::Second(second) => drop(tell.send((window, reference_second(*second, lateness)))),
        _ => {}
    });
}

fn reference_second(second: Second, lateness: &ReadLateness) -> ReferenceSecond {
    ReferenceSecond {
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

/// Shifts the times of the client's results from its own window to that of the load.
fn shift_times(client: ReferenceSecond, own: Nanos, window: Nanos) -> ReferenceSecond {
    let by = i64::try_from(i128::from(own.0) - i128::from(window.0)).unwrap_or(0);
    let (from_ns, to_ns) = (client.from_ns.saturating_add(by), client.to_ns.saturating_add(by));
    ReferenceSecond { from_ns, to_ns, ..client }
}
