//! Causes for WebSocket: upgrade, frames and closing.

crate::sentences! { "websocket":
    no_websocket =
        "the server responded to the upgrade with 200: there is no WebSocket at this URL",
        "服务器对升级请求返回 200：此 URL 不支持 WebSocket", before;
    refused(status) = "the server refused the upgrade with {status}", "服务器拒绝了升级，状态码为 {status}", fixed;
    unauthorized =
        "the server refused the upgrade with 401 Unauthorized: add --user or an Authorization header",
        "服务器拒绝了升级（401 Unauthorized）：请加 --user 或 Authorization 请求头";
    interim =
        "the server responded to the upgrade with an interim status other than 101",
        "服务器对升级请求返回了 101 以外的临时状态码";
    redirects =
        "the server responded to the upgrade with a redirect (3xx), which is not followed: use the URL it points to",
        "服务器对升级请求返回了重定向（3xx），brunt 不会跟随：请直接使用它所指向的 URL";
    refused_4xx = "the server refused the upgrade with a status of 4xx", "服务器拒绝了升级，状态码为 4xx";
    refused_5xx = "the server refused the upgrade with a status of 5xx", "服务器拒绝了升级，状态码为 5xx";
    no_switch = "the server did not switch to WebSocket", "服务器没有切换到 WebSocket";
    other_protocol =
        "the server switches to a protocol other than WebSocket (Upgrade)",
        "服务器切换到了 WebSocket 以外的协议（Upgrade）";
    no_connection_upgrade = "the server's 101 lacks Connection: Upgrade", "服务器的 101 响应缺少 Connection: Upgrade";
    wrong_accept = "the server's Sec-WebSocket-Accept does not match the key", "服务器的 Sec-WebSocket-Accept 与密钥不符";
    no_subprotocol = "the server chose none of the offered subprotocols", "服务器没有选择请求中列出的任何子协议";
    other_subprotocol = "the server chose a subprotocol that was not offered", "服务器选择了请求中没有的子协议";
    other_extension = "the server responds with an extension that was not offered", "服务器启用了请求中没有的扩展";
    wrong_parameter =
        "the server accepts permessage-deflate with a parameter that RFC 7692 does not allow",
        "服务器返回的 permessage-deflate 含有 RFC 7692 不允许的参数";
    not_deflate = "a message marked as compressed that is not deflate data", "标为已压缩的消息不是 deflate 数据";
    half_code = "a close frame with half a status code", "关闭帧中的状态码不完整";
    wrong_code = "a close frame with a code that may not be sent", "关闭帧使用了不允许发送的状态码";
    reason_not_text = "a close frame whose reason is not UTF-8", "关闭帧的原因文本不是 UTF-8";
    closed(code) = "the server closed with {code}", "服务器关闭了连接，状态码为 {code}", fixed;
    closed_without_code = "the server closed without a code", "服务器关闭了连接，未给出状态码";
    closed_registered =
        "the server closed with a registered code (3000 to 3999)", "服务器关闭了连接，使用的是注册状态码（3000 到 3999）";
    closed_private = "the server closed with a private code (4000 to 4999)", "服务器关闭了连接，使用的是私有状态码（4000 到 4999）";
    closed_with(code, name) = "the server closed with {code} ({name})", "服务器关闭了连接，状态码为 {code}（{name}）";
    with_reason(why, reason) = "{why}: {reason}", "{why}：{reason}";
    reserved_bits =
        "a frame with reserved bits that no extension explains", "帧设置了保留位，但没有协商过使用保留位的扩展";
    masked = "the server masked a frame, which only clients may do", "服务器对帧加了掩码，但只有客户端才能加掩码";
    unmasked = "the client sent a frame without a mask", "客户端发送了没有掩码的帧";
    control_in_fragments = "a control frame in fragments", "控制帧被分片";
    long_control = "a control frame of more than 125 bytes", "控制帧超过 125 字节";
    unknown_opcode = "a frame with an unknown opcode", "帧的操作码未知";
    long_form = "a frame whose length is not in its shortest form", "帧长度没有使用最短形式";
    out_of_range = "a frame's length is out of range", "帧长度超出范围";
    flood_of_pings = "a flood of pings while the server does not read the pongs", "服务器大量发送 ping，却不读取 pong";
    not_text = "a text message that is not UTF-8", "文本消息不是 UTF-8";
    long_message = "a message larger than 1 GiB", "消息超过 1 GiB";
    long_for_checks = "a message larger than 16 MiB, the limit for checks", "消息超过检查上限 16 MiB", own;
    lone_fragment = "a fragment that belongs to no message", "分片不属于任何消息";
    message_within = "a message starts before the previous one has ended", "前一条消息尚未结束，就开始了新的消息";
    endless_request =
        "endless headers: the upgrade request is larger than 256 KiB", "请求头过长：升级请求超过 256 KiB";
    long_for_server = "a message larger than 4 MiB", "消息超过 4 MiB";
    uses_tls = "the server uses TLS on this port; use wss://", "服务器在该端口使用 TLS；请改用 wss://";
    uses_http2 =
        "the server uses HTTP/2 on this port; brunt runs WebSocket over HTTP/1.1",
        "服务器在该端口使用 HTTP/2；brunt 的 WebSocket 基于 HTTP/1.1";
    endless_response =
        "endless headers: the response to the upgrade is larger than 64 KiB", "响应头过长：升级响应超过 64 KiB";
    unsolicited =
        "an unsolicited message; if the server pushes messages, add --push to count them separately",
        "收到没有对应请求的消息；如果服务器会推送消息，请加 --push 单独计数";
    more_than_shown = "more than is shown", "超出显示范围";
}
