//! Scheduling of the calling thread, from `/proc` and `/sys`: its time on a core, its time ready without one, and the
//! enforcement of its CPU quota. Values that cannot be read are zero.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use brunt_contract::ThreadStats;
use brunt_measure::{Clock, Nanos};

/// Open files and initial counts of the first calling thread.
#[derive(Debug, Default)]
pub(crate) struct OwnThreadCounters {
    sources: Option<Sources>,
}

#[derive(Debug)]
struct Sources {
    /// `/proc/thread-self/schedstat`: time on a core, time ready without one, and how often it was given one (the
    /// kernel's documentation `scheduler/sched-stats`).
    schedstat: Option<File>,
    /// `cpu.stat` of the thread's control group and of those above it, any of which may have a quota, with the counts
    /// of each at the first call, so that earlier throttling is not counted.
    quotas: Vec<(PathBuf, u64, u64)>,
}

impl OwnThreadCounters {
    fn sources(&mut self) -> &Sources {
        self.sources.get_or_insert_with(|| Sources {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
            quotas: fs::read_to_string("/proc/self/cgroup").map_or(Vec::new(), |of| quotas(&of)),
        })
    }

    pub fn running(&mut self) -> ThreadStats {
        let sources = self.sources();
        let ready = sources.ready().unwrap_or_default();
        let enforced = sources.quotas.iter().filter_map(|(path, periods, throttled)| {
            let now = enforcement(&fs::read_to_string(path).ok()?)?;
            Some((now.0.saturating_sub(*periods), now.1.saturating_sub(*throttled)))
        });
        let (periods, throttled) = enforced.max_by_key(|&(_, throttled)| throttled).unwrap_or_default();
        // This CPU time is current, whereas schedstat is as old as the last tick.
        ThreadStats { cpu: Clock.thread_cpu_time(), ready, periods, throttled }
    }

    pub fn ready_time(&mut self) -> Option<Nanos> {
        self.sources().ready()
    }
}

impl Sources {
    /// Returns the time ready without a core.
    fn ready(&self) -> Option<Nanos> {
        let mut bytes = [0; 64];
        let read = self.schedstat.as_ref()?.read_at(&mut bytes, 0).ok()?;
        bytes[..read].split(|b| *b == b' ').nth(1).map(|text| Nanos(number(text)))
    }
}

/// Returns the leading digits as a number.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0')))
}

/// Returns the files that report the quotas of a process, given its `/proc/self/cgroup` (version 2 and version 1).
fn quotas(membership: &str) -> Vec<(PathBuf, u64, u64)> {
    let root = Path::new("/sys/fs/cgroup");
    let mut found: Vec<PathBuf> = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let mounts = match controllers {
            "" => [root.to_owned(), root.join("unified")],
            _ if controllers.split(',').any(|name| name == "cpu") => [root.join("cpu"), root.join(controllers)],
            _ => continue,
        };
        for group in Path::new(group.trim_start_matches('/')).ancestors() {
            found.extend(mounts.iter().map(|mount| mount.join(group).join("cpu.stat")));
        }
    }
    let told = |path: PathBuf| {
        let (periods, throttled) = enforcement(&fs::read_to_string(&path).ok()?)?;
        Some((path, periods, throttled))
    };
    found.into_iter().filter_map(told).collect()
}

/// Parses `nr_periods` and `nr_throttled` from a `cpu.stat`.
fn enforcement(stat: &str) -> Option<(u64, u64)> {
    let value = |name: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    Some((value("nr_periods")?, value("nr_throttled")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enforcement_is_read_in_both_versions_and_missing_where_there_is_none() {
        let v2 = "usage_usec 12\nuser_usec 7\nsystem_usec 5\nnr_periods 102\nnr_throttled 75\nthrottled_usec 900\n";
        assert_eq!(enforcement(v2), Some((102, 75)));
        assert_eq!(enforcement("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"), Some((0, 0)));
        // The root group of version 2 has no quota.
        assert_eq!(enforcement("usage_usec 12\nuser_usec 7\n"), None);
        assert_eq!(enforcement(""), None);
    }

    #[test]
    fn numbers_are_read_up_to_what_is_none() {
        for (text, expected) in [("0", 0), ("123\n", 123), ("", 0), ("x", 0)] {
            assert_eq!(number(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_thread_that_worked_has_run() {
        let mut thread = OwnThreadCounters::default();
        let before = thread.running();
        let mut sum = 0u64;
        while Clock.thread_cpu_time() < before.cpu + Nanos::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let after = thread.running();
        assert!(after.cpu >= before.cpu + Nanos::from_millis(2), "{after:?}");
        assert!(after.ready >= before.ready, "{after:?}");
    }
}
