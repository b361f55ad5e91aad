//! P1: nginx accepted connections and closed them at once, as its workers had all they may.

use words::Said;
use words::text::{Text, text};

use super::logged;
use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text(
    "nginx closed {dropped} connections right after accepting them: its workers were at their connection limit",
    "nginx 接受后立即关闭了 {dropped} 个连接：其 worker 的连接数已达上限",
);
const REUSED: Text = text(
    "nginx's workers were at their connection limit: connections were closed to make room, or refused",
    "nginx 的 worker 连接数已达上限：其他连接被关闭以腾出位置，或被拒绝",
);
const EVIDENCE: Text = text(
    "stub_status: {accepts} connections accepted, {handled} handled; up to {active} active",
    "stub_status：接受 {accepts} 个连接，处理 {handled} 个；读数中最多 {active} 个活动连接",
);
const REMEDY: Text = text(
    "raise worker_connections (512 by default); upstream connections count too, so a proxy needs two per client; \
        raise worker_rlimit_nofile with it",
    "提高 worker_connections（默认 512）；到上游的连接也计算在内，代理时每个客户端需要两个；同时提高 worker_rlimit_nofile",
);
const EXPERIMENT: Text = text(
    "with fewer users than worker_connections × workers, accepts and handled should stay equal",
    "用户数少于 worker_connections × worker 数时，accepts 与 handled 应保持相等",
);

pub(super) const PAGE: Page = Page {
    rule: "P1",
    title: text("nginx out of connections", "nginx 连接数已满"),
    sign: text(
        "above a round number of users, connections are reset or responses empty; needs --watch-log on its error \
            log, or --watch nginx=URL",
        "用户数超过某个整数后连接被重置或响应为空；需要用 --watch-log 指定其错误日志，或 --watch nginx=URL",
    ),
    remedy: REMEDY,
    beware: Some(text(
        "the error log says «worker_connections are not enough»; running out of descriptors looks the same from \
            outside",
        "错误日志会提示 worker_connections are not enough；描述符耗尽时从外部看现象相同",
    )),
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let (claim, evidence) = closed(case).or_else(|| reused(case))?;
    let found = Found::new("P1", Stage::Proxy, Proof::Proved, claim, evidence);
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

/// Its page counts connections that were accepted and not handled.
fn closed(case: &Case) -> Option<(Said, Said)> {
    if case.run.failures.is_empty() {
        return None;
    }
    case.told("nginx.").find_map(|nginx| {
        let (accepts, handled) = (nginx.rise("nginx.accepts")?, nginx.rise("nginx.handled")?);
        let dropped = accepts - handled;
        if dropped <= 0.0 {
            return None;
        }
        let shown = |n: f64| words::show::count(n as u64);
        let active = nginx.most("nginx.active").unwrap_or(0.0);
        let facts = [("accepts", shown(accepts)), ("handled", shown(handled)), ("active", shown(active))];
        Some((Said::new(CLAIM, [("dropped", shown(dropped))]), Said::new(EVIDENCE, facts)))
    })
}

/// Its log says so; connections that wait for their next request are then closed to make room, which its page does not count.
fn reused(case: &Case) -> Option<(Said, Said)> {
    let lines = logged::lines(case, "worker_connections")?;
    Some((plain(REUSED), logged::evidence(lines, "worker_connections are not enough")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Counted;
    use crate::rules::made_up::{counted, judged_told};
    use crate::run::Failures;

    fn nginx(accepts: f64, handled: f64) -> Counted {
        counted(&[
            ("nginx.accepts", 9.0, 9.0 + accepts),
            ("nginx.handled", 9.0, 9.0 + handled),
            ("nginx.active", 1.0, 63.0),
        ])
    }

    #[test]
    fn connections_that_were_closed_at_once() {
        let failed = |run: &mut crate::Run| run.failures = vec![Failures::default()];
        assert_eq!(judged_told(judge, failed, nginx(200.0, 64.0)), Some("proved"));
        assert_eq!(judged_told(judge, failed, nginx(200.0, 200.0)), None);
        assert_eq!(judged_told(judge, |_| (), nginx(200.0, 64.0)), None, "those of others");
        logged::tried(judge, "worker_connections");
    }
}
