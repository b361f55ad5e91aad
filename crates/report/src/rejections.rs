//! What the kept examples of failed responses say about where these come from: a limiter, or a proxy whose upstream
//! failed.

use std::collections::BTreeMap;

use brunt_diagnose::RejectionSign;
use brunt_record::FailureExample;

/// Sentences of the pages that proxies make themselves if the service behind them fails.
const PAGES: [(&str, &str); 9] = [
    // HAProxy: src/http.c.
    ("No server is available to handle this request", "HAProxy"),
    ("The server returned an invalid or incomplete response", "HAProxy"),
    ("The server didn't respond in time", "HAProxy"),
    // Envoy: source/common/router/router.cc.
    ("upstream connect error or disconnect/reset before headers", "Envoy"),
    ("no healthy upstream", "Envoy"),
    ("upstream request timeout", "Envoy"),
    // Apache httpd: modules/http/http_protocol.c.
    ("The proxy server received an invalid", "Apache"),
    ("The gateway did not receive a timely response", "Apache"),
    ("temporarily unable to service your\nrequest due to maintenance downtime or capacity", "Apache"),
];
/// Names in `Server` by which proxies identify themselves.
const SERVERS: [(&str, &str); 8] = [
    ("nginx", "nginx"),
    ("openresty", "nginx"),
    ("envoy", "Envoy"),
    ("istio-envoy", "Envoy"),
    ("apache", "Apache"),
    ("varnish", "Varnish"),
    ("caddy", "Caddy"),
    ("cloudflare", "Cloudflare"),
];
/// Header fields with which a limiter says when to come again, or how much is left.
const LIMITERS: [&str; 4] = ["retry-after", "ratelimit", "ratelimit-limit", "x-ratelimit-limit"];

/// Returns what the examples say, by status code.
pub(crate) fn signs(examples: &[FailureExample]) -> BTreeMap<String, RejectionSign> {
    let told = |example: &FailureExample| Some((example.status.clone(), sign(&example.status, &example.received)?));
    examples.iter().filter_map(told).collect()
}

fn sign(status: &str, received: &str) -> Option<RejectionSign> {
    if !["502", "503", "504"].contains(&status) {
        return None;
    }
    let text = received.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase()))
    };
    let fields: Vec<(String, String)> = head.lines().skip(1).filter_map(field).collect();
    if fields.iter().any(|(name, _)| LIMITERS.contains(&name.as_str())) {
        return Some(RejectionSign::RetryLater);
    }
    if let Some((_, proxy)) = PAGES.iter().find(|(page, _)| body.contains(page)) {
        return Some(RejectionSign::Upstream(Some(proxy)));
    }
    // Gateways make pages for people; an application that answers in JSON chose the status itself.
    if fields.iter().any(|(name, value)| name == "content-type" && value.contains("json")) {
        return None;
    }
    // 503 may also be the service's own, or that of a limiter: proxies put their name over what they pass on.
    let is_gateway = status != "503";
    let server = fields.iter().find(|(name, _)| name == "server").map(|(_, value)| value.as_str()).unwrap_or_default();
    let named = SERVERS.iter().find(|(name, _)| server.starts_with(name)).map(|(_, proxy)| *proxy);
    is_gateway.then_some(RejectionSign::Upstream(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_tells_whose_it_is() {
        let page = |status: &str, fields: &str, body: &str| {
            sign(status, &format!("HTTP/1.1 {status} X\r\n{fields}\r\n{body}"))
        };
        let upstream = |name| Some(RejectionSign::Upstream(name));
        let haproxy = "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n";
        assert_eq!(page("503", "content-length: 107\r\n", haproxy), upstream(Some("HAProxy")));
        assert_eq!(page("502", "Server: nginx/1.24.0\r\n", "<center>nginx</center>"), upstream(Some("nginx")));
        assert_eq!(page("503", "server: envoy\r\n", "no healthy upstream"), upstream(Some("Envoy")));
        assert_eq!(page("504", "X: y\r\n", ""), upstream(None));
        let own =
            page("502", "Server: nginx\r\nContent-Type: application/problem+json\r\n", "{\"title\":\"bank is down\"}");
        assert_eq!(own, None, "the application's own");
        assert_eq!(page("503", "Server: nginx\r\n", "503 Service Temporarily Unavailable"), None, "a limiter's, too");
        assert_eq!(page("503", "Server: nginx\r\nRetry-After: 1\r\n", ""), Some(RejectionSign::RetryLater));
        assert_eq!(page("500", "Retry-After: 1\r\n", ""), None);
        assert_eq!(sign("503", ""), None);
    }
}
