//! The workers of one process: one thread each, with a share of the run.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::Scope;

use brunt_contract::{Origin, PeerAddress, Workload};
use brunt_measure::{Clock, Nanos};
use brunt_plan::Share;
use brunt_scenario::RequestMix;

use crate::backend::Backend;
use crate::barrier::Barrier;
use crate::builder::{WorkerBuilder, requests};
use crate::connections::SpinBudget;
use crate::named_checks::NamedChecks;
use crate::resource_errors::no_thread;
use crate::tables::DescriptorTables;
use crate::worker_message::WorkerMessage;
use crate::{Setup, Stop, lookup};

/// The parameters of the workers.
pub(crate) struct WorkerThreads<'a> {
    pub workload: Arc<dyn Workload>,
    pub setup: &'a Setup,
    /// Set if the number of connections is part of the plan.
    pub fixed: bool,
    pub backend: Backend,
    pub tables: DescriptorTables,
    /// Range of the run's workers in this process.
    pub workers: Range<u32>,
    /// Start of the run.
    pub start: Nanos,
    /// Barriers of the workers: before a common start, and before connections are held.
    pub barriers: [Arc<Barrier>; 2],
    /// The named checks, if any.
    pub checks: Option<Arc<NamedChecks>>,
    pub pools: Arc<Vec<(Origin, Vec<PeerAddress>)>>,
    pub sources: Vec<IpAddr>,
}

impl<'a> WorkerThreads<'a> {
    /// Starts the workers; each sends its reports with its number in the run.
    pub fn start<'s>(&self, scope: &'s Scope<'s, '_>, report: &Sender<(usize, WorkerMessage)>, stop: &Stop)
    where
        'a: 's,
    {
        let requests = requests(&*self.workload);
        for index in self.workers.clone() {
            let broken = report.clone();
            let body = self.body(index, requests.clone(), report.clone(), stop.clone());
            let started = std::thread::Builder::new().name(format!("worker-{index}")).spawn_scoped(scope, body);
            if let Err(why) = started {
                release_barriers(&self.barriers);
                let _ = broken.send((index as usize, WorkerMessage::Broken(no_thread(&why).to_string())));
            }
        }
    }

    fn body<'s>(
        &self,
        index: u32,
        requests: RequestMix,
        report: Sender<(usize, WorkerMessage)>,
        stop: Stop,
    ) -> impl FnOnce() + Send + 's
    where
        'a: 's,
    {
        let (setup, backend, tables, fixed, start) = (self.setup, self.backend, self.tables, self.fixed, self.start);
        let (dialogue, barriers, sources) = (Arc::clone(&self.workload), self.barriers.clone(), self.sources.clone());
        let (pools, checks) = (Arc::clone(&self.pools), self.checks.clone());
        let share = Share { index, of: tables.workers };
        let spinning = SpinBudget::of(&setup.plan, tables.workers);
        move || {
            let failed = report.clone();
            let waited_for = barriers.clone();
            tables.take();
            if setup.plan.pin {
                pin(index);
            }
            let report = Box::new(move |message| drop(report.send((index as usize, message))));
            let (pools, requests) = (&pools, &requests);
            let seed = WorkerBuilder {
                workload: dialogue,
                setup,
                sources,
                fixed,
                share,
                start,
                barriers,
                pools,
                requests,
                report,
                spinning,
                checks,
                stop,
            };
            let begun = backend.with(seed);
            if let Err(why) = begun {
                release_barriers(&waited_for);
                let _ = failed.send((index as usize, WorkerMessage::Broken(why)));
            }
        }
    }
}

/// Marks a worker that cannot start as ready at all barriers.
fn release_barriers(barriers: &[Arc<Barrier>; 2]) {
    barriers.iter().for_each(|barrier| barrier.ready(Clock.now()));
}

/// Returns the requested source addresses, or as many loopback addresses as the connections need.
pub(crate) fn sources(setup: &Setup, pools: &[(Origin, Vec<PeerAddress>)], connections: u64) -> Vec<IpAddr> {
    let first = pools.iter().flat_map(|(_, places)| places).find_map(|place| match place {
        PeerAddress::Tcp(addr) => Some(*addr),
        _ => None,
    });
    match first {
        Some(to) if setup.sources.is_empty() => brunt_net::sources::spread(to, connections as usize),
        _ => setup.sources.clone(),
    }
}

/// Returns the origins with their addresses.
pub(crate) fn pools(origins: &[Origin], setup: &Setup, stop: &Stop) -> Vec<(Origin, Vec<PeerAddress>)> {
    // The workers repeat the lookup of an origin that does not resolve now; its requests wait and then fail.
    let places = |origin| lookup::find(&setup.resolver, origin, stop).and_then(Result::ok).unwrap_or_default();
    origins.iter().map(|origin| (origin.clone(), places(origin))).collect()
}

/// Pins the calling thread to one of the cores that the process may use.
fn pin(index: u32) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|c| allowed.is_set(*c)).collect();
    let Some(core) = cores.get(index as usize % cores.len().max(1)) else { return };
    let mut only = rustix::thread::CpuSet::new();
    only.set(*core);
    let _ = rustix::thread::sched_setaffinity(None, &only);
}
