//! Causes of failures of side messages (WebSocket and raw).

crate::sentences! { "beside":
    wrong_opening =
        "the response to the opening message is not what --on-connect waits for",
        "对开场消息的响应不是 --on-connect 所等待的内容", before;
    flood =
        "a flood of messages while the peer does not read the replies", "对方大量发送需要回复的消息，却不读取回复", before;
}
