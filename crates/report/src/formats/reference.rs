//! The results of the reference client for human-readable documents, next to the same figures of the load.

use crate::numbers;
use crate::ranked::RankedLatency;
use crate::reference::ReferenceTotals;
use crate::summary::Summary;
use crate::text::{Lang, Text, text};

/// Heading above the lines.
pub(super) const REFERENCE: Text = text("Reference client", "参照客户端");
const COUNTS: Text = text(
    "{rate} requests/s on a separate connection, not included above: {n} scheduled, {ok} succeeded, {failed} \
        failed, {open} unfinished",
    "独立连接，每秒 {rate} 个请求，不计入以上任何数字：计划 {n}，成功 {ok}，失败 {failed}，未结束 {open}",
);
const SERVICE: Text = text(
    "service time p50 {p50}, p99 {p99}; of the load p50 {load50}, p99 {load99}",
    "服务时间 p50 {p50}，p99 {p99}；压测负载 p50 {load50}，p99 {load99}",
);
const READ_LATE: Text = text(
    "of that, brunt's own delay in reading responses: p50 {p50}, p99 {p99} (kernel receive timestamps, one second \
        in four)",
    "其中，数据到达后发压端读取延迟 p50 {p50}，p99 {p99}（内核接收时间戳，每四秒采样一秒）",
);

/// Returns the lines on the reference client; empty in a run without one.
pub(super) fn lines(summary: &Summary, lang: Lang) -> Vec<String> {
    let Some(client) = &summary.reference else { return Vec::new() };
    let mut lines = vec![counts(client, summary, lang)];
    let quantile = |ranked: RankedLatency<'_>, q| ranked.quantile(q).figure.show();
    if client.succeeded > 0 {
        let (own, latency) = (client.service(), &summary.totals.latency);
        let load = RankedLatency::with_unfinished(&latency.service, &latency.service_at_least);
        let facts = [
            ("p50", &*quantile(own, 0.5)),
            ("p99", &*quantile(own, 0.99)),
            ("load50", &*quantile(load, 0.5)),
            ("load99", &*quantile(load, 0.99)),
        ];
        lines.push(lang.fill(SERVICE, &facts));
    }
    let late = client.read_late();
    if late.count() > 0 {
        lines.push(lang.fill(READ_LATE, &[("p50", &*quantile(late, 0.5)), ("p99", &*quantile(late, 0.99))]));
    }
    lines
}

fn counts(client: &ReferenceTotals, summary: &Summary, lang: Lang) -> String {
    let rate = summary.started.as_ref().and_then(|started| started.plan.reference).unwrap_or_default();
    let [n, ok, failed, open] =
        [client.scheduled, client.succeeded, client.failed, client.unfinished].map(numbers::count);
    let facts = [("rate", &*rate.to_string()), ("n", &*n), ("ok", &*ok), ("failed", &*failed), ("open", &*open)];
    lang.fill(COUNTS, &facts)
}
