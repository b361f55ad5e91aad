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

    /// What its protocol made, to be changed while nobody else has the handle: before the run.
    ///
    /// # Panics
    /// Where the handle was cloned, or is another protocol's.
    pub fn of_mut<T: Any>(&mut self) -> &mut T {
        let request = Arc::get_mut(&mut self.0).expect("a request is changed before anybody else has it");
        request.downcast_mut().unwrap_or_else(|| foreign(type_name::<T>()))
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
