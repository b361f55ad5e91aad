//! What a ladder says: before it begins, after each run, and in the end.

use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, numbers};
use brunt_measure::Nanos;

use super::{LadderOutcome, LadderPlan, RungRun};
use crate::laws::ladder::{LadderStep, StepCost};
use crate::words::{lost_part, rate_text, took};

const OUTLOOK: Text = text(
    "Climbing {names}: 1, 2, 4 … users of each until throughput stops rising, {up_to} at most. Ctrl-C ends it with what is \
     known.",
    "逐级测量 {names}：每级依次使用 1、2、4……个用户，直到吞吐量不再上升，最多 {up_to} 个。按 Ctrl-C 结束并给出已知结果。",
);
const ARROW: Text = text(" → ", " → ");
pub(super) const USERS: Text = text("{n} {n|user|users}", "{n} 个用户");
const IN_DOUBT: Text = text("in doubt, not counted: {why}", "存疑，未计入：{why}");
const MISSED: Text = text("objectives missed", "未满足目标");
pub(super) const RUNG: Text = text("rung", "级");
pub(super) const ALONE: Text = text("alone", "单用户");
pub(super) const CAPACITY: Text = text("capacity", "容量");
const CPU: Text = text("CPU a request", "每请求 CPU");
const ADDS: Text = text("adds", "增加");
const KEPT: Text = text("keeps", "保留");
const STEP: Text = text(
    "{rung} adds {added} to the response of a user alone{cpu}, and keeps {kept} of the capacity: {cost}.",
    "{rung} 使单个用户的响应增加 {added}{cpu}，容量保留 {kept}：{cost}。",
);
const AND_CPU: Text = text(" and {cpu} of CPU to a request", "，每请求 CPU 增加 {cpu}");
const FREE: Text = text("what it adds is free", "增加的部分没有代价");
const BY_CPU: Text = text("the CPU of the service limits it", "瓶颈是服务的 CPU");
const SERIAL: Text = text(
    "what it adds serves one request at a time (a lock, a single connection)",
    "增加的部分一次只处理一个请求（锁或单个连接）",
);
const SHORTER: Text = text(
    "a user alone gets its response sooner than on the rung below, so that it is not one thing more",
    "单个用户的响应比前一级更快，因此它并不是多做了一件事",
);
const MORE: Text = text(
    "its capacity is higher than that of the rung below, so that it is not one thing more, or runs vary: use longer ones (-d)",
    "容量高于前一级，因此它并不是多做了一件事，或各次运行波动较大：请延长运行时间（-d）",
);
const POOL: Text = text("a pool of {n} in front of what it adds limits it", "瓶颈是其前面大小为 {n} 的池");
const UNEXPLAINED: Text = text(
    "about {n} requests are in what it adds at a time: if it has a pool of about that size, that is the limit (--pool N)",
    "增加的部分同时约有 {n} 个请求：若其中有这么大的池，那就是瓶颈（--pool N）",
);
pub(super) const UNTOLD: Text = text("{rung}: cannot be told.", "{rung}：无法判断。");
const MISSES_ALONE: Text =
    text("{rung} misses its objectives with a single user.", "{rung} 只有一个用户时就未满足目标。");
const NOT_FULL: Text = text(
    "{rung} was still rising at {n} {n|user|users}: its capacity is higher. Go on with --up-to.",
    "{rung} 在 {n} 个用户时仍在上升：容量更高。请用 --up-to 继续。",
);
const NO_CPU: Text = text(
    "The CPU of a request is not known: name the service with --watch-pid or --watch-port.",
    "不知道每个请求的 CPU：请用 --watch-pid 或 --watch-port 指定服务。",
);
const NOT_ALL: Text = text("Not finished: {n} of {all} rungs were begun.", "尚未完成：共 {all} 级，已开始 {n} 级。");
const LOST: Text = text("A target could no longer be reached.", "已无法连接其中一个目标。");

/// Says what a ladder will do, before it begins.
pub fn outlook(plan: &LadderPlan, lang: Lang) -> String {
    let names: Vec<&str> = plan.rungs.iter().map(|rung| rung.name.as_str()).collect();
    let names = names.join(lang.of(ARROW));
    lang.fill(OUTLOOK, &[("names", &names), ("up_to", &plan.up_to.to_string())])
}

