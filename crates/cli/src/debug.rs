//! `--debug`: one whole exchange, as sent and received.

use engine::{PreparedRun, Setup};
use report::{Exit, Lang};

use crate::{messages, screen, veil};

/// Sends one request and shows it with its answer; the exit code.
pub fn show(prepared: &dyn PreparedRun, setup: &Setup, masked: bool, lang: Lang) -> u8 {
    let (probe, transcript) = match prepared.probe(setup, &engine::Stop::default()) {
        Ok(answer) => (answer.probe, answer.transcript),
        Err(failure) => (failure.probe, failure.transcript),
    };
    let engine::Transcript { sent, received, bytes: [n_sent, n_received] } = transcript;
    let mut text = String::new();
    let head =
        if probe.spoken.is_empty() { probe.address.clone() } else { format!("{} · {}", probe.address, probe.spoken) };
    if !head.is_empty() {
        text += &format!("--- {head}\n");
    }
    let parts = [(messages::DEBUG_SENT, &sent, n_sent), (messages::DEBUG_RECEIVED, &received, n_received)];
    for (message, bytes, n) in parts {
        if !bytes.is_empty() {
            text += &lang.fill(message, &[("n", &n.to_string())]);
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
