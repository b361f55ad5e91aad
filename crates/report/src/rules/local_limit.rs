//! The rule for requests that never left this machine because it had no ports or descriptors left (V14, V15). Such
//! failures are our own: fewer users ran than the report states, and the target is not the cause.

use brunt_record::Kind;

use super::Evidence;
use crate::failure_kind::FailureKind as _;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const LOCAL: Text = text(
    "{failed} {failed|request|requests} failed on this machine, which ran out of local ports or file descriptors: \
        the load was lower than requested",
    "{failed} 个请求因本机端口或文件描述符耗尽而失败：实际负载低于设定值",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let own = run.totals.failures.iter().filter(|f| f.is(Kind::NoPorts) || f.is(Kind::NoDescriptors));
    let failed = own.map(|f| f.count).sum();
    (failed > 0).then(|| Finding::new("local_limit", Grade::Fail, LOCAL, [("failed", numbers::count(failed))]))
}

#[cfg(test)]
mod tests {
    use brunt_record::{End, Failure, Second};

    use super::*;
    use crate::rules::tests::of_second;

    #[test]
    fn what_failed_on_this_machine_is_not_the_targets_doing() {
        let failure = |kind: &str, count| Failure { kind: kind.into(), count, ..Failure::default() };
        let all = [failure("refused", 5), failure("no_ports", 2), failure("no_descriptors", 1)];
        let judged = |failures: &[Failure]| {
            of_second(judge, Second { failures: failures.to_vec(), ..Second::default() }, End::Completed)
        };
        let found = judged(&all).unwrap();
        assert_eq!((found.code, found.grade), ("local_limit", Grade::Fail));
        assert!(found.sentence(crate::Lang::En).starts_with("3 requests failed on this machine"));
        assert_eq!(judged(&all[..1]), None);
    }
}
