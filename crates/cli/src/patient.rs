//! A side of the terminal that waits for its reader, but not beyond the time of the run.
//!
//! A pipe that nobody reads takes 64 KiB and then keeps whoever writes, for ever. `--run-timeout` is to end the program
//! nevertheless, so each piece is written only once there is room for it, and from that time on a reader who takes nothing is
//! waited for no longer than [`GRACE`].

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// When the time of the run is over.
static LIMIT: OnceLock<Instant> = OnceLock::new();
/// A reader that is slow takes something in this time.
const GRACE: Duration = Duration::from_secs(1);
/// As often is looked whether a limit has been set meanwhile.
const LOOK: Duration = Duration::from_millis(100);
/// What a pipe takes as a whole where it takes anything (`PIPE_BUF` of limits.h): such a write does not wait.
const PIECE: usize = 4096;

/// From then on nobody is waited for.
pub fn limit(at: Instant) {
    // There is one run in a process, and one limit.
    let _ = LIMIT.set(at);
}

/// A writer to a descriptor, without a buffer.
pub struct Patient<F>(pub F);

impl<F: AsFd> Write for Patient<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            let limit = || LIMIT.get().map(|limit| (*limit).max(began) + GRACE);
            await_room(self.0.as_fd(), limit)?;
            match rustix::io::write(&self.0, &bytes[..bytes.len().min(PIECE)]) {
                // Others write to it as well.
                Err(Errno::AGAIN | Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until a write would not wait.
fn await_room(to: impl AsFd, limit: impl Fn() -> Option<Instant>) -> io::Result<()> {
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    loop {
        match poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&look)) {
            Ok(0) if limit().is_some_and(|limit| Instant::now() >= limit) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "nothing reads it, and the run is over"));
            }
            Ok(0) | Err(Errno::INTR) => {}
            // Also where it is broken: the write says how.
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
        assert_eq!(Patient(&writer).write(&[b'x'; 10_000]).unwrap(), PIECE);
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while rustix::io::write(&writer, &[b'x'; PIECE]).is_ok() {}
        let error = await_room(&writer, || Some(Instant::now())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // Without a limit it waits for the reader.
        let late = std::thread::spawn(move || {
            let mut room = vec![0; 1 << 16];
            let read = rustix::io::read(&reader, &mut room).unwrap();
            (reader, read)
        });
        Patient(&writer).write_all(b"and more").unwrap();
        let (reader, read) = late.join().unwrap();
        assert!(read >= PIECE);
        drop(reader);
        assert_eq!(Patient(&writer).write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
