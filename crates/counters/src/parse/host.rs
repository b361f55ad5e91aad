//! Memory and files of the whole host: `/proc/meminfo`, `/proc/vmstat`, `/proc/sys/fs/file-nr`.

use super::{after, number, numbers};
use crate::counters::CounterSink;

/// Parses `/proc/meminfo`, in bytes.
pub(crate) fn memory(text: &str, sink: &mut CounterSink) {
    for (line, name) in [("MemTotal:", "total"), ("MemAvailable:", "available"), ("SwapFree:", "swap_free")] {
        sink.put_some(&["mem", name], after(text, line).and_then(kilobytes));
    }
}

/// Parses ` 24684096 kB`, in bytes.
pub(super) fn kilobytes(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let count: u64 = words.next()?.parse().ok()?;
    (words.next() == Some("kB")).then(|| count.checked_mul(1024))?
}

/// Parses `/proc/vmstat`: processes killed by the kernel for lack of memory (since 4.13).
pub(crate) fn killed(text: &str, sink: &mut CounterSink) {
    sink.put_some(&["vm", "oom_kill"], after(text, "oom_kill ").and_then(number));
}

/// Parses `/proc/sys/fs/file-nr`: allocated files, how many of these are free (none since 2.6), and the maximum.
pub(crate) fn files(text: &str, sink: &mut CounterSink) {
    let mut columns = numbers(text);
    if let (Some(given), Some(free), Some(max)) = (columns.next(), columns.next(), columns.next()) {
        sink.put(&["files", "open"], given.saturating_sub(free));
        sink.put(&["files", "max"], max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{expected, found};

    #[test]
    fn memory_in_bytes_and_absent_where_the_kernel_does_not_say() {
        let told = |text| found(|sink| memory(text, sink));
        let new = "MemTotal:       24684096 kB\nMemFree:        22595884 kB\nMemAvailable:   23963180 kB\nSwapCached:            0 kB\nSwapFree:              8 kB\n";
        let wanted = [("mem.available", 23_963_180 << 10), ("mem.swap_free", 8 << 10), ("mem.total", 24_684_096 << 10)];
        assert_eq!(told(new), expected(&wanted));
        // MemAvailable exists since 3.14.
        assert_eq!(told("MemTotal: 5 kB\nMemFree: 3 kB\n"), expected(&[("mem.total", 5120)]));
        for text in ["", "MemTotal: kB\n", "MemTotal: 5\n", "MemTotal: 5 MB\n", "MemTotal: 99999999999999999999 kB\n"] {
            assert_eq!(told(text), [], "{text:?}");
        }
    }

    #[test]
    fn kills_and_files() {
        let killed = |text| found(|sink| killed(text, sink));
        assert_eq!(killed("nr_free_pages 7\noom_kill 3\noom_kill_x 9\n"), expected(&[("vm.oom_kill", 3)]));
        assert_eq!(killed("nr_free_pages 7\n"), []);
        let files = |text| found(|sink| files(text, sink));
        assert_eq!(files("540\t0\t2466183\n"), expected(&[("files.max", 2_466_183), ("files.open", 540)]));
        assert_eq!(
            files("540\t40\t9223372036854775807\n"),
            expected(&[("files.max", i64::MAX as u64), ("files.open", 500)])
        );
        assert_eq!(files("540 0\n"), []);
    }
}
