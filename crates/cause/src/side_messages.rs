//! Causes for failures of side messages (WebSocket and raw).

crate::sentences! { "beside":
    wrong_opening =
        "the response to the opening message is not what --on-connect waits for",
        "开场消息的响应与 --on-connect 期望的不符", before;
    flood =
        "a flood of messages while the peer does not read the replies", "对端不断发来需要回复的消息，却不读取回复", before;
}
