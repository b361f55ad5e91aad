//! Causes for failed connections: name resolution, addresses, connection attempts, and errors of the operating system.

crate::sentences! { "reaching":
    no_connection(who, why) = "no connection to {who}: {why}", "无法连接 {who}：{why}", before;
    not_within(who, time) = "{who} did not respond within {time}", "{who} 在 {time} 内没有响应", before;
    not_whole_within(who, time) =
        "{who} sent part of a response, but not all of it within {time}", "{who} 在 {time} 内只发送了部分响应，没有发完", before;
    none_like_within(awaited, time) = "no message matching {awaited} came within {time}", "等待 {time} 仍未收到符合 {awaited} 的消息", before;
    none_like(awaited) = "no message matching {awaited} came in time", "超时前没有收到符合 {awaited} 的消息", before;
    run_timeout(who) =
        "{who} did not respond in the time left by --run-timeout", "{who} 在 --run-timeout 剩余的时间内没有响应", before;
    name_not_found(host, why) = "the name {host} was not found ({why})", "找不到主机名 {host}（{why}）", before;
    name_without_address(host) = "the name {host} has no address", "主机名 {host} 没有地址", before;
    no_address(host) = "{host} has no address", "{host} 没有地址", before;
    one_address(address, of, host) =
        "{address}, one of the {of} addresses of {host}", "{address}（{host} 的 {of} 个地址之一）";
    public_address(host, address) =
        "{host} ({address}) is a public address and was not confirmed; add --yes to allow it",
        "{host}（{address}）是公网地址，尚未确认；如需允许请加 --yes", before;
    not_lent(host, address) =
        "the owner of this agent does not allow {host} ({address}) to be loaded from it; the agent's --allow lists what it may load",
        "该施压机的机主不允许从它对 {host}（{address}）施压；允许的目标由该施压机的 --allow 列出", before;
    refused(errno) = "Connection refused ({errno})", "连接被拒绝（{errno}）", before;
    reset(errno) = "Connection reset by peer ({errno})", "连接被对端重置（{errno}）", before;
    timed_out(errno) = "Connection timed out ({errno})", "连接超时（{errno}）", before;
    no_route(errno) = "No route to host ({errno})", "没有到主机的路由（{errno}）", before;
    no_network(errno) = "Network is unreachable ({errno})", "网络不可达（{errno}）", before;
    broken_pipe(errno) = "Broken pipe ({errno})", "管道已断开（{errno}）", before;
    no_file(errno) = "No such file or directory ({errno})", "文件不存在（{errno}）", before;
    unknown_name = "Name or service not known", "域名不存在", before;
    names_away = "Temporary failure in name resolution", "域名解析暂时失败", before;
    no_thread(why, limit, own) =
        "cannot start a thread: {why}; this user may have {limit} processes and threads, and brunt needs more than the \
            {own} it has: raise the limit by 10 or more (ulimit -u), or use fewer workers (-w)",
        "无法启动线程：{why}；该用户最多可有 {limit} 个进程和线程，而 brunt 需要的线程多于现有的 {own} 个：请把上限至少提高 10（ulimit -u），或减少工作线程（-w）", before;
    no_descriptors(limit, beside) =
        "out of file descriptors: this process may have {limit} (ulimit -n), and brunt needs {beside} plus one per \
            connection; raise the limit: ulimit -n 1024",
        "文件描述符耗尽：该进程最多可打开 {limit} 个（ulimit -n），brunt 自身需要 {beside} 个，每个连接再占一个；请提高上限：ulimit -n 1024", before;
    system(words, errno) = "{words} ({errno})", "{words}（{errno}）";
    no_url(url, why) = "\"{url}\" is not a URL: {why}", "“{url}” 不是 URL：{why}";
    no_web_url(url) = "\"{url}\" is not an HTTP URL", "“{url}” 不是 HTTP URL";
    composes_nothing = "this protocol does not create requests during a run", "该协议不支持在压测过程中构造请求";
    like_one_with_slots =
        "the request used as a model has slots; use one without slots", "作为参照的请求含有占位符；请选用不含占位符的请求";
    made_from_nothing =
        "the source of the request used as a model was not kept", "作为参照的请求没有保留原始内容";
    epoll(why) = "epoll: {why}", "epoll：{why}";
}

/// Returns the cause for the error of the operating system with this symbolic name; `words` is its description by the
/// system library.
pub fn of_system(words: &str, errno: &str) -> crate::Cause {
    match errno {
        "ECONNREFUSED" => refused(errno),
        "ECONNRESET" => reset(errno),
        "ETIMEDOUT" => timed_out(errno),
        "EHOSTUNREACH" => no_route(errno),
        "ENETUNREACH" => no_network(errno),
        "EPIPE" => broken_pipe(errno),
        "ENOENT" => no_file(errno),
        _ => system(words, errno),
    }
}
