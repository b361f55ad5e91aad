//! P11: the proxy's own limit on connections to the service behind it was reached.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P11",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text(
        "The proxy's own limit",
        "代理自身的限额",
    ),
    symptom: text(
        "503 from HAProxy (sQ in its log) or Envoy (overflow) while the service behind it has room; needs --watch-log on the proxy's log",
        "HAProxy（日志中有 sQ）或 Envoy（overflow）返回 503，而后端仍有余量；需要用 --watch-log 指定代理的日志",
    ),
    remedy: text(
        "raise the limit if the service can take more: HAProxy's maxconn of the server or timeout queue, Envoy's circuit_breakers (max_connections, max_pending_requests, 1,024 by default); otherwise the limit protects the service, and the service is what to improve",
        "若后端还能承受，提高该限额：HAProxy 中服务器的 maxconn 或 timeout queue，Envoy 的 circuit_breakers（max_connections、max_pending_requests，默认 1,024）；否则限额是在保护后端，应改进的是后端",
    ),
    experiment: text(
        "the same load sent directly to the service, bypassing the proxy, should succeed if only this limit is in the way",
        "若只有该限额在起作用，绕过代理直接对后端施加同样的负载应能成功",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the proxy rejected requests by its own limit on connections to the service behind it",
    "代理对后端的连接数或排队数达到自身限额，拒绝了请求",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::found(case, CLAIM, &["proxy_limit"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "proxy_limit");
    }
}
