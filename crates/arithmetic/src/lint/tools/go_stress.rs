//! The table of go-stress-testing: a row a second, every number of it counted since the start.
//!
//! Its qps is successes × users ÷ the sum of all times: users ÷ mean, not requests ÷ time.

use super::super::paste::{PastedLine, PastedText};
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{CumulativeRow, LoadKind, StatedPercentile, StatedRun, ToolName};
use super::table::drawn_cells;

const MS: f64 = 1e-3;

/// Returns the outputs of go-stress-testing in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    let mut runs: Vec<StatedRun> = Vec::new();
    for line in &paste.lines {
        if let Some((row, times)) = row(&line.text) {
            let goes_on = runs.last().and_then(|run| run.rows.last()).is_some_and(|last| {
                row.at_s >= last.at_s && row.succeeded >= last.succeeded && row.failed >= last.failed
            });
            if !goes_on {
                runs.push(begin(line));
            }
            if let Some(run) = runs.last_mut() {
                add(run, row, times);
            }
        } else if let Some(run) = runs.last_mut() {
            total(run, &line.text);
        }
    }
    runs
}

fn begin(line: &PastedLine) -> StatedRun {
    let mut run = StatedRun::new(ToolName::GoStressTesting, line.number);
    run.load = LoadKind::Closed;
    run
}

/// Takes the figures of a row, which replace those of the rows before.
fn add(run: &mut StatedRun, row: CumulativeRow, [rate, max, min, mean]: [PrintedNumber; 4]) {
    run.users = Some(row.users);
    run.requests = Some(row.succeeded.saturating_add(row.failed));
    run.timed = run.requests;
    run.failed_inside = row.failed;
    run.rate = Some(rate);
    [run.max, run.min, run.mean] = [max, min, mean].map(|time| Some(time.times(MS)));
    run.rows.push(row);
}

/// Takes the lines after the table: the duration, the number of users, percentiles.
fn total(run: &mut StatedRun, text: &str) {
    if let Some((_, rest)) = text.split_once("总请求时间:") {
        run.duration = quantities::leading_number(rest).map(|(seconds, _)| seconds);
    }
    if let Some((_, rest)) = text.split_once("处理协程数量:") {
        run.users = quantities::leading_number(rest).map(|(users, _)| users.value as u64).or(run.users);
    }
    for (name, q) in [("tp90:", 0.9), ("tp95:", 0.95), ("tp99:", 0.99)] {
        if let Some((time, _)) = text.split_once(name).and_then(|(_, rest)| quantities::leading_number(rest)) {
            run.percentiles.push(StatedPercentile { q, time: time.times(MS) });
        }
    }
}

/// Reads `5s│ 300│ 79119│ 0│19134.52│ 45.81│ 0.63│ 15.68│ │ │200:79119`.
fn row(text: &str) -> Option<(CumulativeRow, [PrintedNumber; 4])> {
    let cells = drawn_cells(text);
    let [at, users, succeeded, failed, rate, max, min, mean, ..] = cells[..] else { return None };
    let at = quantities::number(at.strip_suffix('s')?)?;
    let [rate, max, min, mean] = [rate, max, min, mean].map(quantities::number);
    let times = [rate?, max?, min?, mean?];
    let row = CumulativeRow {
        at_s: at.value,
        users: quantities::count(users)?,
        succeeded: quantities::count(succeeded)?,
        failed: quantities::count(failed)?,
        rate_per_s: times[0].value,
        mean_s: times[3].value * MS,
    };
    Some((row, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_what_follows_it_are_read() {
        let text = "\
 耗时│ 并发数 │ 成功数│ 失败数 │   qps  │最长耗时 │最短耗时│平均耗时 │ 错误码
   1s│      2│      8│      0│    8.09│  133.16│  110.98│  123.56│200:8
   2s│      2│     15│      1│    8.02│  138.74│  110.98│  124.61│200:15;509:1

*************************  结果 stat  ****************************
处理协程数量: 2
请求总数: 16 总请求时间: 2.055 秒 successNum: 15 failureNum: 1
tp90: 130.000
   1s│      1│      3│      0│    8.09│  133.16│  110.98│  123.56│200:3
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [first, second] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((first.rows.len(), first.requests, first.failed_inside), (2, Some(16), 1));
        assert_eq!(first.duration.map(|duration| duration.value), Some(2.055));
        assert_eq!(first.percentile(0.9).map(|time| time.value), Some(0.13));
        assert_eq!((second.rows.len(), second.users), (1, Some(1)));
    }
}
