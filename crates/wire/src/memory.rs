//! What users keep of answers, whatever their protocol makes of it.

use std::any::Any;

/// What one user keeps of answers for its requests to come; what that is, is the protocol's own affair.
#[derive(Debug, Default)]
pub struct Memory(Option<Box<dyn Any + Send>>);

/// What an answer asks its user to keep, likewise.
pub type Lesson = Box<dyn Any + Send>;

impl Memory {
    /// What is kept, where that is such a thing.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }

    /// The same to be changed; a new one where there is none.
    pub fn get_mut<T: Any + Send + Default>(&mut self) -> Option<&mut T> {
        self.0.get_or_insert_with(|| Box::new(T::default())).downcast_mut()
    }
}
