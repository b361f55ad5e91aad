//! Whether answers belong to the requests they were taken for, where their order alone says so.

use plan::Plan;
use record::Notice;

use crate::summary::Summary;
use crate::totals::Totals;
use crate::trust::Reason;

/// More than one answer too many in so many answers, and the figures may be those of other requests.
const STRAYS_ONE_IN: u64 = 1000;

/// What answers too many come to.
pub fn judged(summary: &Summary) -> Option<Reason> {
    pairing(&summary.totals, &summary.notices, pipelined(summary))
}

/// An answer too many may have been taken for the next one's. Where several are awaited at a time, each shifts all behind it.
fn pairing(totals: &Totals, notices: &[Notice], pipelined: bool) -> Option<Reason> {
    // Records from before strays were counted apart say so by a notice.
    let by_order = notices.iter().any(|n| matches!(n.code.as_str(), "datagrams_by_order" | "messages_by_order"));
    let strays = if totals.strays == 0 && by_order { totals.unsolicited } else { totals.strays };
    let shifted = pipelined || strays.saturating_mul(STRAYS_ONE_IN) > totals.finished;
    (strays > 0).then_some(Reason::Pairing { strays, shifted })
}

/// Whether several requests were awaited at a time on one connection.
fn pipelined(summary: &Summary) -> bool {
    let depth = |plan: &Plan| plan.options.get("pipeline")?.last()?.parse::<u64>().ok();
    summary.started.as_ref().and_then(|s| depth(&s.plan)).is_some_and(|depth| depth > 1)
}

#[cfg(test)]
mod tests {
    use record::Second;

    use super::*;
    use crate::trust::Grade;

    #[test]
    fn answers_too_many_are_a_caution_and_too_many_of_them_cost_the_trust() {
        for (strays, pushed, finished, pipelined, grade) in [
            (0, 0, 5000, false, None),
            // What a server pushes by itself is no answer too many.
            (0, 900, 5000, true, None),
            (5, 0, 5000, false, Some(Grade::Warn)),
            (6, 0, 5000, false, Some(Grade::Fail)),
            (1, 0, 5000, true, Some(Grade::Fail)),
            (1, 0, 0, false, Some(Grade::Fail)),
        ] {
            let mut totals = Totals::default();
            totals.add(&Second { strays, unsolicited: strays + pushed, finished, ..Second::default() });
            let judged = pairing(&totals, &[], pipelined).map(|reason| reason.grade());
            assert_eq!(judged, grade, "{strays} of {finished}, pipelined: {pipelined}");
        }
    }
}
