//! P6: the service behind the proxy did not respond in time.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P6",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("Upstream too slow for the proxy", "上游响应超时"),
    symptom: text(
        "504 from a proxy after a round number of seconds; needs --watch-log on its error log",
        "代理在整数秒后返回 504；需要用 --watch-log 指定其错误日志",
    ),
    remedy: text(
        "find out what the service is waiting for; if the timeout is while connecting, the cause is its accept queue",
        "找出后端在等待什么；若发生在建连阶段，则是其 accept 队列",
    ),
    experiment: text("at half the load, the message should be gone", "负载减半后，该消息应消失"),
    caution: Some(text(
        "a longer proxy_read_timeout turns errors into a queue",
        "调大 proxy_read_timeout 只会把错误变成排队",
    )),
    judge,
};

const CLAIM: Text =
    text("the service behind the proxy did not respond within the proxy's timeout", "后端服务未在代理的超时时间内响应");

const LIMITS: [&str; 2] = ["upstream_connect_timeout", "upstream_timeout"];

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::found(case, CLAIM, &LIMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        LIMITS.iter().for_each(|name| watched_log::assert_finds(&RULE, name));
    }
}
