//! The monotonic clock.

use rustix::time::ClockId;

use crate::Nanos;

/// The monotonic clock of this host (`CLOCK_MONOTONIC`), shared by all processes, so that timestamps of generator and
/// target can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// Returns nanoseconds since boot; about 20 ns per reading (vDSO, no system call).
    #[inline]
    pub fn now(self) -> Nanos {
        read_clock(ClockId::Monotonic)
    }

    /// Returns the CPU time of the calling thread.
    pub fn thread_cpu_time(self) -> Nanos {
        read_clock(ClockId::ThreadCPUTime)
    }
}

#[inline]
fn read_clock(clock: ClockId) -> Nanos {
    let t = rustix::time::clock_gettime(clock);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
