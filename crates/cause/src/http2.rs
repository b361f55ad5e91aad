//! Causes for HTTP/2: frames, streams, header lists.

crate::sentences! { "http2":
    turned_away =
        "the server kept closing the connection before accepting the stream (GOAWAY)",
        "服务器每次都在接受该流之前就关闭了连接（GOAWAY）", before;
    refused =
        "the server kept refusing the stream (RST_STREAM REFUSED_STREAM) on live connections: it is overloaded, or \
            accepts fewer streams at a time than its SETTINGS_MAX_CONCURRENT_STREAMS says; lower the load, or lower \
            --streams",
        "连接正常，但服务器反复拒绝该流（RST_STREAM REFUSED_STREAM）：服务器已过载，或实际允许的并发流少于 SETTINGS_MAX_CONCURRENT_STREAMS 声明的数量；请降低负载，或减小 --streams", before;
    leave_it_out =
        "the server responded in HTTP/1: it does not support HTTP/2 here; leave out --http2",
        "服务器以 HTTP/1 响应：此处不支持 HTTP/2；请去掉 --http2", before;
    speaks_http1 =
        "the server responded in HTTP/1: it does not support HTTP/2 here",
        "服务器以 HTTP/1 响应：此处不支持 HTTP/2", before;
    uses_tls =
        "the server uses TLS on this port; use https:// or grpcs://",
        "服务器在该端口使用 TLS；请改用 https:// 或 grpcs://";
    silent_in_clear =
        "the server closed the connection before any HTTP/2; if it uses TLS on this port, use https:// or grpcs://",
        "服务器没有发送任何 HTTP/2 数据就关闭了连接；如果它在该端口使用 TLS，请改用 https:// 或 grpcs://";
    silent = "the server closed the connection before any HTTP/2", "服务器没有发送任何 HTTP/2 数据就关闭了连接";
    reset(code) = "the server reset the stream: {code}", "服务器重置了该流：{code}", fixed;
    reset_unknown = "the server reset the stream with an unknown code", "服务器重置了该流（错误码未知）";
    goaway(code) = "the server closed the connection with GOAWAY: {code}", "服务器发送 GOAWAY 并关闭了连接：{code}", fixed;
    goaway_unknown =
        "the server closed the connection with GOAWAY and an unknown code", "服务器发送 GOAWAY 并关闭了连接（错误码未知）";
    with_data(why, data) = "{why} ({data})", "{why}（{data}）";
    data_alone(data) = " ({data})", "（{data}）";
    on_stream = "a connection-level frame was sent on a stream", "连接级的帧出现在流上";
    pushes = "the server sent a push although push is disabled", "推送已禁用，服务器却仍在推送";
    enables_push =
        "the server's SETTINGS enable push, which only a client may do",
        "服务器的 SETTINGS 启用了推送，但只有客户端才能启用";
    wrong_frame_size =
        "SETTINGS_MAX_FRAME_SIZE is not between 16384 and 16777215",
        "SETTINGS_MAX_FRAME_SIZE 不在 16384 到 16777215 之间";
    flood_of_acknowledgements =
        "a flood of PING or SETTINGS while the server does not read the acknowledgements",
        "服务器不断发送 PING 或 SETTINGS，却不读取 ACK";
    empty_window_update = "WINDOW_UPDATE of zero", "WINDOW_UPDATE 的增量为零";
    never_opened = "a frame on a stream that was never opened", "在从未打开的流上收到帧";
    wrong_size = "a frame has a size that its type does not allow", "帧的大小不符合该类型的要求";
    too_wide = "a window grew beyond 2^31-1", "窗口超过了 2^31-1";
    too_long = "a frame is larger than the allowed 16384 bytes", "帧超过了允许的 16384 字节";
    interrupted = "a header block is interrupted by another frame", "头部块中间夹有其他帧";
    no_settings = "the server's first frame is not SETTINGS", "服务器的第一帧不是 SETTINGS";
    short_headers = "HEADERS is too short for its priority", "HEADERS 过短，放不下优先级字段";
    lone_continuation = "CONTINUATION without HEADERS before it", "CONTINUATION 之前没有 HEADERS";
    endless_headers = "endless headers: a header block is larger than 256 KiB", "响应头过长：头部块超过 256 KiB";
    closed_stream = "a frame on a closed stream", "在已关闭的流上收到帧";
    flood = "a flood of useless frames", "收到大量无用的帧";
    too_padded = "a frame's padding is longer than the frame", "帧的填充比帧本身还长";
    no_status = "the response headers do not start with :status", "响应头没有以 :status 开头";
    wrong_status = "the response's :status is not a number from 100 to 999", "响应的 :status 不是 100 到 999 之间的数字";
    wrong_field =
        "a response header is not valid in HTTP/2: its name is not lowercase, its value has a line break, or it is a \
            connection header of HTTP/1.1",
        "有响应头在 HTTP/2 中无效：名称不是小写、值含有换行，或属于 HTTP/1.1 的连接头部";
    wrong_length =
        "the response's content-length is not a number, or is given twice with different values",
        "响应的 content-length 不是数字，或出现两次且值不同";
    table_size = "a header block changes the table size where it must not", "头部块在不允许的位置修改了动态表大小";
    integer = "a header block has an integer out of range", "头部块中有超出范围的整数";
    endless_list = "endless headers: a header list is larger than 256 KiB", "响应头过长：头部列表超过 256 KiB";
    no_entry = "a header block refers to an entry not in its table", "头部块引用了表中不存在的条目";
    no_huffman = "a header block has an invalid Huffman code", "头部块中有无效的 Huffman 编码";
    cut_field = "a header block ends within a field", "头部块在字段中间就结束了";
    body_too_short = "the response's body is shorter than its content-length", "响应正文比其 content-length 短";
    bad_trailer = "a trailer of the response has a field not allowed in trailers", "响应的尾部字段中有不允许出现的字段";
    body_too_long = "the response's body is longer than its content-length", "响应正文比其 content-length 长";
    switches =
        "the server switches protocols (101), which HTTP/2 does not support",
        "服务器要求切换协议（101），但 HTTP/2 没有这一机制";
    ends_interim = "the response ends after an interim (1xx) status", "响应在临时状态码（1xx）之后就结束了";
    no_redirect_url = "the response redirects to something other than an HTTP URL", "响应重定向的目标不是 HTTP URL";
    body_first = "the response body comes before its headers", "响应正文先于头部到达";
    headers_within = "a second set of headers came within the response body", "响应正文中间出现了第二组头部";
    no_preface = "the connection preface is not valid HTTP/2", "连接前言（preface）不是有效的 HTTP/2";
    open_trailer = "a trailer that does not end its stream", "收到尾部字段，流却没有结束";
    no_room_for_requests = "incomplete requests take up more than 16 MiB", "尚未收完的请求占用超过 16 MiB";
    misplaced = "a frame is on a stream where it is not allowed", "帧出现在不该出现的流上";
    client_pushes = "a client must not push", "客户端不能推送";
    setting = "a setting is out of its range", "有设置项的值超出范围";
}
