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
    "from {few} to {many} threads, throughput went from {before} to {after}: {times} times with {ratio} times the threads, \
        an efficiency of {efficiency}; one of the two measured something else",
    "从 {few} 到 {many} 个线程，吞吐量从 {before} 到 {after}：线程是 {ratio} 倍，吞吐量却是 {times} 倍，效率 {efficiency}；两者之中必有一个测的不是同一件事",
);
const OF_USERS: Text = text(
    "from {few} to {many} users, throughput went from {before} to {after}: {times} times with {ratio} times the users, an \
        efficiency of {efficiency}; one of the two measured something else",
    "从 {few} 到 {many} 个用户，吞吐量从 {before} 到 {after}：用户是 {ratio} 倍，吞吐量却是 {times} 倍，效率 {efficiency}；两者之中必有一个测的不是同一件事",
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

/// Returns the facts of a comparison.
fn facts(few: (f64, f64), many: (f64, f64)) -> [(&'static str, String); 7] {
    let times = many.1 / few.1;
    let ratio = many.0 / few.0;
    let two = |value: f64| figures::number((value * 100.0).round() / 100.0);
    [
        ("few", figures::number(few.0)),
        ("many", figures::number(many.0)),
        ("before", figures::rate(few.1)),
        ("after", figures::rate(many.1)),
        ("times", two(times)),
        ("ratio", two(ratio)),
        ("efficiency", figures::percent((times / ratio * 100.0).round() / 100.0)),
    ]
}

fn superlinear(ladder: &Ladder) -> Option<LintFinding> {
    let columns = ladder.rungs.iter().map(|rung| rung.rates.len()).min()?;
    let points = (0..columns).flat_map(|column| {
        let point = move |rung: &Rung| (rung.level, rung.rates[column], rung.line);
        ladder.rungs.windows(2).map(move |two| (point(&two[0]), point(&two[1])))
    });
    let efficiency = |few: (f64, f64, usize), many: (f64, f64, usize)| (many.1 / few.1) / (many.0 / few.0);
    let mut above = points.filter(|(few, many)| many.0 > few.0 && efficiency(*few, *many) > SUPERLINEAR);
    let (few, many) = above.next()?;
    let text = match ladder.kind {
        RungKind::Resources => OF_RESOURCES,
        RungKind::Users => OF_USERS,
    };
    let found = LintFinding::of_line(many.2, LintGrade::Wrong, text, facts((few.0, few.1), (many.0, many.1)));
    Some(found.settled_by(format!("brunt -c {} -d 30s URL", figures::number(many.0.clamp(1.0, 1e4)).replace(',', ""))))
}

/// Returns a note on where throughput stops to grow with the users, if it does.
fn queueing(ladder: &Ladder) -> Option<LintFinding> {
    let points: Vec<(f64, f64)> = ladder.rungs.iter().map(|rung| (rung.level, rung.rates[0])).collect();
    let is_ascending = points.windows(2).all(|two| two[0].0 < two[1].0);
    let (first, last) = points.first().copied().zip(points.last().copied()).filter(|_| is_ascending)?;
    let most = points.iter().fold(0.0, |most: f64, point| most.max(point.1));
    let knee = most / first.1;
    let line = ladder.rungs.first()?.line;
    if first.0 == 1.0 && last.0 > 2.0 * knee {
        let facts = [
            ("one", figures::rate(first.1)),
            ("most", figures::rate(most)),
            ("knee", figures::number((knee * 100.0).round() / 100.0)),
            ("users", figures::number(last.0)),
            ("wait", figures::time(last.0 / last.1)),
        ];
        let found = LintFinding::of_line(line, LintGrade::Note, KNEE, facts);
        return Some(found.settled_by(format!("brunt -c {} -d 30s URL", knee.ceil().clamp(1.0, 1e4))));
    }
    let few = points.iter().find(|point| most <= point.1 * FLAT).filter(|point| last.0 >= 2.0 * point.0)?;
    let [few_users, many_users, before, after, ..] = facts(*few, last);
    Some(LintFinding::of_line(line, LintGrade::Note, FLAT_FROM, [few_users, many_users, before, after]))
}

/// Returns outputs of the same tool and target in closed load, with fewer and with more users.
fn pairs(runs: &[StatedRun]) -> impl Iterator<Item = (&StatedRun, &StatedRun)> {
    let is_closed = |run: &&StatedRun| run.load == LoadKind::Closed && run.target.is_some();
    let closed: Vec<&StatedRun> = runs.iter().filter(is_closed).collect();
    let neighbours: Vec<_> = closed.windows(2).map(|two| (two[0], two[1])).collect();
    let is_same = |(a, b): &(&StatedRun, &StatedRun)| a.tool == b.tool && a.target == b.target;
    let ordered = |(a, b): (&'_ StatedRun, &'_ StatedRun)| a.users().zip(b.users()).map(|(few, many)| few < many);
    let mut found = Vec::new();
    for pair in neighbours.into_iter().filter(is_same) {
        match ordered(pair) {
            Some(true) => found.push(pair),
            Some(false) => found.push((pair.1, pair.0)),
            None => {}
        }
    }
    found.into_iter()
}

fn superlinear_runs((few, many): (&StatedRun, &StatedRun)) -> Option<LintFinding> {
    let point = |run: &StatedRun| {
        Some((run.users()? as f64, run.rate?.value)).filter(|(users, rate)| *users > 0.0 && *rate > 0.0)
    };
    let (before, after) = (point(few)?, point(many)?);
    let efficiency = (after.1 / before.1) / (after.0 / before.0);
    (after.0 > before.0 && efficiency > SUPERLINEAR_RUNS).then(|| {
        let [a, b, c, d, e, f, g] = facts(before, after);
        let line = ("line", numbers::count(few.line as u64));
        let found = LintFinding::of_run(many, LintGrade::Weak, OUTPUTS, [a, b, c, d, e, f, g, line]);
        found.settled_by(many.brunt_with_users())
    })
}
