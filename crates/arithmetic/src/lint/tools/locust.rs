//! The tables of Locust: text at the end of a run without the web page, and CSV.
//!
//! Failed requests are in all of its times. Times are rounded to two digits before percentiles are taken. Every column
//! of percentiles is printed, however few requests there were.

use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{StatedPart, StatedPercentile, StatedRun, ToolName};
use super::table::{TableHead, cells};

const MS: f64 = 1e-3;

/// Names whose percentiles are compared with the total; a table of more has none compared.
const MOST_NAMES: usize = 1000;

/// A row of a table, named as it is printed.
struct StatsRow {
    name: String,
    requests: u64,
    failed: u64,
    /// Mean, minimum, maximum, median in milliseconds, and requests per second.
    figures: [Option<PrintedNumber>; 5],
    percentiles: Vec<StatedPercentile>,
}

/// Returns the outputs of Locust in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    let mut runs = csv(paste);
    runs.extend(text(paste));
    runs
}

/// Returns the run of these rows, of which the last is the total.
fn run(rows: Vec<StatsRow>, line: usize) -> Option<StatedRun> {
    let mut rows = rows;
    let total = rows.pop()?;
    let [mean, min, max, median, rate] = total.figures;
    let mut run = StatedRun::new(ToolName::Locust, line);
    run.requests = Some(total.requests);
    run.timed = run.requests;
    run.failed_inside = total.failed;
    [run.mean, run.min, run.max] = [mean, min, max].map(|time| time.map(|time| time.times(MS)));
    run.rate = rate;
    let median = median.map(|median| StatedPercentile { q: 0.5, time: median.times(MS) });
    run.percentiles = if total.percentiles.is_empty() { median.into_iter().collect() } else { total.percentiles };
    let part = |row: StatsRow| StatedPart { name: row.name, requests: row.requests, percentiles: row.percentiles };
    run.parts = if rows.len() > MOST_NAMES { Vec::new() } else { rows.into_iter().map(part).collect() };
    Some(run)
}

/// Returns `true` for the name of the total, which has the type «None» in some versions.
fn is_total(name: &str) -> bool {
    let name = name.trim();
    ["Aggregated", "Total"].contains(&name.strip_prefix("None ").unwrap_or(name))
}

/// Returns the runs of CSV files: `Type,Name,Request Count,Failure Count,…`.
fn csv(paste: &PastedText) -> Vec<StatedRun> {
    let mut runs = Vec::new();
    let mut head: Option<(TableHead, usize)> = None;
    let mut rows: Vec<StatsRow> = Vec::new();
    for line in &paste.lines {
        let new = TableHead::new(&line.text);
        if new.column(&["name"]).is_some() && new.column(&["request count", "# requests"]).is_some() {
            (head, rows) = (Some((new, line.number)), Vec::new());
            continue;
        }
        let Some(row) = head.as_ref().and_then(|(head, _)| csv_row(head, &cells(&line.text))) else { continue };
        let ends = is_total(&row.name);
        rows.push(row);
        if let Some((_, number)) = head.as_ref().filter(|_| ends) {
            runs.extend(run(std::mem::take(&mut rows), *number));
            head = None;
        }
    }
    runs
}

fn csv_row(head: &TableHead, row: &[String]) -> Option<StatsRow> {
    let of = |names: &[&str]| quantities::number(row.get(head.column(names)?)?);
    let percentile =
        |(at, q): (usize, f64)| Some(StatedPercentile { q, time: quantities::number(row.get(at)?)?.times(MS) });
    Some(StatsRow {
        name: row.get(head.column(&["name"])?)?.clone(),
        requests: of(&["request count", "# requests"])?.value as u64,
        failed: of(&["failure count", "# failures"])?.value as u64,
        figures: [
            of(&["average response time"]),
            of(&["min response time"]),
            of(&["max response time"]),
            of(&["median response time"]),
            of(&["requests/s"]),
        ],
        percentiles: head.percentiles().into_iter().filter_map(percentile).collect(),
    })
}

/// Returns the runs printed as text. While a run goes on, its table is printed again and again; the last one stands.
fn text(paste: &PastedText) -> Vec<StatedRun> {
    let mut runs: Vec<StatedRun> = Vec::new();
    let (mut rows, mut start): (Vec<StatsRow>, Option<usize>) = (Vec::new(), None);
    let mut shares: Vec<f64> = Vec::new();
    for line in &paste.lines {
        if line.text.contains("# reqs") && line.text.contains("# fails") {
            (rows, start) = (Vec::new(), Some(line.number));
        } else if line.text.contains("50%") && line.text.contains("# reqs") {
            shares = columns(&line.text);
        } else if let Some(row) = start.and_then(|_| text_row(&line.text)) {
            let ends = is_total(&row.name);
            rows.push(row);
            if let Some(number) = start.filter(|_| ends) {
                start = None;
                let Some(run) = run(std::mem::take(&mut rows), number) else { continue };
                match runs.last_mut() {
                    Some(last) if last.requests <= run.requests => *last = run,
                    _ => runs.push(run),
                }
            }
        } else if let Some(run) = runs.last_mut().filter(|_| !shares.is_empty()) {
            percentile_row(run, &line.text, &shares);
        }
    }
    runs
}

