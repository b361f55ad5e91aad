//! Processes and threads: `/proc/PID/{stat,status,limits}`, `schedstat`.

use super::host::kilobytes;
use super::{after, number, numbers};

/// The relevant fields of `/proc/PID/stat` (numbered from 1, as in proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Parent process (4).
    pub parent: u32,
    /// CPU time of all threads of the process, including those that ended, in ticks (14 and 15).
    pub ticks: u64,
    /// CPU time of children that ended and were waited for, including that of their own children, in ticks (16 and 17).
    pub reaped: u64,
    /// Number of threads (20).
    pub threads: u64,
    /// Start time, in ticks since the boot of the host (22).
    pub started: u64,
    /// Resident pages (24).
    pub pages: u64,
}

/// Parses `/proc/PID/stat`. The name in parentheses may contain parentheses and spaces: the last parenthesis ends it.
pub(crate) fn stat(text: &str) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        parent: u32::try_from(field(4)?).ok()?,
        ticks: field(14)?.checked_add(field(15)?)?,
        reaped: field(16)?.checked_add(field(17)?)?,
        threads: field(20)?,
        started: field(22)?,
        pages: field(24)?,
    })
}

/// Returns `true` if `stat` is that of a process that has ended but has not been waited for by its parent. If only the
/// first thread has ended, the process has not.
pub(crate) fn is_zombie(text: &str) -> bool {
    let state = text.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().next());
    matches!(state, Some("Z" | "X")) && stat(text).is_some_and(|stat| stat.threads <= 1)
}

/// The scheduler's statistics of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchedulerStats {
    /// Nanoseconds on a core.
    pub cpu: u64,
    /// Nanoseconds runnable without a core.
    pub wait: u64,
    /// Number of times the thread was given a core.
    pub slices: u64,
}

/// Parses `schedstat`. A kernel without these statistics returns three zeros, as does a thread that never ran: `None`.
pub(crate) fn scheduled(text: &str) -> Option<SchedulerStats> {
    let mut columns = numbers(text);
    let scheduled = SchedulerStats { cpu: columns.next()?, wait: columns.next()?, slices: columns.next()? };
    (scheduled != SchedulerStats::default()).then_some(scheduled)
}

/// Returns the name of a thread, from `status`.
pub(crate) fn name(status: &str) -> Option<&str> {
    after(status, "Name:").map(str::trim).filter(|name| !name.is_empty())
}

/// Returns the voluntary and involuntary context switches of a thread, from `status`.
pub(crate) fn switches(status: &str) -> Option<(u64, u64)> {
    let count = |line| after(status, line).and_then(number);
    Some((count("voluntary_ctxt_switches:")?, count("nonvoluntary_ctxt_switches:")?))
}

/// Returns the live children that a thread started, from `children`.
pub(crate) fn children(text: &str) -> impl Iterator<Item = u32> {
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok())
}

/// Returns the swapped-out bytes of a process, from `status`; kernel threads have none.
pub(crate) fn swapped(status: &str) -> Option<u64> {
    after(status, "VmSwap:").and_then(kilobytes)
}

/// Returns the soft limit of descriptors, from `limits`; `None` if it is unlimited.
pub(crate) fn descriptors(limits: &str) -> Option<u64> {
    after(limits, "Max open files").and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_with_any_name() {
        let fields = "S 9764 9764 7799 0 -1 4194304 99 0 0 0 120 30 7 2 20 0 5 0 40672 3133440 359 18446744073709551615 94679602995200";
        let wanted = ProcessStat { parent: 9764, ticks: 150, reaped: 9, threads: 5, started: 40_672, pages: 359 };
        for name in ["cat", "tmux: server", "a) S 1 (b", "\u{FFFD}", ""] {
            assert_eq!(stat(&format!("9795 ({name}) {fields}\n")), Some(wanted), "{name}");
        }
        let cut = |words: usize| fields.split(' ').take(words).collect::<Vec<_>>().join(" ");
        assert_eq!(stat(&format!("1 (x) {}", cut(22))), Some(wanted));
        for text in ["", "1 (x", "1 (x)", "1 (x) S", &format!("1 (x) {}", cut(21)), "1 (x) S a b c"] {
            assert_eq!(stat(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_zombie_has_no_thread_left() {
        let of = |state, threads| {
            format!(
                "7 (Z S) {state} 1 7 7 0 -1 4194304 0 0 0 0 1 1 0 0 20 0 {threads} 0 40672 0 0 18446744073709551615"
            )
        };
        assert!(is_zombie(&of("Z", 1)));
        assert!(!is_zombie(&of("Z", 3)), "its first thread ended, and the others work");
        assert!(!is_zombie(&of("S", 1)) && !is_zombie(""));
    }

    #[test]
    fn a_thread_that_nobody_counts_has_no_time() {
        assert_eq!(scheduled("20 50655 1\n"), Some(SchedulerStats { cpu: 20, wait: 50_655, slices: 1 }));
        assert_eq!(scheduled("0 0 1\n"), Some(SchedulerStats { slices: 1, ..SchedulerStats::default() }));
        for text in ["0 0 0\n", "", "5 6\n", "x y z\n"] {
            assert_eq!(scheduled(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_a_status_says() {
        let status = "Name:\tvoluntary_ctxt_switches:\t7\nVmRSS:\t1732 kB\nVmSwap:\t      12 kB\nThreads:\t1\nvoluntary_ctxt_switches:\t31\nnonvoluntary_ctxt_switches:\t4\n";
        assert_eq!((switches(status), swapped(status)), (Some((31, 4)), Some(12 << 10)));
        assert_eq!((name(status), name("Name:\t\n")), (Some("voluntary_ctxt_switches:\t7"), None));
        // A kernel thread has no memory; a kernel without the counters (before 2.6.23) reports no switches.
        assert_eq!((switches("Name:\tkthreadd\n"), swapped("Name:\tkthreadd\n")), (None, None));
        assert_eq!(switches("voluntary_ctxt_switches:\t31\nnonvoluntary"), None);
    }

    #[test]
    fn the_limit_of_descriptors_is_the_soft_one() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \nMax processes             96365                96365                processes \nMax open files            1024                 524288               files     \n";
        assert_eq!(descriptors(limits), Some(1024));
        for text in ["", "Max open files            unlimited            unlimited            files     \n"] {
            assert_eq!(descriptors(text), None, "{text:?}");
        }
    }
}
