//! What the pages name that a user alone comes to: fetched one after the other, so that each can be told.

use record::FirstResponse;
use wire::{FaultKind, SlotContext, FollowUp, Origin, Request};

use super::{Walk, Walked};
use crate::conversation::unix_ns;
use crate::probe::{fails, follow_up};

/// So many resources are fetched on one way; what more there is, is counted.
const MOST: usize = 1000;

/// A resource of a page, and what came of it.
pub struct Resource {
    /// The request of its page, by its index among those of the run.
    pub page: usize,
    /// Where it is.
    pub url: String,
    /// What came back.
    pub answer: FirstResponse,
    /// What a run would count it as; None: it succeeded.
    pub fault: Option<FaultKind>,
    /// Its user had it already: nothing was sent.
    pub from_cache: bool,
    /// Its failure is not the page's.
    pub may_fail: bool,
}

/// What of a page's resources is not fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// So many are of other hosts.
    pub elsewhere: u32,
    /// So many are more than are fetched.
    pub beyond: u32,
    /// Not all of the page was looked into.
    pub cut: bool,
}

impl Walk<'_> {
    /// Fetches what the response to a request names, where it was a page; what is wrong with the page for that. Requests of a batch, which
    /// are not `alone`, fetch nothing beside.
    pub(super) fn fetch(&mut self, request: usize, alone: bool, told: &mut dyn FnMut(Walked)) -> Option<FaultKind> {
        let heard = self.way.take_pages();
        if !alone || self.fetched.is_none() {
            return None;
        }
        let mut first = None;
        for found in heard {
            let mut page = found();
            let mut left_out = LeftOut { elsewhere: page.on_other_hosts, beyond: page.over_limit, cut: page.truncated };
            while let Some(follow) = (page.next)() {
                let may = !self.stop.requested();
                let Some(fetched) = self.fetched.as_mut().filter(|fetched| may && **fetched < MOST) else {
                    left_out.beyond += 1;
                    continue;
                };
                *fetched += 1;
                let resource = self.resource(request, &follow, page.may_fail);
                first = first.or(resource.fault.filter(|_| !page.may_fail));
                told(Walked::Resource(Box::new(resource)));
            }
            if left_out != LeftOut::default() {
                told(Walked::LeftOut(left_out));
            }
        }
        // What it names in turn is not looked into.
        drop(self.way.take_pages());
        first
    }

    fn resource(&self, page: usize, follow: &FollowUp, may_fail: bool) -> Resource {
        let url = url_of(&follow.origin, &self.dialogue.encoded(&follow.request));
        if let Some(answer) = self.recalled(&follow.request) {
            return Resource { page, url, answer, fault: None, from_cache: true, may_fail };
        }
        let mut answer = FirstResponse::default();
        let fault = follow_up(self.dialogue, follow, &self.way, &mut answer).err().map(|trouble| {
            fails(&mut answer, trouble.why);
            trouble.fault.unwrap_or(FaultKind::Closed)
        });
        Resource { page, url, answer, fault, from_cache: false, may_fail }
    }

    /// What its user has of it already.
    fn recalled(&self, request: &Request) -> Option<FirstResponse> {
        if !self.dialogue.prepared().caches_responses {
            return None;
        }
        let mut memory = self.way.memory.borrow_mut();
        let values = memory.values.clone();
        let fill = SlotContext { unix_ns: unix_ns(), run: self.seed, values: &values, ..SlotContext::default() };
        let recalled = self.dialogue.cached_response(request, &fill, &mut memory)?;
        if let Some(lesson) = recalled.update {
            drop(self.dialogue.update_state(request, &fill, lesson, &mut memory));
        }
        let status = self.dialogue.code_name(recalled.code);
        Some(FirstResponse { status, payload: recalled.bytes, ..FirstResponse::default() })
    }
}

/// The URL of a request that goes there, from its first line.
fn url_of(origin: &Origin, sent: &[u8]) -> String {
    let line = sent.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
    let target = String::from_utf8_lossy(line.split(|byte| *byte == b' ').nth(1).unwrap_or_default()).into_owned();
    if !target.starts_with('/') {
        return target;
    }
    let (scheme, usual) = if origin.tls { ("https", 443) } else { ("http", 80) };
    let host = if origin.host.contains(':') { format!("[{}]", origin.host) } else { origin.host.clone() };
    let port = if origin.port == usual { String::new() } else { format!(":{}", origin.port) };
    format!("{scheme}://{host}{port}{target}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_url_that_its_first_line_and_its_origin_say() {
        let of = |host: &str, port, tls, sent: &str| url_of(&Origin::tcp(host, port, tls), sent.as_bytes());
        assert_eq!(of("h", 80, false, "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n"), "http://h/a?b");
        assert_eq!(of("::1", 8443, true, "GET / HTTP/2\r\n"), "https://[::1]:8443/");
        assert_eq!(of("h", 443, true, "GET http://other/x HTTP/1.1\r\n"), "http://other/x");
    }
}
