//! `stub_status` of nginx (`ngx_http_stub_status_module`): seven numbers on four lines.

use brunt_counters::CounterSink;

/// Adds the numbers under their names; returns `false` if the page is not a status page.
pub fn parse(text: &str, sink: &mut CounterSink) -> bool {
    let mut lines = text.lines();
    let mut found = || {
        let active = lines.next()?.trim().strip_prefix("Active connections:")?.trim().parse().ok()?;
        let names = lines.next()?;
        if !names.contains("accepts handled requests") {
            return None;
        }
        let counts: Vec<u64> = lines.next()?.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [accepts, handled, requests] = counts[..] else { return None };
        let states: Vec<&str> = lines.next()?.split_whitespace().collect();
        let [_, reading, _, writing, _, waiting] = states[..] else { return None };
        let states = [reading, writing, waiting].map(|word| word.parse().ok());
        let [Some(reading), Some(writing), Some(waiting)] = states else { return None };
        Some([
            ("active", active),
            ("accepts", accepts),
            ("handled", handled),
            ("requests", requests),
            ("reading", reading),
            ("writing", writing),
            ("waiting", waiting),
        ])
    };
    let Some(found) = found() else { return false };
    found.into_iter().for_each(|(name, value)| sink.put(&["nginx", name], value));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_measure::Nanos;

    const PAGE: &str = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 31070465 \n\
                        Reading: 6 Writing: 179 Waiting: 106 \n";

    #[test]
    fn the_page_of_the_documentation() {
        let wanted = [
            ("nginx.accepts", 16_630_948),
            ("nginx.active", 291),
            ("nginx.handled", 16_630_940),
            ("nginx.reading", 6),
            ("nginx.requests", 31_070_465),
            ("nginx.waiting", 106),
            ("nginx.writing", 179),
        ];
        let mut sink = CounterSink::default();
        assert!(parse(PAGE, &mut sink));
        let told = sink.take(Nanos::ZERO);
        let found: Vec<_> = told.values.iter().map(|(name, value)| (&**name, value.whole().unwrap())).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_page_that_is_cut_or_another_one_tells_nothing() {
        for cut in 0..PAGE.len() - 3 {
            let mut sink = CounterSink::default();
            // A truncated number is still a number; a page that lacks one of them is rejected.
            if !parse(&PAGE[..cut], &mut sink) {
                assert_eq!(sink.count(), 0, "{cut}");
            } else {
                assert!(cut > PAGE.len() - 6, "{cut}");
            }
        }
        assert!(!parse("<html>Welcome to nginx!</html>", &mut CounterSink::default()));
    }
}
