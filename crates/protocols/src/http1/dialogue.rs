//! HTTP/1.1 as a plug-in: its schemes, its options, and everything a run will say in it, encoded before it starts.

use std::sync::Arc;

use url::Url;
use wire::{Asked, Complaint, Dialogue, Established, OptionSpec, Origin, Protocol, SHOWN, Weighted};

use super::options::{self, OF_ONE_URL, Wishes};
use super::request::{Encoder, Request, Rules, encode_listed, origin};
use super::session::{Http1Session, LAST};
use crate::alone;

const ALPN: &[&[u8]] = &[b"http/1.1"];

/// HTTP/1.1 over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http1;

impl Protocol for Http1 {
    type Dialogue = Http1Dialogue;

    fn name(&self) -> &'static str {
        "http"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["http", "https"]
    }

    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }

    fn options_of_one_url(&self) -> &'static [&'static str] {
        OF_ONE_URL
    }

    fn prepare(&self, asked: &Asked) -> Result<Http1Dialogue, Complaint> {
        let wishes = Wishes::read(asked)?;
        let (mut origins, mut recipes) = (Vec::new(), Vec::new());
        let mut requests = Vec::with_capacity(asked.urls.len());
        let mut encoder = (asked.urls.len() > 1).then(Encoder::default);
        for (index, url) in asked.urls.iter().enumerate() {
            let own = alone::wished(asked, index, OF_ONE_URL, Wishes::read)?;
            let recipe = own.as_ref().unwrap_or(&wishes).recipe(parse_url(&url.url)?);
            let place = origin(&recipe.url).ok_or_else(|| no_url(&url.url, "it names no host"))?;
            let origin = origins.iter().position(|o| *o == place).unwrap_or_else(|| {
                origins.push(place);
                origins.len() - 1
            });
            let request = match &mut encoder {
                Some(encoder) => encoder.encode(&recipe, index as u32),
                None => encode_listed(&recipe, index as u32),
            };
            requests.push(Weighted { request, origin, weight: url.weight });
            if wishes.follows() {
                recipes.push(recipe);
            }
        }
        if requests.is_empty() {
            return Err(Complaint::new("URL", "none was given; write one, for instance http://127.0.0.1:8080/"));
        }
        let rules = Arc::new(wishes.rules(recipes));
        Ok(Http1Dialogue { requests, origins, rules })
    }
}

/// Everything a run will say in HTTP/1.1.
#[derive(Debug)]
pub struct Http1Dialogue {
    pub(crate) requests: Vec<Weighted<Request>>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) rules: Arc<Rules>,
}

impl Dialogue for Http1Dialogue {
    type Request = Request;
    type Session = Http1Session;

    fn requests(&self) -> &[Weighted<Request>] {
        &self.requests
    }
    fn origins(&self) -> &[Origin] {
        &self.origins
    }
    fn alpn(&self) -> &[&'static [u8]] {
        ALPN
    }
    fn one_exchange_per_connection(&self) -> bool {
        self.requests.iter().all(|r| r.request.marks & LAST != 0)
    }
    fn sent(&self, request: &Request) -> Vec<u8> {
        let mut bytes = request.text().into_owned();
        let body = request.body().map(|body| &**body).unwrap_or_default();
        bytes.extend_from_slice(&body[..body.len().min(SHOWN)]);
        bytes
    }
    fn session(&self, _origin: &Origin, _established: &Established) -> Http1Session {
        Http1Session::new(Arc::clone(&self.rules))
    }
    fn spoken(&self, _established: &Established) -> String {
        "HTTP/1.1".to_owned()
    }
}

/// Reads a URL; what must be encoded in it is, and the fragment is dropped.
fn parse_url(text: &str) -> Result<Url, Complaint> {
    let mut url = Url::parse(text).map_err(|trouble| no_url(text, &trouble.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(no_url(text, "its scheme is neither http nor https"));
    }
    url.set_fragment(None);
    Ok(url)
}

fn no_url(text: &str, trouble: &str) -> Complaint {
    Complaint::new("URL", format!("\"{text}\" cannot be used ({trouble}); write http://host:port/path"))
}
