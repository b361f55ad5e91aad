//! The figures of a comparison in words.

use super::{ChangeVerdict, Measure};
use crate::text::{Lang, Text, text};

const THROUGHPUT: Text = text("throughput", "吞吐量");
const FAILED: Text = text("failed", "失败");
const POINTS: Text = text("{n} points", "{n} 个百分点");
const BETTER: Text = text("better", "更好");
const SAME: Text = text("same", "相同");
const WORSE: Text = text("worse", "更差");
const CANNOT_TELL: Text = text("cannot tell", "无法判断");
const OF_SERVICE: Text = text("{figure} (service time)", "{figure}（服务时间）");
const OF_RESPONSE: Text = text("{figure} (response time)", "{figure}（响应时间）");

impl Measure {
    /// Returns the name of the figure; `latency` is `response` or `service` for that of a latency.
    pub fn words(&self, latency: Option<&str>, lang: Lang) -> String {
        let percentile = self.name.trim_end_matches("_us");
        match latency {
            Some("response") => lang.fill(OF_RESPONSE, &[("figure", percentile)]),
            Some(_) => lang.fill(OF_SERVICE, &[("figure", percentile)]),
            None => lang.of(if self.is_share { FAILED } else { THROUGHPUT }).into(),
        }
    }

    /// Formats a change: a ratio as a signed percentage, or a difference of shares in points.
    pub fn change_text(&self, change: f64, lang: Lang) -> String {
        if change.is_infinite() {
            return "∞".into();
        }
        if self.is_share {
            return lang.fill(POINTS, &[("n", &signed(change * 100.0, 2))]);
        }
        format!("{} %", signed((change - 1.0) * 100.0, 1))
    }
}

impl ChangeVerdict {
    /// Returns the verdict in a word or two.
    pub fn word(self) -> Text {
        match self {
            ChangeVerdict::Better => BETTER,
            ChangeVerdict::Same => SAME,
            ChangeVerdict::Worse => WORSE,
            ChangeVerdict::CannotTell => CANNOT_TELL,
        }
    }
}

fn signed(value: f64, digits: usize) -> String {
    let shown = format!("{:.digits$}", value.abs());
    let is_zero = shown.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if is_zero {
        ""
    } else if value > 0.0 {
        "+"
    } else {
        "-"
    };
    format!("{sign}{shown}")
}
