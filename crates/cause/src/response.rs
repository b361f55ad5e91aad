//! Causes for missing or broken responses, independent of the protocol.

crate::sentences! { "response":
    stopped = "the run was stopped before the first response", "压测在收到首次响应之前就已停止", before;
    closed_without_a_word =
        "the connection was closed without a response; if this port uses TLS, use a scheme with TLS",
        "连接被关闭，没有收到响应；如果该端口使用 TLS，请改用相应的协议前缀", before;
    closed = "the connection was closed before the response was complete", "响应尚未收完，连接就被关闭", before;
    lost(why) = "the connection was lost before the response was complete: {why}", "响应尚未收完，连接就中断了：{why}", before;
    cut =
        "the response ends with its TLS connection, which was closed without close_notify: it may be incomplete",
        "响应以关闭 TLS 连接结束，但没有收到 close_notify：响应可能不完整", before;
    broken(why) = "the response is broken: {why}", "响应不符合协议：{why}", before;
    late = "the response came after the timeout", "超时之后才收到响应", before;
    no_heartbeat(time) = "no response to a heartbeat within {time}", "{time} 内没有心跳响应", before;
    refusing = "the target kept refusing it", "目标一再拒绝";
    step_lost =
        "the user's connection was closed before this step, and with it the state from earlier steps",
        "该用户的连接在此步骤之前已关闭，先前步骤的状态随之丢失";
    step_busy =
        "another step of its user is in progress on the connection; run them one after the other",
        "该用户的另一个步骤正在使用此连接；请让这些步骤先后执行";
    with_code(code, why) = "{code} · {why}", "{code} · {why}";
    code_alone(code) = "{code} · ", "{code} · ";
}
