//! Requests as the engine sees them: opaque, regardless of their protocol.

use std::any::{Any, type_name};
use std::fmt;
use std::ops::{Deref, DerefMut, Index};
use std::sync::Arc;

use crate::RequestId;

/// A request of some protocol: prepared before the run, or made during it. Only its protocol knows the type inside; all
/// other code refers to a type-erased `Request`.
#[derive(Clone)]
pub struct Request<T: ?Sized = dyn Any + Send + Sync>(T);

impl<T> Request<T> {
    /// Wraps the protocol's own request.
    pub const fn new(made: T) -> Request<T> {
        Request(made)
    }
}

impl<T> Deref for Request<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Request<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl Request {
    /// Creates a shared request, for requests that are made during the run or sent only once.
    pub fn shared<T: Any + Send + Sync>(made: T) -> Arc<Request> {
        Arc::new(Request(made))
    }

    /// Returns the protocol's own request.
    ///
    /// # Panics
    /// Panics if the request belongs to another protocol: the engine passes requests only to sessions of the workload
    /// that they came from.
    #[inline]
    pub fn downcast<T: Any>(&self) -> &T {
        match self.0.downcast_ref() {
            Some(request) => request,
            None => wrong_protocol(type_name::<T>()),
        }
    }
}

#[cold]
fn wrong_protocol(expected: &str) -> ! {
    panic!("a request is submitted to the protocol that made it: {expected} was expected")
}

impl<T: ?Sized> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Request")
    }
}

/// A request composed during the run: a prepared one with the fields given here replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestDraft {
    /// Prepared request that provides the name in reports, the checks and the options.
    pub base: RequestId,
    /// Destination: a whole URL, or one relative to that of the prepared request.
    pub url: Option<String>,
    /// Method, for protocols that have several.
    pub method: Option<String>,
    /// Header fields to add; they replace existing fields of the same name.
    pub headers: Vec<(String, String)>,
    /// Body, or its equivalent in another protocol.
    pub body: Option<Vec<u8>>,
}

/// A prepared request with its origin and weight.
#[derive(Clone, Debug)]
pub struct WeightedRequest<T: ?Sized = dyn Any + Send + Sync> {
    /// Index into [`crate::PreparedWorkload::origins`].
    pub origin: usize,
    /// Relative frequency with which the request is chosen.
    pub weight: f64,
    /// The request.
    pub request: Request<T>,
}

impl<T> WeightedRequest<T> {
    /// Creates a request for the origin at this index, chosen with this relative weight.
    pub const fn new(request: T, origin: usize, weight: f64) -> WeightedRequest<T> {
        WeightedRequest { origin, weight, request: Request::new(request) }
    }
}

/// The prepared requests of a workload. There may be a million: they are stored contiguously in their protocol's own
/// type.
#[expect(clippy::len_without_is_empty, reason = "a dialogue has at least one")]
pub trait RequestList: Send + Sync {
    /// Returns the number of requests.
    fn len(&self) -> usize;
    /// Returns the request at this index.
    fn get(&self, at: usize) -> Option<&WeightedRequest>;
}

impl<T: Any + Send + Sync> RequestList for Vec<WeightedRequest<T>> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }
    #[inline]
    fn get(&self, at: usize) -> Option<&WeightedRequest> {
        self.as_slice().get(at).map(|one| one as &WeightedRequest)
    }
}

impl fmt::Debug for dyn RequestList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.len())
    }
}

impl dyn RequestList + '_ {
    /// Iterates over all requests, in order.
    pub fn iter(&self) -> impl Iterator<Item = &WeightedRequest> {
        (0..self.len()).map(|at| &self[at])
    }
}

impl Index<usize> for dyn RequestList + '_ {
    type Output = WeightedRequest;
    fn index(&self, at: usize) -> &WeightedRequest {
        self.get(at).expect("a dialogue has the requests that its users choose from")
    }
}
