//! The output of ab, ApacheBench.
//!
//! «Time per request» is computed: concurrency × time ÷ requests. The «Total» row is measured.

use super::super::blocks::{Block, OutputLabel, blocks, once, several};
use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{ConnectionReuse, LoadKind, StatedPercentile, StatedRun, ToolName};

const LABELS: [OutputLabel; 15] = [
    once(|text| text.starts_with("This is ApacheBench")),
    once(|text| text.starts_with("Server Hostname:")),
    once(|text| text.starts_with("Document Path:")),
    once(|text| text.starts_with("Concurrency Level:")),
    once(|text| text.starts_with("Time taken for tests:")),
    once(|text| text.starts_with("Complete requests:")),
    once(|text| text.starts_with("Failed requests:")),
    once(|text| text.starts_with("(Connect:")),
    once(|text| text.starts_with("Non-2xx responses:")),
    once(|text| text.starts_with("Keep-Alive requests:")),
    once(|text| text.starts_with("Requests per second:")),
    several(|text| text.starts_with("Time per request:")),
    once(|text| text.starts_with("Transfer rate:")),
    once(|text| text.starts_with("Total:") && row(text).len() == 5),
    several(|text| percentile(text).is_some()),
];
const BANNER: usize = 0;
const HOST: usize = 1;
const PATH: usize = 2;
const USERS: usize = 3;
const TAKEN: usize = 4;
const COMPLETE: usize = 5;
const FAILED: usize = 6;
const KINDS: usize = 7;
const OTHER_STATUS: usize = 8;
const KEPT: usize = 9;
const RATE: usize = 10;
const PER_REQUEST: usize = 11;
const TOTAL: usize = 13;
const PERCENTILES: usize = 14;

const MS: f64 = 1e-3;

/// Returns the outputs of ab in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    blocks(paste, &LABELS).iter().filter_map(run).collect()
}

fn run(block: &Block<'_>) -> Option<StatedRun> {
    let first = |label: usize| quantities::leading_number(block.value(label)?).map(|(number, _)| number);
    let count = |label: usize| first(label).map(|number| number.value as u64);
    // Prose about what to expect has no units in brackets.
    let with_unit = |label: usize, unit: &str| {
        let (number, rest) = quantities::leading_number(block.value(label)?)?;
        rest.trim_start().starts_with(unit).then_some(number)
    };
    let rate = with_unit(RATE, "[#/sec]")?;
    let mut run = StatedRun::new(ToolName::Ab, block.start());
    run.load = LoadKind::Closed;
    run.users = count(USERS);
    run.target = block.value(HOST).zip(block.value(PATH)).map(|(host, path)| format!("{host} {path}"));
    run.duration = first(TAKEN);
    run.requests = count(COMPLETE);
    run.timed = run.requests;
    run.rate = Some(rate);
    let per_request = with_unit(PER_REQUEST, "[ms]").map(|time| time.times(MS));
    run.cycle = per_request.map(|time| (rate, time));
    run.mean = per_request;
    failures(&mut run, block, count(FAILED).unwrap_or(0));
    run.other_status = count(OTHER_STATUS).unwrap_or(0);
    run.failed_inside = run.failed_inside.saturating_add(run.other_status);
    let total = block.text(TOTAL).map(row).unwrap_or_default();
    if let [min, mean, deviation, median, max] = total[..] {
        [run.min, run.mean, run.deviation, run.max] = [min, mean, deviation, max].map(|time| Some(time.times(MS)));
        run.percentiles.push(StatedPercentile { q: 0.5, time: median.times(MS) });
    }
    let printed: Vec<StatedPercentile> = block.texts(PERCENTILES).filter_map(percentile).collect();
    if !printed.is_empty() {
        run.percentiles = printed;
    }
    // The whole output has this line only if some connection was kept.
    let whole = block.text(BANNER).is_some() || block.text(PATH).is_some();
    run.reuse = match count(KEPT) {
        Some(kept) if kept > 0 => ConnectionReuse::Kept,
        None if !whole => ConnectionReuse::Unknown,
        _ => ConnectionReuse::Fresh,
    };
    Some(run)
}

