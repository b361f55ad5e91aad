//! The output of hey, of its first version, boom, and of oha, which prints the same lines.
//!
//! Requests that ended in an error are in the rate, and not in the latency. hey keeps the first million of times only.
//! boom printed statuses before times. oha may count in tens of seconds or minutes: `2.0008 10 sec` are 20.008 s.

use super::super::blocks::{Block, OutputLabel, blocks_in_any_order, once, several};
use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{LoadKind, StatedPercentile, StatedRun, ToolName};

const LABELS: [OutputLabel; 11] = [
    once(|text| text.starts_with("Summary:")),
    once(|text| text.starts_with("Success rate:")),
    once(|text| text.starts_with("Total:") && timed(text).is_some()),
    once(|text| text.starts_with("Slowest:")),
    once(|text| text.starts_with("Fastest:")),
    once(|text| text.starts_with("Average:") && (timed(text).is_some() || text.contains("NaN"))),
    once(|text| text.starts_with("Requests/sec:")),
    several(|text| bar(text).is_some()),
    several(|text| percentile(text).is_some()),
    several(|text| status(text).is_some()),
    several(|text| error(text).is_some()),
];
const SUCCESS: usize = 1;
const TOTAL: usize = 2;
const SLOWEST: usize = 3;
const FASTEST: usize = 4;
const AVERAGE: usize = 5;
const RATE: usize = 6;
const BARS: usize = 7;
const PERCENTILES: usize = 8;
const STATUS: usize = 9;
const ERRORS: usize = 10;

/// Returns the outputs of hey and oha in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    blocks_in_any_order(paste, &LABELS).iter().filter_map(run).collect()
}

fn run(block: &Block<'_>) -> Option<StatedRun> {
    let of = |label: usize| block.text(label).and_then(timed);
    let (rate, _) = quantities::leading_number(block.value(RATE)?)?;
    let tool = if block.text(SUCCESS).is_some() { ToolName::Oha } else { ToolName::Hey };
    let mut run = StatedRun::new(tool, block.start());
    run.load = LoadKind::Closed;
    run.rate = Some(rate);
    // It is no number if nothing was answered.
    block.text(AVERAGE)?;
    run.mean = of(AVERAGE);
    [run.duration, run.max, run.min] = [of(TOTAL), of(SLOWEST), of(FASTEST)];
    // A percentile of 0 % at 0 s stands for one that there were too few requests for.
    let percentiles = block.texts(PERCENTILES).filter_map(percentile);
    run.percentiles = percentiles.filter(|percentile| percentile.q > 0.0).collect();
    let bars = block.texts(BARS).filter_map(bar);
    run.first_bar = bars.filter(|(_, requests)| *requests > 0).map(|(bound, _)| bound).next();
    ended(&mut run, block);
    Some(run)
}

/// Takes how requests ended: statuses and errors.
fn ended(run: &mut StatedRun, block: &Block<'_>) {
    let statuses: Vec<(u64, u64)> = block.texts(STATUS).filter_map(status).collect();
    let errors: Vec<(u64, &str)> = block.texts(ERRORS).filter_map(error).collect();
    let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    // Tools that print the same lines have other statuses than numbers, which are not read.
    let is_all_errors = run.mean.is_none_or(|mean| mean.value == 0.0) && !errors.is_empty();
    if !statuses.is_empty() || is_all_errors {
        let is_timeout = |text: &str| {
            ["Timeout exceeded", "deadline exceeded", "timeout", "timed out"].iter().any(|word| text.contains(word))
        };
        let is_refused = |text: &str| text.contains("dial ") || text.contains("connect");
        run.timed = Some(sum(&mut statuses.iter().map(|(_, n)| *n)));
        run.failed_inside = sum(&mut statuses.iter().filter(|(code, _)| !(200..400).contains(code)).map(|(_, n)| *n));
        run.failed_outside = sum(&mut errors.iter().map(|(n, _)| *n));
        run.timed_out = sum(&mut errors.iter().filter(|(_, text)| is_timeout(text)).map(|(n, _)| *n));
        run.unconnected = sum(&mut errors.iter().filter(|(_, text)| is_refused(text)).map(|(n, _)| *n));
        run.requests = run.timed.map(|timed| timed.saturating_add(run.failed_outside));
    }
}

/// Reads the time in `Average:\t0.0035 secs`.
fn timed(text: &str) -> Option<PrintedNumber> {
    scaled_time(text.split_once(':')?.1)
}

/// Reads a time in seconds, minutes, or, as oha prints it, tens of them: `2.0008 10 sec`.
fn scaled_time(text: &str) -> Option<PrintedNumber> {
    let (number, unit) = quantities::leading_number(text)?;
    let tens = [("10 sec", 10.0), ("10 min", 600.0)];
    match tens.iter().find(|(name, _)| unit.trim_start().starts_with(name)) {
        Some((_, seconds)) => Some(number.times(*seconds)),
        None => quantities::leading_time(text).map(|(time, _)| time),
    }
}

/// Reads a bar of the histogram, its upper bound and its requests: `0.004 [20]   |■■■`, or `4.000 ms [20] |■■■`.
fn bar(text: &str) -> Option<(PrintedNumber, u64)> {
    let (bound, rest) = text.split_once('[')?;
    let (requests, rest) = rest.split_once(']')?;
    let bound = quantities::number(bound).or_else(|| scaled_time(bound))?;
    let is_bar = rest.trim_start().starts_with('|');
    quantities::count(requests).filter(|_| is_bar).map(|requests| (bound, requests))
}

