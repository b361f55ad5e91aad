//! P5: the service behind the proxy refused or closed connections.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P5",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("The upstream refuses", "上游拒绝连接"),
    symptom: text(
        "502 and 503 from a proxy; needs --watch-log on its error log",
        "代理返回 502、503；需要用 --watch-log 指定其错误日志",
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

const CLAIM: Text = text("the proxy could not reach the service behind it", "代理无法连接其后端服务");

/// Counters of the proxy's log messages, each with the text of the message; the first that increased is the evidence.
const SIGNS: [(&str, &str); 3] = [
    ("upstream_refused", "(111: Connection refused) while connecting to upstream"),
    ("upstream_closed", "upstream prematurely closed connection"),
    ("no_live_upstreams", "no live upstreams"),
];

fn judge(case: &Case) -> Option<RuleVerdict> {
    proxy_log::found(case, CLAIM, &SIGNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        SIGNS.iter().for_each(|(name, _)| proxy_log::assert_finds(&RULE, name));
    }
}
