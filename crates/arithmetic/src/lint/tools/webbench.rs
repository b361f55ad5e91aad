//! The output of webbench: pages per minute, in which failures count as pages.

use super::super::blocks::{Block, OutputLabel, blocks, once};
use super::super::paste::PastedText;
use super::super::quantities::{self, PrintedNumber};
use super::super::stated::{ConnectionReuse, LoadKind, StatedRun, ToolName};

const LABELS: [OutputLabel; 4] = [
    once(|text| text.starts_with("Benchmarking: ")),
    once(|text| clients(text).is_some()),
    once(|text| text.starts_with("Speed=")),
    once(|text| requests(text).is_some()),
];

/// Returns the outputs of webbench in a paste.
pub fn read(paste: &PastedText) -> Vec<StatedRun> {
    blocks(paste, &LABELS).iter().filter_map(run).collect()
}

fn run(block: &Block<'_>) -> Option<StatedRun> {
    let (per_minute, rest) = quantities::leading_number(block.text(2)?.strip_prefix("Speed=")?)?;
    if !rest.trim_start().starts_with("pages/min") {
        return None;
    }
    let mut run = StatedRun::new(ToolName::Webbench, block.start());
    run.load = LoadKind::Closed;
    run.reuse = ConnectionReuse::Fresh;
    run.target = block.value(0).map(str::to_owned);
    run.per_minute = Some(per_minute);
    run.rate = Some(per_minute.times(1.0 / 60.0));
    if let Some((clients, duration)) = block.text(1).and_then(clients) {
        run.users = Some(clients);
        run.duration = Some(duration);
    }
    if let Some((succeeded, failed)) = block.text(3).and_then(requests) {
        run.requests = Some(succeeded.saturating_add(failed));
        run.failed_outside = failed;
    }
    Some(run)
}

/// Reads `300 clients, running 60 sec.`
fn clients(text: &str) -> Option<(u64, PrintedNumber)> {
    let (clients, rest) = quantities::leading_number(text)?;
    let rest = rest.trim_start().strip_prefix("client")?.trim_start_matches('s');
    let (duration, rest) = quantities::leading_number(rest.trim_start_matches([',', ' ']).strip_prefix("running")?)?;
    let is_seconds = rest.trim_start().starts_with("sec");
    is_seconds.then(|| (clients.value as u64, PrintedNumber::exact(duration.value)))
}

/// Reads `Requests: 24833 susceed, 87 failed.`
fn requests(text: &str) -> Option<(u64, u64)> {
    let (succeeded, rest) = quantities::leading_number(text.strip_prefix("Requests:")?)?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("susceed").or_else(|| rest.strip_prefix("succeed"))?;
    let (failed, _) = quantities::leading_number(rest.trim_start_matches(|c: char| !c.is_ascii_digit()))?;
    Some((succeeded.value as u64, failed.value as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_and_their_excerpts_are_read() {
        let text = "\
300 clients, running 60 sec.

Speed=24525 pages/min, 20794612 bytes/sec.
Requests: 24525 susceed, 0 failed.

Speed=24920 pages/min, 21037312 bytes/sec.
Requests: 24833 susceed, 87 failed.
";
        let runs = read(&PastedText::read(text.as_bytes()));
        let [first, second] = &runs[..] else { panic!("{runs:?}") };
        assert_eq!((first.users, first.rate.map(|rate| rate.value)), (Some(300), Some(408.75)));
        assert_eq!((second.users, second.requests, second.failed_outside), (None, Some(24_920), 87));
    }
}
