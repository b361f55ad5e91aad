//! Bodies that wait until the server asks for them (`Expect: 100-continue`, RFC 9110 10.1.1).
//!
//! The head leaves first. The body follows once `100 Continue` came, or after a while, because old servers never say it. Where a
//! response comes instead, the body is not sent: the server may wait for it, so that the connection carries nothing more.

use std::sync::Arc;

use cause::Cause;
use measure::Nanos;
use wire::{Asked, Complaint, Fill, OptionSpec, Out, one, switch};

use super::filled::Filled;
use super::request::Request;

/// `--expect-continue` and `--continue-wait`.
pub const OPTIONS: [OptionSpec; 2] = [
    switch(
        "expect-continue",
        "Send Expect: 100-continue and wait for 100 Continue before sending the body (HTTP/1.1)",
        "发送 Expect: 100-continue，等服务器要求后再发送正文（HTTP/1.1）",
    ),
    one(
        "continue-wait",
        "TIME",
        "Send the body without 100 Continue after TIME (default 1s)",
        "超过该时间仍没有 100 Continue 时照常发送正文（默认 1s）",
    ),
];

/// As long as curl waits.
const WAIT: Nanos = Nanos::from_secs(1);
/// Beyond this the timeout of the request comes first.
const LONGEST: Nanos = Nanos::from_secs(3600);

const INSTEAD: cause::Plain = cause::http1::instead_of_continue();

/// How long a body waits.
///
/// # Errors
/// No time, or none that could be waited for.
pub fn wait(asked: &Asked) -> Result<Nanos, Complaint> {
    let Some(text) = asked.value("continue-wait") else { return Ok(WAIT) };
    plan::quantity::duration(text).ok().filter(|wait| (Nanos::from_millis(1)..=LONGEST).contains(wait)).ok_or_else(
        || Complaint::new("--continue-wait", format!("\"{text}\" is not a time from 1ms to 1h; write for instance 1s")),
    )
}

/// Whether the options go with the requests; `any`: bodies wait.
///
/// # Errors
/// They do not.
pub fn check(asked: &Asked, any: bool) -> Result<(), Complaint> {
    let wrong = |option: &str, trouble: &str| Err(Complaint::new(option, trouble));
    match (asked.switch("expect-continue"), any) {
        (true, _) if asked.value("http") == Some("1.0") => {
            wrong("--expect-continue", "HTTP/1.0 has no 100 Continue; leave it out, or use --http 1.1")
        }
        (true, _) if asked.switch("http2") || matches!(asked.value("http"), Some("2" | "auto")) => {
            wrong("--expect-continue", "it works with HTTP/1.1 only; leave it out, or use --http 1.1")
        }
        (true, false) => wrong(
            "--expect-continue",
            "it has no effect: no request has a body, or -H removes Expect; add --data, or leave it out",
        ),
        (false, false) if asked.switch("continue-wait") => {
            wrong("--continue-wait", "needs --expect-continue; add it, or leave it out")
        }
        _ => Ok(()),
    }
}

/// What became of the body of the request in flight.
#[derive(Debug, Default)]
pub struct Withheld {
    /// It waits: what of it was made for this request, and what is shared.
    own: Vec<u8>,
    shared: Option<Arc<[u8]>>,
    /// The server said `100 Continue`.
    pub asked_for: bool,
    /// A response came instead.
    pub declined: bool,
}

impl Withheld {
    /// Appends a request without slots but for its body.
    pub fn beside(request: &Request, out: &mut Out) -> Withheld {
        out.put(&request.bytes);
        let common = request.common.as_ref();
        out.put(common.map_or(&[], |common| &common.text));
        Withheld { shared: common.and_then(|common| common.body.clone()), ..Withheld::default() }
    }

    /// Appends a request with slots but for its body.
    pub fn filled(filled: &Filled, fill: &Fill, out: &mut Out) -> Withheld {
        let out = out.buffer();
        let body = filled.put_bytes(fill, out);
        let own = out.split_off(out.len() - body);
        Withheld { own, shared: filled.tail().cloned(), ..Withheld::default() }
    }

    /// Appends the body; false where it does not wait.
    pub fn put(&mut self, out: &mut Out) -> bool {
        let (own, shared) = (std::mem::take(&mut self.own), self.shared.take());
        out.put(&own);
        if let Some(shared) = &shared {
            out.put_shared(shared);
        }
        !own.is_empty() || shared.is_some()
    }

    /// A response is there. True where the server did not ask for the body, which is then not sent.
    pub fn decline(&mut self) -> bool {
        let waits = !self.own.is_empty() || self.shared.is_some();
        if waits && !self.asked_for {
            *self = Withheld { declined: true, ..Withheld::default() };
        }
        self.declined
    }

    /// Why the request failed, where nothing else is known.
    pub fn why(&self, known: Option<Cause>) -> Option<Cause> {
        known.or_else(|| self.declined.then(|| INSTEAD.into()))
    }
}
