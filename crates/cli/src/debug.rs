//! `--debug`: one complete exchange, as sent and received, and the outcome that a run would count; for a flow, the
//! exchange of each request.

use brunt_contract::FaultKind;
use brunt_engine::{
    FetchedResource, PassEvent, PreparedRun, ProbeFailure, ProbeResult, RequestValue, Setup, SkippedResources, Stop,
    Transcript,
};
use brunt_measure::sanitize;
use brunt_record::FirstResponse;
use brunt_report::{Exit, Lang};

use crate::{messages, screen};
use brunt_config::redact::Redaction;

/// Maximum length of a captured value that is shown (bytes).
const LONGEST: usize = 200;

/// Sends one request, or runs a flow once, and shows what was sent and received; returns the exit code.
pub fn show(prepared: &PreparedRun, setup: &Setup, redaction: Redaction, lang: Lang) -> u8 {
    let mut shown = ExchangeFormatter { redaction, lang };
    if setup.plan.has_flows() {
        return run_flow(prepared, setup, &mut shown);
    }
    let (text, ending) = shown.format_exchange(prepared.probe(setup, &Stop::default()).map(Box::new), (&[], &[]));
    let code = screen::print(&text, ending.exit().code(), lang);
    if let ExchangeOutcome::NoAnswer(failure) = &ending {
        screen::print_error(&shown.no_answer(failure));
    }
    code
}

/// The outcome of an exchange.
enum ExchangeOutcome {
    Success,
    Failure,
    /// No answer; holds the reason.
    NoAnswer(String),
}

impl ExchangeOutcome {
    /// Returns the exit code of a run with only this exchange: without any success, it is not trusted.
    fn exit(&self) -> Exit {
        match self {
            ExchangeOutcome::Success => Exit::Ok,
            ExchangeOutcome::Failure => Exit::NotTrusted,
            ExchangeOutcome::NoAnswer(_) => Exit::Unreachable,
        }
    }
}

/// Runs the flow once; returns the exit code of its worst step.
fn run_flow(prepared: &PreparedRun, setup: &Setup, shown: &mut ExchangeFormatter) -> u8 {
    let lang = shown.lang;
    let (mut text, mut worst, mut nth) = (String::new(), Exit::Ok, 0);
    prepared.run_single_pass(setup, &Stop::default(), &mut |walked| match walked {
        PassEvent::Sent { request, outcome, captured, used } => {
            nth += 1;
            text += &shown.heading(nth, setup, request);
            let (told, ending) = shown.format_exchange(outcome, (&captured, &used));
            text += &told;
            if let ExchangeOutcome::NoAnswer(failure) = &ending {
                text += &format!("--- {}\n", shown.no_answer(failure));
            }
            worst = if worst == Exit::Ok { ending.exit() } else { worst };
        }
        PassEvent::Resource(resource) => {
            let (told, ending) = shown.resource(setup, &resource);
            text += &told;
            worst = if worst == Exit::Ok && !resource.may_fail { ending.exit() } else { worst };
        }
        PassEvent::LeftOut(left_out) => text += &shown.left_out(left_out),
        PassEvent::Section(part) => text += &format!("=== {part}\n"),
        PassEvent::Paused(pause) => {
            text += &format!(
                "{}\n",
                lang.fill(messages::DEBUG_PAUSE, &[("time", &brunt_report::numbers::duration(pause))])
            );
        }
        PassEvent::Endless => {
            text += &format!("{}\n", lang.of(messages::DEBUG_ENDLESS));
            worst = if worst == Exit::Ok { Exit::NotTrusted } else { worst };
        }
        PassEvent::RequestLimit(most) => {
            text += &format!("{}\n", lang.fill(messages::DEBUG_TOO_FAR, &[("n", &most.to_string())]));
        }
    });
    screen::print(&text, worst.code(), lang)
}

/// The settings for showing exchanges.
struct ExchangeFormatter {
    /// The secrets of the plan, and those that the exchanges so far had.
    redaction: Redaction,
    lang: Lang,
}

