//! `--debug`: one whole exchange, as sent and received.

use engine::{PreparedRun, Setup};
use report::{Exit, Lang};

use crate::{messages, screen, veil};

/// Sends one request and shows it with its answer; the exit code.
pub fn show(prepared: &dyn PreparedRun, setup: &Setup, masked: bool, lang: Lang) -> u8 {
    let (probe, sent, received) = match prepared.probe(setup, &engine::Stop::default()) {
        Ok(answer) => (answer.probe, answer.sent, answer.received),
        Err(failure) => (failure.probe, failure.sent, failure.received),
    };
    let mut text = String::new();
    let head =
        if probe.spoken.is_empty() { probe.address.clone() } else { format!("{} · {}", probe.address, probe.spoken) };
    if !head.is_empty() {
        text += &format!("--- {head}\n");
    }
    for (message, bytes) in [(messages::DEBUG_SENT, &sent), (messages::DEBUG_RECEIVED, &received)] {
        if !bytes.is_empty() {
            text += &lang.fill(message, &[("n", &bytes.len().to_string())]);
            text += &format!("\n{}", veil::bytes(bytes, masked));
            text += if text.ends_with('\n') { "" } else { "\n" };
        }
    }
    let _ = screen::print(text.as_bytes());
    match probe.failure {
        // An answer that a run would count as failed is an answer all the same.
        _ if !probe.status.is_empty() => Exit::Ok.code(),
        None => Exit::Ok.code(),
        Some(failure) => {
            screen::complain(&lang.fill(messages::NO_ANSWER, &[("failure", failure.trim_end_matches('.'))]));
            Exit::Unreachable.code()
        }
    }
}
