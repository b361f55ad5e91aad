//! Checks of every request: whether it is addressed to this console, whether it comes from one of our pages, and
//! whether the sender is authorized.
//!
//! A page of another site can make a browser send requests here (it cannot read the responses), and a host name whose
//! address changes can make such a page look like ours (DNS rebinding). So the host must be one of ours, and a request
//! that changes something must come from our own origin or carry its token in a header.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::App;
use crate::access::{CredentialKind, LoginRefusal, Role};
use crate::problem::Problem;

/// Timeout of handlers; streaming responses are not limited.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(120);

/// The names under which the console can be reached.
#[derive(Clone, Debug)]
pub struct HostNames {
    scheme: &'static str,
    port: u16,
    /// Set if only names of this machine are accepted.
    loopback: bool,
    more: Vec<String>,
}

impl HostNames {
    /// Creates the names of a console that listens on this address; `more` are names in addition to its addresses.
    pub fn new(listens: std::net::SocketAddr, tls: bool, more: Vec<String>) -> HostNames {
        let scheme = if tls { "https" } else { "http" };
        HostNames { scheme, port: listens.port(), loopback: listens.ip().to_canonical().is_loopback(), more }
    }

    /// Returns `true` if connections use TLS.
    pub fn uses_tls(&self) -> bool {
        self.scheme == "https"
    }

    /// Returns `true` if this `Host` is one of ours. Unknown names are refused, since any name may resolve to this
    /// machine; addresses are accepted.
    pub fn matches(&self, host: &str) -> bool {
        let usual = if self.scheme == "https" { 443 } else { 80 };
        let (name, port) = match host.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']')) {
            Some((name, port)) => (name, port.parse().ok()),
            None => (host, Some(usual)),
        };
        if port != Some(self.port) {
            return false;
        }
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) => !self.loopback || address.to_canonical().is_loopback(),
            Err(_) => {
                name.eq_ignore_ascii_case("localhost") || self.more.iter().any(|ours| name.eq_ignore_ascii_case(ours))
            }
        }
    }

    /// Returns `true` if an `Origin` is the page at this host.
    fn is_own(&self, origin: &str, host: &str) -> bool {
        origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://")) == Some(host)
    }
}

/// Returns `true` if the browser indicates that a page of another site sent the request.
pub fn is_cross_site(headers: &HeaderMap) -> bool {
    text(headers, &HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// Converts a refusal to a response.
pub fn refused(why: LoginRefusal) -> Problem {
    let (status, code, sentence) = match why {
        LoginRefusal::Token => {
            (StatusCode::UNAUTHORIZED, "token", "the token is missing or wrong; open the link that `brunt ui` printed")
        }
        LoginRefusal::Password => (StatusCode::UNAUTHORIZED, "password", "the password is missing or wrong"),
        LoginRefusal::TooManyAttempts => {
            (StatusCode::TOO_MANY_REQUESTS, "too_often", "too many wrong attempts; wait a minute")
        }
    };
    Problem::new(status, code, sentence)
}

fn forbidden(code: &'static str, sentence: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, code, sentence)
}

/// Decides whether a request may pass; returns the role of its sender.
fn authorize(app: &App, method: &Method, path: &str, headers: &HeaderMap) -> Result<Option<Role>, Problem> {
    let host = text(headers, &HOST).unwrap_or_default();
    if !app.names.matches(host) {
        let sentence = "the console is not known by this host name; use the address that `brunt ui` printed";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", sentence));
    }
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let api = path.starts_with("/api/");
    let origin = text(headers, &ORIGIN);
    let not_ours = || {
        forbidden(
            "origin",
            "this request comes from another site; only the console's own pages may \
        send it",
        )
    };
    // Links from any site may lead here; any other cross-site request is refused before its token is checked. Our pages
    // send no referrer: browsers then send `null` as the origin of their forms, and state the site in another header.
    let same = text(headers, &HeaderName::from_static("sec-fetch-site")) == Some("same-origin");
    let own = |origin: &str| app.names.is_own(origin, host) || (same && origin == "null");
    if origin.is_some_and(|origin| !own(origin)) || ((api || !reads) && is_cross_site(headers)) {
        return Err(not_ours());
    }
    let who = app.access.authenticate(headers).map_err(refused)?;
    // Browsers send the origin with every request that changes something.
    if origin.is_none() && !reads && who.is_some_and(|(_, shown)| shown == CredentialKind::Cookie) {
        return Err(not_ours());
    }
    if !api {
        return Ok(who.map(|(role, _)| role));
    }
    match who {
        None => Err(refused(LoginRefusal::Token)),
        Some((Role::View, _)) if !reads => {
            Err(forbidden("look_only", "this token is view only; open the other link that `brunt ui` printed"))
        }
        Some((role, _)) => Ok(Some(role)),
    }
}

/// The middleware around all routes.
pub async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let judged = authorize(&app, request.method(), request.uri().path(), request.headers());
    let api = request.uri().path().starts_with("/api/");
    let mut response = match judged {
        Err(problem) => problem.into_response(),
        Ok(role) => {
            request.extensions_mut().insert(role);
            match tokio::time::timeout(LONGEST, next.run(request)).await {
                Ok(response) => response,
                Err(_) => Problem::new(StatusCode::GATEWAY_TIMEOUT, "time", "this took too long").into_response(),
            }
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", if api { "default-src 'none'; frame-ancestors 'none'" } else { POLICY }),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Policy of our pages: no content from other sites, and no requests to them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; \
                      connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_ours_or_nobodys() {
        let here = HostNames::new("127.0.0.1:8080".parse().unwrap(), false, Vec::new());
        for (host, ours) in [
            ("127.0.0.1:8080", true),
            ("localhost:8080", true),
            ("[::1]:8080", true),
            ("127.0.0.1:8081", false),
            ("127.0.0.1", false),
            ("evil.example:8080", false),
            ("localhost.evil.example:8080", false),
            ("10.0.0.7:8080", false),
            ("", false),
        ] {
            assert_eq!(here.matches(host), ours, "{host}");
        }
        let out = HostNames::new("0.0.0.0:443".parse().unwrap(), true, vec!["load.example".into()]);
        for (host, ours) in
            [("10.0.0.7", true), ("load.example", true), ("LOAD.example:443", true), ("evil.example", false)]
        {
            assert_eq!(out.matches(host), ours, "{host}");
        }
        assert!(
            out.is_own("https://load.example", "load.example") && !out.is_own("http://load.example", "load.example")
        );
    }
}
