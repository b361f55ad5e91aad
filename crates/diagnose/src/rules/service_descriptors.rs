//! S10: the service ran out of file descriptors for further connections.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S10",
    origin: CounterOrigin::Service,
    stage: PathStage::ServerKernel,
    title: text("Service out of file descriptors", "服务文件描述符耗尽"),
    symptom: text(
        "connections above a round number hang or are reset; the log says `too many open files`",
        "连接数超过某个整数后，连接挂起或被重置；日志中有 too many open files",
    ),
    remedy: text(
        "raise its limit: LimitNOFILE= in its systemd unit, `ulimit -n` in its shell, or nginx's worker_rlimit_nofile",
        "提高其上限：systemd 单元的 LimitNOFILE=、其 shell 的 `ulimit -n`、nginx 的 worker_rlimit_nofile",
    ),
    experiment: text(
        "with {users} users, no connection should fail",
        "{users} 个用户时不应有连接失败",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the service ran out of file descriptors: process {pid} had {open} of {limit} open",
    "服务的文件描述符耗尽：进程 {pid} 打开了 {open} 个，上限 {limit}",
);
const EVIDENCE: Text = text(
    "/proc/{pid}/fd: up to {open}; /proc/{pid}/limits: {limit}",
    "/proc/{pid}/fd：最多 {open}；/proc/{pid}/limits：{limit}",
);

/// Share of the limit that counts as reached: the rest may be opened and closed between two readings.
const REACHED: f64 = 0.97;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let here = &case.counters;
    let (pid, open, limit) = here.name_middles("service.", ".fd_limit").find_map(|pid| {
        let limit = here.last(&format!("service.{pid}.fd_limit")).filter(|limit| *limit > 0.0)?;
        let open = here.max(&format!("service.{pid}.fds"))?;
        // The descriptor opened to list them is included in the list.
        (open >= REACHED * limit - 1.0).then_some((pid, open.min(limit), limit))
    })?;
    let [open, shown] = [open, limit].map(whole);
    let facts = || [("pid", pid.to_owned()), ("open", open.clone()), ("limit", shown.clone())];
    let found =
        proved(LocalizedSentence::new(CLAIM, facts()), LocalizedSentence::new(EVIDENCE, facts()));
    // Fewer than there were, where users made the connections.
    let fewer = if case.run.users > 1 { u64::from(case.run.users / 2) } else { u64::MAX };
    let users = ((limit / 2.0) as u64).clamp(1, fewer);
    // Near its limit a process still works; at it, connects fail or wait.
    let is_limit = !case.run.failures.is_empty() || case.run.waited_to_connect();
    Some(found.limiting(is_limit).experiment_with([("users", users.to_string())]).repeated_with(ExperimentLoad::Users(users)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn all_descriptors_of_a_process() {
        let of = |open| counted(&[("service.7.fds", 10.0, open), ("service.7.fd_limit", 64.0, 64.0)]);
        assert_eq!(judged(&RULE, |_| (), of(64.0)), Some("proved"));
        assert_eq!(judged(&RULE, |_| (), of(40.0)), None);
    }
}
