//! S2: one thread of the service used a whole core while others were free.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "one thread is the limit: it used {share} of a core, and the service {cores} cores in all",
    "瓶颈是单个线程：占用一个核的 {share}，整个服务共用 {cores} 个核",
);
const EVIDENCE: Text = text(
    "/proc/{pid}/task: its busiest thread {share}; {busy} of {of} cores busy",
    "/proc/{pid}/task：最忙的线程 {share}；{of} 个核中 {busy} 个繁忙",
);
const REMEDY: Text = text(
    "more processes or event loops (a cluster, SO_REUSEPORT), or take work off that thread: a single loop, a global interpreter lock and a lone acceptor look like this",
    "增加进程或事件循环（集群、SO_REUSEPORT），或减轻该线程的工作：单事件循环、全局解释器锁、单一 acceptor 都是这样",
);
const EXPERIMENT: Text = text(
    "a second process of the service must bring nearly twice the throughput",
    "再启动一个服务进程后，吞吐量应接近翻倍",
);

/// The share of a core at which a thread is full.
const FULL: f64 = 0.9;
/// With more than this beside it, the service has others at work.
const BESIDE: f64 = 0.6;

pub(super) const PAGE: Page = Page {
    rule: "S2",
    title: text("One busy thread", "单线程占满"),
    sign: text("throughput is level while most cores are idle", "大多数核空闲而吞吐量持平"),
    remedy: REMEDY,
    beware: None,
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let here = &case.here;
    let (busy, of) = here.busy_cores()?;
    let cores = here.per_s("service.all.cpu")? / 1e9;
    let (pid, share) = here
        .between("service.", ".busiest.cpu")
        .filter(|pid| *pid != "all")
        .filter_map(|pid| Some((pid, here.per_s(&format!("service.{pid}.busiest.cpu"))? / 1e9)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    if share < FULL || cores > share + BESIDE || of < 2.0 || !case.run.is_pressed() {
        return None;
    }
    let shown = words::show::share(share.min(1.0));
    let claim = Said::new(CLAIM, [("share", shown.clone()), ("cores", format!("{cores:.2}"))]);
    let facts = [("pid", pid.to_owned()), ("share", shown), ("busy", format!("{busy:.2}")), ("of", format!("{of:.0}"))];
    let found = Found::new("S2", Stage::Service, Proof::Proved, claim, Said::new(EVIDENCE, facts));
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{cores, judged};

    #[test]
    fn one_hot_thread() {
        let with = |share: f64, service: f64| {
            cores(1.3, &[("service.7.busiest.cpu", 0.0, share * 1e10), ("service.all.cpu", 0.0, service * 1e10)])
        };
        assert_eq!(judged(judge, |_| (), with(0.97, 1.0)), Some("proved"));
        assert_eq!(judged(judge, |_| (), with(0.5, 0.6)), None);
        assert_eq!(judged(judge, |_| (), with(0.97, 1.9)), None, "others work as well");
        assert_eq!(judged(judge, |run| run.is_open = true, with(0.97, 1.0)), None, "the rate was kept");
    }
}
