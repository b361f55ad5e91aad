//! S6: the service stands still again and again, at equal distances.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "the service stands still every {period}, {n} times in this run, for up to {longest}",
    "服务每隔 {period} 停顿一次，本次共 {n} 次，最长 {longest}",
);
const EVIDENCE: Text = text(
    "slow responses in seconds {at} of the window; a usual second has none above {usual}",
    "窗口的第 {at} 秒出现慢响应；平常每秒不超过 {usual}",
);
const REMEDY: Text = text(
    "look for what happens at that distance: garbage collection (its log), a checkpoint of the database, an append-only file rewritten, a job of cron",
    "查找同周期的事件：垃圾回收（GC 日志）、数据库 checkpoint、AOF 重写、定时任务",
);
const EXPERIMENT: Text = text(
    "with twice the load a garbage collector stops twice as often, and a clock does not",
    "负载翻倍时，垃圾回收会加倍频繁，而定时任务不会",
);

/// A second is slow where its slow responses took this long, in seconds, and so many times the usual.
const LEAST: f64 = 0.1;
const TIMES: f64 = 5.0;
/// So many stalls, so far apart on average.
const STALLS: usize = 5;
const APART: f64 = 3.0;
/// Distances differ by so much at most, in seconds and as a share of their mean: seconds are as fine as a record is.
const OFF: f64 = 0.7;
const OFF_SHARE: f64 = 0.15;

pub(super) const PAGE: Page = Page {
    rule: "S6",
    title: text("Stalls at equal distances", "周期性停顿"),
    sign: text("a comb of slow seconds over the time of the run", "慢响应按固定周期出现"),
    remedy: REMEDY,
    beware: Some(text(
        "an average hides stalls, and so does p99 of a closed load: look at p99.9 of a rate",
        "平均值会掩盖停顿，闭环压测的 p99 也会：请看固定速率下的 p99.9",
    )),
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let seconds = &case.run.slow_each_second;
    let usual = median(seconds);
    let slow = |time: f64| time >= LEAST.max(TIMES * usual);
    // Neighbours are one stall, which lies where it was longest.
    let mut stalls: Vec<(usize, f64)> = Vec::new();
    for (at, time) in seconds.iter().enumerate().filter(|(_, time)| slow(**time)) {
        match stalls.last_mut() {
            Some((last, longest)) if at - *last <= 1 => {
                if time > longest {
                    (*last, *longest) = (at, *time);
                }
            }
            _ => stalls.push((at, *time)),
        }
    }
    let period = regular(&stalls)?;
    let longest = stalls.iter().map(|stall| stall.1).fold(0.0, f64::max);
    let shown = words::show::seconds;
    let facts = [("period", shown(period)), ("n", stalls.len().to_string()), ("longest", shown(longest))];
    let some: Vec<String> = stalls.iter().take(6).map(|(at, _)| (at + 1).to_string()).collect();
    let at = if stalls.len() > some.len() { some.join(", ") + " …" } else { some.join(", ") };
    let evidence = Said::new(EVIDENCE, [("at", at), ("usual", shown(LEAST.max(TIMES * usual)))]);
    let found = Found::new("S6", Stage::Service, Proof::Consistent, Said::new(CLAIM, facts), evidence);
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

/// The distance of stalls in seconds, where it is the same each time.
fn regular(stalls: &[(usize, f64)]) -> Option<f64> {
    if stalls.len() < STALLS {
        return None;
    }
    let apart: Vec<f64> = stalls.windows(2).map(|two| (two[1].0 - two[0].0) as f64).collect();
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    let off = OFF.max(OFF_SHARE * mean);
    (mean >= APART && apart.iter().all(|distance| (distance - mean).abs() <= off)).then_some(mean)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};
    use crate::run::Run;

    fn slow(seconds: usize, is_slow: fn(usize) -> bool) -> impl FnOnce(&mut Run) {
        move |run| {
            run.slow_each_second = (0..seconds).map(|at| if is_slow(at) { 0.4 } else { 0.01 }).collect();
        }
    }

    #[test]
    fn stalls_at_equal_distances() {
        assert_eq!(judged(judge, slow(60, |at| at % 7 == 3), counted(&[])), Some("consistent"));
        assert_eq!(judged(judge, slow(60, |at| at % 7 == 3 || at % 7 == 4), counted(&[])), Some("consistent"));
        assert_eq!(judged(judge, slow(60, |at| [3, 9, 14, 31, 50].contains(&at)), counted(&[])), None, "at any time");
        assert_eq!(judged(judge, slow(20, |at| at % 7 == 3), counted(&[])), None, "too few to tell");
        assert_eq!(judged(judge, slow(60, |at| at % 2 == 0), counted(&[])), None, "it is slow half of the time");
        assert_eq!(judged(judge, slow(60, |_| true), counted(&[])), None, "it is slow always");
        assert_eq!(judged(judge, |_| (), counted(&[])), None);
    }
}
