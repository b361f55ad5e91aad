//! C8: brunt's own memory grows with a backlog of arrivals.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C8",
    origin: CounterOrigin::Generator,
    stage: PathStage::Generator,
    title: text("brunt's memory use", "brunt 自身的内存占用"),
    symptom: text(
        "a rate is not sustained, and the load generator uses more memory every second",
        "速率未能维持，发压端占用的内存每秒都在增加",
    ),
    remedy: text(
        "use a rate the service can sustain, or more connections (--max-connections) if it has room for them: a run \
            queues up to a million arrivals",
        "降到服务能承受的速率；若服务仍有余量，可增加连接数（--max-connections）：一次压测最多允许一百万个请求排队",
    ),
    experiment: text("at a sustainable rate, brunt's memory should stay flat", "在能维持的速率下，brunt 的内存应保持平稳"),
    caution: Some(text(
        "more memory only delays the end: the queue grows as long as requests arrive faster than they are served",
        "增加内存只能推迟问题：只要请求到达比处理快，队列就会一直增长",
    )),
    judge,
};

const CLAIM: Text = text(
    "brunt's own memory grows with the queue of waiting arrivals: by {rise} MB, {share} of this machine's free memory",
    "brunt 自身内存随排队的请求增长：增加了 {rise} MB，占本机可用内存的 {share}",
);
const EVIDENCE: Text = text(
    "self.rss +{rise} MB in {span} s, mem.available {free} MB; {middle} arrivals waited for a connection halfway \
        through the window, {last} at its end",
    "{span} 秒内 self.rss +{rise} MB，mem.available 为 {free} MB；等待连接的请求在统计窗口中点为 {middle} 个，结束时为 {last} 个",
);

/// Minimum increase in bytes, and as a share of the available memory.
const RISE: f64 = 64e6;
const SHARE: f64 = 0.1;
/// Minimum backlog at the end of the window, and its minimum ratio to the backlog in the middle.
const WAITING: f64 = 1000.0;
const GROWN: f64 = 1.5;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let (run, here) = (&case.run, &case.counters);
    let (middle, last) = queue(&run.waiting_each_second)?;
    let (rise, free) = (here.increase("self.rss")?, here.max("mem.available")?);
    let queued = run.is_open && run.is_overloaded && last >= WAITING && last >= GROWN * middle;
    if !queued || rise < RISE || rise < SHARE * free {
        return None;
    }
    let megabytes = |bytes: f64| numbers::count((bytes / 1e6) as u64);
    let share = numbers::share((rise / free).min(1.0));
    let facts = [
        ("rise", megabytes(rise)),
        ("span", format!("{:.0}", here.span_s())),
        ("free", megabytes(free)),
        ("middle", whole(middle)),
        ("last", whole(last)),
    ];
    let claim = LocalizedSentence::new(CLAIM, [("rise", megabytes(rise)), ("share", share)]);
    Some(consistent(claim, LocalizedSentence::new(EVIDENCE, facts)))
}

/// Returns the backlog in the middle of the window and at its end; `None` if the window is too short.
fn queue(waiting: &[f64]) -> Option<(f64, f64)> {
    let last = waiting.last().filter(|_| waiting.len() >= 4)?;
    Some((*waiting.get(waiting.len() / 2 - 1)?, *last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    /// Makes a run open, with these backlogs after each of ten seconds.
    fn open(waiting: fn(u32) -> f64, overloaded: bool) -> impl FnOnce(&mut LoadResults) {
        move |run: &mut LoadResults| {
            (run.is_open, run.is_overloaded) = (true, overloaded);
            run.waiting_each_second = (1..=10).map(waiting).collect();
        }
    }

    #[test]
    fn memory_that_grows_with_the_queue_and_fills_the_machine() {
        let memory =
            |rise: f64, free: f64| counted(&[("self.rss", 2e7, 2e7 + rise), ("mem.available", free, free - rise)]);
        let grows = |second| 50_000.0 * f64::from(second);
        assert_eq!(judged(&RULE, open(grows, true), memory(3e8, 1e9)), Some("consistent"));
        assert_eq!(judged(&RULE, open(grows, true), memory(3e8, 6e10)), None, "the machine has room for it");
        assert_eq!(judged(&RULE, open(grows, true), memory(1e7, 5e7)), None, "ten megabytes are no matter");
        assert_eq!(judged(&RULE, open(grows, true), memory(-1e6, 1e9)), None, "it became less");
        assert_eq!(judged(&RULE, open(grows, false), memory(3e8, 1e9)), None, "the rate was kept");
        assert_eq!(judged(&RULE, open(|_| 50_000.0, true), memory(3e8, 1e9)), None, "the queue is level");
        assert_eq!(judged(&RULE, open(f64::from, true), memory(3e8, 1e9)), None, "hardly anybody waits");
        let closed = |run: &mut LoadResults| run.is_overloaded = true;
        assert_eq!(judged(&RULE, closed, memory(3e8, 1e9)), None, "users of closed load never queue up");
    }
}
