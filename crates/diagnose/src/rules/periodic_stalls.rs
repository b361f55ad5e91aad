//! S6: the service stalls repeatedly, at regular intervals.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S6",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("Stalls at regular intervals", "周期性停顿"),
    symptom: text("slow seconds at regular intervals throughout the run", "慢响应按固定周期出现"),
    remedy: text(
        "look for what happens at that interval: garbage collection (GC log), a database checkpoint, an AOF rewrite, a \
            cron job",
        "查找同周期的事件：垃圾回收（GC 日志）、数据库 checkpoint、AOF 重写、定时任务",
    ),
    experiment: text(
        "at twice the load, a garbage collector pauses twice as often; anything on a timer does not",
        "负载翻倍时，垃圾回收会加倍频繁，而定时任务不会",
    ),
    caution: Some(text(
        "averages hide stalls, and so does the p99 of a closed load: look at p99.9 at a fixed rate",
        "平均值会掩盖停顿，固定并发（闭环）的 p99 也会：请看固定速率下的 p99.9",
    )),
    judge,
};

const CLAIM: Text = text(
    "the service stalls every {period}: {n} times in this run, for up to {longest}",
    "服务每隔 {period} 停顿一次，本次共 {n} 次，最长 {longest}",
);
const EVIDENCE: Text = text(
    "slow responses in seconds {at} of the window; a normal second has none above {usual}",
    "统计窗口的第 {at} 秒出现慢响应；平常各秒的响应都不超过 {usual}",
);

/// Minimum response time of a slow second, in seconds and as a multiple of the usual one.
const LEAST: f64 = 0.1;
const TIMES: f64 = 5.0;
/// Minimum number of stalls, and minimum mean interval in seconds.
const STALLS: usize = 5;
const APART: f64 = 3.0;
/// Stricter thresholds for shorter intervals: number, interval, and maximum distance from a regular comb, in seconds.
/// Such intervals occur by chance; such a comb hardly does.
const SHORT_STALLS: usize = 6;
const SHORT_APART: f64 = 2.0;
const ON_COMB: f64 = 0.6;
/// Minimum number of responses per second for short intervals.
const SHORT_PER_S: f64 = 20.0;
/// Maximum deviation of the intervals, in seconds and as a share of their mean: a record has a resolution of seconds.
const OFF: f64 = 0.7;
const OFF_SHARE: f64 = 0.15;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let seconds = &run.slow_each_second;
    let far = || comb(seconds, at(seconds, 2), far_apart);
    // Half of the seconds may be slow here; with few requests per second, some would be quick by chance.
    let near = || comb(seconds, at(seconds, 4), near_together).filter(|_| run.answered_per_s() >= SHORT_PER_S);
    let StallComb { period, stalls, usual } = far().or_else(near)?;
    let longest = stalls.iter().map(|stall| stall.1).fold(0.0, f64::max);
    let shown = numbers::seconds;
    let facts = [("period", shown(period)), ("n", stalls.len().to_string()), ("longest", shown(longest))];
    let some: Vec<String> = stalls.iter().take(6).map(|(at, _)| (at + 1).to_string()).collect();
    let at = if stalls.len() > some.len() { some.join(", ") + " …" } else { some.join(", ") };
    let evidence = LocalizedSentence::new(EVIDENCE, [("at", at), ("usual", shown(LEAST.max(TIMES * usual)))]);
    Some(consistent(LocalizedSentence::new(CLAIM, facts), evidence))
}

/// Stalls at regular intervals.
struct StallComb {
    period: f64,
    stalls: Vec<(usize, f64)>,
    usual: f64,
}

/// Returns the stalls (seconds that are far slower than usual) if they are periodic.
fn comb(seconds: &[f64], usual: f64, period: fn(&[(usize, f64)], f64) -> bool) -> Option<StallComb> {
    let slow = |time: f64| time >= LEAST.max(TIMES * usual);
    // Adjacent slow seconds are a single stall, placed where it was longest.
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
    let (first, last) = (stalls.first()?.0, stalls.last()?.0);
    let mean = (last - first) as f64 / (stalls.len() - 1).max(1) as f64;
    period(&stalls, mean).then_some(StallComb { period: mean, stalls, usual })
}

