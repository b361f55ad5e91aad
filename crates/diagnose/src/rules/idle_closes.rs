//! N10: connections that lay idle were closed by the other side just as they were used again.

use words::Said;
use words::text::{Text, text};

use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "idle connections were closed as they were used again: {failed} requests failed on connections that had served before",
    "空闲连接在再次使用时被对端关闭：{failed} 个请求在已用过的连接上失败",
);
const EVIDENCE: Text = text(
    "failures of kind closed or reset before the first byte, on reused connections: {failed} of {scheduled} requests",
    "复用连接上首字节前的 closed 或 reset 失败：{scheduled} 个请求中有 {failed} 个",
);
const REMEDY: Text = text(
    "let the side that sends give connections up sooner than the side that receives: an idle timeout below the server's keep-alive timeout, and below that of every proxy between",
    "让发送方先于接收方关闭空闲连接：其空闲超时应小于服务器以及沿途每个代理的 keep-alive 超时",
);
const EXPERIMENT: Text = text(
    "with --no-keepalive, or without pauses, none of these may fail",
    "使用 --no-keepalive 或不停顿时，不应再有此类失败",
);

/// More than this share of the requests is no race but a service that goes away.
const RACE: f64 = 0.05;

pub(super) const PAGE: Page = Page {
    rule: "N10",
    title: text("Idle connections closed as they are used", "空闲连接被关闭"),
    sign: text(
        "few requests fail with closed or reset, only where connections rest between requests",
        "少量请求以 closed 或 reset 失败，且只在连接有空闲时出现",
    ),
    remedy: REMEDY,
    beware: Some(text("repeating such requests is safe only where twice does no harm", "只有幂等请求才可安全重试")),
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let run = &case.run;
    let rested = run.has_pauses || (run.is_open && !run.is_overloaded);
    let failed = run.closed_when_reused;
    if !rested || failed == 0 || failed as f64 > RACE * run.scheduled as f64 {
        return None;
    }
    let failed = words::show::count(failed);
    let facts = [("failed", failed.clone()), ("scheduled", words::show::count(run.scheduled))];
    let claim = Said::new(CLAIM, [("failed", failed)]);
    let found = Found::new("N10", Stage::ServerKernel, Proof::Consistent, claim, Said::new(EVIDENCE, facts));
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};
    use crate::run::Run;

    #[test]
    fn connections_that_rested() {
        let failed = |n: u64, pauses: bool| move |run: &mut Run| (run.closed_when_reused, run.has_pauses) = (n, pauses);
        assert_eq!(judged(judge, failed(7, true), counted(&[])), Some("consistent"));
        assert_eq!(judged(judge, failed(7, false), counted(&[])), None, "they never rested");
        assert_eq!(judged(judge, failed(4_000, true), counted(&[])), None, "the service went away");
        assert_eq!(judged(judge, failed(0, true), counted(&[])), None);
    }
}
