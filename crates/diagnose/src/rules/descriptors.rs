//! C4: the load generator reached its limit of file descriptors.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "C4",
    origin: CounterOrigin::Generator,
    stage: PathStage::ClientKernel,
    title: text("Load generator out of file descriptors", "发压端文件描述符耗尽"),
    symptom: text(
        "connections fail at a round number (1,000, 4,000, 20,000) with EMFILE",
        "连接数达到某个整数（1000、4000、20000）后以 EMFILE 失败",
    ),
    remedy: text(
        "raise `ulimit -n` (LimitNOFILE= in a systemd unit); its ceiling is fs.nr_open",
        "提高 `ulimit -n`（systemd 单元用 LimitNOFILE=）；上限由 fs.nr_open 决定",
    ),
    experiment: text("with fewer connections than descriptors, no request should fail", "连接数少于文件描述符上限时，不应再有请求失败"),
    caution: Some(text(
        "the ceiling of `ulimit -n` is fs.nr_open, not fs.file-max; a value above fs.nr_open in limits.conf locks \
            users out",
        "`ulimit -n` 的上限是 fs.nr_open 而非 fs.file-max；limits.conf 中的值超过 fs.nr_open 会导致无法登录",
    )),
    judge,
};

const CLAIM: Text = text(
    "the load generator ran out of file descriptors: {n} {n|request|requests} failed because none was left",
    "发压端的文件描述符耗尽：{n} 个请求因此失败",
);
const EVIDENCE: Text = text("EMFILE {n} times", "系统返回 EMFILE {n} 次");
const LIMIT: Text = text("; the limit is {limit}", "；上限为 {limit}");

fn judge(case: &Case) -> Option<RuleVerdict> {
    let failed = case.run.failed_by("no_descriptors");
    let n = numbers::count(failed);
    let evidence = LocalizedSentence::new(EVIDENCE, [("n", n.clone())]);
    let evidence = match case.counters.last("self.fd_limit") {
        Some(limit) => evidence.with_clause(LIMIT, [("limit", whole(limit))]),
        None => evidence,
    };
    (failed > 0).then(|| {
        let claim = LocalizedSentence::new(CLAIM, [("n", n)]);
        proved(claim, evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn descriptors_of_the_generator_and_of_nobody_else() {
        let failing = |kind: &str| vec![FailureCount { kind: kind.into(), phase: "connect".into(), count: 3 }];
        let limit = || counted(&[("self.fd_limit", 64.0, 64.0)]);
        assert_eq!(judged(&RULE, |run| run.failures = failing("no_descriptors"), limit()), Some("proved"));
        assert_eq!(judged(&RULE, |run| run.failures = failing("closed"), limit()), None, "those of the service");
    }
}
