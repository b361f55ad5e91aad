//! Which network carries a run.

use std::sync::Arc;

use plan::NetKind;
use wire::Dialogue;

use crate::lookup::Lookups;
use crate::seed::WorkerSeed;

/// A network implementation, chosen once for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Epoll,
    Uring,
}

/// Up to so many connections a worker the benchmarks favour io_uring (`docs/decisions/0004-io-uring.md`).
pub(crate) const FEW: u64 = 2_000;

/// What was asked for, or what the benchmarks favour for few connections and for many; datagrams travel on epoll only.
pub(crate) fn choose(asked: NetKind, datagrams: bool, few: bool) -> Carrier {
    let wanted = match asked {
        NetKind::Auto => few,
        NetKind::Epoll => false,
        NetKind::Uring => true,
    };
    if wanted && !datagrams && net::Uring::is_available() { Carrier::Uring } else { Carrier::Epoll }
}

impl Carrier {
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Epoll => "epoll",
            Carrier::Uring => "uring",
        }
    }

    /// Makes the network on the calling thread and runs the worker on it.
    pub fn with<D: Dialogue>(self, seed: WorkerSeed<'_, D>) -> Result<(), String> {
        let lookups = Lookups::thread(Arc::clone(&seed.setup.resolver));
        match self {
            Carrier::Epoll => {
                let net = net::Epoll::new().map_err(|e| format!("epoll: {e}"))?;
                seed.run(net, lookups);
            }
            Carrier::Uring => {
                let net = net::Uring::new().map_err(|e| format!("io_uring: {e}"))?;
                seed.run(net, lookups);
            }
        }
        Ok(())
    }
}
