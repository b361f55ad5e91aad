//! Where an answer of 301, 302, 303, 307 or 308 sends us, and with which request (RFC 9110 15.4, as curl does it).
//!
//! 301 and 302 turn a POST into a GET, 303 everything but HEAD; 307 and 308 repeat the request as it was. Credentials,
//! cookies and a Host of the user's own are not carried to another origin. An answer without `Location` is an answer.

use std::sync::Arc;

use url::Url;
use wire::{Broken, Follow};

use super::codec;
use super::request::{self, Recipe, Rules};

/// What an answer asks for.
#[derive(Debug, Default)]
pub enum Hop {
    /// Nothing.
    #[default]
    None,
    /// Another request.
    To(Box<Follow>),
    /// Another request, but there were enough.
    TooMany,
}

/// True for the statuses that send a client elsewhere by themselves.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// What the answer with this head to the request of `recipe` asks for.
///
/// # Errors
/// A `Location` that is no HTTP URL.
pub fn next(recipe: &Recipe, status: u16, head: &[u8], (rules, most): (&Rules, u32)) -> Result<Hop, Broken> {
    let Some(location) = codec::field(head, "location") else { return Ok(Hop::None) };
    if recipe.hops >= most {
        return Ok(Hop::TooMany);
    }
    let location = String::from_utf8_lossy(location);
    let url = recipe.url.join(&location).map_err(|_| NO_URL)?;
    let mut next = recipe.clone();
    next.hops += 1;
    next.target = None;
    if recipe.url.origin() != url.origin() {
        next.leave_origin();
    }
    if drops_body(status, &recipe.method) {
        next.become_get();
    }
    next.url = strip_fragment(url);
    let origin = next.goes_by(&rules.proxies).ok_or(NO_URL)?;
    let request = wire::Request::shared(request::encode(&Arc::new(next)));
    Ok(Hop::To(Box::new(Follow { origin, request })))
}

const NO_URL: Broken = Broken(cause::http1::no_redirect_url());

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
