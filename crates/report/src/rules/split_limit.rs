//! The rule for arrivals that waited for a share of the connection limit: with a different number of workers
//! the figures would differ.

use super::Evidence;
use crate::connection_limit::ConnectionLimitWait;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const SPLIT_LIMIT: Text = text(
    "arrivals waited for one of {limit} connections, which are divided among {workers} workers: an arrival can wait \
        while another worker's connection is free, so the wait depends on the number of workers; -w 1 makes it one \
        queue",
    "请求在等待连接：共 {limit} 个连接，分给了 {workers} 个工作线程：一个线程的请求在等，另一个线程的连接却空着，因此等待时间取决于线程数；用 -w 1 则只有一个队列",
);

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let limited = ConnectionLimitWait::of(run).filter(ConnectionLimitWait::is_split)?;
    let facts = [("limit", numbers::count(limited.limit.into())), ("workers", numbers::count(limited.workers.into()))];
    Some(Finding::new("split_limit", Grade::Warn, SPLIT_LIMIT, facts))
}
