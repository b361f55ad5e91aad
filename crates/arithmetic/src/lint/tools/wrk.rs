//! The output of wrk, and of wrk2, which adds a rate and a spectrum of percentiles.
//!
//! wrk adds made-up samples to its latency in order to correct for coordinated omission, so that its mean need not be
//! that of the requests it sent. Its time-outs are responses that came too late, which are counted and leave no sample.
//! wrk2 looks every two seconds for connections whose last request is too old, answered or not, and counts these.

use super::super::blocks::{Block, OutputLabel, blocks, once, several};
use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{ConnectionReuse, LoadKind, StatedPercentile, StatedRun, ToolName};

const LABELS: [OutputLabel; 10] = [
    once(|text| text.starts_with("Running ") && text.contains(" test @ ")),
    once(|text| connections(text).is_some()),
    several(|text| text.starts_with("Thread calibration")),
    once(|text| latency(text).is_some()),
    once(|text| text.starts_with("Req/Sec")),
    several(is_of_distribution),
    once(|text| requests(text).is_some()),
    once(|text| text.starts_with("Socket errors:")),
    once(|text| text.starts_with("Non-2xx or 3xx responses:")),
    once(|text| text.starts_with("Requests/sec:")),
];
/// Ratios of read errors to requests at which the server closes every connection after its response.
const CLOSES: std::ops::RangeInclusive<f64> = 0.9..=1.1;

const HEAD: usize = 0;
const CONNECTIONS: usize = 1;
const CALIBRATION: usize = 2;
const LATENCY: usize = 3;
const DISTRIBUTION: usize = 5;
const REQUESTS: usize = 6;
const SOCKET_ERRORS: usize = 7;
const OTHER_STATUS: usize = 8;
const RATE: usize = 9;

/// Returns the outputs of wrk and wrk2 in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    blocks(paste, &LABELS).iter().filter_map(run).collect()
}

fn run(block: &Block<'_>) -> Option<StatedRun> {
    let (rate, _) = quantities::leading_number(block.value(RATE)?)?;
    let (requests, duration) = block.text(REQUESTS).and_then(requests)?;
    let is_wrk2 = block.text(CALIBRATION).is_some()
        || block.texts(DISTRIBUTION).any(|text| text.starts_with("Latency Distribution (HdrHistogram"));
    let mut run = StatedRun::new(if is_wrk2 { ToolName::Wrk2 } else { ToolName::Wrk }, block.start());
    run.load = if is_wrk2 { LoadKind::Open } else { LoadKind::Closed };
    run.users = block.text(CONNECTIONS).and_then(connections);
    run.target = block.text(HEAD).and_then(|text| text.split_once(" test @ ")).map(|(_, url)| url.to_owned());
    run.duration = Some(duration);
    let asked = block.text(HEAD).and_then(|text| quantities::leading_time(text.strip_prefix("Running ")?));
    run.asked_duration = asked.map(|(duration, _)| duration);
    run.requests = Some(requests);
    run.timed = run.requests;
    run.rate = Some(rate);
    if let Some([mean, deviation, max]) = block.text(LATENCY).and_then(latency) {
        [run.mean, run.deviation, run.max] = [Some(mean), Some(deviation), Some(max)];
    }
    // wrk2 may print a second distribution, of the times since the requests were sent.
    let corrected = block.texts(DISTRIBUTION).take_while(|text| !text.contains("Uncorrected"));
    run.percentiles = corrected.filter_map(percentile).collect();
    let errors = |name: &str| {
        let (_, rest) = block.text(SOCKET_ERRORS)?.split_once(name)?;
        quantities::leading_number(rest).map(|(number, _)| number.value as u64)
    };
    run.timed_out = errors("timeout ").unwrap_or(0);
    if run.tool == ToolName::Wrk {
        run.timed = Some(requests.saturating_sub(run.timed_out));
    }
    run.unconnected = errors("connect ").unwrap_or(0);
    // A server that closes after each response makes as many read errors as requests, none of which failed.
    let read = errors("read ").unwrap_or(0);
    let closes = read > 0 && CLOSES.contains(&(read as f64 / requests as f64));
    run.reuse = if closes { ConnectionReuse::Fresh } else { ConnectionReuse::Kept };
    let broken = [run.unconnected, if closes { 0 } else { read }, errors("write ").unwrap_or(0)];
    run.failed_outside = broken.into_iter().fold(run.timed_out, u64::saturating_add);
    let other_status = block.value(OTHER_STATUS).and_then(quantities::leading_number);
    run.failed_inside = other_status.map_or(0, |(number, _)| number.value as u64);
    Some(run)
}

