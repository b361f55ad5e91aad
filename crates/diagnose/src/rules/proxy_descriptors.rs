//! P2: the proxy had no descriptor left.

use words::text::{Text, text};

use super::logged;
use crate::case::Case;
use crate::found::{Found, Proof, Stage, plain};
use crate::pages::Page;

const CLAIM: Text = text("the proxy ran out of file descriptors", "代理的描述符已耗尽");
const REMEDY: Text = text(
    "raise worker_rlimit_nofile to at least twice worker_connections: each proxied request holds two",
    "把 worker_rlimit_nofile 提高到 worker_connections 的至少两倍：每个被代理的请求占用两个描述符",
);
const EXPERIMENT: Text = text("with half the users, the message should be gone", "用户数减半后，该消息应消失");

pub(super) const PAGE: Page = Page {
    rule: "P2",
    title: text("Proxy out of file descriptors", "代理描述符耗尽"),
    sign: text(
        "connections fail or are reset; needs --watch-log on the proxy's error log",
        "连接失败或被重置；需要用 --watch-log 指定代理的错误日志",
    ),
    remedy: REMEDY,
    beware: None,
};

pub(super) fn judge(case: &Case) -> Option<Found> {
    let lines = logged::lines(case, "too_many_open_files")?;
    let evidence = logged::evidence(lines, "Too many open files");
    let found = Found::new("P2", Stage::Proxy, Proof::Proved, plain(CLAIM), evidence);
    Some(found.then(plain(REMEDY), plain(EXPERIMENT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        logged::tried(judge, "too_many_open_files");
    }
}
