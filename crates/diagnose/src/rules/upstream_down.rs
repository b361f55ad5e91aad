//! P5: the service behind the proxy refused, reset or closed connections, or could not be reached.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P5",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("The upstream refuses", "上游拒绝连接"),
    symptom: text(
        "502, 503 and 504 from a proxy; with --watch-log on its error log the cause is named",
        "代理返回 502、503、504；用 --watch-log 指定其错误日志即可得知原因",
    ),
    remedy: text(
        "check the service: refused means its process is down or its queue is full, `prematurely closed` means a crash \
            or an idle timeout shorter than the proxy's, `no live upstreams` is what max_fails turns either into",
        "检查后端服务：refused 表示进程未运行或队列已满；prematurely closed 表示崩溃或空闲超时短于代理；no live upstreams 是 max_fails 触发的结果",
    ),
    experiment: text(
        "the same load sent directly to the service, bypassing the proxy, should fail too",
        "绕过代理直接对后端施加同样的负载，也应失败",
    ),
    caution: None,
    judge,
};

const UNREACHED: Text = text("the proxy could not reach the service behind it", "代理无法连接其后端服务");
const BROKEN: Text = text(
    "the service behind the proxy closed or reset connections before it had responded",
    "后端服务在返回响应之前关闭或重置了连接",
);
const MISSING: Text = text(
    "start the service, or correct the path of its socket in the proxy's configuration",
    "启动后端服务，或改正代理配置中的套接字路径",
);
const DENIED: Text = text(
    "give the proxy's user access to the socket (listen.owner, listen.mode), or allow the connection (SELinux: \
        httpd_can_network_connect)",
    "让代理的运行用户有权访问该套接字（listen.owner、listen.mode），或放行该连接（SELinux：httpd_can_network_connect）",
);
const NO_ROUTE: Text = text(
    "check the address of the service in the proxy's configuration, the routes of its machine, and firewalls between",
    "检查代理配置中的后端地址、所在机器的路由，以及两者之间的防火墙",
);
const RESET: Text = text(
    "look into the service's own log at that time: a reset is a crash, a worker that was killed, a full accept queue \
        (tcp_abort_on_overflow), or an idle timeout shorter than the proxy's",
    "查看后端服务此时的日志：重置的原因可能是崩溃、工作进程被杀、accept 队列已满（tcp_abort_on_overflow），或空闲超时短于代理",
);

const ANSWERED: Text = text(
    "{proxy} got no response from the service behind it: {n} {n|response was|responses were} {codes}",
    "{proxy} 没有得到后端服务的响应：{n} 个响应为 {codes}",
);
const ANSWERS: Text = text(
    "{share} of the responses, failed ones after {time} on average; the kept example is a page of {proxy} itself, not of the service",
    "占响应的 {share}，失败的响应平均耗时 {time}；保留的样例是 {proxy} 自己的页面，并非来自服务",
);
const ANSWERED_SOME: Text = text(
    "a proxy got no response from the service behind it: {n} {n|response was|responses were} {codes}",
    "代理没有得到后端服务的响应：{n} 个响应为 {codes}",
);
const ANSWERS_SOME: Text = text(
    "{share} of the responses, failed ones after {time} on average; such a status is meant for gateways",
    "占响应的 {share}，失败的响应平均耗时 {time}；这样的状态码本供网关使用",
);
const LOOK: Text = text(
    "look at the proxy's error log (--watch-log FILE), which names the cause: refused means that the service's process is \
        down or its queue is full, a timeout that it is slow",
    "查看代理的错误日志（--watch-log FILE），其中写明原因：refused 表示后端进程未运行或队列已满，timeout 表示后端太慢",
);
/// Share of the responses from which the run is affected.
const SHARE: f64 = 0.01;
/// Limits that a proxy's log names, with what they mean and what to change.
const LIMITS: [(&str, Text, Text); 7] = [
    ("upstream_refused", UNREACHED, RULE.remedy),
    ("upstream_missing", UNREACHED, MISSING),
    ("upstream_denied", UNREACHED, DENIED),
    ("upstream_unreachable", UNREACHED, NO_ROUTE),
    ("upstream_reset", BROKEN, RESET),
    ("upstream_closed", BROKEN, RULE.remedy),
    ("no_live_upstreams", UNREACHED, RULE.remedy),
];

