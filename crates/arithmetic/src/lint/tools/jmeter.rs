//! The aggregate and summary reports of JMeter as tables, and the lines of its summariser.
//!
//! Failed samples are in all of their figures. How many threads ran is in neither of the tables.

use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{StatedPart, StatedPercentile, StatedRun, ToolName};
use super::table::{TableHead, cells, is_rule};

const MS: f64 = 1e-3;

/// Names of the columns, in lower case, in English and Chinese.
const LABEL: [&str; 2] = ["label", "标签"];
const SAMPLES: [&str; 4] = ["# samples", "samples", "# 样本", "样本"];
const AVERAGE: [&str; 2] = ["average", "平均值"];
const MEDIAN: [&str; 2] = ["median", "中位数"];
const MIN: [&str; 2] = ["min", "最小值"];
const MAX: [&str; 3] = ["max", "maximum", "最大值"];
const DEVIATION: [&str; 3] = ["std. dev.", "std.dev.", "标准偏差"];
const ERRORS: [&str; 3] = ["error %", "error", "异常 %"];
const THROUGHPUT: [&str; 3] = ["throughput", "throughput (req/sec)", "吞吐量"];
const TOTAL: [&str; 3] = ["TOTAL", "Total", "总体"];

/// Returns the reports in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    let mut runs = Vec::new();
    let mut lines = paste.lines.iter().peekable();
    while let Some(line) = lines.next() {
        let head = TableHead::new(&line.text);
        let (Some(label), Some(samples), Some(_)) = (head.column(&LABEL), head.column(&SAMPLES), head.column(&AVERAGE))
        else {
            continue;
        };
        let mut rows = Vec::new();
        while let Some(row) = lines.peek().map(|row| cells(&row.text)) {
            if is_rule(&row) {
                lines.next();
                continue;
            }
            if row.get(samples).and_then(|samples| quantities::count(samples)).is_none() {
                break;
            }
            rows.push(row);
            lines.next();
        }
        runs.extend(report(&head, label, &rows, line.number));
    }
    runs
}

/// Returns the run of a table: its last row if that is the total, or its only row.
fn report(head: &TableHead, label: usize, rows: &[Vec<String>], line: usize) -> Option<StatedRun> {
    let (last, others) = rows.split_last()?;
    let is_total = last.get(label).is_some_and(|name| TOTAL.contains(&name.as_str()));
    if !is_total && !others.is_empty() {
        return None;
    }
    let mut run = StatedRun::new(ToolName::JMeter, line);
    let of = |names: &[&str]| figure(last.get(head.column(names)?)?);
    let requests = of(&SAMPLES)?.value as u64;
    run.requests = Some(requests);
    run.timed = Some(requests);
    [run.mean, run.min, run.max, run.deviation] =
        [of(&AVERAGE), of(&MIN), of(&MAX), of(&DEVIATION)].map(|time| time.map(|time| time.times(MS)));
    let percentiles = of_row(head, last);
    run.percentiles = percentiles;
    run.failed_inside = of(&ERRORS).map_or(0, |share| (share.value / 100.0 * requests as f64).round() as u64);
    run.rate = head.column(&THROUGHPUT).and_then(|at| throughput(last.get(at)?));
    run.parts = others.iter().filter_map(|row| part(head, label, row)).collect();
    Some(run)
}

fn part(head: &TableHead, label: usize, row: &[String]) -> Option<StatedPart> {
    let requests = quantities::count(row.get(head.column(&SAMPLES)?)?)?;
    Some(StatedPart { name: row.get(label)?.clone(), requests, percentiles: of_row(head, row) })
}

/// Returns the percentiles of a row.
fn of_row(head: &TableHead, row: &[String]) -> Vec<StatedPercentile> {
    let median = head.column(&MEDIAN).map(|at| (at, 0.5));
    let columns = median.into_iter().chain(head.percentiles());
    let one = |(at, q): (usize, f64)| {
        let time = figure(row.get(at)?)?.times(MS);
        Some(StatedPercentile { q, time })
    };
    columns.filter_map(one).collect()
}

