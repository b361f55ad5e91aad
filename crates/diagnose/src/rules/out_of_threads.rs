//! W3: no further process or thread could be started, as the log says.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "W3",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text(
        "Out of threads or processes",
        "线程或进程数已满",
    ),
    symptom: text(
        "requests fail above some number of users: a thread or process for each of them; needs --watch-log on the log of the service or of the kernel",
        "用户数超过某个值后请求失败：每个用户占用一个线程或进程；需要用 --watch-log 指定服务或内核的日志",
    ),
    remedy: text(
        "raise the limit that was met: TasksMax= of the systemd unit, the container's pids limit, `ulimit -u`, kernel.pid_max; or use a pool of threads with a bound",
        "提高所达到的上限：systemd 单元的 TasksMax=、容器的 pids 限制、`ulimit -u`、kernel.pid_max；或使用有上限的线程池",
    ),
    experiment: text(
        "with half the users, the message should be gone",
        "用户数减半后，该消息应消失",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service could start no further thread or process",
    "服务无法再创建线程或进程",
);

fn judge(case: &Case) -> Option<RuleVerdict> {
    watched_log::found(case, CLAIM, &["no_threads"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_lines_in_the_log() {
        watched_log::assert_finds(&RULE, "no_threads");
    }
}
