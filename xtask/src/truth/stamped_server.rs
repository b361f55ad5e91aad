//! A server whose log is true whatever happens to its threads: the kernel stamps the arrival of each request.
//!
//! It answers each request a given time after its arrival, from a thread for each connection, and logs when the bytes
//! of the answer were handed to the kernel: between two readings of the clock.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};

use crate::measure;

/// How long the server takes for a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum ServiceTime {
    /// Always 2 ms.
    Fixed,
    /// Lognormal with a median of 20 ms and a sigma of 0.5.
    Lognormal,
    /// 2 ms, but nothing is answered in the first 50 ms of each half second.
    Stalling,
}

/// A request: the time from its arrival to just before its answer was written, and to just after, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampedRequest {
    pub least: u64,
    pub most: u64,
}

/// The server, which serves until the process ends.
pub(super) struct StampedServer {
    pub port: u16,
    log: Arc<Mutex<Vec<StampedRequest>>>,
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";

impl StampedServer {
    /// Starts a server on a core.
    pub fn start(service: ServiceTime, core: usize) -> Result<StampedServer, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("no port: {e}"))?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            measure::pin_thread(core);
            for (nth, stream) in listener.incoming().flatten().enumerate() {
                let log = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, service, 1 + nth as u64, &log));
            }
        });
        Ok(StampedServer { port, log })
    }

    /// Returns what was logged since the last call.
    pub fn take_log(&self) -> Vec<StampedRequest> {
        self.log.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default()
    }
}

/// Answers the requests of a connection, each in one read, until it ends.
fn serve(mut stream: TcpStream, service: ServiceTime, seed: u64, log: &Mutex<Vec<StampedRequest>>) {
    let on: libc::c_int = 1;
    // SAFETY: the option takes an int, and a pointer to one with its size is given.
    unsafe {
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, (&raw const on).cast(), size);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
    // An error means that answers may be late, as the log then says.
    let _ = stream.set_nodelay(true);
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while let Some(arrived) = receive(&stream) {
        sleep_until(answer_time(service, arrived, &mut random));
        let before = clock();
        if stream.write_all(ANSWER).is_err() {
            return;
        }
        let request = StampedRequest { least: before.saturating_sub(arrived), most: clock().saturating_sub(arrived) };
        if let Ok(mut log) = log.lock() {
            log.push(request);
        }
    }
}

fn answer_time(service: ServiceTime, arrived: u64, random: &mut u64) -> u64 {
    let due = arrived + 2_000_000;
    match service {
        ServiceTime::Fixed => due,
        ServiceTime::Stalling if due % 500_000_000 < 50_000_000 => due - due % 500_000_000 + 50_000_000,
        ServiceTime::Stalling => due,
        ServiceTime::Lognormal => {
            // Sums of twelve uniform numbers are nearly normal.
            let normal: f64 = (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0;
            arrived + (20e6 * (0.5 * normal).exp()) as u64
        }
    }
}

/// Draws a number from 0 to 1 (xorshift).
fn uniform(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Receives a request; returns when the kernel did, or `None` at the end of the connection.
fn receive(stream: &TcpStream) -> Option<u64> {
    let mut bytes = [0_u8; 4096];
    let mut control = [0_u64; 16];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: a header of zeroes is valid; the pointers set below are to values that outlive the call; CMSG_* stay
    // within the control memory, whose size is stated.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&raw mut piece, 1);
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        if libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) <= 0 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.as_ref().is_none_or(|header| header.cmsg_type != libc::SCM_TIMESTAMPNS) {
            return Some(clock());
        }
        Some(nanoseconds(libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned()))
    }
}

fn nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Reads the clock of the kernel's stamps.
fn clock() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value that outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    nanoseconds(now)
}

fn sleep_until(time: u64) {
    let until = libc::timespec { tv_sec: (time / 1_000_000_000) as _, tv_nsec: (time % 1_000_000_000) as _ };
    // SAFETY: the pointer is to a value that outlives the call; the remaining time is not asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_REALTIME, libc::TIMER_ABSTIME, &raw const until, std::ptr::null_mut()) };
}
