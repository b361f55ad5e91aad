//! The summary of k6 at the end of a test.
//!
//! Failed requests are in `http_req_duration`. What a user does one after the other is the iteration, pauses included.
//! A full summary repeats its metrics for each scenario and group; these are parts of the same test and left out.

use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{LoadKind, StatedPercentile, StatedRun, ToolName};

/// Lines without a metric after which a summary is over.
const LONGEST_GAP: usize = 25;

/// Metrics of a summary; more lines are not of one.
const MOST_METRICS: usize = 500;

/// Metrics of the time of a request, the first of which is that of a test: HTTP, gRPC, a browser.
const REQUEST_TIMES: [&str; 3] = ["http_req_duration", "grpc_req_duration", "browser_http_req_duration"];

/// A line of a summary: the name of the metric and what is said of it.
struct MetricLine<'a> {
    number: usize,
    name: &'a str,
    said: String,
}

/// Returns the summaries of k6 in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    let mut summaries: Vec<Vec<MetricLine<'_>>> = Vec::new();
    let mut gap = usize::MAX;
    let mut in_section = false;
    for line in &paste.lines {
        let Some((name, said)) = metric(&line.text) else {
            in_section = is_section(&line.text) || (in_section && !ends_section(&line.text));
            if gap == 0 && line.text.starts_with('=') {
                go_on(&mut summaries, &line.text);
            } else {
                gap = gap.saturating_add(1);
            }
            continue;
        };
        if in_section {
            continue;
        }
        let metric = MetricLine { number: line.number, name, said: said.to_owned() };
        match summaries.last_mut() {
            Some(summary) if gap <= LONGEST_GAP && goes_on(summary, name) => summary.push(metric),
            _ => summaries.push(vec![metric]),
        }
        gap = 0;
    }
    summaries.iter().filter_map(|summary| run(summary)).collect()
}

/// Returns `true` for the head of the metrics of a scenario or a group.
fn is_section(text: &str) -> bool {
    let name = text.trim_start_matches(['█', '↳', ' ']);
    name.len() < text.len() && (name.starts_with("SCENARIO: ") || name.starts_with("GROUP: "))
}

/// Returns `true` for a line after which metrics are of a whole test again.
fn ends_section(text: &str) -> bool {
    ["█ TOTAL RESULTS", "█ THRESHOLDS", "execution: ", "running ("].iter().any(|head| text.starts_with(head))
}