impl ExchangeFormatter {
    /// Formats an exchange with the values it used, its outcome and its captures.
    fn format_exchange(
        &mut self,
        outcome: Result<Box<ProbeResult>, Box<ProbeFailure>>,
        (captured, used): (&[(String, Vec<u8>)], &[RequestValue]),
    ) -> (String, ExchangeOutcome) {
        let (mut probe, transcript, fault) = match outcome {
            Ok(answer) => (answer.probe, answer.transcript, None),
            Err(failure) => {
                let ProbeFailure { probe, transcript, fault, .. } = *failure;
                (probe, transcript, fault)
            }
        };
        let all =
            captured.iter().map(|(name, value)| (name, Some(value))).chain(used.iter().map(|(n, v)| (n, v.as_ref())));
        for (name, value) in all {
            value.into_iter().for_each(|value| self.redaction.learn(name, &sanitize::bytes(value)));
        }
        let shown = |value: &[u8]| sanitize::bytes(&value[..value.len().min(LONGEST)]);
        let of_captures = captured.iter().map(|(name, value)| (name.clone(), shown(value)));
        // Secrets among the values that the request used must not be shown either.
        let of_uses = used.iter().map(|(name, value)| (name.clone(), value.as_deref().map(shown).unwrap_or_default()));
        let mut values: Vec<(String, String)> = of_captures.chain(of_uses).collect();
        let text = self.exchange(&mut probe, &transcript, &mut values);
        let (values, of_uses) = values.split_at(captured.len());
        let mut text = self.used(of_uses, used) + &text;
        let values = values.iter().zip(captured);
        let captured: String =
            values.map(|((name, shown), (_, value))| self.captured(name, shown, value.len())).collect();
        let (told, ending) = match (&probe.failure, fault.filter(|kind| is_answer(&probe, *kind))) {
            (None, _) => (format!("{}\n", self.lang.of(messages::DEBUG_SUCCESS)), ExchangeOutcome::Success),
            (Some(failure), Some(kind)) => {
                let why = verdict(&probe, kind, &brunt_report::reason(failure, probe.cause.as_ref(), self.lang));
                (format!("{}\n", self.lang.fill(messages::DEBUG_FAILURE, &[("why", &why)])), ExchangeOutcome::Failure)
            }
            (Some(failure), None) => (
                String::new(),
                ExchangeOutcome::NoAnswer(brunt_report::reason(failure, probe.cause.as_ref(), self.lang).into_owned()),
            ),
        };
        text += &(told + &captured);
        (text, ending)
    }

    /// Formats the bytes sent and received, and the checks that passed. Captured values are masked as well.
    fn exchange(
        &mut self,
        probe: &mut FirstResponse,
        transcript: &Transcript,
        captured: &mut [(String, String)],
    ) -> String {
        let lang = self.lang;
        let Transcript { sent, received, bytes, left_out, checks, .. } = transcript;
        // A secret that is cut off is recognized by its beginning.
        let text = |side: usize, bytes: &[u8]| sanitize::bytes(bytes) + if left_out[side] > 0 { "…" } else { "" };
        let (mut sent, mut received) = (text(0, sent), text(1, received));
        let values = captured.iter_mut().map(|(name, value)| (&**name, value));
        self.redaction.probed_exchange(probe, [&mut sent, &mut received], values);
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
        for (name, passed) in checks {
            let message = if *passed { messages::DEBUG_PASSED } else { messages::DEBUG_FAILED };
            text += &format!("{}\n", lang.fill(message, &[("name", &self.redaction.sentence(name))]));
        }
        text
    }

    /// Formats a resource of a page: its URL, its page, and the result.
    fn resource(&self, setup: &Setup, resource: &FetchedResource) -> (String, ExchangeOutcome) {
        let FetchedResource { page, url, answer, fault, from_cache, .. } = resource;
        let page = setup.shown.urls.get(*page).map_or("", |url| url.name.as_deref().unwrap_or(&url.url));
        let failure = answer.failure.as_deref();
        let failure = failure.map(|why| brunt_report::reason(why, answer.cause.as_ref(), self.lang));
        let (what, ending) = match (failure, fault.filter(|kind| is_answer(answer, *kind))) {
            (None, _) if *from_cache => (self.lang.of(messages::DEBUG_FROM_CACHE).to_owned(), ExchangeOutcome::Success),
            (None, _) => (answer.status.clone(), ExchangeOutcome::Success),
            (Some(failure), Some(kind)) => (verdict(answer, kind, &failure), ExchangeOutcome::Failure),
            (Some(failure), None) => (failure.to_string(), ExchangeOutcome::NoAnswer(failure.into_owned())),
        };
        let bytes = answer.payload.to_string();
        let (url, page) = (self.redaction.sentence(url), self.redaction.sentence(page));
        let filled = [("url", &*url), ("page", &*page), ("what", &*self.redaction.sentence(&what)), ("n", &*bytes)];
        let message = if answer.status.is_empty() { messages::DEBUG_RESOURCE_FAILED } else { messages::DEBUG_RESOURCE };
        (format!("{}\n", self.lang.fill(message, &filled)), ending)
    }

