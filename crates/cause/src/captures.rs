//! Causes for failed captures.

crate::sentences! { "captures":
    too_long(capture, bytes, most) =
        "the value found by {capture} is {bytes} bytes long, and the limit is {most}",
        "{capture} 找到的值有 {bytes} 字节，超过上限 {most}", own;
    found_only(capture, n) = "{capture} found only {n}", "{capture} 只找到 {n} 个";
    found_nothing(capture, instead) = "{capture} found nothing; {instead}", "{capture} 没有找到任何内容；{instead}";
    null(capture) = "the value of {capture} is NULL", "{capture} 的值为 NULL";
    has_headers(names) = "the response has {names}", "响应中有 {names}";
    has_no_header = "the response has no header", "响应中没有任何响应头";
    value(text) = "its value is {text}", "其值为 {text}";
    has_cookies(names) = "the response set {names}", "响应设置了 {names}";
    has_no_cookie = "no cookie was set", "没有设置 Cookie";
    no_rows = "there are no rows", "没有返回任何行";
    nil = "the reply is nil", "应答为 nil";
    empty = "the body is empty", "正文为空";
    body(text) = "the body is {text}", "正文为 {text}";
    no_list(reply) = "the reply is not a list: {reply}", "应答不是列表：{reply}";
    no_json(body) = "the body is not JSON: {body}", "正文不是 JSON：{body}";
    no_xml(why) = "the body is not XML: {why}", "正文不是 XML：{why}";
    document_too_long(bytes, most) =
        "the body is {bytes}; only documents of up to {most} are searched", "正文大小为 {bytes}，超过可搜索的上限 {most}", own;
    too_many_nodes(most) =
        "the document has more than {most} elements and text nodes; write regex PATTERN, or between 'A' 'B'",
        "文档的元素和文本节点超过 {most} 个；请改用 regex PATTERN，或 between 'A' 'B'", own;
    too_deep(deepest) =
        "the document nests elements {deepest} deep; write regex PATTERN, or between 'A' 'B'",
        "文档的元素嵌套达 {deepest} 层；请改用 regex PATTERN，或 between 'A' 'B'", own;
    too_many_attributes =
        "the document has tags with too many attributes to search; write regex PATTERN",
        "文档中有标签的属性过多，无法搜索；请改用 regex PATTERN", own;
    out_of_steps(capture) =
        "searching this response with {capture} takes too long, so brunt gave up; use a simpler one, or between 'A' 'B'",
        "用 {capture} 搜索该响应耗时过长，brunt 已放弃；请使用更简单的写法，或 between 'A' 'B'", own;
    no_xpath(xpath, why) = "xpath {xpath} cannot be evaluated ({why})", "xpath {xpath} 无法求值（{why}）";
    no_column(instead) = "there is no such column; {instead}", "没有这一列；{instead}";
    one_row = "the response has 1 row", "响应有 1 行";
    rows(n) = "the response has {n} rows", "响应有 {n} 行";
    one_row_of(names) = "the response has 1 row of {names}", "响应有 1 行，列为 {names}";
    rows_of(n, names) = "the response has {n} rows of {names}", "响应有 {n} 行，列为 {names}";
}
