//! Causes for failed checks, with the expected and the actual content.

crate::sentences! { "checks":
    body_lacks(text, found) =
        "expected body to contain {text}, found {found}", "预期正文包含 {text}，实际为 {found}", before;
    response_lacks(text, found) =
        "expected response to contain {text}, found {found}", "预期响应包含 {text}，实际为 {found}", before;
    message_lacks(text, found) =
        "expected message to contain {text}, found {found}", "预期消息包含 {text}，实际为 {found}";
    reply_lacks(text, found) = "expected reply to contain {text}, found {found}", "预期应答包含 {text}，实际为 {found}";
    no_match(option, found) =
        "expected response to match {option}, found {found}", "预期响应匹配 {option}，实际为 {found}";
    nothing = "nothing (0 B)", "无内容（0 B）";
    no_json(found) = "expected JSON, found {found}", "预期 JSON，实际为 {found}";
    nothing_at(rule, place) = "expected {rule}, found nothing at {place}", "预期 {rule}，但 {place} 处没有内容";
    differs(rule, found) = "expected {rule}, found {found}", "预期 {rule}，实际为 {found}";
    awaited_unreadable(why) = "the `await` condition cannot be checked: {why}", "无法检查 `await` 条件：{why}";
    rule_unreadable(why) =
        "the rule cannot be read with the values of this request: {why}", "填入该请求的值之后，规则无法解析：{why}";
    and_more(found, n) = "{found} and {n} more", "{found}，另有 {n} 个";
    header_differs(header, found) = "expected the header {header}, found {found}", "预期响应头 {header}，实际为 {found}";
    trailer_differs(trailer, found) =
        "expected the trailer {trailer}, found {found}", "预期尾部字段 {trailer}，实际为 {found}";
    no_header(header, instead) = "expected the header {header}, {instead}", "预期响应头 {header}，{instead}";
    no_trailer(trailer, instead) = "expected the trailer {trailer}, {instead}", "预期尾部字段 {trailer}，{instead}";
    headers(names) = "the headers are {names}", "收到的响应头有 {names}";
    no_headers = "there are no headers", "没有响应头";
    trailers(names) = "the trailers are {names}", "收到的尾部字段有 {names}";
    no_trailers = "there are no trailers", "没有尾部字段";
    too_long(bound) = "the body is longer than {bound}, the limit for checks", "正文超过检查上限 {bound}", own;
    unchecked(why) = "the body was not checked: {why}", "正文未检查：{why}", own;
    headers_unchecked(why) = "the headers were not checked: {why}", "响应头未检查：{why}", own;
    response_too_long(bound) =
        "the response is longer than {bound}, the limit for checks", "响应超过检查上限 {bound}", own;
    response_unchecked(why) = "the response was not checked: {why}", "响应未检查：{why}", own;
    no_room =
        "too much response data is being held at once across all connections; use fewer connections, or fewer checks of \
            large responses",
        "所有连接同时缓存的响应数据过多；请减少连接数，或减少对大响应的检查", own;
    out_of_steps =
        "checking this response takes too long, so brunt gave up; use simpler rules, or check smaller responses",
        "检查该响应耗时过长，brunt 已放弃；请使用更简单的规则，或检查更小的响应", own;
    undecodable(bytes) =
        "the body ({bytes}) cannot be decoded by its Content-Encoding",
        "正文（{bytes}）无法按 Content-Encoding 解码";
    decoded_too_long(bytes, most) =
        "the body ({bytes}) is longer than {most} when decoded, the limit for checks",
        "正文（{bytes}）解码后超过检查上限 {most}", own;
    undecoded(bytes, why) = "the body ({bytes}) was not decoded: {why}", "正文（{bytes}）未解码：{why}", own;
}
