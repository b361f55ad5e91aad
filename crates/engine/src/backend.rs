//! The choice of the network backend of a run.

use std::sync::Arc;

use brunt_plan::NetKind;

use crate::builder::WorkerBuilder;
use crate::lookup::Lookups;

/// A network implementation, chosen once for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Epoll,
    Uring,
}

/// Returns the requested backend if it is available, otherwise epoll, which never delays a response and is the only one
/// that supports datagrams.
pub(crate) fn choose(asked: NetKind, datagrams: bool) -> Backend {
    match asked {
        NetKind::Uring if !datagrams && brunt_net::Uring::is_available() => Backend::Uring,
        NetKind::Auto | NetKind::Epoll | NetKind::Uring => Backend::Epoll,
    }
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Backend::Epoll => "epoll",
            Backend::Uring => "uring",
        }
    }

    /// Creates the network on the calling thread and runs the worker on it.
    pub fn with(self, seed: WorkerBuilder<'_>) -> Result<(), String> {
        let lookups = Lookups::thread(Arc::clone(&seed.setup.resolver));
        match self {
            Backend::Epoll => {
                let net =
                    brunt_net::Epoll::new().map_err(|e| format!("epoll: {e}"))?.stamping(seed.setup.read_late.clone());
                seed.run(net, lookups);
            }
            Backend::Uring => {
                let net = brunt_net::Uring::new().map_err(|e| format!("io_uring: {e}"))?;
                seed.run(net, lookups);
            }
        }
        Ok(())
    }
}
