//! The weakest number of a question: the one that the answer depends on with the least reason.
//!
//! The machines are proportional to every one of them, so what counts is how little is known about each.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{LocalizedSentence, numbers};

use super::{CapacityQuestion, CapacitySource, Demand};
use crate::figures;

/// A number that deserves to be replaced by a better one, with a sentence that says why and how.
#[derive(Clone, Debug, PartialEq)]
pub struct WeakNumber {
    /// The option that gives the number.
    pub option: &'static str,
    /// Why it is weak, and what would make it better.
    pub why: LocalizedSentence,
}

const UNKNOWN: Text = text(
    "the capacity of a machine is not known; measure it: `brunt -r 100/s -d 1m --objective 'p99<200ms' --objective \
        'failed<0.1%' --record one.brunt.zst URL`, then --per-machine one.brunt.zst",
    "不知道单机容量；请先测量：`brunt -r 100/s -d 1m --objective 'p99<200ms' --objective 'failed<0.1%' --record \
        one.brunt.zst URL`，再用 --per-machine one.brunt.zst",
);
const DOUBTFUL: Text = text("the throughput of {path} is no capacity: ", "{path} 的吞吐量不能当作容量：");
const AND: Text = text("; ", "；");
const REPEAT: Text = text("; repeat that run", "；请重新压测");
const NO_OBJECTIVE: Text = text(
    "{rate} was measured without an objective: throughput at any latency is no capacity; measure again with --objective \
        'p99<200ms' --objective 'failed<0.1%'",
    "{rate} 是在没有目标（SLO）的情况下测得的：不限延迟的吞吐量不是容量；请加 --objective 'p99<200ms' --objective \
        'failed<0.1%' 重新测量",
);
const TYPED: Text = text(
    "{rate} a machine was typed in: nothing says at which latency and with how many failures it holds; measure it: \
        `brunt -r {rate} -d 1m --objective 'p99<200ms' --objective 'failed<0.1%' --record one.brunt.zst URL`, then \
        --per-machine one.brunt.zst",
    "单机 {rate} 是手工输入的：没有说明在什么延迟、多少失败下成立；请先测量：`brunt -r {rate} -d 1m --objective \
        'p99<200ms' --objective 'failed<0.1%' --record one.brunt.zst URL`，再用 --per-machine one.brunt.zst",
);
const RULE_OF_THUMB: Text = text(
    "«{share} of the views in {hours} h» is a rule of thumb; take the busiest second of the access log instead: --peak",
    "“{share} 的访问集中在 {hours} 小时内”只是经验法则；请改用访问日志中最忙的一秒：--peak",
);
const ONE_REQUEST: Text = text(
    "one request a page view is a guess: count the requests of a page, and write --requests-per-view",
    "每次页面访问只有一个请求只是猜测：请数出一个页面的请求数，写入 --requests-per-view",
);
const NO_GROWTH: Text = text(
    "no growth is planned for; write --growth, such as 1.5 for half as much again",
    "没有计划增长；请写 --growth，例如 1.5 表示增长一半",
);
const NO_SPARE: Text = text(
    "no machine is spare: when one fails, the others run at {share} of their capacity; write --spare 1",
    "没有备用机器：一台故障时，其余机器将运行在容量的 {share}；请写 --spare 1",
);
const AVERAGE: Text = text(
    "the growth of {factor} is a forecast: repeat the plan when the load is known better",
    "{factor} 倍增长只是预测：负载更清楚之后请重新计算",
);

impl CapacityQuestion {
    /// Returns the weakest number: the first of these that applies, the least supported first.
    pub fn weakest(&self) -> WeakNumber {
        self.weak_machine()
            .or_else(|| self.weak_demand())
            .or_else(|| self.weak_reserve())
            .unwrap_or_else(|| weak("--growth", AVERAGE, [("factor", figures::number(self.growth.value))]))
    }

    fn weak_machine(&self) -> Option<WeakNumber> {
        let Some(one) = &self.per_machine else { return Some(weak("--per-machine", UNKNOWN, [])) };
        let rate = || ("rate", figures::rate(one.per_s));
        match &one.source {
            CapacitySource::Typed => Some(weak("--per-machine", TYPED, [rate()])),
            CapacitySource::Record { path, doubts, .. } if !doubts.is_empty() => {
                let mut why = LocalizedSentence::new(DOUBTFUL, [("path", path.clone())]);
                for (at, doubt) in doubts.iter().enumerate() {
                    let between = if at == 0 { LocalizedSentence::default() } else { AND.into() };
                    why = why.followed_by(between).followed_by(doubt.clone());
                }
                Some(WeakNumber { option: "--per-machine", why: why.followed_by(REPEAT.into()) })
            }
            CapacitySource::Record { objectives, .. } if objectives.is_empty() => {
                Some(weak("--per-machine", NO_OBJECTIVE, [rate()]))
            }
            CapacitySource::Record { .. } => None,
        }
    }

    fn weak_demand(&self) -> Option<WeakNumber> {
        let Demand::Views { share, peak_s, requests, .. } = &self.demand else { return None };
        if !share.is_given && !peak_s.is_given {
            let facts = [("share", figures::percent(share.value)), ("hours", figures::number(peak_s.value / 3600.0))];
            return Some(weak("--share", RULE_OF_THUMB, facts));
        }
        (!requests.is_given).then(|| weak("--requests-per-view", ONE_REQUEST, []))
    }

    fn weak_reserve(&self) -> Option<WeakNumber> {
        if !self.growth.is_given {
            return Some(weak("--growth", NO_GROWTH, []));
        }
        let answer = self.answer();
        let working = answer.working_machines.filter(|working| self.spare == 0 && *working > 1)?;
        let used = answer.exact_machines? * self.utilisation.value / (working - 1) as f64;
        Some(weak("--spare", NO_SPARE, [("share", numbers::share(used))]))
    }
}

fn weak<const N: usize>(option: &'static str, why: Text, facts: [(&'static str, String); N]) -> WeakNumber {
    WeakNumber { option, why: LocalizedSentence::new(why, facts) }
}
