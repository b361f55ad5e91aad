//! CPU time and pressure: `/proc/stat`, `/proc/pressure/*`, `/proc/net/softnet_stat`.

use super::{after, number, numbers};
use crate::counters::CounterSink;

/// Columns of a `cpu` line that are read, by index (proc(5)). `nice` is added to `user`; guest time is already in it.
const COLUMNS: [(&str, usize); 7] =
    [("user", 0), ("system", 2), ("idle", 3), ("iowait", 4), ("irq", 5), ("softirq", 6), ("steal", 7)];
const NICE: usize = 1;

/// Parses `/proc/stat`, converting ticks to nanoseconds.
pub(crate) fn stat(text: &str, tick_ns: u64, sink: &mut CounterSink) {
    let mut count = 0;
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        let which = match name.strip_prefix("cpu") {
            Some("") => "all",
            Some(which) if which.bytes().all(|b| b.is_ascii_digit()) => which,
            _ if name == "procs_running" => {
                sink.put_some(&["load", "running"], number(rest));
                continue;
            }
            _ => continue,
        };
        let ticks: Vec<u64> = numbers(rest).collect();
        for (column, index) in COLUMNS {
            let Some(own) = ticks.get(index) else { break };
            let nice = if index == 0 { ticks.get(NICE).copied().unwrap_or_default() } else { 0 };
            sink.put(&["cpu", which, column], own.wrapping_add(nice).wrapping_mul(tick_ns));
        }
        count += u64::from(which != "all" && !ticks.is_empty());
    }
    if count > 0 {
        sink.put(&["cpu", "count"], count);
    }
}

/// Parses `/proc/pressure/WHAT`: microseconds in which some, or all, tasks were stalled.
pub(crate) fn pressure(text: &str, what: &str, sink: &mut CounterSink) {
    for grade in ["some", "full"] {
        // For the CPU, `full` is zero by definition at the host level.
        if what == "cpu" && grade == "full" {
            continue;
        }
        let total = after(text, grade).and_then(|rest| number(rest.split_once(" total=")?.1));
        sink.put_some(&["psi", what, grade], total);
    }
}

/// Parses `/proc/net/softnet_stat`: hexadecimal, a line per online core; later kernels include the core's number.
pub(crate) fn softnet(text: &str, sink: &mut CounterSink) {
    const TOLD: [&str; 3] = ["processed", "dropped", "squeezed"];
    const CORE: usize = 12;
    let mut all = [0u64; TOLD.len()];
    let mut any = false;
    for (row, line) in text.lines().enumerate() {
        let columns: Vec<u64> =
            line.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        if columns.len() < TOLD.len() {
            continue;
        }
        any = true;
        let core = columns.get(CORE).map_or(row.to_string(), u64::to_string);
        for ((name, value), sum) in TOLD.iter().zip(&columns).zip(&mut all) {
            sink.put(&["softnet", &core, name], *value);
            *sum += value;
        }
    }
    if any {
        TOLD.iter().zip(all).for_each(|(name, sum)| sink.put(&["softnet", "all", name], sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{expected, found};

    fn cpu(text: &str) -> Vec<(String, u64)> {
        found(|sink| stat(text, 10_000_000, sink))
    }

    #[test]
    fn processor_time_of_all_kernels() {
        // Linux 6.18: ten columns.
        let now = "cpu  300 20 100 900 7 1 2 3 50 5\ncpu0 100 20 40 400 3 1 2 3 50 5\ncpu12 200 0 60 500 4 0 0 0 0 0\nintr 5 0\nctxt 9\nprocs_running 3\nprocs_blocked 1\n";
        let told = cpu(now);
        let get = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!(told.len(), 3 * 7 + 2);
        for (name, value) in [
            ("cpu.all.user", 3_200_000_000),
            ("cpu.0.user", 1_200_000_000),
            ("cpu.12.system", 600_000_000),
            ("cpu.12.idle", 5_000_000_000),
            ("cpu.0.irq", 10_000_000),
            ("cpu.0.softirq", 20_000_000),
            ("cpu.0.steal", 30_000_000),
            ("cpu.count", 2),
            ("load.running", 3),
        ] {
            assert_eq!(get(name), Some(value), "{name}");
        }
        // Linux 2.4: four columns; the missing ones are absent.
        let old = expected(&[
            ("cpu.0.idle", 40_000_000),
            ("cpu.0.system", 30_000_000),
            ("cpu.0.user", 30_000_000),
            ("cpu.count", 1),
        ]);
        assert_eq!(cpu("cpu0 1 2 3 4\n"), old);
        assert_eq!(cpu("cpu0 1 2 3 4 x 6 7 8\n"), old, "ends where it is not understood");
    }

    #[test]
    fn what_is_no_line_of_a_processor_is_left_out() {
        for text in ["", "cpu\n", "cpufreq 1 2 3 4\n", "cpu0 x\n", "\0\n", "intr 1 2\n"] {
            assert_eq!(cpu(text), [], "{text:?}");
        }
    }

    #[test]
    fn pressure_with_and_without_full() {
        let io = "some avg10=0.00 avg60=0.10 avg300=0.96 total=8961129\nfull avg10=0.00 avg60=0.09 avg300=0.93 total=8559172\n";
        let told = |text, what| found(|sink| pressure(text, what, sink));
        assert_eq!(told(io, "io"), expected(&[("psi.io.full", 8_559_172), ("psi.io.some", 8_961_129)]));
        assert_eq!(told(io, "cpu"), expected(&[("psi.cpu.some", 8_961_129)]));
        assert_eq!(told("some avg10=0.00 total=7\n", "memory"), expected(&[("psi.memory.some", 7)]));
        for text in ["", "some\n", "some total=\n", "some total=x\n"] {
            assert_eq!(told(text, "io"), [], "{text:?}");
        }
    }

    #[test]
    fn softnet_names_its_cores_by_column_or_by_row() {
        let told = |text| found(|sink| softnet(text, sink));
        let wide = "0000000f 00000001 00000000 0 0 0 0 0 0 0 0 0 00000003 0 0\n00000975 00000002 0000000a 0 0 0 0 0 0 0 0 0 00000007 0 0\n";
        let narrow = "0000000f 00000001 00000000 0 0 0 0 0 0 0 0\n00000975 00000002 0000000a 0 0 0 0 0 0 0 0\n";
        for (text, first, second) in [(wide, "3", "7"), (narrow, "0", "1")] {
            let core = |core: &str, values: [u64; 3]| {
                let names = ["dropped", "processed", "squeezed"].map(|name| format!("softnet.{core}.{name}"));
                names.into_iter().zip(values).collect::<Vec<_>>()
            };
            let wanted = [core(first, [1, 15, 0]), core(second, [2, 0x975, 10]), core("all", [3, 0x984, 10])];
            assert_eq!(told(text), wanted.concat());
        }
        assert_eq!(told("xyz\n00000001 2\n"), []);
    }
}