/// Reads a figure, with the unit that people add and the decimal comma that some languages have: `253 ms`, `21,05%`.
fn figure(text: &str) -> Option<PrintedNumber> {
    quantities::number(with_decimal_point(text).trim_end_matches("ms"))
}

/// Returns a text with a point in place of a comma that does not group thousands.
fn with_decimal_point(text: &str) -> String {
    let decimals = text.split_once(',').map_or(0, |(_, rest)| rest.chars().take_while(char::is_ascii_digit).count());
    // A share is below a thousand.
    let is_decimal = text.matches(',').count() == 1 && !text.contains('.') && (decimals != 3 || text.ends_with('%'));
    if is_decimal { text.replace(',', ".") } else { text.to_owned() }
}

/// Reads `23.1/min`, as the window shows it, or a number per second, as files have it.
fn throughput(text: &str) -> Option<PrintedNumber> {
    let text = with_decimal_point(text);
    let (rate, unit) = quantities::leading_number(&text)?;
    match unit.trim() {
        "" | "/sec" | "/s" => Some(rate),
        "/min" => Some(rate.times(1.0 / 60.0)),
        "/hour" => Some(rate.times(1.0 / 3600.0)),
        _ => None,
    }
}

/// Returns the runs of which the summariser printed lines: `summary = 1000 in 00:01:00 = 16.7/s Avg: 12 …`.
pub fn read_lines(paste: &PastedText) -> Vec<StatedRun> {
    let mut runs: Vec<StatedRun> = Vec::new();
    let mut since_last = None;
    for line in &paste.lines {
        if let Some(requests) = interval_line(&line.text) {
            since_last = Some(requests.saturating_add(since_last.unwrap_or(0)));
        }
        let Some(run) = total_line(&line.text, line.number) else { continue };
        // Each of these lines counts since the start, so that the last one of a run stands for all.
        match runs.last_mut() {
            Some(last) if goes_on(last, &run, since_last) => *last = run,
            _ => runs.push(run),
        }
        since_last = None;
    }
    runs
}

/// Returns `true` if a total is that of the same run as the last one, with the requests of the intervals in between.
fn goes_on(last: &StatedRun, now: &StatedRun, since_last: Option<u64>) -> bool {
    let (before, after) = (last.requests.unwrap_or(0), now.requests.unwrap_or(0));
    let grows =
        after >= before && last.duration.zip(now.duration).is_none_or(|(before, after)| after.value >= before.value);
    // The first total of a run is the sum of its intervals.
    grows && since_last.is_none_or(|requests| before.saturating_add(requests) == after || requests != after)
}

/// Reads the requests of an interval: `summary + 100 in 00:00:10 = 10.0/s …`.
fn interval_line(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("ummary +").or_else(|| text.split_once("Summary Results +"))?;
    quantities::leading_number(rest).map(|(requests, _)| requests.value as u64)
}

fn total_line(text: &str, number: usize) -> Option<StatedRun> {
    let (_, rest) = text.split_once("ummary =").or_else(|| text.split_once("Summary Results ="))?;
    let (requests, rest) = quantities::leading_number(rest)?;
    let (duration, rest) = rest.trim_start().strip_prefix("in ")?.split_once('=')?;
    let (rate, rest) = quantities::leading_number(rest)?;
    let after = |key: &str| quantities::leading_number(rest.split_once(key)?.1).map(|(number, _)| number);
    let mut run = StatedRun::new(ToolName::JMeter, number);
    run.requests = Some(requests.value as u64);
    run.timed = run.requests;
    run.duration = clock(duration.trim());
    run.rate = rest.starts_with("/s").then_some(rate);
    [run.mean, run.min, run.max] = ["Avg:", "Min:", "Max:"].map(|key| Some(after(key)?.times(MS)));
    run.failed_inside = after("Err:").map_or(0, |errors| errors.value as u64);
    Some(run)
}

