//! The seconds of a run, one at a time and as often as a format asks: nobody holds them all.

use std::io;

use record::{ReplaySource, ReadFault, RunEvent, Second};

/// One pass over the seconds of a run. One that cannot be read ends the pass, and the document with it.
pub type Pass<'a> = Box<dyn Iterator<Item = io::Result<Second>> + 'a>;

/// One pass over the events of a run, likewise.
pub type Events<'a> = Box<dyn Iterator<Item = io::Result<RunEvent>> + 'a>;

/// Seconds that may be gone through again and again.
pub trait Seconds {
    /// Begins a pass over them.
    ///
    /// # Errors
    /// Where they cannot be read at all.
    fn pass(&self) -> io::Result<Pass<'_>>;

    /// Begins a pass over all that is known of the run, in the order of time.
    ///
    /// # Errors
    /// Where it cannot be read at all.
    fn events(&self) -> io::Result<Events<'_>>;
}

/// The seconds of a record or a spool; None: nothing was kept, and a document has the sums alone.
pub struct Replayed<'a>(pub Option<&'a dyn ReplaySource>);

impl Seconds for Replayed<'_> {
    fn pass(&self) -> io::Result<Pass<'_>> {
        Ok(Box::new(self.events()?.filter_map(|event| match event {
            Ok(RunEvent::Second(second)) => Some(Ok(*second)),
            Ok(_) => None,
            Err(fault) => Some(Err(fault)),
        })))
    }

    fn events(&self) -> io::Result<Events<'_>> {
        let unreadable = |fault: ReadFault| io::Error::new(io::ErrorKind::InvalidData, fault.to_string());
        let Some(past) = self.0 else { return Ok(Box::new(std::iter::empty())) };
        Ok(Box::new(past.replay().map_err(unreadable)?.map(move |event| event.map_err(unreadable))))
    }
}

/// Of a run that is made up.
impl Seconds for Vec<Second> {
    fn pass(&self) -> io::Result<Pass<'_>> {
        Ok(Box::new(self.iter().cloned().map(Ok)))
    }

    fn events(&self) -> io::Result<Events<'_>> {
        Ok(Box::new(self.iter().cloned().map(|second| Ok(RunEvent::Second(Box::new(second))))))
    }
}
