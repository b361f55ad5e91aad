//! `brunt demo`: the built-in target in a second process, and a figure of it that can be trusted.
//!
//! The target is a process of its own so that its CPU is its own. The load is open, at half of what the pair reaches at
//! full speed: above that, brunt and its target would compete for the same cores and measure each other.

use std::sync::Arc;

use plan::{Arrivals, Trial};
use record::Host;
use report::{Lang, show};
use wire::{Complaint, Protocol};

use crate::arguments::{self, Defaults, Demo, Intent, Presentation};
use crate::bench::Bench;
use crate::run::{self, Outcome};
use crate::second_process::SecondProcess;
use crate::signals::Interrupts;
use crate::view::View;
use crate::{before, messages};

/// Enough for any answer of the target, and few enough that a hiccup of a busy machine opens no thousand of them.
const CONNECTIONS: u32 = 100;

/// Runs the demo.
///
/// # Errors
/// Where the second process does not come up.
pub fn demo(
    demo: &Demo,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
    host: &Host,
    interrupts: &Interrupts,
) -> Outcome {
    let shown = &demo.presentation;
    let lang = shown.language.unwrap_or_else(Lang::from_env);
    let second = SecondProcess::start("demo")?;
    let mut view = View::new(shown, lang);
    let pid = second.id().to_string();
    view.say(&lang.fill(messages::DEMO_BEGIN, &[("pid", &pid), ("url", &second.url)]));
    let mut intent = intent(&["-c", "32", "-d", "1s", &second.url], shown, protocols, defaults)?;
    intent.plan.max_connections = CONNECTIONS;
    intent.shown.max_connections = CONNECTIONS;
    let protocol = &*protocols[intent.protocol];
    let mut bench = Bench::prepare(&mut intent, protocol, host)?;
    let full_speed = bench.measure(&Trial::of(&intent.plan), interrupts.stop(), &mut [])?;
    let reached = full_speed.throughput_per_s();
    // Two digits: a rate that can be read, and never above half.
    let half = two_digits(reached / 2.0).max(1.0);
    let length = before::span(demo.duration);
    view.say(&lang.fill(messages::DEMO_REACHED, &[("rate", &show::rate(reached)), ("length", &length)]));
    // As many workers as reached it.
    let (rate, workers) = (format!("{half}/s"), intent.plan.workers.to_string());
    let (duration, connections) = (length.replace(' ', ""), CONNECTIONS.to_string());
    let words = ["-r", &rate, "-d", &duration, "--max-connections", &connections, "-w", &workers, &second.url];
    intent.try_next(&Trial::rate(half, Arrivals::Poisson, demo.duration), &words);
    bench.show_as(&intent);
    let code = run::show(&mut bench, &intent, (interrupts, None))?;
    view.say("");
    view.say(lang.of(messages::DEMO_NEXT));
    Ok(code)
}

/// A run of the demo, asked for in the words a user would write.
fn intent(
    words: &[&str],
    shown: &Presentation,
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, Complaint> {
    let line: Vec<String> = words.iter().map(ToString::to_string).collect();
    match arguments::read(&line, protocols, defaults)? {
        arguments::Command::Run(mut intent) => {
            intent.presentation = shown.clone();
            Ok(*intent)
        }
        _ => Err(Complaint::new("demo", "is not a run; this is a bug in brunt")),
    }
}

fn two_digits(rate: f64) -> f64 {
    let scale = 10_f64.powf(rate.max(1.0).log10().floor() - 1.0);
    (rate / scale).floor() * scale
}

#[cfg(test)]
mod tests {
    use super::two_digits;

    #[test]
    fn half_a_rate_is_rounded_down_to_two_digits() {
        for (rate, rounded) in [(12_345.0, 12_000.0), (999.0, 990.0), (45.6, 45.0), (7.89, 7.8)] {
            assert!((two_digits(rate) - rounded).abs() < 1e-9, "{rate}: {}", two_digits(rate));
        }
    }
}