/// Says what a run was like, in one line.
pub fn run_line(rung: &str, run: &RungRun, lang: Lang) -> String {
    let users = lang.fill(USERS, &[("n", &run.users.to_string())]);
    let figures = match &run.doubt {
        Some(why) => lang.fill(IN_DOUBT, &[("why", &why.sentence(lang))]),
        None => {
            let median = run.median_s.map_or_else(|| numbers::WITHHELD.to_owned(), numbers::seconds);
            let missed = if run.is_met { String::new() } else { format!("  {}", lang.of(MISSED)) };
            format!("{}  p50 {median}{missed}", rate_text(run.throughput_per_s, lang))
        }
    };
    format!("  {rung}  {users}  {figures}")
}

/// Says what each rung adds, and what else is known.
pub(super) fn remarks(found: &LadderOutcome, steps: &[Option<LadderStep>], lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    for (rung, step) in found.rungs.iter().skip(1).zip(steps) {
        lines.push(match step {
            Some(step) => step_text(&rung.name, step, lang),
            None => lang.fill(UNTOLD, &[("rung", &rung.name)]),
        });
    }
    let missing = found.rungs.iter().filter(|rung| rung.misses_alone());
    lines.extend(missing.map(|rung| lang.fill(MISSES_ALONE, &[("rung", &rung.name)])));
    lines.extend(shortcomings(found, lang));
    let made: usize = found.rungs.iter().map(|rung| rung.runs.len()).sum();
    lines.push(took(made, found.elapsed, found.exit().code(), lang));
    lines
}

pub(super) fn rows(found: &LadderOutcome, steps: &[Option<LadderStep>], lang: Lang) -> Vec<Vec<String>> {
    let heading = [RUNG, ALONE, CAPACITY, CPU, ADDS, KEPT].map(|word| lang.of(word).to_owned()).to_vec();
    let withheld = || numbers::WITHHELD.to_owned();
    let row = |(at, rung): (usize, &super::ClimbedRung)| {
        let measured = rung.measured();
        let step = at.checked_sub(1).and_then(|below| steps[below]);
        vec![
            rung.name.clone(),
            measured.map_or_else(withheld, |rung| numbers::seconds(rung.alone_s)),
            measured.map_or_else(withheld, |rung| rate_text(rung.capacity_per_s, lang)),
            measured.and_then(|rung| rung.cpu_s).map_or_else(withheld, numbers::seconds),
            step.map_or_else(withheld, |step| signed_seconds(step.added_s)),
            step.map_or_else(withheld, |step| numbers::share(step.kept)),
        ]
    };
    std::iter::once(heading).chain(found.rungs.iter().enumerate().map(row)).collect()
}

fn signed_seconds(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "+" };
    format!("{sign}{}", numbers::duration(Nanos::from_secs_f64(seconds.abs())))
}

pub(super) fn step_text(rung: &str, step: &LadderStep, lang: Lang) -> String {
    let cpu = step.added_cpu_s.map_or_else(String::new, |cpu| lang.fill(AND_CPU, &[("cpu", &signed_seconds(cpu))]));
    let cost = match step.cost {
        StepCost::Free => lang.of(FREE).to_owned(),
        StepCost::Cpu => lang.of(BY_CPU).to_owned(),
        StepCost::Serial => lang.of(SERIAL).to_owned(),
        StepCost::Shorter => lang.of(SHORTER).to_owned(),
        StepCost::More => lang.of(MORE).to_owned(),
        StepCost::Pool(size) => lang.fill(POOL, &[("n", &size.to_string())]),
        StepCost::Unexplained(at_once) => lang.fill(UNEXPLAINED, &[("n", &format!("{at_once:.1}"))]),
    };
    let (added, kept) = (signed_seconds(step.added_s), numbers::share(step.kept));
    lang.fill(STEP, &[("rung", rung), ("added", &added), ("cpu", &cpu), ("kept", &kept), ("cost", &cost)])
}

/// Returns what the reader must know about the rungs.
fn shortcomings(found: &LadderOutcome, lang: Lang) -> Vec<String> {
    let mut lines = Vec::new();
    for rung in found.rungs.iter().filter(|rung| !rung.is_full) {
        if let Some(last) = rung.runs.last().filter(|_| found.is_complete) {
            lines.push(lang.fill(NOT_FULL, &[("rung", &rung.name), ("n", &last.users.to_string())]));
        }
    }
    if found.cores.is_none() {
        lines.push(lang.of(NO_CPU).to_owned());
    }
    if found.unreachable {
        lines.push(lang.of(LOST).to_owned());
    } else if !found.is_complete {
        let (n, all) = (found.rungs.len().to_string(), found.plan.rungs.len().to_string());
        lines.push(lang.fill(NOT_ALL, &[("n", &n), ("all", &all)]));
    }
    lines.extend(found.lost_part.as_ref().map(|why| lost_part(why, lang)));
    lines
}
