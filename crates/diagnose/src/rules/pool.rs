//! S4: the service lets only so many requests do their work at a time; the others wait for a place.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;
use crate::rules::serial::{Places, places};

const CLAIM: Text = text(
    "the service works on about {places} requests at a time: {in_flight} were in flight, and the others waited for a place",
    "服务同时只处理约 {places} 个请求：在途 {in_flight} 个，其余在排队",
);
const EVIDENCE: Text = text(
    "{rate}/s × {least} (the shortest response) = {places} at work; the mean was {mean}; its processes ran or waited for a core in {busy} threads at a time",
    "{rate}/s × {least}（最短响应）= {places} 个在处理；平均 {mean}；其进程平均有 {busy} 个线程在运行或等待 CPU",
);
const REMEDY: Text = text(
    "a pool of threads, workers or connections to something behind it: size it by Little's law (throughput wanted × time of one, times 1.5), not by guess",
    "线程池、工作进程或到后端的连接池：按利特尔定律设定大小（目标吞吐量 × 单次耗时 × 1.5），不要凭感觉",
);
const EXPERIMENT: Text = text(
    "with {places} users throughput must be the same and latency {least}: `brunt -c {places} {url}`",
    "{places} 个用户时吞吐量应相同，延迟约 {least}：`brunt -c {places} {url}`",
);

pub(super) const PAGE: Page = Page {
    rule: "S4",
    title: text("A pool", "资源池"),
    sign: text(
        "throughput is level from a number of users on, whatever their number, and latency grows with it; CPU idle",
        "用户超过某个数量后吞吐量持平，延迟随用户数增长；CPU 空闲",
    ),
    remedy: REMEDY,
    beware: Some(text(
        "max_connections=10000 buys contention: Little's law says how many are at work",
        "max_connections=10000 只会带来争用：利特尔定律告诉你需要多少",
    )),
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let Places { number, busy } = places(case).filter(|places| places.number > 1)?;
    let run = &case.run;
    let places = number.to_string();
    let least = words::show::seconds(run.service.min);
    let claim = Said::new(CLAIM, [("places", places.clone()), ("in_flight", format!("{:.0}", run.in_flight))]);
    let facts = [
        ("rate", words::show::rate(run.worked_per_s())),
        ("least", least.clone()),
        ("places", places.clone()),
        ("mean", words::show::seconds(run.service.mean)),
        ("busy", format!("{busy:.2}")),
    ];
    let found = Found::new("S4", Stage::Dependency, Proof::Consistent, claim, Said::new(EVIDENCE, facts));
    let facts = [("places", places), ("least", least), ("url", run.again())];
    Some(found.then(plain(REMEDY), Said::new(EXPERIMENT, facts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};
    use crate::run::{Run, Spread};

    /// A pool of `places`, each request 20 ms, with 50 users.
    fn pool(places: f64) -> impl Fn(&mut Run) {
        move |run| {
            run.succeeded_per_s = places / 0.02;
            let mean = 50.0 / run.succeeded_per_s;
            run.service =
                Spread { count: 4000, min: 0.02, mean, deviation: mean / 20.0, longest: 0.0, second_or_more: 0.0 };
        }
    }

    /// So many threads of the service compute.
    fn computing(threads: f64) -> crate::Counted {
        counted(&[("service.all.cpu", 0.0, threads * 1e10), ("service.all.wait", 0.0, 0.0)])
    }

    #[test]
    fn a_pool_shows_by_its_shortest_response() {
        assert_eq!(judged(judge, pool(8.0), computing(0.3)), Some("consistent"));
        assert_eq!(judged(judge, pool(50.0), computing(0.3)), None, "all are at work");
        assert_eq!(judged(judge, pool(8.0), computing(7.0)), None, "its threads compute");
        assert_eq!(judged(judge, pool(1.0), computing(0.3)), None, "a single place is another rule's");
    }

    #[test]
    fn services_whose_responses_differ_have_no_pool() {
        let varied = |run: &mut Run| {
            pool(8.0)(run);
            run.service.deviation = run.service.mean;
        };
        assert_eq!(judged(judge, varied, computing(0.3)), None);
        assert_eq!(judged(judge, |run| run.has_pauses = true, computing(0.3)), None);
        let counters_of_nobody = crate::Counted::default();
        assert_eq!(judged(judge, pool(8.0), counters_of_nobody), None, "it may be the CPU of another machine");
    }
}
