//! What engine and protocols say of a failure, in the reader's language.
//!
//! They say it in English, once, and so it stands in records. A reason that is not in the list stays as it is: half a
//! translation would be worse. `{}` is whatever stands there; what is a reason itself (`Connection refused`) is
//! translated, too.

use std::borrow::Cow;

use crate::Lang;

/// English, and Chinese with the same places in the same order.
const REASONS: &[(&str, &str)] = &[
    // Reaching somebody.
    ("{} does not respond: {}", "{} 没有响应：{}"),
    ("{} did not respond within {}", "{} 在 {} 内没有响应"),
    ("no message like {} came within {}", "没有收到符合 {} 的消息（等待 {}）"),
    ("no message like {} came in time", "超时前没有收到符合 {} 的消息"),
    ("{} did not respond in the time left by --run-timeout", "{} 在 --run-timeout 剩余的时间内没有响应"),
    ("the name {} was not found ({})", "找不到主机名 {}（{}）"),
    ("the name {} has no address", "主机名 {} 没有地址"),
    ("{} has no address", "{} 没有地址"),
    (
        "{} ({}) is a public address and was not confirmed; add --yes to allow it",
        "{}（{}）是公网地址，未经确认；--yes 可允许",
    ),
    ("Connection refused ({})", "连接被拒绝（{}）"),
    ("Connection reset by peer ({})", "连接被对方重置（{}）"),
    ("Connection timed out ({})", "连接超时（{}）"),
    ("No route to host ({})", "没有到主机的路由（{}）"),
    ("Network is unreachable ({})", "网络不可达（{}）"),
    ("Broken pipe ({})", "管道已断开（{}）"),
    ("No such file or directory ({})", "文件不存在（{}）"),
    ("Name or service not known", "域名不存在"),
    ("Temporary failure in name resolution", "域名解析暂时失败"),
    (
        "cannot start a thread: {}; this user may have {} processes and threads, and brunt needs more than its {}: \
            raise the limit by 10 or more (ulimit -u), or use fewer workers (-w)",
        "无法启动线程：{}；该用户最多可有 {} 个进程和线程，而 brunt 需要的线程多于现有的 {} 个：请将此上限提高 10 或更多（ulimit -u），或减少工作线程（-w）",
    ),
    (
        "out of file descriptors: this process may have {} (ulimit -n), and brunt needs {} plus one per connection; \
            raise the limit: ulimit -n 1024",
        "描述符已用尽：该进程最多可有 {} 个（ulimit -n），brunt 需要 {} 个，另加每个连接一个；请提高此上限：ulimit -n 1024",
    ),
    // Proxies.
    ("the proxy {} cannot be found: {}", "找不到代理 {}：{}"),
    ("the proxy {} refused the tunnel to {}: {}", "代理 {} 拒绝建立到 {} 的隧道：{}"),
    ("the proxy {} does not accept this name and password", "代理 {} 不接受该用户名和密码"),
    ("the proxy {} requires a name and a password; write {}", "代理 {} 需要用户名和密码，请写 {}"),
    ("the proxy requires a valid name and password: {}", "代理需要它接受的用户名和密码：{}"),
    ("the proxy closed the connection before connecting to the target", "代理在通往目标之前关闭了连接"),
    ("{} does not respond like an HTTP proxy; is it one?", "{} 的响应不像 HTTP 代理，它是吗？"),
    ("{} does not respond like a SOCKS5 proxy; is it one?", "{} 的响应不像 SOCKS5 代理，它是吗？"),
    ("the proxy {} ({})", "代理 {}（{}）"),
    // TLS.
    (
        "{} does not use TLS on this port: it responded in plain HTTP; write the scheme without TLS (http://, ws://)",
        "{} 的这个端口不使用 TLS（它以明文 HTTP 响应），请改用不带 TLS 的协议前缀（http://、ws://）",
    ),
    (
        "{} does not use TLS on this port; write the scheme without TLS",
        "{} 的这个端口不使用 TLS，请改用不带 TLS 的协议前缀",
    ),
    (
        "the connection was closed during the TLS handshake; if this port does not use TLS, write the scheme \
            without TLS",
        "连接在 TLS 握手期间被关闭；如果该端口不使用 TLS，请改用不带 TLS 的协议前缀",
    ),
    ("the certificate of {} has expired", "{} 的证书已过期"),
    ("the certificate of {} expired on {}", "{} 的证书已于 {} 过期"),
    ("the certificate of {} is not valid yet", "{} 的证书尚未生效"),
    (
        "the certificate of {} comes from an unknown issuer; trust its authority with --cacert FILE, or skip the check with --insecure",
        "{} 的证书由未知机构签发；请用 --cacert 文件 信任该机构，或用 --insecure 跳过校验",
    ),
    (
        "the certificate of {} is self-signed; trust it with --cacert FILE, or skip the check with --insecure",
        "{} 的证书是自签名的；请用 --cacert 文件 信任它，或用 --insecure 跳过校验",
    ),
    ("the certificate of {} is for another name: {}", "{} 的证书属于其他名称：{}"),
    (
        "the certificate of {} is for no name: it has no subjectAltName, and its CN is ignored; create it with \
            -addext {}, or skip the check with --insecure",
        "{} 的证书没有任何名称：缺少 subjectAltName，而 CN 已不再使用；请用 -addext {} 重新生成，或用 --insecure 跳过校验",
    ),
    (
        "the certificate of {} is X.509 version 1, which has no host names; create it with -addext {}, or skip the \
            check with --insecure",
        "{} 的证书是 X.509 第 1 版，不含主机名；请用 -addext {} 重新生成，或用 --insecure 跳过校验",
    ),
    ("{} requires a client certificate; give it with --cert and --key", "{} 要求客户端证书，请用 --cert 和 --key 提供"),
    // Responses.
    ("the run was stopped before the first response", "压测在首次响应之前被停止"),
    (
        "the connection was closed without a response; if this port uses TLS, write the scheme with TLS",
        "连接在没有响应的情况下被关闭；如果该端口使用 TLS，请改用相应的协议前缀",
    ),
    ("the connection was closed before the response was complete", "响应尚未完整，连接已被关闭"),
    ("the connection was lost before the response was complete: {}", "响应尚未完整，连接已中断：{}"),
    (
        "the response ends with its TLS connection, which was closed without close_notify: it may be incomplete",
        "响应随 TLS 连接结束，而连接关闭时没有 close_notify：无法得知响应是否完整",
    ),
    ("the response is broken: {}", "响应不符合协议：{}"),
    ("the response came after the timeout", "响应晚于超时时间"),
    (
        "a response came instead of 100 Continue, so the body was not sent",
        "服务器没有返回 100 Continue，而是直接给出了响应，因此正文未发送",
    ),
    ("no response to a heartbeat within {}", "{} 内没有心跳响应"),
    (
        "the response to the opening message is not what --on-connect waits for",
        "对开场消息的响应不是 --on-connect 所等待的内容",
    ),
    ("a flood of messages while the peer does not read the replies", "对方大量发送需要回复的消息，却不读取回复"),
    (
        "the server kept closing the connection before accepting the stream (GOAWAY)",
        "服务器每次都在接受该流之前离开（GOAWAY）",
    ),
    (
        "the server kept refusing the stream (RST_STREAM REFUSED_STREAM) on live connections: it is overloaded, or \
            accepts fewer streams at a time than its SETTINGS_MAX_CONCURRENT_STREAMS says; lower the load, or lower \
            --streams",
        "服务器在仍然存活的连接上反复拒绝该流（RST_STREAM REFUSED_STREAM）：它已过载，或同时接受的流少于其 \
         SETTINGS_MAX_CONCURRENT_STREAMS 所声明的数量；请降低负载，或减小 --streams",
    ),
    ("the response is not HTTP/1.x", "响应不是 HTTP/1.x"),
    ("endless headers: the response headers are larger than 256 KiB", "响应头过长：超过 256 KiB"),
    (
        "the server responded in HTTP/1: it does not support HTTP/2 here; leave out --http2",
        "服务器以 HTTP/1 响应：此处不支持 HTTP/2；请去掉 --http2",
    ),
    ("the server responded in HTTP/1: it does not support HTTP/2 here", "服务器以 HTTP/1 响应：此处不支持 HTTP/2"),
    (
        "the server responded to the upgrade with 200: there is no WebSocket at this URL",
        "服务器对升级请求返回 200：该处不支持 WebSocket",
    ),
    ("expected body to contain {}, found {}", "预期正文包含 {}，实际为 {}"),
    ("expected response to contain {}, found {}", "预期响应包含 {}，实际为 {}"),
];