/// Reads `GET  /  58125  0(0.00%) | 7 0 106 4 | 991.07 0.00`; older versions have no type.
fn text_row(text: &str) -> Option<StatsRow> {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "|").collect();
    let at = words.iter().position(|word| word.ends_with("%)") && word.contains('('))?;
    let failed = quantities::count(words[at].split_once('(')?.0)?;
    let requests = quantities::count(words.get(at.checked_sub(1)?)?)?;
    let numbers: Vec<PrintedNumber> = words[at + 1..].iter().map_while(|word| quantities::number(word)).collect();
    let [mean, min, max, median, rate, ..] = numbers[..] else { return None };
    let figures = [mean, min, max, median, rate].map(Some);
    let name = words[..at - 1].join(" ");
    Some(StatsRow { name, requests, failed, figures, percentiles: Vec::new() })
}

/// Returns the shares of the columns of a head of percentiles, without that of 100 %.
fn columns(text: &str) -> Vec<f64> {
    let share = |word: &str| quantities::number(word.strip_suffix('%')?).map(|share| share.value / 100.0);
    text.split_whitespace().filter_map(share).collect()
}

/// Takes the percentiles of a row: name, times, and the number of requests after or, in older versions, before them.
fn percentile_row(run: &mut StatedRun, text: &str, shares: &[f64]) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some(first) = words.len().checked_sub(shares.len() + 1) else { return };
    let numbers: Option<Vec<PrintedNumber>> = words[first..].iter().map(|word| quantities::number(word)).collect();
    let Some(numbers) = numbers else { return };
    let name = words[..first].join(" ");
    let known = if is_total(&name) {
        run.requests
    } else {
        run.parts.iter().find(|part| part.name == name).map(|p| p.requests)
    };
    let Some(known) = known else { return };
    let times = match (numbers.last().map(|n| n.value as u64), numbers.first().map(|n| n.value as u64)) {
        (Some(last), _) if last == known => &numbers[..shares.len()],
        (_, Some(first)) if first == known => &numbers[1..],
        _ => return,
    };
    let made = |(q, time): (&f64, &PrintedNumber)| StatedPercentile { q: *q, time: time.times(MS) };
    let percentiles = shares.iter().zip(times).filter(|(q, _)| **q < 1.0).map(made).collect();
    if is_total(&name) {
        run.percentiles = percentiles;
    } else if let Some(part) = run.parts.iter_mut().find(|part| part.name == name) {
        part.percentiles = percentiles;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_table_of_a_run_is_read() {
        let text = "\
Type     Name       # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|----------|-------|-------------|-------|-------|-------|-------|--------|-----------
GET      /              10     0(0.00%) |      7       0     106      4 |    9.00        0.00
         Aggregated     10     0(0.00%) |      7       0     106      4 |    9.00        0.00
Type     Name       # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
GET      /            1000    10(1.00%) |      7       0     106      4 |   99.07        1.00
GET      /b            500     0(0.00%) |      9       0     206      8 |   50.00        0.00
         Aggregated   1500    10(0.67%) |      8       0     206      5 |  149.07        1.00
Response time percentiles (approximated)
Type     Name          50%    66%    95%    99%  99.9%   100% # reqs
GET      /               4      5     20     50    100    106   1000
GET      /b              8      9     30     60    200    206    500
         Aggregated      5      7     25     55    190    206   1500
";
        let runs = super::read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.requests, run.failed_inside, run.parts.len()), (Some(1500), 10, 2));
        assert_eq!(run.percentile(0.999).map(|time| time.value), Some(0.19));
        assert_eq!(run.parts[1].percentiles.len(), 5);
        let typed = text.replace("         Aggregated      5", "None     Aggregated      5");
        assert_eq!(super::read(&PastedText::read(typed.as_bytes()))[0].percentiles.len(), 5);
    }

    #[test]
    fn csv_is_read() {
        let text = "\
Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,99%,100%
GET,/,1000,10,4,7.5,0.1,106.2,12.0,99.07,1.0,4,50,110
,Aggregated,1000,10,4,7.5,0.1,106.2,12.0,99.07,1.0,4,50,110
";
        let runs = super::read(&PastedText::read(text.as_bytes()));
        let [run] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((run.requests, run.parts.len(), run.percentiles.len()), (Some(1000), 1, 2));
        assert_eq!(run.mean.map(|mean| mean.value), Some(0.0075));
    }
}
