//! The seconds of a run, one at a time and as often as a format asks: nobody holds them all.

use std::io;

use record::{Past, ReadFault, RunEvent, Second};

/// One pass over the seconds of a run. One that cannot be read ends the pass, and the document with it.
pub type Pass<'a> = Box<dyn Iterator<Item = io::Result<Second>> + 'a>;

/// Seconds that may be gone through again and again.
pub trait Seconds {
    /// Begins a pass over them.
    ///
    /// # Errors
    /// Where they cannot be read at all.
    fn pass(&self) -> io::Result<Pass<'_>>;
}

/// The seconds of a record or a spool; None: nothing was kept, and a document has the sums alone.
pub struct Replayed<'a>(pub Option<&'a dyn Past>);

impl Seconds for Replayed<'_> {
    fn pass(&self) -> io::Result<Pass<'_>> {
        let unreadable = |fault: ReadFault| io::Error::new(io::ErrorKind::InvalidData, fault.to_string());
        let Some(past) = self.0 else { return Ok(Box::new(std::iter::empty())) };
        let events = past.replay().map_err(unreadable)?;
        Ok(Box::new(events.filter_map(move |event| match event {
            Ok(RunEvent::Second(second)) => Some(Ok(*second)),
            Ok(_) => None,
            Err(fault) => Some(Err(unreadable(fault))),
        })))
    }
}

/// Of a run that is made up.
impl Seconds for Vec<Second> {
    fn pass(&self) -> io::Result<Pass<'_>> {
        Ok(Box::new(self.iter().cloned().map(Ok)))
    }
}
