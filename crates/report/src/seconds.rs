//! Access to the seconds of a run, one at a time and as often as a format needs them, so that they are never all held
//! in memory.

use std::io;

use brunt_record::{ReadFault, ReplaySource, RunEvent, Second};

/// One pass over the seconds of a run. A second that cannot be read ends the pass, and the document with it.
pub type SecondsPass<'a> = Box<dyn Iterator<Item = io::Result<Second>> + 'a>;

/// One pass over the events of a run, with the same error handling.
pub type EventsPass<'a> = Box<dyn Iterator<Item = io::Result<RunEvent>> + 'a>;

/// Seconds that can be read repeatedly.
pub trait SecondsSource {
    /// Begins a pass over the seconds.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing can be read.
    fn pass(&self) -> io::Result<SecondsPass<'_>>;

    /// Begins a pass over all events of the run, in chronological order.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing can be read.
    fn events(&self) -> io::Result<EventsPass<'_>>;
}

/// The seconds of a record or a spool; `None` if no record was kept, in which case documents contain only the sums.
pub struct RecordedSeconds<'a>(pub Option<&'a dyn ReplaySource>);

impl SecondsSource for RecordedSeconds<'_> {
    fn pass(&self) -> io::Result<SecondsPass<'_>> {
        Ok(Box::new(self.events()?.filter_map(|event| match event {
            Ok(RunEvent::Second(second)) => Some(Ok(*second)),
            Ok(_) => None,
            Err(fault) => Some(Err(fault)),
        })))
    }

    fn events(&self) -> io::Result<EventsPass<'_>> {
        let unreadable = |fault: ReadFault| io::Error::new(io::ErrorKind::InvalidData, fault.to_string());
        let Some(past) = self.0 else { return Ok(Box::new(std::iter::empty())) };
        Ok(Box::new(past.replay().map_err(unreadable)?.map(move |event| event.map_err(unreadable))))
    }
}

/// The seconds of a run built in memory.
impl SecondsSource for Vec<Second> {
    fn pass(&self) -> io::Result<SecondsPass<'_>> {
        Ok(Box::new(self.iter().cloned().map(Ok)))
    }

    fn events(&self) -> io::Result<EventsPass<'_>> {
        Ok(Box::new(self.iter().cloned().map(|second| Ok(RunEvent::Second(Box::new(second))))))
    }
}