    /// Formats the number of resources of a page that were not fetched.
    fn left_out(
        &self,
        SkippedResources { other_hosts: elsewhere, over_limit: beyond, cut }: SkippedResources,
    ) -> String {
        let counted = [(messages::DEBUG_ELSEWHERE, elsewhere), (messages::DEBUG_BEYOND, beyond)];
        let counted = counted.into_iter().filter(|(_, n)| *n > 0);
        let lines = counted.map(|(message, n)| self.lang.fill(message, &[("n", &n.to_string())]));
        let cut = cut.then(|| self.lang.of(messages::DEBUG_CUT).to_owned());
        lines.chain(cut).map(|line| format!("{line}\n")).collect()
    }

    fn no_answer(&self, failure: &str) -> String {
        self.lang.fill(messages::NO_ANSWER, &[("failure", failure.trim_end_matches('.'))])
    }

    /// Formats a heading, `=== 2 login  http://…`.
    fn heading(&self, nth: usize, setup: &Setup, request: usize) -> String {
        let Some(url) = setup.shown.urls.get(request) else { return format!("=== {nth}\n") };
        let name = url.name.as_ref().map(|name| format!("{name}  ")).unwrap_or_default();
        format!("=== {nth}  {name}{}\n", self.redaction.sentence(&url.url))
    }

    /// Formats the values that a request used, with secrets masked.
    fn used(&self, shown: &[(String, String)], used: &[RequestValue]) -> String {
        let line = |((name, shown), (_, value)): (&(String, String), &RequestValue)| {
            let pair = match value {
                Some(_) => format!("{name}={shown}"),
                None => format!("{name} {}", self.lang.of(messages::DEBUG_NOT_KNOWN)),
            };
            format!("{}\n", self.lang.fill(messages::DEBUG_USED, &[("pair", &pair)]))
        };
        shown.iter().zip(used).map(line).collect()
    }

    /// Formats a value captured from a response, and its length, with secrets masked.
    fn captured(&self, name: &str, shown: &str, length: usize) -> String {
        let more = if length > LONGEST { "…" } else { "" };
        let (pair, bytes) = (format!("{name}={shown}{more}"), length.to_string());
        format!("{}\n", self.lang.fill(messages::DEBUG_CAPTURED, &[("pair", &pair), ("n", &bytes)]))
    }
}

/// Returns `true` if the peer answered, and only the content was not as expected.
fn is_answer(probe: &FirstResponse, kind: FaultKind) -> bool {
    use FaultKind::{BadValue, BrokenProtocol, Timeout};
    // A timeout here means that an expected message did not come, even if something else was received, and a value
    // comes from an earlier answer.
    !probe.status.is_empty() || kind.is_answer() || matches!(kind, BadValue | BrokenProtocol | Timeout)
}

/// Formats the outcome: `wrong_status (404)`, `wrong_body: expected …`.
fn verdict(probe: &FirstResponse, kind: FaultKind, failure: &str) -> String {
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
        let probe = |status: &str| FirstResponse { status: status.into(), ..FirstResponse::default() };
        for (status, kind, failure, said) in [
            ("404", FaultKind::WrongStatus, "wrong_status", "wrong_status (404)"),
            (
                "200",
                FaultKind::WrongBody,
                "expected body to contain \"a\"",
                "wrong_body: expected body to contain \"a\"",
            ),
            ("", FaultKind::WrongBody, "wrong_body", "wrong_body"),
            ("", FaultKind::Timeout, "no message like any", "timeout: no message like any"),
        ] {
            assert_eq!(verdict(&probe(status), kind, failure), said);
            assert!(is_answer(&probe(status), kind));
        }
        assert!(!is_answer(&probe(""), FaultKind::Closed), "nobody answered");
    }
}