fn far_apart(stalls: &[(usize, f64)], mean: f64) -> bool {
    let off = OFF.max(OFF_SHARE * mean);
    let even = |two: &[(usize, f64)]| ((two[1].0 - two[0].0) as f64 - mean).abs() <= off;
    stalls.len() >= STALLS && mean >= APART && stalls.windows(2).all(even)
}

/// Returns `true` if each stall is close to a multiple of the mean interval after the first; unlike intervals, such
/// positions do not drift.
fn near_together(stalls: &[(usize, f64)], mean: f64) -> bool {
    let first = stalls.first().map_or(0.0, |stall| stall.0 as f64);
    let on_comb = |(n, stall): (usize, &(usize, f64))| (stall.0 as f64 - first - n as f64 * mean).abs() <= ON_COMB;
    stalls.len() >= SHORT_STALLS && (SHORT_APART..APART).contains(&mean) && stalls.iter().enumerate().all(on_comb)
}

/// Returns the value below which one `part`-th of the values lie: the median for 2.
fn at(values: &[f64], part: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / part).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    fn slow(seconds: usize, is_slow: fn(usize) -> bool) -> impl FnOnce(&mut LoadResults) {
        move |run| {
            run.slow_each_second = (0..seconds).map(|at| if is_slow(at) { 0.4 } else { 0.01 }).collect();
        }
    }

    #[test]
    fn stalls_at_equal_distances() {
        assert_eq!(judged(&RULE, slow(60, |at| at % 7 == 3), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, slow(60, |at| at % 7 == 3 || at % 7 == 4), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, slow(60, |at| [3, 9, 14, 31, 50].contains(&at)), counted(&[])), None, "at any time");
        assert_eq!(judged(&RULE, slow(20, |at| at % 7 == 3), counted(&[])), None, "too few to tell");
        assert_eq!(judged(&RULE, slow(14, |at| at % 2 == 0), counted(&[])), Some("consistent"), "each two seconds");
        assert_eq!(
            judged(&RULE, slow(20, |at| [0, 2, 5, 7, 10, 12, 15, 17].contains(&at)), counted(&[])),
            Some("consistent")
        );
        assert_eq!(
            judged(&RULE, slow(20, |at| [0, 2, 4, 7, 10, 13, 15, 17].contains(&at)), counted(&[])),
            None,
            "no comb"
        );
        assert_eq!(judged(&RULE, slow(10, |at| at % 2 == 0), counted(&[])), None, "too few so near to each other");
        assert_eq!(judged(&RULE, slow(60, |_| true), counted(&[])), None, "it is slow always");
        assert_eq!(judged(&RULE, |_| (), counted(&[])), None);
    }
    /// Returns the third-slowest response time in each second of a healthy service with Poisson arrivals and
    /// exponential service times.
    fn healthy(seed: u64, per_s: f64, mean_s: f64, seconds: usize) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut exponential = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            -(((state >> 11) as f64 + 1.0) / (1u64 << 53) as f64).ln()
        };
        let mut second = || {
            let (mut at, mut times) = (exponential() / per_s, Vec::new());
            while at < 1.0 {
                times.push(exponential() * mean_s);
                at += exponential() / per_s;
            }
            times.sort_by(f64::total_cmp);
            times.len().checked_sub(3).map_or(0.0, |third| times[third])
        };
        (0..seconds).map(|_| second()).collect()
    }

    #[test]
    fn healthy_services_have_no_comb() {
        for (per_s, mean_s) in [(5.0, 0.1), (20.0, 0.05), (200.0, 0.02), (200.0, 0.2)] {
            for seed in 1..=300 {
                let seconds = healthy(seed, per_s, mean_s, 30);
                let found =
                    judged(&RULE, |run| (run.slow_each_second, run.succeeded_per_s) = (seconds, per_s), counted(&[]));
                assert_eq!(found, None, "{per_s}/s of {mean_s} s, seed {seed}");
            }
        }
    }
}
