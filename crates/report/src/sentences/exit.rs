//! The meanings of the exit codes of a run.

use crate::text::{Text, text};

pub(crate) const EXIT_OK: Text = text("all objectives met, results trusted", "目标（SLO）全部通过，结果可信");
pub(crate) const EXIT_TRUSTED: Text = text("results trusted", "结果可信");
pub(crate) const EXIT_WITH_CAUTION: Text = text("use results with caution", "结果须谨慎使用");
pub(crate) const EXIT_CAUTION: Text =
    text("all objectives met, use results with caution", "目标（SLO）全部通过，结果须谨慎使用");
pub(crate) const EXIT_MET_NOT_TRUSTED: Text = text(
    "all objectives met, whatever of the latency is brunt's own",
    "目标（SLO）全部通过，无论延迟中有多少来自 brunt 自身",
);
pub(crate) const EXIT_ALLOWED: Text = text("not trusted, which --trust warn allows", "不可信，但 --trust warn 允许");
pub(crate) const EXIT_STRICT: Text = text("--trust strict allows no cautions", "--trust strict 不允许任何警告");
pub(crate) const EXIT_FAILED: Text = text(
    "; {n} {n|request|requests} failed, and no objective covers failures",
    "；有 {n} 个请求失败，但没有为失败设置目标（SLO）",
);
pub(crate) const EXIT_MISSED: Text = text("an objective was missed", "有目标（SLO）未通过");
pub(crate) const EXIT_STEP: Text =
    text("a step with `on-failure: stop-run` failed", "设有 `on-failure: stop-run` 的步骤失败");
pub(crate) const EXIT_TOO_SHORT: Text = text("too short to judge", "太短，无法判断");
pub(crate) const EXIT_MET_TOO_SHORT: Text =
    text("all objectives met, too short to judge the figures", "目标（SLO）全部通过，但压测太短，无法判断其数据");
pub(crate) const EXIT_UNDECIDED: Text = text("an objective cannot be decided", "有目标（SLO）无法判断");
pub(crate) const EXIT_NOT_TRUSTED: Text = text("not trusted", "不可信");
pub(crate) const EXIT_INTERRUPTED: Text = text("interrupted", "被中断");
pub(crate) const EXIT_PARTIAL: Text = text("part of the run was lost", "部分负载缺失");
pub(crate) const EXIT_NOT_WRITTEN: Text = text("an output file could not be written", "输出文件未能写入");
pub(crate) const EXIT_UNREACHABLE: Text = text("the target cannot be reached", "无法连接目标主机");
pub(crate) const EXIT_BUG: Text = text("a bug in brunt", "brunt 的缺陷");
