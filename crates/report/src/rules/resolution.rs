//! The note on figures near the resolution of the run: a loop that serves a hundred sockets looks at each once a turn,
//! and a turn is part of any client. This is no disturbance, and costs no trust (`docs/measurement.md` 2.5).

use super::Evidence;
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const FIGURE: Text = text("{name} ({figure})", "{name}（{figure}）");
const FURTHER: Text = text(", {name} ({figure})", "、{name}（{figure}）");
const NEAR: Text = text(
    " {n|is|are} near the resolution of this run: brunt looks at each connection about every {resolution}; --reference \
        measures without that",
    "接近本次压测的分辨率：brunt 大约每 {resolution} 查看一次每个连接；加上 --reference 可得到不含这一影响的数据",
);

/// Multiple of the resolution below which a figure is near it.
const NEAR_BY: u64 = 3;
const SHOWN: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

pub(super) fn judge(run: &Evidence<'_>) -> Option<Finding> {
    let resolution = run.totals.resolution().filter(|_| run.has_latency())?;
    let headline = run.headline();
    let mut near: Vec<[(&str, String); 2]> = Vec::new();
    for (name, q) in SHOWN {
        let figure = headline.quantile(q).figure.exact().filter(|figure| figure.0 < NEAR_BY * resolution.0);
        near.extend(figure.map(|figure| [("name", name.to_owned()), ("figure", numbers::duration(figure))]));
    }
    let n = near.len().to_string();
    let mut near = near.into_iter();
    let first = Finding::new("resolution", Grade::Ok, FIGURE, near.next()?);
    let found = near.fold(first, |found, facts| found.and(FURTHER, facts));
    Some(found.and(NEAR, [("n", n), ("resolution", numbers::duration(resolution))]))
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;
    use brunt_record::{End, RunPart, Second};

    use super::*;
    use crate::rules::tests::of_second;
    use crate::text::Lang;

    /// Returns what is said of a second with 900 requests of 120 µs and 100 of `slow` (µs), at this resolution (µs).
    fn said(slow: u64, resolution: u64) -> Option<String> {
        let mut s =
            Second { to_ns: 1_000_000_000, part: RunPart::Window, due: 1000, finished: 1000, ..Second::default() };
        s.latency.service.record_n(Nanos::from_micros(120), 900);
        s.latency.service.record_n(Nanos::from_micros(slow), 100);
        s.generator.resolution_ns = resolution * 1000;
        let found = of_second(judge, s, End::Completed);
        assert!(found.as_ref().is_none_or(|found| found.grade == Grade::Ok));
        found.map(|found| found.sentence(Lang::En))
    }

    #[test]
    fn figures_near_the_resolution_are_told_and_others_are_not() {
        let one = said(2_000, 50).expect("a note");
        assert!(one.starts_with("p50 (120 µs) is near the resolution of this run: "), "{one}");
        assert!(one.contains("about every 50.") && one.contains("--reference"), "{one}");
        let all = said(130, 50).expect("a note");
        assert!(all.starts_with("p50 (120 µs), p95 (130 µs), p99 (130 µs) are near"), "{all}");
        assert_eq!([said(2_000, 39), said(2_000, 0)], [None, None]);
    }
}
