//! State that users keep from responses, independent of the protocol.

use std::any::Any;

use crate::UserValues;

/// State that one user keeps from responses for later requests: the values of a flow, and state private to the
/// protocol.
#[derive(Debug, Default)]
pub struct UserState {
    protocol_state: Option<Box<dyn Any + Send>>,
    /// Protocol state that survives iterations which clear the rest.
    lasting_state: Option<Box<dyn Any + Send>>,
    /// Number of iterations that the user has begun.
    iteration: u32,
    /// Savings from cached responses, not yet counted.
    pub savings: CacheSavings,
    /// Values that the user has captured by name.
    pub values: UserValues,
}

/// Savings from cached responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSavings {
    /// Number of responses that confirmed a cached one (304).
    pub confirmed: u32,
    /// Bytes of bodies that were not transferred thanks to the cache.
    pub bytes: u64,
    /// Number of responses that did not fit into the cache.
    pub not_cached: u32,
}

/// A cached response that replaces a request.
pub struct CacheHit {
    /// Bytes of the body, which are not transferred.
    pub bytes: u64,
    /// Status code of the cached response.
    pub code: u32,
    /// State update of the cached response, to be passed to [`crate::Workload::update_state`].
    pub update: Option<StateUpdate>,
}

/// State from a response that its user keeps; private to the protocol.
pub type StateUpdate = Box<dyn Any + Send>;

impl UserState {
    /// Creates a state that holds only these values.
    pub fn with_values(values: UserValues) -> UserState {
        UserState { values, ..UserState::default() }
    }

    /// Begins another iteration of the user; if `clears` is set, all protocol state is dropped except the lasting
    /// part.
    pub fn begin_iteration(&mut self, clears: bool) {
        self.iteration = self.iteration.wrapping_add(1);
        if clears {
            self.protocol_state = None;
        }
    }

    /// Returns the number of the user's current iteration.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// Returns the state that survives iterations, if it is of type `T`.
    pub fn lasting<T: Any>(&self) -> Option<&T> {
        self.lasting_state.as_ref()?.downcast_ref()
    }

    /// Returns the state that survives iterations for modification, created if absent; `None` if it is of another
    /// type.
    pub fn lasting_mut<T: Any + Send + Default>(&mut self) -> Option<&mut T> {
        self.lasting_state.get_or_insert_with(|| Box::new(T::default())).downcast_mut()
    }

    /// Returns the protocol state, if it is of type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.protocol_state.as_ref()?.downcast_ref()
    }

    /// Returns the protocol state for modification, created if absent; `None` if it is of another type.
    pub fn get_mut<T: Any + Send + Default>(&mut self) -> Option<&mut T> {
        self.protocol_state.get_or_insert_with(|| Box::new(T::default())).downcast_mut()
    }
}
