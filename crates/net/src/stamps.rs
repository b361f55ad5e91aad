//! Read delay of arrived data, from the kernel's receive timestamps.
//!
//! Timestamps use `CLOCK_REALTIME` and are compared with that clock at the read. While any socket of a machine requests
//! timestamps, the kernel timestamps every packet (2 % of the CPU of a full load over loopback), so only the reference
//! client requests them, and only for one second in four.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use brunt_measure::{Histogram, Nanos};
use rustix::io::Errno as Os;
use rustix::time::{ClockId, clock_gettime};

/// One second in this many has timestamps.
const SECONDS: i64 = 4;

/// Collects how late reads were; clones share the collected delays.
#[derive(Clone, Debug, Default)]
pub struct ReadLateness {
    late: Arc<Mutex<Histogram>>,
    /// Set while timestamps are requested.
    asks: Arc<AtomicBool>,
}

/// Buffer for one control message with a timestamp.
#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

impl ReadLateness {
    /// Takes the delays collected since the last call.
    pub fn take(&self) -> Histogram {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Histogram> {
        self.late.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Requests timestamps on a new socket if this second has timestamps; failures are ignored.
    pub(crate) fn ask(&self, fd: BorrowedFd<'_>) {
        let asks = clock_gettime(ClockId::Realtime).tv_sec % SECONDS == 0;
        self.asks.store(asks, Ordering::Relaxed);
        if asks {
            set(fd, asks);
        }
    }

    /// Reads once into the spare capacity of `buffer`, like recv(2); returns the number of bytes.
    pub(crate) fn receive(&self, fd: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> Result<usize, Os> {
        let spare = buffer.spare_capacity_mut();
        let mut into = libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: spare.len() };
        let mut control = ControlBuffer([0; 64]);
        // SAFETY: an all-zero header is valid and empty.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut into, 1);
        (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), size_of::<ControlBuffer>() as _);
        // SAFETY: the header points to one vector over the buffer's spare capacity and to control memory of the stated
        // size; both outlive the call.
        let read = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
        let Ok(n) = usize::try_from(read) else {
            let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            return Err(Os::from_raw_os_error(error));
        };
        let now = clock_gettime(ClockId::Realtime);
        // SAFETY: the kernel has written this many bytes into the spare capacity.
        unsafe { buffer.set_len(buffer.len() + n) };
        if let Some(stamp) = stamp(&message) {
            let late = i128::from(now.tv_sec - stamp.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec - stamp.tv_nsec);
            // The wall clock may have been set meanwhile.
            self.lock().record(Nanos(u64::try_from(late).unwrap_or(0)));
        }
        let asks = now.tv_sec % SECONDS == 0;
        if self.asks.swap(asks, Ordering::Relaxed) != asks {
            set(fd, asks);
        }
        Ok(n)
    }
}

/// Enables or disables timestamps on the socket.
fn set(fd: BorrowedFd<'_>, asks: bool) {
    let on = libc::c_int::from(asks);
    // SAFETY: the option takes an int, and a pointer to one with its size is given.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Returns the timestamp among the control messages.
fn stamp(message: &libc::msghdr) -> Option<libc::timespec> {
    // SAFETY: the header is as recvmsg(2) left it, and its control memory is alive; CMSG_* stay within the stated size.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(message);
        let header = first.as_ref()?;
        let stamped = header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPNS;
        stamped.then(|| libc::CMSG_DATA(first).cast::<libc::timespec>().read_unaligned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_read_is_as_late_as_it_waited_and_brings_the_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let lateness = ReadLateness::default();
        lateness.ask(client.as_fd());
        // Timestamps are requested in one second of four, and the kernel starts a little later.
        let mut late = (0..200).map(|_| {
            let mut buffer = b"kept, ".to_vec();
            buffer.reserve(64);
            server.write_all(b"late").unwrap();
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(lateness.receive(client.as_fd(), &mut buffer), Ok(4));
            assert_eq!(buffer, b"kept, late");
            lateness.take()
        });
        let late = late.find(|late| !late.is_empty()).expect("a stamp within ten seconds");
        assert_eq!((late.count(), lateness.take().count()), (1, 0));
        assert!(late.min() >= Nanos::from_millis(45).0, "{late:?}");
        drop(server);
        let mut buffer = Vec::with_capacity(64);
        assert_eq!(lateness.receive(client.as_fd(), &mut buffer), Ok(0), "closed");
    }
}
