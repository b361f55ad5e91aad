//! Causes for HTTP/1: message framing and malformed heads.

crate::sentences! { "http1":
    instead_of_continue =
        "a response came instead of 100 Continue, so the body was not sent",
        "服务器没有返回 100 Continue，而是直接给出了响应，因此正文未发送", before;
    no_http1 = "the response is not HTTP/1.x", "响应不是 HTTP/1.x", before;
    endless_headers = "endless headers: the response headers are larger than 256 KiB", "响应头过长：超过 256 KiB", before;
    chunk_out_of_range = "a chunk size is out of range", "分块大小超出范围";
    chunk_not_hex = "a chunk size is not a hexadecimal number", "分块大小不是十六进制数";
    chunk_too_long = "a chunk is longer than its size says", "分块的实际长度超过声明的大小";
    endless_chunks = "endless chunk extensions or trailers", "分块扩展或尾部字段过长";
    chunk_line_end = "a chunk line or trailer does not end in CR LF", "分块行或尾部字段没有以 CR LF 结尾";
    wrong_request_line = "the request line is not METHOD TARGET HTTP/1.x", "请求行不是 METHOD TARGET HTTP/1.x";
    target_not_text = "the request target is not text", "请求目标不是文本";
    uses_tls = "the server uses TLS on this port; use https://", "服务器在该端口使用 TLS；请改用 https://";
    uses_http2 = "the server uses HTTP/2 on this port; add --http2", "服务器在该端口使用 HTTP/2；请加 --http2";
    no_field = "a header line is not NAME: VALUE", "有头部行不是 NAME: VALUE 格式";
    control_character = "a header line contains a control character", "有头部行含有控制字符";
    folded = "a header line is folded", "有头部行使用了折行";
    length_not_a_number = "Content-Length is not a number", "Content-Length 不是数字";
    length_twice = "Content-Length is given twice with different values", "Content-Length 出现两次且值不同";
    chunked_twice = "Transfer-Encoding has chunked twice", "Transfer-Encoding 中 chunked 出现两次";
    redirect_loop(url) = "a redirect loop: redirects lead back to {url}", "重定向循环：重定向又回到 {url}";
    no_redirect_url = "the Location of a redirect is not an HTTP URL", "重定向的 Location 不是 HTTP URL";
    endless_request_headers = "endless headers: the request headers are larger than 256 KiB", "请求头过长：超过 256 KiB";
    request_not_chunked =
        "the request's Transfer-Encoding does not end in chunked",
        "请求的 Transfer-Encoding 没有以 chunked 结尾";
    unrequested_101 = "unrequested 101 Switching Protocols", "没有请求切换协议，却收到 101 Switching Protocols";
    unsolicited = "unsolicited bytes", "收到没有对应请求的数据";
    no_link = "the URL is a value that no step has captured", "URL 取自变量，但没有步骤捕获到该值";
    no_room_for_heads =
        "endless headers: too many unfinished headers to hold in memory", "响应头过长：内存中尚未收完的头部过多", own;
    no_room_for_cookies =
        "the cookies of all users exceed 256 MiB: no room for the ones in this response; use fewer users",
        "所有用户的 Cookie 合计超过 256 MiB，无法再保存此响应的 Cookie；请减少用户数", own;
}
