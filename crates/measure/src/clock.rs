//! The monotonic clock.

use rustix::time::ClockId;

use crate::Nanos;

/// The monotonic clock of this host (`CLOCK_MONOTONIC`), shared by all processes, so that timestamps of generator and
/// target can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// Returns the time since boot. A reading takes about 20 ns (vDSO, no system call).
    #[inline]
    pub fn now(self) -> Nanos {
        read_clock(ClockId::Monotonic)
    }

    /// Returns the CPU time of the calling thread.
    pub fn thread_cpu_time(self) -> Nanos {
        read_clock(ClockId::ThreadCPUTime)
    }

    /// Returns the CPU time of this process.
    pub fn process_cpu_time(self) -> Nanos {
        read_clock(ClockId::ProcessCPUTime)
    }
}

#[inline]
fn read_clock(clock: ClockId) -> Nanos {
    let t = rustix::time::clock_gettime(clock);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
