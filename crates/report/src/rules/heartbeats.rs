//! The rule for connections with unanswered heartbeats: a connection whose heartbeats are not answered in time counts
//! as lost, but if the run ends before then, only this rule reports it.

use brunt_record::End;

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const HEARTBEATS: Text = text(
    "none of {sent} {sent|heartbeat|heartbeats} got a response: nothing shows that the connections were alive",
    "发送了 {sent} 次心跳，均无响应：无法确认连接是否存活",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let beats = run.totals.heartbeats;
    let cut_early = beats.missed == 0 && run.end == End::Interrupted;
    (beats.sent > 0 && beats.answered == 0 && !cut_early)
        .then(|| Finding::new("heartbeats_unanswered", Grade::Fail, HEARTBEATS, [("sent", numbers::count(beats.sent))]))
}

#[cfg(test)]
mod tests {
    use brunt_record::{HeartbeatCounts, Second};

    use super::*;
    use crate::rules::tests::of_second;

    #[test]
    fn connections_that_answer_no_heartbeat_are_not_held() {
        let judged = |sent, answered, missed, reason| {
            let heartbeats = HeartbeatCounts { sent, answered, missed, open: sent - answered - missed };
            of_second(judge, Second { heartbeats, ..Second::default() }, reason).map(|found| found.grade)
        };
        assert_eq!(judged(10, 0, 0, End::Completed), Some(Grade::Fail));
        assert_eq!(judged(10, 0, 2, End::Interrupted), Some(Grade::Fail));
        assert_eq!(judged(10, 0, 0, End::Interrupted), None, "nobody waited for the answers");
        assert_eq!(judged(10, 1, 0, End::Completed), None);
        assert_eq!(judged(0, 0, 0, End::Completed), None);
    }
}