/// A reason in this language; as it is, where it is not known.
pub fn reason(text: &str, lang: Lang) -> Cow<'_, str> {
    if lang == Lang::En {
        return Cow::Borrowed(text);
    }
    let bare = text.strip_suffix('.').unwrap_or(text);
    REASONS.iter().find_map(|(en, zh)| Some(Cow::Owned(filled(zh, &places(bare, en)?, lang)))).unwrap_or(text.into())
}

/// What stands in the places of a pattern; None: it is another text.
fn places<'a>(text: &'a str, pattern: &str) -> Option<Vec<&'a str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut parts = parts.peekable();
    let mut found = Vec::new();
    while let Some(part) = parts.next() {
        let at = match parts.peek() {
            None => rest.len().checked_sub(part.len()).filter(|_| rest.ends_with(part))?,
            Some(_) => rest.find(part)?,
        };
        found.push(rest.get(..at).filter(|place| !place.is_empty())?);
        rest = &rest[at + part.len()..];
    }
    rest.is_empty().then_some(found)
}

fn filled(pattern: &str, places: &[&str], lang: Lang) -> String {
    let mut parts = pattern.split("{}");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for (part, place) in parts.zip(places) {
        out.push_str(&reason(place, lang));
        out.push_str(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_in_the_readers_language() {
        for (en, zh) in [
            (
                "127.0.0.1:1 does not respond: Connection refused (ECONNREFUSED)",
                "127.0.0.1:1 没有响应：连接被拒绝（ECONNREFUSED）",
            ),
            ("the name a.invalid was not found (Name or service not known).", "找不到主机名 a.invalid（域名不存在）"),
            (
                "the proxy http://p:1 (10.0.0.1:1) did not respond within 5.00 s",
                "代理 http://p:1（10.0.0.1:1） 在 5.00 s 内没有响应",
            ),
            ("the response is broken: the response is not HTTP/1.x", "响应不符合协议：响应不是 HTTP/1.x"),
            (
                "expected body to contain \"a, found b\", found \"c\" (1 B)",
                "预期正文包含 \"a，实际为 b\", found \"c\" (1 B)",
            ),
            ("ERR unknown command 'X'", "ERR unknown command 'X'"),
            ("", ""),
        ] {
            assert_eq!(reason(en, Lang::Zh), zh);
            assert_eq!(reason(en, Lang::En), en);
        }
    }

    #[test]
    fn both_languages_have_the_same_places() {
        for (en, zh) in REASONS {
            assert_eq!(en.matches("{}").count(), zh.matches("{}").count(), "{en}");
            let example = en.replace("{}", "x");
            assert_ne!(reason(&example, Lang::Zh), example, "{en} hides behind another");
        }
    }

    /// Whoever rewords a reason finds its translation here.
    #[test]
    fn every_reason_is_still_said_somewhere() {
        let mut said = String::new();
        let mut folders: Vec<_> =
            ["engine", "net", "values", "http-family", "databases", "raw", "protocols", "bench", "intent", "cli"]
                .map(|name| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"))
                .into();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path if path.extension().is_some_and(|ending| ending == "rs") => {
                        said += &std::fs::read_to_string(path).expect("a source");
                    }
                    _ => {}
                }
            }
        }
        // A text over several lines of source is one.
        let said: String = said.split("\\\n").map(str::trim_start).collect();
        let of_the_system = |en: &str| en.starts_with(|c: char| c.is_ascii_uppercase());
        for (en, _) in REASONS.iter().filter(|(en, _)| !of_the_system(en)) {
            // Clauses: some sentences are put together of them.
            let clauses = en.replace("; ", "{}").replace(": ", "{}").replace(" (", "{}");
            for part in clauses.split("{}").filter(|part| part.len() > 12) {
                let words = part.trim_start_matches("expected body").trim_start_matches("expected response");
                assert!(said.contains(words), "nobody says `{part}` of `{en}` any more");
            }
        }
    }
}
