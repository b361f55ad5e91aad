//! The text format of Prometheus (exposition format 0.0.4): `name{label="value"} 1.5 [timestamp]`.

use brunt_record::CounterValue;

use super::is_name;
use brunt_counters::CounterSink;

/// Adds every sample under `prometheus.` and its name with its labels as written; returns `false` if the text is in
/// another format.
pub fn parse(text: &str, sink: &mut CounterSink) -> bool {
    let before = sink.count();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((name, rest)) = split(line) else { return false };
        let Some(word) = rest.split_whitespace().next() else { return false };
        let Some(number) = number(word) else { return false };
        // A value that is not finite carries no information.
        if is_name(name) && number.real().is_finite() {
            sink.put_number(&["prometheus", name], number);
        }
    }
    sink.count() > before
}

/// Splits the name with its labels from the rest of the line.
fn split(line: &str) -> Option<(&str, &str)> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).filter(|end| *end > 0)?;
    let labels = match line[end..].strip_prefix('{') {
        Some(inside) => 1 + closing(inside)? + 1,
        None => 0,
    };
    let (name, rest) = line.split_at(end + labels);
    rest.starts_with([' ', '\t']).then_some((name, rest))
}

/// Returns the position of the closing brace outside quotes; within quotes, a backslash escapes the next
/// character.
fn closing(inside: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn number(word: &str) -> Option<CounterValue> {
    word.parse().map(CounterValue::Whole).or_else(|_| word.parse().map(CounterValue::Real)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_measure::Nanos;
    use proptest::prelude::*;

    const PAGE: &str = "# HELP http_requests_total The total.\n# TYPE http_requests_total counter\n\
        http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n\
        msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\F}ILE.TXT\",error=\"say \\\"no\\\"\"} 1.458255915e9\n\n\
        metric_without_timestamp_and_labels 12.47\nsomething_weird{problem=\"division by zero\"} +Inf -3982045\n";

    #[test]
    fn the_page_of_the_documentation() {
        let mut sink = CounterSink::default();
        assert!(parse(PAGE, &mut sink));
        let told = sink.take(Nanos::ZERO);
        let found: Vec<_> = told.values.iter().map(|(name, value)| (&**name, value.real())).collect();
        assert_eq!(
            found,
            [
                ("prometheus.http_requests_total{method=\"post\",code=\"200\"}", 1027.0),
                ("prometheus.metric_without_timestamp_and_labels", 12.47),
                (
                    "prometheus.msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\F}ILE.TXT\",error=\"say \\\"no\\\"\"}",
                    1.458255915e9
                ),
            ]
        );
    }

    #[test]
    fn what_is_no_such_text() {
        for text in ["", "# only words\n", "<html>", "name", "name{a=\"b\" 1", "name x", "{} 1", "name{} "] {
            assert!(!parse(text, &mut CounterSink::default()), "{text}");
        }
    }

    proptest! {
        /// Neither arbitrary text nor the page with one byte changed causes a panic or a name that cannot be displayed.
        #[test]
        fn any_text(text in "\\PC*", at in 0..PAGE.len(), byte in 0_u8..128) {
            let mut garbled = PAGE.as_bytes().to_vec();
            garbled[at] = byte;
            for text in [text, String::from_utf8_lossy(&garbled).into_owned()] {
                let mut sink = CounterSink::default();
                parse(&text, &mut sink);
                prop_assert!(sink.take(Nanos::ZERO).values.keys().all(|name| !name.contains(char::is_control)));
            }
        }
    }
}
