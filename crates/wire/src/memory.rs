//! What users keep of answers, whatever their protocol makes of it.

use std::any::Any;

use crate::Values;

/// What one user keeps of answers for its requests to come: the values of a flow, and what is the protocol's own affair.
#[derive(Debug, Default)]
pub struct Memory {
    own: Option<Box<dyn Any + Send>>,
    /// What it knows by name.
    pub values: Values,
}

/// What an answer asks its user to keep, likewise.
pub type Lesson = Box<dyn Any + Send>;

impl Memory {
    /// One that has these values and nothing else.
    pub fn of(values: Values) -> Memory {
        Memory { own: None, values }
    }

    /// What is kept, where that is such a thing.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.own.as_ref()?.downcast_ref()
    }

    /// The same to be changed; a new one where there is none.
    pub fn get_mut<T: Any + Send + Default>(&mut self) -> Option<&mut T> {
        self.own.get_or_insert_with(|| Box::new(T::default())).downcast_mut()
    }
}
