//! The rule for refused datagrams: the target's system refused datagrams for which no answer was awaited, so they were
//! written but not received. If a response is awaited, a refusal fails the request; otherwise it is the only sign of a
//! closed port.

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const UNHEARD: Text = text(
    "messages did not arrive: {refused} ICMP port unreachable for {sent} one-way {sent|request|requests}",
    "消息没有送达：{sent} 个单向请求收到 {refused} 条 ICMP 端口不可达消息",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    // One refusal may represent several requests.
    let (refused, sent) = (run.totals.connections.refused, run.totals.one_way);
    let facts = [("refused", numbers::count(refused)), ("sent", numbers::count(sent))];
    (refused > 0 && sent > 0).then(|| Finding::new("unheard", Grade::Fail, UNHEARD, facts))
}

#[cfg(test)]
mod tests {
    use brunt_record::{ConnectionFigures, End, Second};

    use super::*;
    use crate::rules::tests::of_second;

    #[test]
    fn a_refusal_makes_a_run_untrusted_where_nobody_answers() {
        for (refused, one_way, grade) in [(0, 5, None), (1, 5, Some(Grade::Fail)), (1, 0, None)] {
            let connections = ConnectionFigures { refused, ..ConnectionFigures::default() };
            let found = of_second(judge, Second { one_way, connections, ..Second::default() }, End::Completed);
            assert_eq!(found.map(|found| found.grade), grade, "{refused} refused of {one_way}");
        }
    }
}
