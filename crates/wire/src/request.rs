//! Requests as the engine sees them: all alike, whatever their protocol made of them.

use std::any::{Any, type_name};
use std::fmt;
use std::ops::{Deref, DerefMut, Index};
use std::sync::Arc;

use crate::RequestId;

/// A request of some protocol: prepared before the run, or made during it. Only its protocol looks inside; everybody else has a reference to a
/// `Request` of a type that is not known.
#[derive(Clone)]
pub struct Request<T: ?Sized = dyn Any + Send + Sync>(T);

impl<T> Request<T> {
    /// What a protocol made.
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
    /// One made during the run, or sent but once: held by itself.
    pub fn shared<T: Any + Send + Sync>(made: T) -> Arc<Request> {
        Arc::new(Request(made))
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

impl<T: ?Sized> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Request")
    }
}

/// A request that is composed during the run: like a prepared one, but for what is said here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The prepared one: its name in figures, its checks, its options.
    pub like: RequestId,
    /// Where it goes: a whole URL, or what leads there from that of the prepared one.
    pub url: Option<String>,
    /// What it is, where a protocol has several methods.
    pub method: Option<String>,
    /// Header fields that it has in the place of those of the same names, or beside the others.
    pub headers: Vec<(String, String)>,
    /// Its body, or what another protocol says in its place.
    pub body: Option<Vec<u8>>,
}

/// One prepared request and where it goes.
#[derive(Clone, Debug)]
pub struct Weighted<T: ?Sized = dyn Any + Send + Sync> {
    /// Index into [`crate::Prepared::origins`].
    pub origin: usize,
    /// How often it is chosen, relative to the others.
    pub weight: f64,
    /// The request.
    pub request: Request<T>,
}

impl<T> Weighted<T> {
    /// A request that goes to the origin of this index, chosen so often relative to the others.
    pub const fn new(request: T, origin: usize, weight: f64) -> Weighted<T> {
        Weighted { origin, weight, request: Request::new(request) }
    }
}

/// The prepared requests of a dialogue: a million of them are held as their protocol made them, one after the other.
#[expect(clippy::len_without_is_empty, reason = "a dialogue has at least one")]
pub trait RequestList: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;
    /// One of them, by its number.
    fn get(&self, at: usize) -> Option<&Weighted>;
}

impl<T: Any + Send + Sync> RequestList for Vec<Weighted<T>> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }
    #[inline]
    fn get(&self, at: usize) -> Option<&Weighted> {
        self.as_slice().get(at).map(|one| one as &Weighted)
    }
}

impl fmt::Debug for dyn RequestList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.len())
    }
}

impl dyn RequestList + '_ {
    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Weighted> {
        (0..self.len()).map(|at| &self[at])
    }
}

impl Index<usize> for dyn RequestList + '_ {
    type Output = Weighted;
    fn index(&self, at: usize) -> &Weighted {
        self.get(at).expect("a dialogue has the requests that its users choose from")
    }
}
