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
pub(crate) const MORE_FAILURES: Text = text("and {n} more {n|kind|kinds} of failure", "另有 {n} 种失败");
