//! Files that may be pipes, opened and read without waiting for ever.
//!
//! `<(command)`, `/dev/stdin` and named pipes stand for files, and whoever opens a named pipe waits until somebody writes to
//! it. Nothing could end that: a run that has not begun has no clock. So each wait has an end of its own.

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, Timespec, fcntl_getfl, fcntl_setfl, statfs};
use rustix::io::Errno;

/// How long a pipe is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until somebody writes to a named pipe.
    pub writer: Duration,
    /// Until more comes from one who does.
    pub more: Duration,
}

/// As long as a command may take that makes what is read.
pub const PATIENCE: Patience = Patience { writer: Duration::from_secs(5), more: Duration::from_secs(60) };

/// The file system of pipes without a name: what has one is elsewhere (`PIPEFS_MAGIC` of linux/magic.h).
const NAMELESS: i64 = 0x5049_5045;

/// Opens a file to read; a pipe is open at once, whether or not somebody writes to it.
///
/// # Errors
/// What the operating system said.
pub fn open(path: &Path) -> io::Result<(File, FileType)> {
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_fifo() {
        // A terminal is waited for as ever.
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    }
    Ok((file, kind))
}

/// True for a pipe with a name in the file system, which has a writer only once somebody opens it.
pub fn is_named(path: &Path) -> bool {
    let is_pipe = std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo());
    // The width of the field differs from machine to machine.
    #[allow(clippy::unnecessary_cast)]
    let nameless = || statfs(path).is_ok_and(|system| system.f_type as i64 == NAMELESS);
    is_pipe && !nameless()
}

/// What comes through a pipe that [`open`] opened, up to so many bytes and one more.
///
/// # Errors
/// Nobody writes to it, or nothing comes any more; or what the operating system said.
pub fn read(pipe: &File, named: bool, bound: u64, patience: Patience) -> io::Result<Vec<u8>> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    let (began, mut heard) = (Instant::now(), !named);
    while bytes.len() as u64 <= bound {
        match rustix::io::read(pipe, &mut piece) {
            // An end before a beginning: there is no writer yet.
            Ok(0) if !heard && began.elapsed() < patience.writer => std::thread::sleep(Duration::from_millis(10)),
            Ok(0) if !heard => return Err(nothing("nobody writes to this pipe", patience.writer)),
            Ok(0) => break,
            Ok(n) => {
                heard = true;
                bytes.extend_from_slice(&piece[..n]);
            }
            Err(Errno::AGAIN) => {
                heard = true;
                await_more(pipe, patience.more)?;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(usize::try_from(bound.saturating_add(1)).unwrap_or(usize::MAX));
    Ok(bytes)
}

fn await_more(pipe: &File, at_most: Duration) -> io::Result<()> {
    let limit = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: i64::from(at_most.subsec_nanos()) };
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&limit)) {
        Ok(0) => Err(nothing("nothing came through this pipe", at_most)),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn nothing(what: &str, waited: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} for {} s", waited.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const BRIEF: Patience = Patience { writer: Duration::from_millis(30), more: Duration::from_millis(30) };

    fn pipe() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).expect("made");
        (folder, path)
    }

    #[test]
    fn a_named_pipe_without_a_writer_is_not_waited_for_for_ever() {
        let (_folder, path) = pipe();
        let (file, kind) = open(&path).expect("open at once");
        assert!(kind.is_fifo() && is_named(&path));
        let said = read(&file, true, 100, BRIEF).expect_err("nobody writes").to_string();
        assert_eq!(said, "nobody writes to this pipe for 0 s");
        // One that is there and silent.
        let _writer = File::options().write(true).open(&path).expect("a writer");
        let said = read(&file, true, 100, BRIEF).expect_err("silent").to_string();
        assert_eq!(said, "nothing came through this pipe for 0 s");
    }

    #[test]
    fn what_is_written_is_read_to_its_end_or_its_bound() {
        let (_folder, path) = pipe();
        let (file, _) = open(&path).expect("open at once");
        let writer = std::thread::spawn({
            let path = path.clone();
            move || File::options().write(true).open(path).and_then(|mut to| to.write_all(&[b'x'; 200_000]))
        });
        let read_all = read(&file, true, 1 << 20, PATIENCE).expect("read");
        assert_eq!(read_all.len(), 200_000);
        writer.join().expect("no panic").expect("written");
        let (from, mut to) = io::pipe().expect("a pipe");
        to.write_all(&[b'x'; 100]).expect("written");
        drop(to);
        let nameless = std::path::PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&from)));
        assert!(!is_named(&nameless));
        let (file, _) = open(&nameless).expect("open");
        assert_eq!(read(&file, false, 9, BRIEF).expect("read").len(), 10, "one more than the bound");
        let (file, _) = open(&nameless).expect("open");
        assert_eq!(read(&file, false, 100, BRIEF).expect("its end").len(), 0);
    }
}
