//! Causes for failures of side messages (WebSocket and raw).

crate::sentences! { "beside":
    wrong_opening =
        "the response to the opening message is not what --on-connect waits for",
        "开场消息的响应与 --on-connect 期望的不符", before;
    flood =
        "a flood of messages while the peer does not read the replies", "对端不断发来需要回复的消息，却不读取回复", before;
    too_costly =
        "a message of the peer takes too long to search with the groups of a --reply pattern; use a simpler pattern",
        "用 --reply 正则的分组搜索对端消息耗时过长；请使用更简单的正则", own;
}
