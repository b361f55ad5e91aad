//! The labels of the summary for one screen.

use crate::text::{Text, text};

pub(crate) const LATENCY: Text = text("Latency", "延迟");
pub(crate) const LIMIT: Text = text("Limit", "瓶颈");
pub(crate) const NOTICES: Text = text("Notes", "提示");
pub(crate) const RESULT: Text = text("Result", "结果");
pub(crate) const MORE: Text = text("Details", "详情");
pub(crate) const WHERE_MORE: Text = text(
    "`brunt report -v` shows all of the last run; -v all of any run",
    "用 `brunt report -v` 查看最近一次压测的全部数据；任何压测均可加 -v",
);
pub(crate) const NOT_SHOWN: Text = text("not shown here: {what}; {more}", "此处未显示：{what}；{more}");
pub(crate) const MORE_OBJECTIVES: Text = text("{n} {n|objective|objectives}", "{n} 个目标");
pub(crate) const MORE_FAILURES: Text = text("{n} {n|kind|kinds} of failure", "{n} 种失败");
pub(crate) const MORE_SCENARIOS: Text = text("{n} {n|scenario|scenarios}", "{n} 个场景");
pub(crate) const MORE_ITERATIONS: Text = text("{n} {n|row|rows} of iterations", "{n} 行迭代数据");
pub(crate) const MORE_NAMES: Text = text("{n} {n|name|names}", "{n} 个名称的数据");
