//! P3: the proxy ran out of local ports for its upstream.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P3",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("Proxy out of ports to its upstream", "代理到上游的端口耗尽"),
    symptom: text(
        "502 above a few hundred requests/s per upstream; TIME_WAIT fills up on the proxy; needs --watch-log",
        "对单个上游每秒超过几百个请求后出现 502；代理上 TIME_WAIT 堆积；需要 --watch-log",
    ),
    remedy: text(
        "let it reuse connections: nginx before 1.29.7 needs keepalive N in the upstream, proxy_http_version 1.1 and \
            proxy_set_header Connection \"\"",
        "让代理复用连接：nginx 1.29.7 之前需要在 upstream 中设置 keepalive N，并配置 proxy_http_version 1.1 与 proxy_set_header Connection \"\"",
    ),
    experiment: text("with keep-alive to the upstream, the message should be gone", "到上游启用长连接后，该消息应消失"),
    caution: Some(text(
        "keepalive is how many idle connections a worker keeps, not a cap on all of them; Connection \"keep-alive\" \
            only works by luck",
        "keepalive 是每个工作进程保留的空闲连接数，不是连接总数上限；设置 Connection \"keep-alive\" 只是碰巧有效",
    )),
    judge,
};

const CLAIM: Text = text(
    "the program that wrote the log ran out of local ports to its upstream: it opens a connection per request",
    "写该日志的程序到上游的本地端口已耗尽：它为每个请求新建连接",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::found(case, CLAIM, &["no_ports"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "no_ports");
    }
}