/// Reads `00:01:30`, or `5.0s` of older versions.
fn clock(text: &str) -> Option<PrintedNumber> {
    if let Some(time) = quantities::time(text) {
        return Some(time);
    }
    let parts: Vec<f64> =
        text.split(':').map(|part| quantities::number(part).map(|n| n.value)).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    Some(PrintedNumber { value: hours * 3600.0 + minutes * 60.0 + seconds, half_unit: 0.5 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aggregate_report_is_read() {
        let text = "\
Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput,Received KB/sec
login,400,120,100,200,250,300,10,400,0.00%,4.0,1
\"list, all\",600,60,50,100,125,150,5,200,5.00%,6.0,1
TOTAL,1000,84,60,150,200,280,5,400,3.00%,10.0,2
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.requests, run.failed_inside, run.parts.len()), (Some(1000), 30, 2));
        assert_eq!((run.percentile(0.99).map(|t| t.value), run.parts[1].name.as_str()), (Some(0.28), "list, all"));
        let zh = text.replace("Label,# Samples,Average,Median,90% Line", "标签,# 样本,平均值,中位数,90% 百分位");
        assert_eq!(read(&PastedText::read(zh.as_bytes())).len(), 1);
        let rows: Vec<String> = text.replace("list, all", "list").lines().map(|row| row.replace(',', " | ")).collect();
        let drawn = format!("| {} |\n|---|:--|\n| {} |\n", rows[0], rows[1..].join(" |\n| "));
        let runs = read(&PastedText::read(drawn.as_bytes()));
        assert_eq!((runs.len(), runs[0].requests, runs[0].parts.len()), (1, Some(1000), 2), "{drawn}");
    }

    #[test]
    fn figures_have_units_and_decimal_commas() {
        let text = "\
| Label | # Samples | Average | Min | Max | Error % | Throughput |
|---|---|---|---|---|---|---|
| a | 1,000 | 253 ms | 10 ms | 1,685 ms | 21,05% | 3,20/s |
| **TOTAL** | **1,000** | **253 ms** | **10 ms** | **1,685 ms** | **21,050%** | **3,20/s** |
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.requests, run.failed_inside), (Some(1000), 211));
        let figures = [run.mean, run.max, run.rate].map(|figure| figure.map(|figure| figure.value));
        assert_eq!(figures, [Some(0.253), Some(1.685), Some(3.2)]);
    }

    #[test]
    fn the_last_line_of_the_summariser_stands_for_the_run() {
        let text = "\
summary +    100 in 00:00:10 =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%) Active: 5 Started: 5 Finished: 0
summary =    100 in 00:00:10 =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%)
2023-01-01 00:00:00,000 INFO o.a.j.r.Summariser: summary =    900 in 00:01:30 =   10.0/s Avg:    95 Min:    12 Max:   410 Err:     9 (1.00%)
";
        let runs = read_lines(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.requests, run.failed_inside, run.line), (Some(900), 9, 3));
        assert_eq!(run.duration.map(|duration| duration.value), Some(90.0));
    }

    #[test]
    fn a_longer_run_after_a_shorter_one_is_its_own() {
        let text = "\
summary +     60 in     6s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%) Active: 5 Started: 5 Finished: 0
summary +     40 in     4s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%) Active: 0 Started: 5 Finished: 5
summary =    100 in    10s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%)
summary +    150 in    15s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%) Active: 5 Started: 5 Finished: 0
summary =    150 in    15s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%)
summary +     50 in     5s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%) Active: 0 Started: 5 Finished: 5
summary =    200 in    20s =   10.0/s Avg:    90 Min:    12 Max:   210 Err:     0 (0.00%)
";
        let runs = read_lines(&PastedText::read(text.as_bytes()));
        assert_eq!(runs.iter().map(|run| run.requests).collect::<Vec<_>>(), [Some(100), Some(200)]);
    }
}
