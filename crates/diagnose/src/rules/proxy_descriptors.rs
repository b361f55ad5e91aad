//! P2: the proxy, or another program whose log is watched, ran out of descriptors.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P2",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("Proxy out of file descriptors", "代理文件描述符耗尽"),
    symptom: text(
        "connections fail or are reset; needs --watch-log on the proxy's error log",
        "连接失败或被重置；需要用 --watch-log 指定代理的错误日志",
    ),
    remedy: text(
        "raise its limit: nginx's worker_rlimit_nofile to at least twice worker_connections, as each proxied request \
            holds two; LimitNOFILE= in the systemd unit or `ulimit -n` of any other program",
        "提高其上限：nginx 的 worker_rlimit_nofile 至少为 worker_connections 的两倍（每个经代理的请求占用两个文件描述符）；其他程序用 systemd 单元的 LimitNOFILE= 或 `ulimit -n`",
    ),
    experiment: text("with half the users, the message should be gone", "用户数减半后，该消息应消失"),
    caution: None,
    judge,
};

const CLAIM: Text = text("the program that wrote the log ran out of file descriptors", "写该日志的程序文件描述符已耗尽");

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::found(case, CLAIM, &["too_many_open_files"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "too_many_open_files");
    }
}
