//! Reading of pipes given in place of files, with timeouts.
//!
//! A file name may be `<(command)`, `/dev/stdin` or a named pipe, and opening a named pipe blocks until another process
//! opens it for writing. Nothing else would end the wait, because no timer of the run has started. Reads therefore
//! happen on a separate thread, which is abandoned on a timeout.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Timeouts for reading a pipe.
#[derive(Clone, Copy, Debug)]
pub struct PipeTimeouts {
    /// Maximum wait for a named pipe to have a writer.
    pub writer: Duration,
    /// Maximum wait for more data from the writer.
    pub more: Duration,
}

/// Default timeouts, sufficient for a command that generates the content.
pub const PATIENCE: PipeTimeouts = PipeTimeouts { writer: Duration::from_secs(5), more: Duration::from_secs(60) };

/// Reads a pipe to its end, or up to one byte beyond `bound`.
///
/// # Errors
/// The pipe has no writer or no more data within the timeout, or reading fails.
pub fn read(path: &Path, bound: u64, patience: PipeTimeouts) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    read_opened(move || File::open(&path), bound, patience)
}

/// Reads standard input to its end, or up to one byte beyond `bound`.
///
/// # Errors
/// Nothing comes within the timeout, or reading fails.
pub fn read_standard_input(bound: u64, patience: PipeTimeouts) -> io::Result<Vec<u8>> {
    read_opened(|| Ok(io::stdin()), bound, patience)
}

fn read_opened<R: io::Read>(
    open: impl FnOnce() -> io::Result<R> + Send + 'static,
    bound: u64,
    patience: PipeTimeouts,
) -> io::Result<Vec<u8>> {
    let (tell, pieces) = sync_channel(1);
    std::thread::Builder::new().name("pipe".into()).spawn(move || forward_pieces(open, bound, &tell))?;
    // The first piece is empty; it signals that the pipe has a writer.
    let mut bytes =
        receive_piece(pieces.recv_timeout(patience.writer), "nothing writes to this pipe", patience.writer)?;
    loop {
        let piece = receive_piece(pieces.recv_timeout(patience.more), "nothing came through this pipe", patience.more)?;
        if piece.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&piece);
    }
}

/// Reads to the end, or one byte beyond the bound, and sends the pieces, with an empty one at the beginning and at the
/// end. Stops if the receiver has been dropped.
fn forward_pieces<R: io::Read>(
    open: impl FnOnce() -> io::Result<R>,
    bound: u64,
    tell: &SyncSender<io::Result<Vec<u8>>>,
) {
    let all = || {
        let mut pipe = open()?.take(bound.saturating_add(1));
        let listens = |piece| tell.send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
        listens(Vec::new())?;
        loop {
            let mut piece = vec![0; 1 << 16];
            let length = pipe.read(&mut piece)?;
            piece.truncate(length);
            listens(piece)?;
            if length == 0 {
                return Ok(());
            }
        }
    };
    if let Err(error) = all() {
        let _ = tell.send(Err(error));
    }
}

fn receive_piece(
    said: Result<io::Result<Vec<u8>>, RecvTimeoutError>,
    nothing: &str,
    waited: Duration,
) -> io::Result<Vec<u8>> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("{nothing} for {} s", waited.as_secs()));
    said.unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::path::PathBuf;

    use super::*;

    const BRIEF: Duration = Duration::from_millis(30);

    fn pipe() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        (folder, path)
    }

    fn writes(path: &Path, then: impl FnOnce(&mut File) -> io::Result<()> + Send + 'static) {
        let path = path.to_owned();
        drop(std::thread::spawn(move || File::options().write(true).open(path).and_then(|mut to| then(&mut to))));
    }

    #[test]
    fn a_named_pipe_without_a_writer_is_not_waited_for_for_ever() {
        let (_folder, path) = pipe();
        let said = read(&path, 100, PipeTimeouts { writer: BRIEF, ..PATIENCE }).expect_err("nobody writes").to_string();
        assert_eq!(said, "nothing writes to this pipe for 0 s");
        // The pipe has a writer that sends nothing.
        let (_folder, path) = pipe();
        let (silent, waits) = sync_channel::<()>(0);
        writes(&path, move |_| {
            let _ = waits.recv();
            Ok(())
        });
        let said = read(&path, 100, PipeTimeouts { more: BRIEF, ..PATIENCE }).expect_err("silent").to_string();
        assert_eq!(said, "nothing came through this pipe for 0 s");
        drop(silent);
    }

    #[test]
    fn what_is_written_is_read_to_its_end_or_its_bound() {
        let (_folder, path) = pipe();
        writes(&path, |to| to.write_all(&[b'x'; 200_000]));
        assert_eq!(read(&path, 1 << 20, PATIENCE).expect("read").len(), 200_000);
        let (from, mut to) = io::pipe().expect("a pipe");
        to.write_all(&[b'x'; 100]).expect("written");
        drop(to);
        let nameless = PathBuf::from(format!("/proc/self/fd/{}", from.as_raw_fd()));
        assert_eq!(read(&nameless, 9, PATIENCE).expect("read").len(), 10, "one more than the bound");
        assert!(read(&PathBuf::from("/no/such"), 9, PATIENCE).is_err());
    }
}
