//! The end of a link that stood still (suspended, stopped by a signal, on a machine that slept): its sessions are dead, and
//! handshakes of connections that nobody wants any more hold up all that come after them. Its brunt starts another at once.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Standstill after which a link ends. A peer gives up a session after 3 s without a sign of life, so that nothing is lost;
/// and a shorter one is recovered from. Load alone keeps no thread from running for so long: the scheduler shares out what
/// there is, and a link that gets next to nothing still gets a moment each second.
pub const STANDSTILL: Duration = Duration::from_secs(15);
/// Interval at which the link looks at the clock.
const LOOK: Duration = Duration::from_secs(1);

/// Calls `end` with its length once this process has stood still for longer than `bound`.
///
/// # Errors
/// No thread can be started.
pub fn watch_standstill(bound: Duration, end: impl FnOnce(Duration) + Send + 'static) -> std::io::Result<()> {
    let watch = move || {
        loop {
            let before = now();
            std::thread::sleep(LOOK);
            let stood_still = now().saturating_sub(before).saturating_sub(LOOK);
            if stood_still > bound {
                return end(stood_still);
            }
        }
    };
    std::thread::Builder::new().name("standstill".into()).spawn(watch).map(drop)
}

/// Returns the time since the machine started, which goes on while it sleeps, unlike that of `Instant`.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
