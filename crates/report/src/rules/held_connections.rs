//! Rules for runs that hold connections or only open them: whether all were established, and whether they stayed open.

use brunt_plan::Plan;

use brunt_record::{ConnectionLoss, End, Kind, Phase};

use super::Evidence;
use crate::failure_kind::FailureKind as _;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::sums::RunSums;
use crate::text::{Text, text};

const HELD_FEWER: Text = text(
    "{held} of {asked} connections were held: the others could not be opened",
    "{asked} 个连接中只保持了 {held} 个：其余无法建立",
);
const HELD_FEWER_LOST: Text = text(
    "{held} of {asked} connections were held at the same time: the others were opened but lost",
    "{asked} 个连接中，同时保持的只有 {held} 个：其余建立后断开",
);
const HELD_FEWER_BOTH: Text = text(
    "{held} of {asked} connections were held at the same time: some could not be opened, others were lost",
    "{asked} 个连接中，同时保持的只有 {held} 个：部分无法建立，部分建立后断开",
);
const HELD_FEWER_LATE: Text = text(
    "{held} of {asked} connections were held: the others did not open in time",
    "{asked} 个连接中只保持了 {held} 个：其余未能及时建立",
);
const HELD_NONE_LASTED: Text =
    text("none of the {asked} connections lasted: they were opened but lost", "{asked} 个连接全部在建立后断开");
const HELD_NONE: Text = text("none of the {asked} connections could be opened", "{asked} 个连接全部未能建立");
const LOST: Text =
    text("{lost} {lost|connection was|connections were} lost while being held", "保持期间断开了 {lost} 个连接");

const LOST_FOR_GOOD: Text = text(
    "{lost} of {held} held connections were lost, and {open} {open|was|were} left at the end",
    "保持的 {held} 个连接断开了 {lost} 个，结束时只剩 {open} 个",
);
const LOST_AND_REFUSED: Text = text(
    "{lost} of {held} held connections were lost, and {refused} {refused|reconnect was|reconnects were} refused: \
        the server's process ended or closed its port; {open} {open|was|were} left at the end",
    "保持的 {held} 个连接断开了 {lost} 个，{refused} 次重连被拒绝：服务进程已退出或关闭了端口；结束时只剩 {open} 个",
);

/// Returns the plan of a run that holds connections; `None` for any other run.
fn plan<'a>(run: &'a Evidence<'_>) -> Option<&'a Plan> {
    let plan = run.started.as_ref().map(|s| &s.plan)?;
    (plan.hold.is_some() || run.only_holds()).then_some(plan)
}

/// Finds that fewer connections were open at the same time than requested.
pub(super) fn fewer(run: &Evidence<'_>) -> Option<Finding> {
    let plan = plan(run)?;
    let (held, asked) = (run.totals.max_established, plan.load.peak().round() as u64);
    // A ramp may reach its peak only at its last moment.
    let all_could = run.end == End::Completed && plan.load.is_level() && run.changes.is_empty();
    if held >= asked || !(all_could || held == 0) {
        return None;
    }
    let connections = &run.totals.connections;
    let text = match (connections.failed > 0, connections.lost > 0) {
        // Each connection was open only briefly, within a second.
        (_, true) if held == 0 => HELD_NONE_LASTED,
        _ if held == 0 => HELD_NONE,
        (true, true) => HELD_FEWER_BOTH,
        (false, true) => HELD_FEWER_LOST,
        (true, false) => HELD_FEWER,
        (false, false) => HELD_FEWER_LATE,
    };
    let facts = [("held", numbers::count(held)), ("asked", numbers::count(asked))];
    Some(Finding::new("held_fewer", Grade::Fail, text, facts))
}

/// Finds that established connections were lost: a caution if they were opened again, otherwise a failure.
pub(super) fn lost(run: &Evidence<'_>) -> Option<Finding> {
    let held = held(run).filter(|held| held.lost > 0)?;
    let facts = [
        ("lost", numbers::count(held.lost)),
        ("held", numbers::count(held.most)),
        ("refused", numbers::count(held.refused)),
        ("open", numbers::count(held.left)),
    ];
    let (grade, text) = match (held.left < held.most, held.refused > 0) {
        (false, _) => (Grade::Warn, LOST),
        (true, false) => (Grade::Fail, LOST_FOR_GOOD),
        (true, true) => (Grade::Fail, LOST_AND_REFUSED),
    };
    Some(Finding::new("connections_lost", grade, text, facts))
}

/// What became of the connections that a run held.
pub(crate) struct HeldCount {
    /// Maximum number open at the same time.
    pub most: u64,
    /// Number lost after they had been established.
    pub lost: u64,
    /// Number established and not lost at the end.
    pub left: u64,
    /// Number of refused attempts to open one.
    pub refused: u64,
}

/// Counts the connections that a run held; `None` for any other run, and for one that was to reach its number of
/// connections only for a moment.
pub(crate) fn held(run: &RunSums) -> Option<HeldCount> {
    let plan = run.started.as_ref().map(|s| &s.plan)?;
    let (totals, counts) = (&run.totals, &run.totals.connections);
    let is_refused = |loss: &&ConnectionLoss| loss.is(Kind::Refused) && loss.is_in(Phase::Connect);
    (plan.hold.is_some() || run.only_holds()).then(|| HeldCount {
        most: totals.max_established,
        lost: counts.lost,
        left: totals.established().min(totals.max_established),
        refused: totals.unopened.iter().filter(is_refused).map(|loss| loss.count).fold(0, u64::saturating_add),
    })
}
