//! Output to a terminal or pipe that waits for its reader, but hardly beyond the run's timeout.
//!
//! A pipe that nobody reads takes 64 KiB and then blocks its writer forever. `--run-timeout` has to
//! end the program nevertheless. So each piece is written only once there is room for it, and after
//! the timeout the wait for a reader that takes nothing is limited to [`GRACE`].

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::closed_output::was_closed;

/// The time of the run's timeout.
static LIMIT: OnceLock<Instant> = OnceLock::new();
/// Time within which even a slow reader reads something.
const GRACE: Duration = Duration::from_secs(1);
/// Interval between checks for a limit set in the meantime.
const LOOK: Duration = Duration::from_millis(100);
/// Size up to which a write to a pipe with any room does not block (`PIPE_BUF` of limits.h).
const PIECE: usize = 4096;

/// Sets the time after which waits for a reader are limited.
pub fn set_limit(at: Instant) {
    // A process has only one run, and so only one limit.
    let _ = LIMIT.set(at);
}

/// An unbuffered writer to a file descriptor.
pub struct TimedWriter<F>(pub F);

impl<F: AsFd> Write for TimedWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if was_closed(self.0.as_fd()) {
            return Err(io::Error::other("it is closed"));
        }
        let began = Instant::now();
        loop {
            let limit = || LIMIT.get().map(|limit| (*limit).max(began) + GRACE);
            await_room(self.0.as_fd(), limit)?;
            match rustix::io::write(&self.0, &bytes[..bytes.len().min(PIECE)]) {
                // Another process may have filled the pipe in the meantime.
                Err(Errno::AGAIN | Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until a write would not block.
fn await_room(to: impl AsFd, limit: impl Fn() -> Option<Instant>) -> io::Result<()> {
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    loop {
        match poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&look)) {
            Ok(0) if limit().is_some_and(|limit| Instant::now() >= limit) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "nothing reads it, and the run is over"));
            }
            Ok(0) | Err(Errno::INTR) => {}
            // This includes a broken pipe: the write returns the error.
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_nobody_reads_is_waited_for_until_the_limit_and_no_longer() {
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(TimedWriter(&writer).write(&[b'x'; 10_000]).unwrap(), PIECE);
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while rustix::io::write(&writer, &[b'x'; PIECE]).is_ok() {}
        let error = await_room(&writer, || Some(Instant::now())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // Without a limit, a write waits for the reader.
        let late = std::thread::spawn(move || {
            let mut room = vec![0; 1 << 16];
            let read = rustix::io::read(&reader, &mut room).unwrap();
            (reader, read)
        });
        TimedWriter(&writer).write_all(b"and more").unwrap();
        let (reader, read) = late.join().unwrap();
        assert!(read >= PIECE);
        drop(reader);
        assert_eq!(TimedWriter(&writer).write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
