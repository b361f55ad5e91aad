//! Causes for proxies.

crate::sentences! { "proxy":
    not_found(proxy, why) = "the proxy {proxy} cannot be found: {why}", "找不到代理 {proxy}：{why}", before;
    refused(proxy, target, why) = "the proxy {proxy} refused the tunnel to {target}: {why}", "代理 {proxy} 拒绝建立到 {target} 的隧道：{why}", before;
    wrong_password(proxy) = "the proxy {proxy} does not accept this name and password", "代理 {proxy} 不接受该用户名和密码", before;
    no_password(proxy, option) =
        "the proxy {proxy} requires a name and a password; use {option}",
        "代理 {proxy} 需要用户名和密码，请使用 {option}", before;
    unauthorized(option) = "the proxy requires a valid name and password: {option}", "代理要求有效的用户名和密码：{option}", before;
    closed = "the proxy closed the connection before connecting to the target", "代理在连上目标之前就关闭了连接", before;
    no_http(proxy) = "{proxy} does not respond like an HTTP proxy; is it one?", "{proxy} 的响应不像 HTTP 代理，请确认地址是否正确", before;
    no_socks(proxy) = "{proxy} does not respond like a SOCKS5 proxy; is it one?", "{proxy} 的响应不像 SOCKS5 代理，请确认地址是否正确", before;
    at(proxy, address) = "the proxy {proxy} ({address})", "代理 {proxy}（{address}）", before;
    behind(target, proxy) = "{target} behind {proxy}", "{target}（经由代理 {proxy}）";
    no_method(proxy) =
        "the proxy {proxy} supports neither password authentication nor anonymous access",
        "代理 {proxy} 既不支持密码认证，也不支持匿名访问";
    long_name(bytes) = "a name of {bytes} bytes is too long for a SOCKS proxy", "主机名有 {bytes} 字节，超出 SOCKS 代理的限制";
    give_password(status) = "{status}; give credentials with -U NAME:PASSWORD", "{status}；请用 -U 用户名:密码 提供凭据";
    not_accepted(status) = "{status}; it does not accept this name and password", "{status}；代理不接受该用户名和密码";
    unresolved(host) = "the name {host} was not found; socks5h:// lets the proxy resolve it", "找不到主机名 {host}；改用 socks5h:// 可由代理解析";
    failure(code) = "general failure (reply {code})", "一般性错误（应答 {code}）";
    not_allowed(code) = "not allowed by its rules (reply {code})", "代理的规则不允许（应答 {code}）";
    no_network(code) = "network unreachable (reply {code})", "网络不可达（应答 {code}）";
    no_host(code) = "host unreachable (reply {code})", "主机不可达（应答 {code}）";
    target_refused(code) = "the target refused the connection (reply {code})", "目标拒绝了连接（应答 {code}）";
    timed_out(code) = "timed out (reply {code})", "超时（应答 {code}）";
    no_command(code) = "command not supported (reply {code})", "不支持该命令（应答 {code}）";
    no_address_type(code) = "address type not supported (reply {code})", "不支持该地址类型（应答 {code}）";
    no_reason(code) = "no reason given (reply {code})", "未说明原因（应答 {code}）";
}
