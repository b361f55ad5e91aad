//! The output of hey, and of oha, which prints the same lines.
//!
//! Requests that ended in an error are in the rate, and not in the latency. hey keeps the first million of times only.

use super::super::blocks::{Block, OutputLabel, blocks, once, several};
use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{LoadKind, StatedPercentile, StatedRun, ToolName};

const LABELS: [OutputLabel; 11] = [
    once(|text| text.starts_with("Summary:")),
    once(|text| text.starts_with("Success rate:")),
    once(|text| text.starts_with("Total:") && timed(text).is_some()),
    once(|text| text.starts_with("Slowest:")),
    once(|text| text.starts_with("Fastest:")),
    once(|text| text.starts_with("Average:")),
    once(|text| text.starts_with("Requests/sec:")),
    several(is_bar),
    several(|text| percentile(text).is_some()),
    several(|text| status(text).is_some()),
    several(|text| error(text).is_some()),
];
const TOTAL: usize = 2;
const SLOWEST: usize = 3;
const FASTEST: usize = 4;
const AVERAGE: usize = 5;
const RATE: usize = 6;
const PERCENTILES: usize = 8;
const STATUS: usize = 9;
const ERRORS: usize = 10;

/// Returns the outputs of hey in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    blocks(paste, &LABELS).iter().filter_map(run).collect()
}

fn run(block: &Block<'_>) -> Option<StatedRun> {
    let of = |label: usize| block.text(label).and_then(timed);
    let (rate, _) = quantities::leading_number(block.value(RATE)?)?;
    let mut run = StatedRun::new(ToolName::Hey, block.start());
    run.load = LoadKind::Closed;
    run.rate = Some(rate);
    run.mean = Some(of(AVERAGE)?);
    [run.duration, run.max, run.min] = [of(TOTAL), of(SLOWEST), of(FASTEST)];
    // A percentile of 0 % at 0 s stands for one that there were too few requests for.
    let percentiles = block.texts(PERCENTILES).filter_map(percentile);
    run.percentiles = percentiles.filter(|percentile| percentile.q > 0.0).collect();
    let statuses: Vec<(u64, u64)> = block.texts(STATUS).filter_map(status).collect();
    let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    if !statuses.is_empty() {
        let errors: Vec<(u64, &str)> = block.texts(ERRORS).filter_map(error).collect();
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
    Some(run)
}

/// Reads the time in `Average:\t0.0035 secs`.
fn timed(text: &str) -> Option<PrintedNumber> {
    quantities::leading_time(text.split_once(':')?.1).map(|(time, _)| time)
}

/// Returns `true` for a bar of the histogram: `0.004 [20]   |■■■`.
fn is_bar(text: &str) -> bool {
    text.split_once('[').is_some_and(|(time, rest)| quantities::number(time).is_some() && rest.contains(']'))
        && text.contains('|')
}

/// Reads `99% in 0.0123 secs`.
fn percentile(text: &str) -> Option<StatedPercentile> {
    let (share, rest) = text.split_once('%')?;
    let share = quantities::number(share)?.value;
    let (time, _) = quantities::leading_time(rest.trim_start().strip_prefix("in ")?)?;
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
    fn an_output_of_wrk_is_none_of_hey() {
        let text = "  100 requests in 1.00s, 1MB read\nRequests/sec:    100.00\nTransfer/sec: 1MB\n";
        assert_eq!(read(&PastedText::read(text.as_bytes())), []);
    }
}