/// Reads `(Connect: 0, Receive: 818, Length: 818, Exceptions: 818)`, which says why requests failed.
fn failures(run: &mut StatedRun, block: &Block<'_>, failed: u64) {
    let kinds = block.text(KINDS).unwrap_or_default();
    let of = |name: &str| {
        let (_, rest) = kinds.split_once(name)?;
        quantities::leading_number(rest).map(|(number, _)| number.value as u64)
    };
    run.unconnected = of("Connect:").unwrap_or(0);
    run.other_length = of("Length:").unwrap_or(0).min(failed);
    // ab counts a request that failed among the complete ones, with the time until it failed.
    run.failed_inside = if kinds.is_empty() { failed } else { failed - run.other_length };
}

/// Returns the numbers after the label of a row of the table of connection times.
fn row(text: &str) -> Vec<PrintedNumber> {
    let (_, numbers) = text.split_once(':').unwrap_or_default();
    numbers.split_whitespace().map_while(quantities::number).collect()
}

/// Reads `  99%    203`, in milliseconds; the one of 100 % is the longest request.
fn percentile(text: &str) -> Option<StatedPercentile> {
    let (share, rest) = text.split_once('%')?;
    let share = quantities::number(share)?.value;
    let (time, after) = quantities::leading_number(rest)?;
    let ends = after.trim().is_empty() || after.trim_start().starts_with("(longest");
    let is_row = rest.starts_with([' ', '\t']) && ends && (0.0..=100.0).contains(&share);
    is_row.then(|| StatedPercentile { q: share / 100.0, time: time.times(MS) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
This is ApacheBench, Version 2.3
Document Path:          /
Concurrency Level:      10
Time taken for tests:   2.000 seconds
Complete requests:      1000
Failed requests:        30
   (Connect: 4, Receive: 0, Length: 20, Exceptions: 6)
Non-2xx responses:      5
Requests per second:    500.00 [#/sec] (mean)
Time per request:       20.000 [ms] (mean)
Time per request:       2.000 [ms] (mean, across all concurrent requests)

              min  mean[+/-sd] median   max
Connect:        0    0   0.1      0       1
Total:          5   19  29.7     14     165

  50%     14
  99%    120
 100%    165 (longest request)
";

    #[test]
    fn a_whole_output_is_read() {
        let runs = read(&PastedText::read(OUTPUT.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.users, run.requests, run.reuse), (Some(10), Some(1000), ConnectionReuse::Fresh));
        assert_eq!((run.failed_inside, run.other_length, run.unconnected), (15, 20, 4));
        assert_eq!(run.rate.map(|rate| rate.value), Some(500.0));
        assert_eq!(run.cycle.map(|(_, time)| time.value), Some(0.02));
        assert_eq!(run.mean.map(|mean| mean.value), Some(0.019));
        assert_eq!(run.percentile(0.99).map(|time| time.value), Some(0.12));
    }

    #[test]
    fn what_to_expect_is_no_output() {
        let text =
            "ab -n 1000 -c 10 http://a/\n# Requests per second: 500-1000 rps\n# Time per request: 10-20ms (mean)\n";
        assert_eq!(read(&PastedText::read(text.as_bytes())), []);
    }

    #[test]
    fn excerpts_are_told_apart() {
        let excerpt = "Requests per second: 100 [#/sec]\nTime per request: 10 [ms] (mean)\nTotal: 1 2 3 4 5\n";
        let runs = read(&PastedText::read(excerpt.repeat(3).as_bytes()));
        assert_eq!(runs.len(), 3);
        assert_eq!(runs.iter().map(|run| run.line).collect::<Vec<_>>(), [1, 4, 7]);
    }
}
