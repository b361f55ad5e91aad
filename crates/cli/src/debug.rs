//! `--debug`: one whole exchange, as sent and received, and what a run would count it as.

use engine::{PreparedRun, ProbeFailure, Setup, Transcript};
use measure::plain;
use record::FirstAnswer;
use report::{Exit, Lang};
use wire::FaultKind;

use crate::redact::Redaction;
use crate::{messages, screen};

/// Sends one request and shows it with its answer; the exit code.
pub fn show(prepared: &dyn PreparedRun, setup: &Setup, redaction: &Redaction, lang: Lang) -> u8 {
    let (mut probe, transcript, fault) = match prepared.probe(setup, &engine::Stop::default()) {
        Ok(answer) => (answer.probe, answer.transcript, None),
        Err(failure) => {
            let ProbeFailure { probe, transcript, fault, .. } = *failure;
            (probe, transcript, fault)
        }
    };
    redaction.probe(&mut probe);
    let mut text = exchange(&probe, &transcript, redaction, lang);
    match (&probe.failure, fault.filter(|kind| is_answer(&probe, *kind))) {
        (None, _) => {
            text += &format!("{}\n", lang.of(messages::DEBUG_SUCCESS));
            screen::answer(&text, Exit::Ok.code(), lang)
        }
        (Some(failure), Some(kind)) => {
            text += &format!(
                "{}\n",
                lang.fill(messages::DEBUG_FAILURE, &[("why", &verdict(&probe, kind, &report::reason(failure, lang)))])
            );
            // As of a run in which nothing finished.
            screen::answer(&text, Exit::NotTrusted.code(), lang)
        }
        (Some(failure), None) => {
            let code = screen::answer(&text, Exit::Unreachable.code(), lang);
            let failure = report::reason(failure, lang);
            screen::complain(&lang.fill(messages::NO_ANSWER, &[("failure", failure.trim_end_matches('.'))]));
            code
        }
    }
}

/// What was sent and what was received.
fn exchange(probe: &FirstAnswer, transcript: &Transcript, redaction: &Redaction, lang: Lang) -> String {
    let Transcript { sent, received, bytes, left_out } = transcript;
    let [mut sent, mut received] = [sent, received].map(|bytes| plain::bytes(bytes));
    redaction.texts([&mut sent, &mut received]);
    let mut text = String::new();
    let through = probe.through.as_ref().map(|proxy| lang.fill(messages::DEBUG_THROUGH, &[("proxy", proxy)]));
    let parts = [Some(probe.address.clone()), through, Some(probe.spoken.clone())];
    let head = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    if !head.is_empty() {
        text += &format!("--- {head}\n");
    }
    let sides = [(messages::DEBUG_SENT, sent), (messages::DEBUG_RECEIVED, received)];
    for (side, (message, said)) in sides.into_iter().enumerate() {
        if !said.is_empty() {
            text += &lang.fill(message, &[("n", &bytes[side].to_string())]);
            text += &format!("\n{said}");
            text += if text.ends_with('\n') { "" } else { "\n" };
        }
        if left_out[side] > 0 {
            text += &lang.fill(messages::DEBUG_LEFT_OUT, &[("n", &left_out[side].to_string())]);
            text.push('\n');
        }
    }
    text
}

/// True where the peer answered, and only what it said is not what was expected.
fn is_answer(probe: &FirstAnswer, kind: FaultKind) -> bool {
    use FaultKind::{BrokenProtocol, TooManyRedirects, WrongBody, WrongHeader, WrongStatus};
    let of_answers = [WrongStatus, WrongHeader, WrongBody, TooManyRedirects, BrokenProtocol];
    !probe.status.is_empty() || of_answers.contains(&kind)
}

/// `wrong_status (404)`, `wrong_body: expected …`.
fn verdict(probe: &FirstAnswer, kind: FaultKind, failure: &str) -> String {
    let status = match kind {
        FaultKind::WrongStatus if !probe.status.is_empty() => format!(" ({})", probe.status),
        _ => String::new(),
    };
    let why = if failure == kind.name() { String::new() } else { format!(": {failure}") };
    format!("{}{status}{why}", kind.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_kind_status_and_reason() {
        let probe = |status: &str| FirstAnswer { status: status.into(), ..FirstAnswer::default() };
        for (status, kind, failure, said) in [
            ("404", FaultKind::WrongStatus, "wrong_status", "wrong_status (404)"),
            (
                "200",
                FaultKind::WrongBody,
                "expected body to contain \"a\"",
                "wrong_body: expected body to contain \"a\"",
            ),
            ("", FaultKind::WrongBody, "wrong_body", "wrong_body"),
        ] {
            assert_eq!(verdict(&probe(status), kind, failure), said);
            assert!(is_answer(&probe(status), kind));
        }
        assert!(!is_answer(&probe(""), FaultKind::Closed), "nobody answered");
    }
}
