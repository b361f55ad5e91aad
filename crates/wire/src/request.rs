//! A request as the engine holds it: one handle, whatever its protocol made of it.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// A request of some protocol: prepared before the run, or made during it. Only its protocol looks inside.
#[derive(Clone)]
pub struct Request(Arc<dyn Any + Send + Sync>);

impl Request {
    /// A handle on what a protocol made.
    pub fn new<T: Any + Send + Sync>(request: T) -> Request {
        Request(Arc::new(request))
    }

    /// What its protocol made.
    ///
    /// # Panics
    /// Where it is another protocol's: the engine hands requests to the sessions of the workload they came from.
    #[inline]
    pub fn of<T: Any>(&self) -> &T {
        match self.0.downcast_ref() {
            Some(request) => request,
            None => foreign(type_name::<T>()),
        }
    }
}

#[cold]
fn foreign(expected: &str) -> ! {
    panic!("a request is submitted to the protocol that made it: {expected} was expected")
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Request")
    }
}
