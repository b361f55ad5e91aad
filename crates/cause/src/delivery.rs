//! Why nothing was delivered to another machine of a fleet, or answered there. Engines say it in English across processes;
//! it is found again by that text where it is told to a person.

crate::sentences! { "delivery":
    nobody = "nobody is there to answer", "对方不在线，无人应答", before;
    late = "no answer in time", "未按时收到应答", before;
    unacknowledged = "not acknowledged in time", "未按时得到确认", before;
    too_long = "no message is that long", "消息过长", before;
    not_kept = "the coordinator did not keep it", "协调端没有保存", before;
    link_ended = "the link to the fleet has ended", "与机群的连接进程已结束", before;
    link_silent = "the link to the fleet does not answer", "与机群的连接进程没有响应", before;
    link_confused = "the link answers something else", "连接进程的应答与问题不符", before;
    link_starting = "the link to the fleet is being started", "与机群的连接进程正在启动", before;
    nats_silent = "the NATS server does not answer", "NATS 服务器没有响应", before;
    no_jetstream(why) = "the NATS server needs JetStream ({why})", "NATS 服务器需启用 JetStream（{why}）", before;
    no_round_trip = "no round trip was made", "没有完成任何往返", before;
    other_language(agent) = "agent {agent} answers in another language", "施压机 {agent} 的应答无法识别", before;
    other_briefing = "it is not the briefing that was announced", "收到的内容与预告不符", before;
}
