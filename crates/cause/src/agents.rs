//! What agents of a fleet say of their shares, and why they are lost. It travels as English text, in which reports find the
//! sentence again.

crate::sentences! { "agents":
    silent(time) = "silent for {time}", "{time} 没有消息", before;
    endless(time) = "it did not end within {time} of its last second", "最后一秒之后 {time} 内没有结束", before;
    unkept(why) = "this machine could not keep what it hands in: {why}", "本机无法保存它上交的数据：{why}", before;
    refused(why) = "it could not take its share: {why}", "它无法承担其份额：{why}", before;
    stopped = "its load was stopped before the end", "其负载在结束之前被停止", before;
    off_the_clock = "it reports a second that is none of the run's", "它上报的一秒不属于本次压测的时间划分", before;
    beyond_its_seconds = "it reports an end that its seconds do not reach", "它上报的结束时间超出了它上报的各秒", before;
    started_again = "the agent was started again; it is back, but does not take up its share",
        "该施压机曾重新启动，现已重新上线，但不再承担其份额", before;
    taken_back = "taken back by its owner", "被机主收回", before;
    taken_back_with(how) = "taken back by its owner ({how})", "被机主收回（{how}）", before;
    held = "the change of the load was held to what the owner of the agent allows", "负载的变更被限制在机主允许的范围内", before;
    orphaned(time) = "stopped: nothing was heard of the coordinator for {time}", "已停止：{time} 没有协调端的消息", before;
    overflowed(how) =
        "{how}; neither its disk nor its memory could hold more figures", "{how}；其磁盘和内存都无法再存放数据", before;
    in_memory(why) =
        "figures that are not handed in yet are kept in memory: {why}", "尚未上交的数据保存在内存中：{why}", before;
    no_plan(why) = "the plan did not arrive: {why}", "计划没有送达：{why}", before;
}