fn judge(case: &Case) -> Option<RuleVerdict> {
    let lines = LIMITS.iter().filter_map(|limit| Some((watched_log::lines(case, limit.0)?, limit)));
    // The service is taken out once it failed: that it is out explains less than why.
    let named = lines.max_by(|(a, left), (b, right)| {
        let is_cause = |limit: &(&str, Text, Text)| limit.0 != "no_live_upstreams";
        is_cause(left).cmp(&is_cause(right)).then(a.count.total_cmp(&b.count))
    });
    match named {
        Some((lines, (_, claim, remedy))) => Some(proved(*claim, lines.evidence()).remedy(*remedy)),
        None => answered(case),
    }
}

/// Judges by the responses of the proxy itself, without its log.
fn answered(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let of_proxy = run.rejections.iter().filter_map(|(code, sign)| match sign {
        RejectionSign::Upstream(proxy) => Some((code.as_str(), *proxy)),
        RejectionSign::RetryLater => None,
    });
    let told: Vec<(&str, Option<&str>)> = of_proxy.filter(|(code, _)| run.answered(&[code]) > 0).collect();
    let codes: Vec<&str> = told.iter().map(|(code, _)| *code).collect();
    let (all, n) = (run.status.values().sum::<u64>(), run.answered(&codes));
    if run.expects_status || n == 0 || (n as f64) < SHARE * all as f64 {
        return None;
    }
    let (_, proxy) = told.iter().max_by_key(|(code, _)| run.answered(&[code]))?;
    let facts = || {
        let time = numbers::seconds(run.failed_responses.mean);
        let counts = [("n", numbers::count(n)), ("codes", codes.join(", ")), ("share", numbers::percent(n, all))];
        let mut facts = Vec::from(counts);
        facts.extend([("time", time), ("proxy", proxy.unwrap_or_default().to_owned())]);
        facts
    };
    let (claim, evidence) = if proxy.is_some() { (ANSWERED, ANSWERS) } else { (ANSWERED_SOME, ANSWERS_SOME) };
    let verdict = consistent(LocalizedSentence::new(claim, facts()), LocalizedSentence::new(evidence, facts()));
    Some(verdict.remedy(LOOK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, run};

    #[test]
    fn its_lines_in_the_log() {
        LIMITS.iter().for_each(|(name, ..)| watched_log::assert_finds(&RULE, name));
    }

    #[test]
    fn the_most_frequent_cause_is_named() {
        let log = counted(&[
            ("log.no_live_upstreams", 0.0, 900.0),
            ("log.upstream_reset", 0.0, 70.0),
            ("log.upstream_refused", 0.0, 20.0),
        ]);
        let mut case = Case { run: run(), reported: vec![log], ..Case::default() };
        case.run.failures = vec![FailureCount { count: 990, ..FailureCount::default() }];
        let found = RULE.judge_host(&case).expect("a finding");
        assert!(found.claim(Lang::En).contains("reset"), "{}", found.claim(Lang::En));
        assert!(found.remedy(Lang::En).contains("killed"), "{}", found.remedy(Lang::En));
    }

    #[test]
    fn pages_of_a_proxy_are_no_limiter() {
        let answered = |n: u64, sign: RejectionSign| {
            move |run: &mut LoadResults| {
                run.status = [("200".to_owned(), 1000), ("502".to_owned(), n)].into();
                run.rejections = [("502".to_owned(), sign)].into();
            }
        };
        let nginx = || RejectionSign::Upstream(Some("nginx"));
        let judged = crate::rules::made_up::judged;
        assert_eq!(judged(&RULE, answered(500, nginx()), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, answered(5, nginx()), counted(&[])), None, "one in two hundred");
        assert_eq!(judged(&RULE, answered(500, RejectionSign::RetryLater), counted(&[])), None);
    }
}