/// Reads `12 threads and 400 connections`.
fn connections(text: &str) -> Option<u64> {
    let (_, rest) = quantities::leading_number(text)?;
    let rest =
        rest.trim_start().strip_prefix("threads and ").or_else(|| rest.trim_start().strip_prefix("thread and "))?;
    let (connections, rest) = quantities::leading_number(rest)?;
    rest.trim_start().starts_with("connection").then_some(connections.value as u64)
}

/// Reads `Latency   635.91us    0.89ms  12.92ms   93.69%`: mean, deviation, maximum.
fn latency(text: &str) -> Option<[PrintedNumber; 3]> {
    let mut rest = text.strip_prefix("Latency")?;
    let mut times = [PrintedNumber::default(); 3];
    for time in &mut times {
        (*time, rest) = quantities::leading_time(rest)?;
    }
    Some(times)
}

/// Reads `50%  250.00us`, or ` 99.900%    5.72ms` of wrk2.
fn percentile(text: &str) -> Option<StatedPercentile> {
    let (share, rest) = text.split_once('%')?;
    let share = quantities::number(share)?.value;
    let time = quantities::time(rest)?;
    (0.0..=100.0).contains(&share).then(|| StatedPercentile { q: share / 100.0, time })
}

/// Returns `true` for a line of a distribution: its head, a percentile, the spectrum of wrk2 and its summary.
fn is_of_distribution(text: &str) -> bool {
    let is_number = |word: &str| quantities::number(word).is_some() || word == "inf";
    let heads = ["Latency Distribution", "Detailed Percentile", "[Mean", "[Max", "[Buckets"];
    heads.iter().any(|head| text.starts_with(head))
        || percentile(text).is_some()
        || (text.split_whitespace().count() >= 3 && text.split_whitespace().all(is_number))
}

/// Reads `22464657 requests in 30.00s, 17.76GB read`.
fn requests(text: &str) -> Option<(u64, PrintedNumber)> {
    let (requests, rest) = quantities::leading_number(text)?;
    let (duration, rest) = quantities::leading_time(rest.trim_start().strip_prefix("requests in ")?)?;
    rest.starts_with(',').then_some((requests.value as u64, duration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_output_is_read() {
        let text = "\
Running 30s test @ http://127.0.0.1:8080/
  10 threads and 200 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    16.08ms   34.40ms 501.10ms   88.69%
    Req/Sec     8.74k     5.97k   43.64k    71.99%
  Latency Distribution
     50%    1.11ms
     99%  162.80ms
  2525852 requests in 30.08s, 387.82MB read
  Socket errors: connect 0, read 233, write 0, timeout 7
  Non-2xx or 3xx responses: 5
Requests/sec:  83974.71
Transfer/sec:     12.89MB
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.tool, run.users, run.requests), (ToolName::Wrk, Some(200), Some(2_525_852)));
        assert_eq!(run.asked_duration.map(|duration| duration.value), Some(30.0));
        assert_eq!((run.timed_out, run.failed_outside, run.failed_inside), (7, 240, 5));
        assert!(run.mean.is_some_and(|mean| (mean.value - 0.01608).abs() < 1e-9));
        assert!(run.percentile(0.99).is_some_and(|time| (time.value - 0.1628).abs() < 1e-9));
    }

    #[test]
    fn a_server_that_closes_its_connections_fails_no_request() {
        let text = "  1000 requests in 1.00s, 40.27MB read\n  Socket errors: connect 0, read 999, write 0, timeout 0\n\
            Requests/sec:   1000.00\n";
        let runs = read(&PastedText::read(text.as_bytes()));
        assert_eq!((runs[0].failed_outside, runs[0].reuse), (0, ConnectionReuse::Fresh));
        let runs = read(&PastedText::read(text.replace("read 999", "read 3000").as_bytes()));
        assert_eq!((runs[0].failed_outside, runs[0].reuse), (3000, ConnectionReuse::Kept));
    }

    #[test]
    fn wrk2_is_told_by_its_spectrum() {
        let text = "\
  1 threads and 64 connections
  Thread calibration: mean lat.: 1.464ms, rate sampling interval: 10ms
    Latency     1.44ms  706.00us  12.92ms   68.59%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.37ms
100.000%   12.93ms
  Detailed Percentile spectrum:
       0.067     0.000000            1         1.00
      12.927     1.000000        99460          inf
#[Mean    =        1.440, StdDeviation   =        0.706]
  119960 requests in 1.00m, 7.66MB read
Requests/sec:   1999.36
";
        let runs = read(&PastedText::read(text.as_bytes()));
        assert_eq!((runs.len(), runs[0].tool, runs[0].load), (1, ToolName::Wrk2, LoadKind::Open));
        assert_eq!(runs[0].duration.map(|duration| duration.value), Some(60.0));
    }
}
