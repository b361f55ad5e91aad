//! Bodies that wait for `100 Continue` (`Expect: 100-continue`, RFC 9110 10.1.1).
//!
//! The head is sent first. The body follows after `100 Continue`, or after a timeout, because old servers never send
//! it. If a final response comes instead, the body is not sent: the server may still wait for it, so the connection is
//! not reused.

use std::sync::Arc;

use brunt_cause::{Cause, Complaint, complaint};
use brunt_contract::{OptionSpec, OutputBuffer, ProtocolConfig, SlotContext, UsageError, one, switch};
use brunt_measure::Nanos;

use super::request::HttpRequest;
use super::slots::Http1Template;

/// The `--expect-continue` and `--continue-wait` options.
pub const OPTIONS: [OptionSpec; 2] = [
    switch(
        "expect-continue",
        "Send Expect: 100-continue and wait for 100 Continue before sending the body (HTTP/1.1)",
        "发送 Expect: 100-continue，收到 100 Continue 后再发送正文（HTTP/1.1）",
    ),
    one(
        "continue-wait",
        "TIME",
        "Send the body without 100 Continue after TIME (default 1s)",
        "超过该时间仍没有 100 Continue 时照常发送正文（默认 1s）",
    ),
];

/// Default wait, as in curl.
const WAIT: Nanos = Nanos::from_secs(1);
/// Maximum wait; beyond it the request's timeout applies first.
const LONGEST: Nanos = Nanos::from_secs(3600);

const INSTEAD: brunt_cause::StaticCause = brunt_cause::http1::instead_of_continue();

/// Returns how long a body waits.
///
/// # Errors
/// Returns an error for an invalid time, or one out of range.
pub fn wait(config: &ProtocolConfig) -> Result<Nanos, UsageError> {
    let Some(text) = config.value("continue-wait") else { return Ok(WAIT) };
    brunt_plan::quantity::duration(text)
        .ok()
        .filter(|wait| (Nanos::from_millis(1)..=LONGEST).contains(wait))
        .ok_or_else(|| {
            UsageError::new(
                "--continue-wait",
                complaint!(
                    "\"{text}\" is not a time from 1ms to 1h; use, for example, 1s",
                    "“{text}”不是 1ms 到 1h 的时间；请写，例如 1s"
                ),
            )
        })
}

/// Checks that the options fit the requests; `any` is set if any body waits for `100 Continue`.
///
/// # Errors
/// Returns an error if they do not fit.
pub fn check(config: &ProtocolConfig, any: bool) -> Result<(), UsageError> {
    let wrong = |option: &str, trouble: Complaint| Err(UsageError::new(option, trouble));
    match (config.switch("expect-continue"), any) {
        (true, _) if config.value("http") == Some("1.0") => wrong(
            "--expect-continue",
            complaint!(
                "HTTP/1.0 has no 100 Continue; leave it out, or use --http 1.1",
                "HTTP/1.0 没有 100 Continue；请去掉，或用 --http 1.1"
            ),
        ),
        (true, _) if config.switch("http2") || matches!(config.value("http"), Some("2" | "auto")) => wrong(
            "--expect-continue",
            complaint!(
                "it works with HTTP/1.1 only; leave it out, or use --http 1.1",
                "只能用于 HTTP/1.1；请去掉，或用 --http 1.1"
            ),
        ),
        (true, false) => wrong(
            "--expect-continue",
            complaint!(
                "it has no effect: no request has a body, or -H removes Expect; add --data, or leave it out",
                "不起作用：没有请求带正文，或 -H 去掉了 Expect；请加上 --data，或去掉"
            ),
        ),
        (false, false) if config.switch("continue-wait") => wrong(
            "--continue-wait",
            complaint!("needs --expect-continue; add it, or leave it out", "需要 --expect-continue；请加上，或去掉"),
        ),
        _ => Ok(()),
    }
}

/// The deferred body of the request in flight.
#[derive(Debug, Default)]
pub struct DeferredBody {
    /// The waiting body: `own` was made for this request, `shared` is not copied.
    own: Vec<u8>,
    shared: Option<Arc<[u8]>>,
    /// Set if the server sent `100 Continue`.
    pub requested: bool,
    /// Set if a final response came instead.
    pub declined: bool,
}

impl DeferredBody {
    /// Appends a request without slots, except for its body.
    pub fn of_request(request: &HttpRequest, out: &mut OutputBuffer) -> DeferredBody {
        out.put(&request.bytes);
        let common = request.tail.as_ref();
        out.put(common.map_or(&[], |common| &common.text));
        DeferredBody { shared: common.and_then(|common| common.body.clone()), ..DeferredBody::default() }
    }

    /// Appends a request with slots, except for its body.
    pub fn of_template(filled: &Http1Template, context: &SlotContext, out: &mut OutputBuffer) -> DeferredBody {
        let out = out.buffer();
        let body = filled.put_bytes(context, out);
        let own = out.split_off(out.len() - body);
        DeferredBody { own, shared: filled.tail().cloned(), ..DeferredBody::default() }
    }

    /// Appends the body. Returns `false` if none is waiting.
    pub fn put(&mut self, out: &mut OutputBuffer) -> bool {
        let (own, shared) = (std::mem::take(&mut self.own), self.shared.take());
        out.put(&own);
        if let Some(shared) = &shared {
            out.put_shared(shared);
        }
        !own.is_empty() || shared.is_some()
    }

    /// Handles the final response. Returns `true` if the server did not ask for the body, which is then not sent.
    pub fn decline(&mut self) -> bool {
        let waits = !self.own.is_empty() || self.shared.is_some();
        if waits && !self.requested {
            *self = DeferredBody { declined: true, ..DeferredBody::default() };
        }
        self.declined
    }

    /// Returns the cause of the request's failure, if no other is known.
    pub fn why(&self, known: Option<Cause>) -> Option<Cause> {
        known.or_else(|| self.declined.then(|| INSTEAD.into()))
    }
}
