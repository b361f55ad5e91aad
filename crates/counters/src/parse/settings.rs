//! Limits and settings of the kernel, most of them one number in `/proc/sys`.

use super::{number, numbers};
use crate::counters::CounterSink;

/// Format of a setting's text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SettingFormat {
    /// A single number.
    Number,
    /// Two or three numbers, each with its own name.
    Numbers(&'static [&'static str]),
    /// A list of ports and port ranges, which are counted.
    Ports,
    /// A single word.
    Word,
}

/// All settings: name, path and format.
pub(crate) const SETTINGS: [(&str, &str, SettingFormat); 13] = [
    ("ip_local_port_range", "/proc/sys/net/ipv4/ip_local_port_range", SettingFormat::Numbers(&["low", "high"])),
    ("ip_local_reserved", "/proc/sys/net/ipv4/ip_local_reserved_ports", SettingFormat::Ports),
    ("somaxconn", "/proc/sys/net/core/somaxconn", SettingFormat::Number),
    ("tcp_max_syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog", SettingFormat::Number),
    ("tcp_tw_reuse", "/proc/sys/net/ipv4/tcp_tw_reuse", SettingFormat::Number),
    ("tcp_max_tw_buckets", "/proc/sys/net/ipv4/tcp_max_tw_buckets", SettingFormat::Number),
    ("tcp_mem", "/proc/sys/net/ipv4/tcp_mem", SettingFormat::Numbers(&["low", "pressure", "high"])),
    ("nr_open", "/proc/sys/fs/nr_open", SettingFormat::Number),
    ("file_max", "/proc/sys/fs/file-max", SettingFormat::Number),
    ("tcp_syncookies", "/proc/sys/net/ipv4/tcp_syncookies", SettingFormat::Number),
    ("netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog", SettingFormat::Number),
    ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", SettingFormat::Word),
    ("timer_slack_ns", "/proc/self/timerslack_ns", SettingFormat::Number),
];

/// Parses a setting and adds it under `setting.NAME`.
pub(crate) fn setting(text: &str, name: &str, form: SettingFormat, sink: &mut CounterSink) {
    match form {
        SettingFormat::Number => sink.put_some(&["setting", name], number(text)),
        SettingFormat::Numbers(names) => {
            let values: Vec<u64> = numbers(text).collect();
            if values.len() == names.len() {
                names.iter().zip(values).for_each(|(part, value)| sink.put(&["setting", name, part], value));
            }
        }
        SettingFormat::Ports => sink.put_some(&["setting", name], ports(text)),
        SettingFormat::Word => {
            let mut words = text.split_ascii_whitespace();
            if let (Some(word), None) = (words.next(), words.next()) {
                sink.label(&["setting", name], word);
            }
        }
    }
}

/// Returns the number of ports in a list such as `8080,9000-9100`; an empty list has none.
fn ports(text: &str) -> Option<u64> {
    let ranges = text.trim().split(',').filter(|range| !range.is_empty());
    ranges
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_add(1)?.checked_sub(first)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{expected, found};

    #[test]
    fn settings_of_each_form() {
        let told = |text, form| found(|sink| setting(text, "s", form, sink));
        let range = SettingFormat::Numbers(&["low", "high"]);
        assert_eq!(told("32768\t60999\n", range), expected(&[("setting.s.high", 60_999), ("setting.s.low", 32_768)]));
        assert_eq!(told("4096\n", SettingFormat::Number), expected(&[("setting.s", 4096)]));
        for (text, count) in [("\n", 0), ("8080\n", 1), ("8080,9000-9100\n", 102), ("1-1,3\n", 2)] {
            assert_eq!(told(text, SettingFormat::Ports), expected(&[("setting.s", count)]), "{text:?}");
        }
        for (text, form) in [
            ("", SettingFormat::Number),
            ("x\n", SettingFormat::Number),
            ("-1\n", SettingFormat::Number),
            ("32768\n", range),
            ("1 2 3\n", range),
            ("8080,x\n", SettingFormat::Ports),
            ("9-1\n", SettingFormat::Ports),
            ("1-18446744073709551615\n", SettingFormat::Ports),
            ("\n", SettingFormat::Word),
        ] {
            assert_eq!(told(text, form), [], "{text:?}");
        }
    }

    #[test]
    fn a_word_is_a_label() {
        let mut sink = CounterSink::default();
        setting("tsc\n", "clocksource", SettingFormat::Word, &mut sink);
        assert_eq!(sink.take(brunt_measure::Nanos::ZERO).label("setting.clocksource"), Some("tsc"));
    }
}
