//! Page resources in a single pass, which are fetched one after another so that each can be reported.

use brunt_contract::{FaultKind, FollowUp, Origin, Request, SlotContext};
use brunt_record::FirstResponse;

use super::{PassEvent, SinglePass};
use crate::conversation::unix_ns;
use crate::probe::{follow_up, set_failure};

/// Maximum number of resources fetched in a pass; the rest is counted.
const MOST: usize = 1000;

/// A resource of a page and its outcome.
pub struct FetchedResource {
    /// Index of the page's request among those of the run.
    pub page: usize,
    /// URL of the resource.
    pub url: String,
    /// The response.
    pub answer: FirstResponse,
    /// The kind of failure that a run would count; `None` on success.
    pub fault: Option<FaultKind>,
    /// Set if it came from the user's cache and nothing was sent.
    pub from_cache: bool,
    /// Set if a failure of the resource does not fail the page.
    pub may_fail: bool,
}

/// Resources of a page that are not fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedResources {
    /// Number of resources on other hosts.
    pub other_hosts: u32,
    /// Number of resources beyond the limit.
    pub over_limit: u32,
    /// Set if only a part of the page was searched.
    pub cut: bool,
}

impl SinglePass<'_> {
    /// Fetches the resources of a response if it is a page; returns the fault that this causes for the page. Requests
    /// of a batch (`alone` not set) fetch no resources.
    pub(super) fn fetch(
        &mut self,
        request: usize,
        alone: bool,
        on_event: &mut dyn FnMut(PassEvent),
    ) -> Option<FaultKind> {
        let heard = self.pass.take_pages();
        if !alone || self.fetched.is_none() {
            return None;
        }
        let mut first = None;
        for found in heard {
            let mut page = found();
            let mut left_out =
                SkippedResources { other_hosts: page.on_other_hosts, over_limit: page.over_limit, cut: page.truncated };
            while let Some(follow) = (page.next)() {
                let may = !self.stop.requested();
                let Some(fetched) = self.fetched.as_mut().filter(|fetched| may && **fetched < MOST) else {
                    left_out.over_limit += 1;
                    continue;
                };
                *fetched += 1;
                let resource = self.resource(request, &follow, page.may_fail);
                first = first.or(resource.fault.filter(|_| !page.may_fail));
                on_event(PassEvent::Resource(Box::new(resource)));
            }
            if left_out != SkippedResources::default() {
                on_event(PassEvent::LeftOut(left_out));
            }
        }
        // Resources of resources are not searched.
        drop(self.pass.take_pages());
        first
    }

    fn resource(&self, page: usize, follow: &FollowUp, may_fail: bool) -> FetchedResource {
        let url = url_of(&follow.origin, &self.workload.encoded(&follow.request));
        if let Some(answer) = self.cached(&follow.request) {
            return FetchedResource { page, url, answer, fault: None, from_cache: true, may_fail };
        }
        let mut answer = FirstResponse::default();
        let fault = follow_up(self.workload, follow, &self.pass, &mut answer).err().map(|trouble| {
            set_failure(&mut answer, trouble.why);
            trouble.fault.unwrap_or(FaultKind::Closed)
        });
        FetchedResource { page, url, answer, fault, from_cache: false, may_fail }
    }

    /// Returns the user's cached response.
    fn cached(&self, request: &Request) -> Option<FirstResponse> {
        if !self.workload.prepared().caches_responses {
            return None;
        }
        let mut memory = self.pass.memory.borrow_mut();
        let values = memory.values.clone();
        let fill = SlotContext { unix_ns: unix_ns(), run: self.seed, values: &values, ..SlotContext::default() };
        let recalled = self.workload.cached_response(request, &fill, &mut memory)?;
        if let Some(lesson) = recalled.update {
            drop(self.workload.update_state(request, &fill, lesson, &mut memory));
        }
        let status = self.workload.code_name(recalled.code);
        Some(FirstResponse { status, payload: recalled.bytes, ..FirstResponse::default() })
    }
}

/// Returns the URL of a request to this origin, from its first line.
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
