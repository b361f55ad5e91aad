//! Throughput against load: more than in proportion is an error of one of two points, and no more at all is a queue.

use brunt_i18n::numbers;
use brunt_i18n::text::{Text, text};

use super::super::finding::{LintFinding, LintGrade};
use super::super::ladder::{Ladder, Rung, RungKind};
use super::super::stated::{LoadKind, StatedRun};
use super::{Examined, LintEvidence};
use crate::figures;

/// Efficiency above which throughput has grown more than in proportion, beyond noise.
const SUPERLINEAR: f64 = 1.1;
/// The same for whole runs, whose first one may have been cold.
const SUPERLINEAR_RUNS: f64 = 1.25;
/// Ratio of throughput up to which it has not grown.
const FLAT: f64 = 1.1;

const OF_RESOURCES: Text = text(
    "from {few} to {many} threads or machines, throughput went from {before} to {after}: {times} times with {ratio} times \
        as many, an efficiency of {efficiency}; one of the two measured something else",
    "线程或机器从 {few} 到 {many}，吞吐量从 {before} 到 {after}：数量是 {ratio} 倍，吞吐量却是 {times} 倍，效率 \
        {efficiency}；两者之中必有一个测的不是同一件事",
);
const OF_USERS: Text = text(
    "from {few} to {many} users, throughput went from {before} to {after}: {times} times with {ratio} times as many, an \
        efficiency of {efficiency}; one of the two measured something else",
    "用户从 {few} 到 {many}，吞吐量从 {before} 到 {after}：数量是 {ratio} 倍，吞吐量却是 {times} 倍，效率 {efficiency}；\
        两者之中必有一个测的不是同一件事",
);
const OUTPUTS: Text = text(
    "{many} users have {after} and the {few} of line {line} have {before}: {times} times with {ratio} times the users, an \
        efficiency of {efficiency}; one of the two measured something else",
    "{many} 个用户是 {after}，而第 {line} 行的 {few} 个用户是 {before}：用户是 {ratio} 倍，吞吐量却是 {times} 倍，效率 {efficiency}；两者之中必有一个测的不是同一件事",
);
const KNEE: Text = text(
    "one user alone has {one}, and no number of users more than {most}: {most} ÷ {one} = {knee} requests are enough to \
        keep the service busy, and users beyond that only wait ({users} users: {wait} each by Little's law)",
    "一个用户时是 {one}，再多用户也不超过 {most}：{most} ÷ {one} = {knee} 个请求就足以让服务满载，更多的用户只是在等待（{users} \
        个用户：按利特尔定律每个 {wait}）",
);
const FLAT_FROM: Text = text(
    "throughput is flat from {few} users on ({before} there, {after} at {many}): users beyond that only wait",
    "从 {few} 个用户起吞吐量不再增长（此处 {before}，{many} 个时 {after}）：更多的用户只是在等待",
);

/// Compares the rows of tables, and outputs of the same tool and target.
pub fn examine(evidence: &LintEvidence<'_>, examined: &mut Examined) {
    for ladder in evidence.ladders {
        let found = superlinear(ladder);
        let note = if ladder.kind == RungKind::Users { queueing(ladder) } else { None };
        examined.add(found.or(note));
    }
    for pair in pairs(evidence.runs) {
        examined.add(superlinear_runs(pair));
    }
}

/// Throughput at a level of load or of resources.
#[derive(Clone, Copy)]
struct LoadPoint {
    level: f64,
    rate_per_s: f64,
    line: usize,
}

impl LoadPoint {
    fn of_rung(rung: &Rung, column: usize) -> LoadPoint {
        LoadPoint { level: rung.level, rate_per_s: rung.rates[column], line: rung.line }
    }

    fn of_run(run: &StatedRun) -> Option<LoadPoint> {
        let point = LoadPoint { level: run.users()? as f64, rate_per_s: run.rate?.value, line: run.line };
        (point.level > 0.0 && point.rate_per_s > 0.0).then_some(point)
    }

    /// Returns growth of throughput ÷ growth of the level; 0 if the level did not grow.
    fn efficiency_to(self, more: LoadPoint) -> f64 {
        if more.level > self.level { (more.rate_per_s / self.rate_per_s) / (more.level / self.level) } else { 0.0 }
    }

