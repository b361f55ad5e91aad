//! Descriptor tables: how one process holds more sockets than its descriptor limit.
//!
//! `RLIMIT_NOFILE` bounds a *table* of descriptors, not a process, and a thread may replace its process's table by its
//! own copy (`CLONE_FILES`, unshare(2)); no privilege is needed. An unshared table is also cheaper: the kernel then
//! counts no references at each system call. A thread that owns its table holds copies of the descriptors that were
//! open before; opening or closing descriptors later, on either side, does not affect the other.
//!
//! `close_range(2)` is tried first, because the seccomp profiles of container runtimes forbid `unshare` but allow
//! `close_range`.

use std::io;
use std::os::fd::RawFd;
use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};

/// Descriptors of a table reserved for other uses than connections: epoll or ring, resolver, report files.
const RESERVE: usize = 16;

/// Gives the calling thread its own descriptor table, a copy of the table it shared. Threads that it starts from now on
/// share the new table.
///
/// # Errors
/// Returns the error of the operating system; the thread then still shares its table.
pub fn own() -> io::Result<()> {
    // An empty range beyond the last descriptor: nothing is closed.
    close_range(u32::MAX, u32::MAX, libc::CLOSE_RANGE_UNSHARE).or_else(|_| {
        // SAFETY: leaves the shared table to other threads; no descriptor of this thread changes its meaning.
        match unsafe { libc::unshare(libc::CLONE_FILES) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

/// Like [`own`], but closes the copies of everything except the standard streams and `keep`: a socket or pipe ends for
/// its peer only when the last copy is closed, so unused copies would keep it open.
///
/// # Errors
/// As for [`own`].
pub fn own_only(keep: &[RawFd]) -> io::Result<()> {
    own()?;
    let mut kept: Vec<u32> = keep.iter().filter_map(|&fd| u32::try_from(fd).ok()).chain(0..3).collect();
    kept.sort_unstable();
    kept.dedup();
    let ends = kept.iter().skip(1).map(|&next| next - 1).chain([u32::MAX]);
    for (&kept, last) in kept.iter().zip(ends) {
        if kept < last {
            close_range(kept + 1, last, 0)?;
        }
    }
    Ok(())
}

/// Returns the number of connections that a table of this process may hold: its limit, less the descriptors open at the
/// first call and a reserve, but at least 1. Later calls repeat the first result: another thread that has a file open
/// for a moment, such as a reader of counters, must not change how a run is spread over its workers.
pub fn capacity() -> usize {
    static FIRST: OnceLock<usize> = OnceLock::new();
    *FIRST.get_or_init(counted)
}

fn counted() -> usize {
    let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    // If /proc is not mounted: the standard streams and a few more.
    let open = std::fs::read_dir("/proc/thread-self/fd").map_or(RESERVE, Iterator::count);
    limit.saturating_sub(open + RESERVE).max(1)
}

fn close_range(first: u32, last: u32, flags: u32) -> io::Result<()> {
    // SAFETY: callers close only descriptors that nothing in this table uses.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    fn is_open(fd: RawFd) -> bool {
        // SAFETY: only queries the flags of a descriptor, which need not exist.
        unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
    }

    #[test]
    fn what_is_closed_or_opened_here_does_not_show_there() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let fd = ours.as_raw_fd();
        let opened = std::thread::spawn(move || {
            own().unwrap();
            assert!(is_open(fd), "the copy is there");
            close_range(fd as u32, fd as u32, 0).unwrap();
            assert!(!is_open(fd));
            // More than one pair, so that the numbers are above those that another test opens meanwhile.
            let opened: Vec<_> = (0..200).map(|_| UnixStream::pair().unwrap()).collect();
            opened.last().unwrap().0.as_raw_fd()
        });
        let opened = opened.join().unwrap();
        assert!(is_open(fd), "closed only there");
        assert!(!is_open(opened), "opened only there");
    }

    #[test]
    fn copies_nobody_asked_for_are_closed() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (kept, _other) = UnixStream::pair().unwrap();
        let (gone, stays) = (ours.as_raw_fd(), kept.as_raw_fd());
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            own_only(&[stays]).unwrap();
            tell.send([is_open(0) || is_open(1) || is_open(2), is_open(stays), is_open(gone)]).unwrap();
            let _ = ended.recv();
        });
        assert_eq!(told.recv().unwrap(), [true, true, false]);
        drop(ours);
        // A copy left in the thread, which is still running, would keep the pair open. The other test's copy disappears
        // on its own.
        theirs.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn a_table_holds_less_than_its_limit() {
        let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
        let capacity = capacity();
        assert!(capacity >= 1 && capacity < limit, "{capacity} of {limit}");
        let _open: Vec<_> = (0..8).map(|_| UnixStream::pair().unwrap()).collect();
        assert_eq!(super::capacity(), capacity, "what is open later changes nothing");
    }
}
