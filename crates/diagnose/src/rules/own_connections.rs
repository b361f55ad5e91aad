//! C6: arrivals waited for one of the connections that the run may have.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "every connection of this run ({limit}) was in use: at {service} a request, that carries {most}/s at most",
    "本次压测的 {limit} 个连接全被占用：每个请求 {service}，最多承载 {most}/s",
);
const EVIDENCE: Text =
    text("{waited} of {scheduled} requests waited for a connection", "{scheduled} 个请求中有 {waited} 个等待连接");
const REMEDY: Text = text(
    "raise --max-connections if real clients have more; otherwise this is the service's answer to so many connections",
    "若真实客户端有更多连接，请提高 --max-connections；否则这就是服务在这些连接下的表现",
);
const EXPERIMENT: Text = text(
    "with --max-connections {double} either throughput rises, or service time does: then the service is the limit",
    "用 --max-connections {double} 再测：若吞吐量上升，瓶颈在连接数；若服务时间上升，瓶颈在服务",
);

/// The share of arrivals that must have waited.
const SHARE: f64 = 0.01;

pub(super) const PAGE: Page = Page {
    rule: "C6",
    title: text("All connections of the run in use", "压测连接数用尽"),
    sign: text(
        "a rate is not kept, arrivals wait for a connection, and the service answers in its usual time",
        "速率未能维持，请求在等连接，而服务响应时间正常",
    ),
    remedy: REMEDY,
    beware: None,
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let run = &case.run;
    let waited = run.waited_for_connection as f64 > SHARE * run.scheduled as f64;
    if !(run.is_open && run.is_overloaded && waited && run.connections > 0 && run.service.mean > 0.0) {
        return None;
    }
    let facts = [
        ("limit", words::show::count(u64::from(run.connections))),
        ("service", words::show::seconds(run.service.mean)),
        ("most", words::show::rate(f64::from(run.connections) / run.service.mean)),
    ];
    let counts =
        [("waited", words::show::count(run.waited_for_connection)), ("scheduled", words::show::count(run.scheduled))];
    let claim = Said::new(CLAIM, facts);
    let found = Found::new("C6", Stage::Generator, Proof::Consistent, claim, Said::new(EVIDENCE, counts));
    let double = words::show::count(2 * u64::from(run.connections)).replace(',', "");
    Some(found.then(plain(REMEDY), Said::new(EXPERIMENT, [("double", double)])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};
    use crate::run::Run;

    #[test]
    fn a_full_pool_of_ours_is_told_where_the_rate_was_not_kept() {
        let open = |waited: u64, overloaded: bool| {
            move |run: &mut Run| {
                (run.is_open, run.connections, run.is_overloaded) = (true, 8, overloaded);
                run.waited_for_connection = waited;
            }
        };
        assert_eq!(judged(judge, open(5_000, true), counted(&[])), Some("consistent"));
        assert_eq!(judged(judge, open(5_000, false), counted(&[])), None, "the rate was kept");
        assert_eq!(judged(judge, open(5, true), counted(&[])), None, "hardly anybody waited");
    }
}