    /// Returns the facts of a comparison.
    fn facts_to(self, more: LoadPoint) -> [(&'static str, String); 8] {
        let two = |value: f64| figures::number((value * 100.0).round() / 100.0);
        [
            ("few", figures::number(self.level)),
            ("many", figures::number(more.level)),
            ("before", figures::rate(self.rate_per_s)),
            ("after", figures::rate(more.rate_per_s)),
            ("times", two(more.rate_per_s / self.rate_per_s)),
            ("ratio", two(more.level / self.level)),
            ("efficiency", figures::percent((self.efficiency_to(more) * 100.0).round() / 100.0)),
            ("line", numbers::count(self.line as u64)),
        ]
    }
}

/// Returns the command that loads with so many users.
fn with_users(level: f64) -> String {
    format!("brunt -c {:.0} -d 30s URL", level.ceil().clamp(1.0, 1e4))
}

fn superlinear(ladder: &Ladder) -> Option<LintFinding> {
    let columns = ladder.rungs.iter().map(|rung| rung.rates.len()).min()?;
    let steps = (0..columns).flat_map(|column| {
        let point = move |rung: &Rung| LoadPoint::of_rung(rung, column);
        ladder.rungs.windows(2).map(move |two| (point(&two[0]), point(&two[1])))
    });
    let (few, many) = steps.into_iter().find(|(few, many)| few.efficiency_to(*many) > SUPERLINEAR)?;
    let text = match ladder.kind {
        RungKind::Resources => OF_RESOURCES,
        RungKind::Users => OF_USERS,
    };
    let found = LintFinding::of_line(many.line, LintGrade::Wrong, text, few.facts_to(many));
    Some(found.settled_by(with_users(many.level)))
}

/// Returns a note on where throughput stops to grow with the users, if it does.
fn queueing(ladder: &Ladder) -> Option<LintFinding> {
    let points: Vec<LoadPoint> = ladder.rungs.iter().map(|rung| LoadPoint::of_rung(rung, 0)).collect();
    let is_ascending = points.windows(2).all(|two| two[0].level < two[1].level);
    let (first, last) = points.first().zip(points.last()).filter(|_| is_ascending)?;
    let most = points.iter().fold(0.0, |most: f64, point| most.max(point.rate_per_s));
    let knee = most / first.rate_per_s;
    if first.level == 1.0 && last.level > 2.0 * knee {
        let facts = [
            ("one", figures::rate(first.rate_per_s)),
            ("most", figures::rate(most)),
            ("knee", figures::number((knee * 100.0).round() / 100.0)),
            ("users", figures::number(last.level)),
            ("wait", figures::time(last.level / last.rate_per_s)),
        ];
        let found = LintFinding::of_line(first.line, LintGrade::Note, KNEE, facts);
        return Some(found.settled_by(with_users(knee)));
    }
    let few = points.iter().find(|point| most <= point.rate_per_s * FLAT)?;
    let is_flat = last.level >= 2.0 * few.level;
    is_flat.then(|| LintFinding::of_line(first.line, LintGrade::Note, FLAT_FROM, few.facts_to(*last)))
}

/// Returns neighbouring outputs of the same tool and target in closed load, the one with fewer users first.
fn pairs(runs: &[StatedRun]) -> Vec<(&StatedRun, &StatedRun)> {
    let closed: Vec<&StatedRun> =
        runs.iter().filter(|run| run.load == LoadKind::Closed && run.target.is_some()).collect();
    let neighbours =
        closed.windows(2).map(|two| if two[1].users() < two[0].users() { (two[1], two[0]) } else { (two[0], two[1]) });
    neighbours.filter(|(few, many)| few.tool == many.tool && few.target == many.target).collect()
}

fn superlinear_runs((few, many): (&StatedRun, &StatedRun)) -> Option<LintFinding> {
    let (before, after) = (LoadPoint::of_run(few)?, LoadPoint::of_run(many)?);
    (before.efficiency_to(after) > SUPERLINEAR_RUNS).then(|| {
        let found = LintFinding::of_run(many, LintGrade::Weak, OUTPUTS, before.facts_to(after));
        found.settled_by(many.brunt_with_users())
    })
}
