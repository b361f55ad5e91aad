//! A standard output that was closed from the start (`brunt … >&-`).
//!
//! Rust opens `/dev/null` in place of closed standard descriptors before `main`, so that writes to them succeed and a
//! report would vanish. What they were is only seen before that.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, and so before the descriptors are replaced.
#[used]
// SAFETY: the section holds pointers to functions of this type, which the C runtime calls once, before `main`.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: F_GETFD reads no memory, and fails for a descriptor that is not open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Returns `true` if this is standard output and was closed when the program started.
pub fn was_closed(to: BorrowedFd<'_>) -> bool {
    to.as_raw_fd() == libc::STDOUT_FILENO && CLOSED.load(Ordering::Relaxed)
}
