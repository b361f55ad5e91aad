//! Causes of HTTP/2: frames, streams, header lists.

crate::sentences! { "http2":
    turned_away =
        "the server kept closing the connection before accepting the stream (GOAWAY)",
        "服务器每次都在接受该流之前离开（GOAWAY）", before;
    refused =
        "the server kept refusing the stream (RST_STREAM REFUSED_STREAM) on live connections: it is overloaded, or \
            accepts fewer streams at a time than its SETTINGS_MAX_CONCURRENT_STREAMS says; lower the load, or lower \
            --streams",
        "服务器在仍然存活的连接上反复拒绝该流（RST_STREAM REFUSED_STREAM）：它已过载，或同时接受的流少于其 SETTINGS_MAX_CONCURRENT_STREAMS 所声明的数量；请降低负载，或减小 --streams", before;
    leave_it_out =
        "the server responded in HTTP/1: it does not support HTTP/2 here; leave out --http2",
        "服务器以 HTTP/1 响应：此处不支持 HTTP/2；请去掉 --http2", before;
    speaks_http1 =
        "the server responded in HTTP/1: it does not support HTTP/2 here",
        "服务器以 HTTP/1 响应：此处不支持 HTTP/2", before;
    uses_tls =
        "the server uses TLS on this port; use https:// or grpcs://",
        "服务器在该端口使用 TLS；请写 https:// 或 grpcs://";
    silent_in_clear =
        "the server closed the connection before any HTTP/2; if it uses TLS on this port, use https:// or grpcs://",
        "服务器在任何 HTTP/2 之前关闭了连接；如果它在该端口使用 TLS，请写 https:// 或 grpcs://";
    silent = "the server closed the connection before any HTTP/2", "服务器在任何 HTTP/2 之前关闭了连接";
    reset(code) = "the server reset the stream: {code}", "服务器重置了该流：{code}", fixed;
    reset_unknown = "the server reset the stream with an unknown code", "服务器以未知代码重置了该流";
    goaway(code) = "the server closed the connection with GOAWAY: {code}", "服务器以 GOAWAY 关闭了连接：{code}", fixed;
    goaway_unknown =
        "the server closed the connection with GOAWAY and an unknown code", "服务器以 GOAWAY 和未知代码关闭了连接";
    with_data(why, data) = "{why} ({data})", "{why}（{data}）";
    data_alone(data) = " ({data})", "（{data}）";
    on_stream = "a connection-level frame was sent on a stream", "连接级的帧被发送到了流上";
    pushes = "the server sent a push although push is disabled", "服务器在推送已禁用时仍进行推送";
    enables_push =
        "the server's SETTINGS enable push, which only a client may",
        "服务器的 SETTINGS 启用了推送，而只有客户端可以这样做";
    wrong_frame_size =
        "SETTINGS_MAX_FRAME_SIZE is not from 16384 to 16777215",
        "SETTINGS_MAX_FRAME_SIZE 不在 16384 到 16777215 之间";
    flood_of_acknowledgements =
        "a flood of PING or SETTINGS while the server does not read the acknowledgements",
        "大量 PING 或 SETTINGS，而服务器不读取确认";
    empty_window_update = "WINDOW_UPDATE of zero", "WINDOW_UPDATE 的增量为零";
    never_opened = "a frame on a stream that was never opened", "帧所在的流从未打开";
    wrong_size = "a frame has a size that its type does not allow", "帧的大小不是其类型所允许的";
    too_wide = "a window grew beyond 2^31-1", "窗口超过了 2^31-1";
    too_long = "a frame is larger than the allowed 16384 bytes", "帧超过了允许的 16384 字节";
    interrupted = "a header block is interrupted by another frame", "头部块被另一帧打断";
    no_settings = "the server's first frame is not SETTINGS", "服务器的第一帧不是 SETTINGS";
    short_headers = "HEADERS is too short for its priority", "HEADERS 过短，容不下其优先级";
    lone_continuation = "CONTINUATION without HEADERS before it", "CONTINUATION 之前没有 HEADERS";
    endless_headers = "endless headers: a header block is larger than 256 KiB", "响应头过长：头部块超过 256 KiB";
    closed_stream = "a frame on a closed stream", "帧所在的流已关闭";
    flood = "a flood of useless frames", "大量无用的帧";
    too_padded = "a frame's padding is longer than the frame", "帧的填充比帧本身更长";
    no_status = "the response headers do not start with :status", "响应头没有以 :status 开头";
    wrong_status = "the response's :status is not a number from 100 to 999", "响应的 :status 不是 100 到 999 之间的数字";
    wrong_field =
        "a response header is not valid in HTTP/2: its name is not lowercase, its value has a line break, or it is a \
            connection header of HTTP/1.1",
        "某一响应头在 HTTP/2 中无效：名称不是小写、值含有换行，或它是 HTTP/1.1 的连接头部";
    wrong_length =
        "the response's content-length is not a number, or is given twice with different values",
        "响应的 content-length 不是数字，或出现两次且值不同";
    table_size = "a header block changes the table size where it must not", "头部块在不允许之处更改了表的大小";
    integer = "a header block has an integer out of range", "头部块中有超出范围的整数";
    endless_list = "endless headers: a header list is larger than 256 KiB", "响应头过长：头部列表超过 256 KiB";
    no_entry = "a header block refers to an entry not in its table", "头部块引用了表中不存在的条目";
    no_huffman = "a header block has an invalid Huffman code", "头部块中有无效的 Huffman 编码";
    cut_field = "a header block ends within a field", "头部块在字段中间结束";
    body_too_short = "the response's body is shorter than its content-length", "响应正文比其 content-length 短";
    bad_trailer = "a trailer of the response has a field not allowed in trailers", "响应的尾部含有尾部中不允许的字段";
    body_too_long = "the response's body is longer than its content-length", "响应正文比其 content-length 长";
    switches =
        "the server switches protocols (101), which HTTP/2 does not support",
        "服务器切换协议（101），而 HTTP/2 没有此功能";
    ends_interim = "the response ends after an interim (1xx) status", "响应在临时（1xx）状态之后就结束了";
    no_redirect_url = "the response redirects to something other than an HTTP URL", "响应重定向到的不是 HTTP URL";
    body_first = "the response body comes before its headers", "响应正文先于其头部到达";
    headers_within = "a second set of headers came within the response body", "响应正文中间出现了第二组头部";
    no_preface = "the connection preface is not valid HTTP/2", "前言不是 HTTP/2 的";
    open_trailer = "a trailer that does not end its stream", "尾部没有结束其流";
    no_room_for_requests = "incomplete requests take up more than 16 MiB", "未完整的请求占用超过 16 MiB";
    misplaced = "a frame is on a stream where it is not allowed", "帧位于不应出现的流上";
    client_pushes = "a client must not push", "客户端不能推送";
    setting = "a setting is out of its range", "某项设置超出范围";
}