/// Reads `99% in 0.0123 secs`.
fn percentile(text: &str) -> Option<StatedPercentile> {
    let (share, rest) = text.split_once('%')?;
    let share = quantities::number(share)?.value;
    let time = scaled_time(rest.trim_start().strip_prefix("in ")?)?;
    (0.0..=100.0).contains(&share).then(|| StatedPercentile { q: share / 100.0, time })
}

/// Reads `[200] 1000 responses`.
fn status(text: &str) -> Option<(u64, u64)> {
    let (code, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (responses, rest) = quantities::leading_number(rest)?;
    let is_status = rest.trim() == "responses";
    quantities::count(code).filter(|_| is_status).map(|code| (code, responses.value as u64))
}

/// Reads `[20] Get "http://…": context deadline exceeded`. What oha cut off when its time was over has not failed.
fn error(text: &str) -> Option<(u64, &str)> {
    let (count, rest) = text.strip_prefix('[')?.split_once(']')?;
    quantities::count(count).filter(|_| status(text).is_none() && is_error(rest)).map(|n| (n, rest))
}

fn is_error(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains("aborted due to deadline")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_output_is_read() {
        let text = "\
Summary:
  Total:\t0.5000 secs
  Slowest:\t0.1280 secs
  Fastest:\t0.0004 secs
  Average:\t0.0035 secs
  Requests/sec:\t1000.0000

Response time histogram:
  0.000 [1]     |
  0.002 [81]    |■■■

Latency distribution:
  50% in 0.0024 secs
  99% in 0.0123 secs
  0% in 0.0000 secs

Status code distribution:
  [200]\t450 responses
  [503]\t30 responses

Error distribution:
  [15]\tGet \"http://a/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)
  [7]\taborted due to deadline
  [5]\tGet \"http://a/\": dial tcp 127.0.0.1:80: connect: connection refused
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.requests, run.timed, run.failed_inside), (Some(500), Some(480), 30));
        assert_eq!((run.failed_outside, run.timed_out, run.unconnected), (20, 15, 5));
        assert_eq!((run.percentiles.len(), run.max.map(|max| max.value)), (2, Some(0.128)));
    }

    #[test]
    fn boom_printed_statuses_before_times() {
        let text = "\
Summary:
  Total:\t40.0000 secs.
  Slowest:\t12.0000 secs.
  Fastest:\t0.0200 secs.
  Average:\t3.0000 secs.
  Requests/sec:\t25.0000
  Total Data Received:\t5000 bytes.

Status code distribution:
  [404]\t300 responses
  [200]\t700 responses

Response time histogram:
  0.020 [1]\t|
  6.010 [800]\t|∎∎∎∎
  12.000 [199]\t|∎

Latency distribution:
  50% in 1.0000 secs.
  99% in 11.0000 secs.
";
        let runs = read(&PastedText::read(text.repeat(2).as_bytes()));
        let [run, _] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.tool, run.requests, run.failed_inside), (ToolName::Hey, Some(1000), 300));
        assert_eq!((run.percentiles.len(), run.first_bar.map(|bar| bar.value)), (2, Some(0.02)));
    }

    #[test]
    fn oha_counts_in_tens_of_seconds() {
        let text = "\
Summary:
  Success rate: 100.00%
  Total:        3.0000 10 sec
  Slowest:      1.2000 10 sec
  Fastest:      0.4000 10 sec
  Average:      0.9000 10 sec
  Requests/sec: 4.0000

Response time histogram:
  0.400 10 sec [1]  |
  1.200 10 sec [119] |■■■

Response time distribution:
  50.00% in 0.9500 10 sec
  99.00% in 750.0000 ms

Status code distribution:
  [200] 120 responses
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.tool, run.timed), (ToolName::Oha, Some(120)));
        let times = [run.duration, run.max, run.min, run.mean, run.first_bar].map(|time| time.map(|time| time.value));
        assert_eq!(times, [Some(30.0), Some(12.0), Some(4.0), Some(9.0), Some(4.0)]);
        assert_eq!(run.percentiles.iter().map(|p| p.time.value).collect::<Vec<_>>(), [9.5, 0.75]);
    }

    #[test]
    fn a_run_of_errors_alone_has_no_times() {
        let text = "  Average: 0.0000 secs\n  Requests/sec: 900.0\nError distribution:\n  [200]\tGet \"http://a/\": dial \
            tcp 127.0.0.1:9: connect: connection refused\n";
        let runs = read(&PastedText::read(text.as_bytes()));
        assert_eq!((runs[0].timed, runs[0].failed_outside, runs[0].unconnected), (Some(0), 200, 200));
        let runs = read(&PastedText::read(text.replace("0.0000", "NaN").as_bytes()));
        assert_eq!((runs[0].mean, runs[0].failed_outside), (None, 200));
        let runs = read(&PastedText::read(text.replace("0.0000", "0.0100").as_bytes()));
        assert_eq!((runs[0].timed, runs[0].failed_outside), (None, 0));
    }

    #[test]
    fn an_output_of_wrk_is_none_of_hey() {
        let text = "  100 requests in 1.00s, 1MB read\nRequests/sec:    100.00\nTransfer/sec: 1MB\n";
        assert_eq!(read(&PastedText::read(text.as_bytes())), []);
    }
}
