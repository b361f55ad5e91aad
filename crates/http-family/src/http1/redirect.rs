//! Redirects: the request that follows a 301, 302, 303, 307 or 308 response (RFC 9110 15.4), as curl makes it.
//!
//! 301 and 302 turn a POST into a GET, 303 everything but HEAD; 307 and 308 repeat the request. Credentials, cookies
//! and a Host set by the user are not sent to another origin. A response without `Location` is an ordinary response.

use std::sync::Arc;

use brunt_contract::{FollowUp, ProtocolError};
use brunt_values::verify::FilledChecks;
use url::Url;

use super::codec;
use super::request::{self, HttpRules, Recipe};

/// The redirect that a response asks for.
#[derive(Debug, Default)]
pub enum Redirect {
    /// No redirect.
    #[default]
    None,
    /// A redirect to follow.
    Follow(Box<FollowUp>),
    /// A redirect beyond the limit; holds the URL that was redirected to again if redirects lead in a circle.
    TooMany(Option<Box<Url>>),
}

/// Returns `true` for the redirect statuses that are followed.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns the redirect that a response with this head, to the request of `recipe`, asks for. The next response is
/// checked by `expected`, if the checks differ per request.
///
/// # Errors
/// Returns an error for a `Location` that is not an HTTP URL.
pub fn next(
    (recipe, expected): (&Recipe, Option<&Arc<FilledChecks>>),
    status: u16,
    head: &[u8],
    (rules, most): (&HttpRules, u32),
) -> Result<Redirect, ProtocolError> {
    let Some(location) = codec::field(head, "location") else { return Ok(Redirect::None) };
    let location = String::from_utf8_lossy(location);
    let url = recipe.url.join(&location).map_err(|_| NO_URL);
    if recipe.hops >= most {
        return Ok(Redirect::TooMany(url.ok().and_then(|url| recipe.trail.repeated(&url))));
    }
    let url = url?;
    let mut next = recipe.clone();
    next.hops += 1;
    next.trail.follow((&recipe.url, next.hops), &url);
    next.target = None;
    next.expected = expected.cloned();
    if recipe.url.origin() != url.origin() {
        next.drop_origin_headers();
    }
    if drops_body(status, &recipe.method) {
        next.convert_to_get();
    }
    next.url = strip_fragment(url);
    let origin = next.route_through(&rules.proxies).ok_or(NO_URL)?;
    let request = brunt_contract::Request::shared(request::encode(&Arc::new(next)));
    Ok(Redirect::Follow(Box::new(FollowUp { origin, request })))
}

const NO_URL: ProtocolError = ProtocolError(brunt_cause::http1::no_redirect_url());

/// What is remembered of the redirects that led to a request, to tell a loop (Brent's algorithm): one URL, replaced at
/// every power of two, so that a loop of any length is found once it is shorter than the way since then.
#[derive(Clone, Debug, Default)]
pub struct RedirectTrail {
    url: Option<Box<Url>>,
    repeated: Option<Box<Url>>,
}

impl RedirectTrail {
    /// Takes the next hop, by its number counted from 1.
    fn follow(&mut self, (from, hop): (&Url, u32), to: &Url) {
        if hop == 1 {
            *self = RedirectTrail::default();
        }
        if hop.is_power_of_two() {
            self.url = Some(Box::new(strip_fragment(from.clone())));
        }
        self.repeated = self.repeated(to);
    }

    /// Returns the URL that was redirected to again, if this or an earlier hop did.
    fn repeated(&self, to: &Url) -> Option<Box<Url>> {
        let to = || strip_fragment(to.clone());
        self.repeated.clone().or_else(|| self.url.clone().filter(|known| **known == to()))
    }
}

fn drops_body(status: u16, method: &str) -> bool {
    match status {
        301 | 302 => method == "POST",
        303 => method != "HEAD" && method != "GET",
        _ => false,
    }
}

fn strip_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}
