//! The checks, each in a file of its own.

mod averaged;
mod cumulative;
mod failures;
mod heavy_tail;
mod little;
mod omission;
mod order;
mod ports;
mod prose;
mod rates;
mod samples;
mod scaling;
mod timeouts;
mod units;

use brunt_i18n::text::{Text, text};

use super::finding::LintFinding;
use super::ladder::Ladder;
use super::paste::PastedText;
use super::stated::StatedRun;

/// What the checks look at.
pub struct LintEvidence<'a> {
    /// The paste.
    pub paste: &'a PastedText,
    /// Outputs of tools.
    pub runs: &'a [StatedRun],
    /// Tables of throughput against load.
    pub ladders: &'a [Ladder],
}

/// What a check looked at, and what it found.
#[derive(Default)]
pub struct Examined {
    /// Number of things it could examine.
    pub count: usize,
    /// Findings.
    pub findings: Vec<LintFinding>,
}

impl Examined {
    /// Counts a thing that was examined, with what was found about it.
    pub fn add(&mut self, found: Option<LintFinding>) {
        self.count += 1;
        self.findings.extend(found);
    }
}

/// A check.
pub struct LintCheck {
    /// Name in documents.
    pub name: &'static str,
    /// What is checked.
    pub about: Text,
    /// Examines the evidence.
    pub examine: fn(&LintEvidence<'_>, &mut Examined),
}

impl std::fmt::Debug for LintCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn check(name: &'static str, about: Text, examine: fn(&LintEvidence<'_>, &mut Examined)) -> LintCheck {
    LintCheck { name, about, examine }
}

/// All checks, in the order in which they are listed.
pub const CHECKS: [LintCheck; 15] = [
    check("little", text("Little's law", "利特尔定律"), little::examine),
    check("cumulative", text("figures since the start", "从头累计的数字"), cumulative::examine),
    check("rate", text("throughput against counts", "吞吐量与计数"), rates::examine),
    check("order", text("order of the figures", "数字的大小顺序"), order::examine),
    check("units", text("units", "单位"), units::examine),
    check("samples", text("requests behind each percentile", "各百分位数的样本量"), samples::examine),
    check("tail", text("mean with a heavy tail", "长尾下的平均值"), heavy_tail::examine),
    check("averaged", text("averaged percentiles", "被平均的百分位数"), averaged::examine),
    check("failures", text("failures in the figures", "混入数据的失败请求"), failures::examine),
    check("timeouts", text("time-outs left out", "被遗漏的超时"), timeouts::examine),
    check("omission", text("coordinated omission", "协同遗漏（coordinated omission）"), omission::examine),
    check("ports", text("local ports", "本地端口"), ports::examine),
    check("scaling", text("throughput against load", "吞吐量与负载的关系"), scaling::examine),
    check("rounding", text("machines rounded down", "机器数向下取整"), prose::examine_machines),
    check("addresses", text("machines for the sake of ports", "因端口数而增加的机器"), prose::examine_addresses),
];
