//! What users keep of answers, whatever their protocol makes of it.

use std::any::Any;

use crate::Values;

/// What one user keeps of answers for its requests to come: the values of a flow, and what is the protocol's own affair.
#[derive(Debug, Default)]
pub struct Memory {
    own: Option<Box<dyn Any + Send>>,
    /// What outlasts iterations that begin without the rest.
    lasting: Option<Box<dyn Any + Send>>,
    /// How many iterations its user has begun.
    iteration: u32,
    /// What answers that were kept came to, until it is counted.
    pub saved: Saved,
    /// What it knows by name.
    pub values: Values,
}

/// What answers that were kept came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Answers that said that what is kept is still good (304).
    pub confirmed: u32,
    /// Bytes of bodies that did not come for that.
    pub bytes: u64,
    /// Answers for which there was no room.
    pub unkept: u32,
}

/// What a user has of an answer that it would ask for.
pub struct Recalled {
    /// Bytes of the body, which do not come.
    pub bytes: u64,
    /// The status code that it came with.
    pub code: u32,
    /// What it asks its user to keep: for [`crate::Dialogue::learn`].
    pub lesson: Option<Lesson>,
}

/// What an answer asks its user to keep, likewise.
pub type Lesson = Box<dyn Any + Send>;

impl Memory {
    /// One that has these values and nothing else.
    pub fn of(values: Values) -> Memory {
        Memory { values, ..Memory::default() }
    }

    /// Its user begins another iteration: what is kept is gone where it `clears`, but for what lasts.
    pub fn iteration_begins(&mut self, clears: bool) {
        self.iteration = self.iteration.wrapping_add(1);
        if clears {
            self.own = None;
        }
    }

    /// A number of the iteration that its user is in; another for each.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// What outlasts iterations, where that is such a thing.
    pub fn lasting<T: Any>(&self) -> Option<&T> {
        self.lasting.as_ref()?.downcast_ref()
    }

    /// The same to be changed; a new one where there is none.
    pub fn lasting_mut<T: Any + Send + Default>(&mut self) -> Option<&mut T> {
        self.lasting.get_or_insert_with(|| Box::new(T::default())).downcast_mut()
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
