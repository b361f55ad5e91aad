//! Name lookups outside the worker threads.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use brunt_cause::Cause;
use brunt_contract::{Origin, PeerAddress};

use crate::ids::PoolId;
use crate::{Resolver, Stop};

/// Maximum interval between checks of the stop flag.
const ATTENTION: Duration = Duration::from_millis(20);

/// Returns the addresses of an origin, or `None` if a stop was requested first, because the system waits for an
/// unresponsive name server longer than a user would.
pub(crate) fn find(
    resolver: &Arc<dyn Resolver>,
    origin: &Origin,
    stop: &Stop,
) -> Option<Result<Vec<PeerAddress>, Cause>> {
    let (answer, found) = channel();
    let (asked, wanted) = (Arc::clone(resolver), origin.clone());
    let serve = move || drop(answer.send(asked.resolve(&wanted)));
    if std::thread::Builder::new().name("lookup".into()).spawn(serve).is_err() {
        return Some(resolver.resolve(origin));
    }
    loop {
        match found.recv_timeout(ATTENTION) {
            Ok(places) => return Some(places),
            Err(RecvTimeoutError::Timeout) if !stop.requested() => {}
            Err(_) => return None,
        }
    }
}

type LookupResult = (PoolId, Result<Vec<PeerAddress>, Cause>);

/// The lookups of one worker, performed by a thread that ends with the worker, or immediately (simulation).
pub(crate) enum Lookups {
    Thread {
        ask: Sender<(PoolId, Origin)>,
        found: Receiver<LookupResult>,
        pending: u32,
    },
    #[cfg(any(test, feature = "simulation"))]
    AtOnce {
        resolver: Arc<dyn Resolver>,
        found: Vec<LookupResult>,
    },
}

impl Lookups {
    pub fn thread(resolver: Arc<dyn Resolver>) -> Lookups {
        let (ask, asked) = channel::<(PoolId, Origin)>();
        let (answer, found) = channel();
        let serve = move || {
            for (pool, origin) in asked {
                if answer.send((pool, resolver.resolve(&origin))).is_err() {
                    return;
                }
            }
        };
        // Without the thread every lookup stays unanswered, and its requests time out.
        let _ = std::thread::Builder::new().name("lookup".into()).spawn(serve);
        Lookups::Thread { ask, found, pending: 0 }
    }

    #[cfg(any(test, feature = "simulation"))]
    pub fn at_once(resolver: Arc<dyn Resolver>) -> Lookups {
        Lookups::AtOnce { resolver, found: Vec::new() }
    }

    pub fn ask(&mut self, pool: PoolId, origin: &Origin) {
        match self {
            Lookups::Thread { ask, pending, .. } => {
                *pending += u32::from(ask.send((pool, origin.clone())).is_ok());
            }
            #[cfg(any(test, feature = "simulation"))]
            Lookups::AtOnce { resolver, found } => found.push((pool, resolver.resolve(origin))),
        }
    }

    pub fn pending(&self) -> bool {
        match self {
            Lookups::Thread { pending, .. } => *pending > 0,
            #[cfg(any(test, feature = "simulation"))]
            Lookups::AtOnce { found, .. } => !found.is_empty(),
        }
    }

    pub fn next_result(&mut self) -> Option<LookupResult> {
        match self {
            Lookups::Thread { found, pending, .. } => {
                let answer = found.try_recv().ok()?;
                *pending -= 1;
                Some(answer)
            }
            #[cfg(any(test, feature = "simulation"))]
            Lookups::AtOnce { found, .. } => found.pop(),
        }
    }
}