/// Adds the rest of a line that a narrow terminal broke between a name and its value.
fn go_on(summaries: &mut [Vec<MetricLine<'_>>], text: &str) {
    if let Some(metric) = summaries.last_mut().and_then(|summary| summary.last_mut()) {
        metric.said.push_str(text);
    }
}

/// Returns `true` if a metric belongs to the same summary as those before it.
fn goes_on(summary: &[MetricLine<'_>], name: &str) -> bool {
    summary.len() < MOST_METRICS && !summary.iter().any(|known| known.name == name)
}

/// Splits `http_reqs......: 45765 4568.79/s`; the name of a sub-metric is in braces.
fn metric(text: &str) -> Option<(&str, &str)> {
    // Marks of thresholds, and an indent that scripts may choose.
    let text = text.trim_start_matches(['✓', '✗', '→', ' ']);
    let (name, said) = text.split_once(':').filter(|(name, _)| !name.contains('{')).or_else(|| {
        let at = text.find("}").map(|at| at + 1)?;
        let (dots, said) = text[at..].split_once(':')?;
        dots.chars().all(|c| c == '.').then(|| (&text[..at + dots.len()], said))
    })?;
    let plain = name.trim_end_matches('.');
    let is_name = plain.starts_with('{') || plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !plain.is_empty() && name.ends_with("..")).then(|| (plain.trim(), said.trim()))
}

fn run(summary: &[MetricLine<'_>]) -> Option<StatedRun> {
    let of = |name: &str| summary.iter().find(|metric| metric.name == name).map(|metric| metric.said.as_str());
    let requests = REQUEST_TIMES.iter().find_map(|name| of(name));
    let duration = requests.or_else(|| of("iteration_duration"))?;
    let mut run = StatedRun::new(ToolName::K6, summary.first()?.number);
    run.load = LoadKind::Loose;
    let counter = if requests.is_some() { "http_reqs" } else { "iterations" };
    if let Some((requests, rate)) = of(counter).and_then(counted) {
        run.requests = Some(requests);
        run.timed = Some(requests);
        run.rate = Some(rate);
    }
    [run.mean, run.min, run.max] = ["avg", "min", "max"].map(|key| statistic(duration, key));
    run.percentiles = percentiles(duration);
    // The line of the expected responses follows that of all.
    let good = summary.iter().skip_while(|metric| metric.name != "http_req_duration").nth(1);
    let is_of_good = |metric: &&MetricLine<'_>| metric.name.starts_with("{ expected_response:true");
    run.mean_of_good = good.filter(is_of_good).and_then(|metric| statistic(&metric.said, "avg"));
    run.failed_inside = of("http_req_failed").and_then(|said| failed(said, run.requests?)).unwrap_or(0);
    run.dropped = of("dropped_iterations").and_then(counted).map_or(0, |(dropped, _)| dropped);
    let users = of("vus_max").or_else(|| of("vus")).and_then(|said| number_after(said, "max="));
    run.users = users.map(|users| users.value as u64);
    let iterations = of("iterations").and_then(counted).map(|(_, rate)| rate);
    run.cycle = iterations.zip(of("iteration_duration").and_then(|said| statistic(said, "avg")));
    Some(run)
}

/// Reads the failures in `3.56%  2895 out of 81227`, or `10.00%  ✓ 4576  ✗ 41189` of older versions.
fn failed(said: &str, requests: u64) -> Option<u64> {
    let (share, rest) = quantities::leading_number(said)?;
    let count = quantities::leading_number(rest.trim_start_matches(['%', ' ', '✓'])).map(|(count, _)| count.value);
    Some(count.unwrap_or_else(|| (share.value / 100.0 * requests as f64).round()) as u64)
}

/// Reads `45765  4568.791991/s`.
fn counted(said: &str) -> Option<(u64, PrintedNumber)> {
    let (count, rest) = quantities::leading_number(said)?;
    let (rate, rest) = quantities::leading_number(rest)?;
    let rate = match rest.trim() {
        "/s" => rate,
        "/m" | "/min" => rate.times(1.0 / 60.0),
        _ => return None,
    };
    Some((count.value as u64, rate))
}

/// Reads the time after `avg=`.
fn statistic(said: &str, key: &str) -> Option<PrintedNumber> {
    let value = said.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
    quantities::time(value)
}

fn number_after(said: &str, key: &str) -> Option<PrintedNumber> {
    quantities::leading_number(said.split_once(key)?.1).map(|(number, _)| number)
}

/// Reads `med=17.31ms` and `p(95)=19.54ms`.
fn percentiles(said: &str) -> Vec<StatedPercentile> {
    let one = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let q = match key {
            "med" => 0.5,
            key => quantities::number(key.strip_prefix("p(")?.strip_suffix(')')?)?.value / 100.0,
        };
        Some(StatedPercentile { q, time: quantities::time(value)? })
    };
    let mut found: Vec<StatedPercentile> = said.split_whitespace().filter_map(one).collect();
    found.sort_by(|a, b| a.q.total_cmp(&b.q));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
     data_received..................: 157 MB 16 MB/s
     http_req_duration..............: avg=17.47ms min=10.93ms med=17.31ms max=65.33ms p(90)=18.91ms p(95)=19.54ms
       { expected_response:true }...: avg=18.47ms min=10.93ms med=17.31ms max=65.33ms p(90)=18.91ms p(95)=19.54ms
     http_req_failed................: 10.00%  ✓ 4576        ✗ 41189
     http_reqs......................: 45765  4568.791991/s
     dropped_iterations.............: 12     1.2/s
     iteration_duration.............: avg=17.49ms min=10.94ms med=17.33ms max=70.26ms p(90)=18.92ms p(95)=19.56ms
     iterations.....................: 45765  4568.791991/s
     vus............................: 80     min=80        max=80
     vus_max........................: 80     min=80        max=80
";

    #[test]
    fn a_summary_is_read() {
        let judged = SUMMARY.replace("     http_req_duration", "→    ✓ http_req_duration");
        let runs = read(&PastedText::read(format!("{judged}\n{SUMMARY}").as_bytes()));
        assert_eq!(runs.len(), 2);
        let run = &runs[0];
        assert_eq!((run.users, run.requests, run.dropped), (Some(80), Some(45_765), 12));
        assert_eq!(run.failed_inside, 4576);
        assert_eq!(run.mean_of_good.map(|mean| mean.value), Some(0.01847));
        assert_eq!(run.cycle.map(|(rate, time)| (rate.value, time.value)), Some((4568.791991, 0.01749)));
        assert_eq!(run.percentiles.iter().map(|p| p.q).collect::<Vec<_>>(), [0.5, 0.9, 0.95]);
    }

    #[test]
    fn scenarios_and_groups_are_no_tests_of_their_own() {
        let part = SUMMARY.replace("45765", "20000");
        let text = format!("█ TOTAL RESULTS\n{SUMMARY}\n█ SCENARIO: a\n{part}\n↳ GROUP: b\n{part}running (10.0s)\n");
        let runs = read(&PastedText::read(text.repeat(2).as_bytes()));
        assert_eq!(runs.iter().map(|run| run.requests).collect::<Vec<_>>(), [Some(45_765); 2]);
    }

    #[test]
    fn lines_broken_by_a_narrow_terminal_are_joined() {
        let text = "http_req_duration....: avg=4ms min=1ms med=3ms max\n=40ms p(90)=7ms p(95)=9ms\n\
            http_reqs....: 100 10/s\nhttp_req_failed....: 2.00% 2 out of 100\n";
        let runs = read(&PastedText::read(text.as_bytes()));
        assert_eq!((runs.len(), runs[0].requests, runs[0].failed_inside), (1, Some(100), 2));
        assert_eq!((runs[0].max.map(|max| max.value), runs[0].percentiles.len()), (Some(0.04), 3));
    }

    #[test]
    fn tests_without_http_are_read() {
        let grpc = SUMMARY.replace("http_req_duration", "grpc_req_duration").replace("http_req", "grpc_req");
        let runs = read(&PastedText::read(grpc.as_bytes()));
        assert_eq!((runs.len(), runs[0].requests), (1, None));
        assert_eq!(runs[0].max.map(|max| max.value), Some(0.06533));
        let sockets = SUMMARY.replace("http_", "ws_");
        let runs = read(&PastedText::read(sockets.as_bytes()));
        assert_eq!((runs.len(), runs[0].requests), (1, Some(45_765)));
        assert_eq!(runs[0].max.map(|max| max.value), Some(0.07026));
    }
}
