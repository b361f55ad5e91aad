//! The workload of the HTTP protocol, prepared for both versions.

use brunt_cause::{Complaint, complaint};
use std::sync::Arc;

use brunt_contract::{
    CacheHit, EstablishedConnection, FollowUp, Origin, PreparedWorkload, Protocol, ProtocolConfig, ProtocolDescription,
    RequestDraft, ResourceSearch, Session, SlotContext, StateUpdate, Trace, UsageError, UserState, Workload,
};

use super::options::{self, HttpVersion};
use crate::http1::options::URL_OPTIONS;
use crate::http1::{self, Http1, Http1Workload};
use crate::http2::{self, Http2Preparer, Http2Session, hpack::Lexicon};
use crate::placeholders::Placeholders;

/// HTTP/1.1 and HTTP/2 over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http;

impl Protocol for Http {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: crate::http1::evaluation::CHECKS,
            ..ProtocolDescription::new("http", &["http", "https"], options::OPTIONS, URL_OPTIONS)
        }
    }

    fn check_heartbeats(&self, config: &ProtocolConfig) -> Result<(), Complaint> {
        // Without TLS there is no ALPN, so `auto` means 1.1.
        let tls = config.urls.iter().any(|url| url.url.starts_with("https:"));
        match options::version(config) {
            Ok(HttpVersion::Http1) => Err(complaint!(
                "HTTP/1.1 has no heartbeat; add --http2, or leave it out",
                "HTTP/1.1 没有心跳；请加上 --http2，或去掉"
            )),
            Ok(HttpVersion::Auto) if !tls => Err(complaint!(
                "--http auto uses HTTP/1.1 on http://, which has no heartbeat; use --http2, or leave it out",
                "--http auto 对 http:// 使用 HTTP/1.1，没有心跳；请用 --http2，或去掉"
            )),
            // An invalid version is reported elsewhere.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let version = options::version(config)?;
        let streams = options::streams(config, version)?;
        let mut marks = Placeholders::new(config);
        match self.prepare_with(config, (version, streams), &mut marks) {
            Ok(dialogue) => Ok(Arc::new(dialogue)),
            Err(complaint) => Err(marks.restore_error(complaint)),
        }
    }
}

impl Http {
    fn prepare_with(
        self,
        config: &ProtocolConfig,
        (version, streams): (HttpVersion, u32),
        marks: &mut Placeholders,
    ) -> Result<HttpWorkload, UsageError> {
        // Proxies do not forward HTTP/2 without TLS.
        let proxies = if version == HttpVersion::Http2 { Arc::default() } else { Arc::clone(&config.proxies) };
        let (mut one, mut requests) = Http1.prepare_with(config, proxies, marks)?;
        if streams > 1 && one.prepared.one_exchange_per_connection {
            let trouble = complaint!(
                "cannot be combined with --no-keepalive, where requests never share a connection; leave one of \
                them out",
                "不能与 --no-keepalive 同用，因为那时请求从不共用连接；请去掉其中一个"
            );
            return Err(UsageError::new("--streams", trouble));
        }
        let mut preparer = Http2Preparer::new(one.prepared.keeps_state);
        if version != HttpVersion::Http1 {
            // The fields of the most frequent requests are added to the HPACK table first.
            let mut order: Vec<u32> = (0..requests.len() as u32).collect();
            order.sort_by(|a, b| requests[*b as usize].weight.total_cmp(&requests[*a as usize].weight));
            for at in order.into_iter().map(|at| at as usize) {
                let tls = one.prepared.origins[requests[at].origin].tls;
                let request = &mut requests[at].request;
                request.http2 = Some(preparer.prepare(request, tls, marks)?);
            }
        }
        one.prepared =
            PreparedWorkload { requests: Box::new(requests), exchanges_per_connection: streams, ..one.prepared };
        Ok(HttpWorkload { http1: one, version, lexicon: Arc::new(preparer.lexicon) })
    }
}

/// The workload of a run over HTTP.
#[derive(Debug)]
pub struct HttpWorkload {
    http1: Http1Workload,
    version: HttpVersion,
    lexicon: Arc<Lexicon>,
}

impl HttpWorkload {
    /// Returns `true` if the connection uses HTTP/2.
    fn uses_http2(&self, established: &EstablishedConnection) -> bool {
        match self.version {
            HttpVersion::Http1 => false,
            HttpVersion::Http2 => true,
            HttpVersion::Auto => established.alpn.as_deref() == Some(b"h2"),
        }
    }
}

impl Workload for HttpWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        self.http1.prepared()
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        match self.version {
            HttpVersion::Http1 => &[b"http/1.1"],
            HttpVersion::Http2 => &[b"h2"],
            HttpVersion::Auto => &[b"h2", b"http/1.1"],
        }
    }
    fn compose(&self, like: &brunt_contract::Request, draft: &RequestDraft) -> Result<FollowUp, brunt_cause::Cause> {
        self.http1.compose(like, draft)
    }
    fn addressed(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
    ) -> Option<Result<FollowUp, brunt_cause::Cause>> {
        self.http1.addressed(request, context)
    }
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        memory: Option<&UserState>,
    ) -> Vec<u8> {
        let text = self.http1.encoded_with(request, context, memory);
        if self.version == HttpVersion::Http2 { http2::readable(&text) } else { text }
    }
    fn trace(&self, request: &brunt_contract::Request, context: &SlotContext) -> Option<Trace> {
        self.http1.trace(request, context)
    }
    fn may_precede_run(&self, request: &brunt_contract::Request) -> bool {
        self.http1.may_precede_run(request)
    }
    fn update_state(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        update: StateUpdate,
        memory: &mut UserState,
    ) -> Option<ResourceSearch> {
        self.http1.update_state(request, context, update, memory)
    }
    fn cached_response(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        memory: &mut UserState,
    ) -> Option<CacheHit> {
        self.http1.cached_response(request, context, memory)
    }
    fn display_bytes(&self, established: &EstablishedConnection, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        let show = |bytes| http2::transcript::readable(bytes, &mut http2::transcript::DecodedBodies::default());
        if self.uses_http2(established) {
            return Some([show(sent), show(received)]);
        }
        Some([sent.to_vec(), http1::transcript::readable(received)?])
    }
    fn session(&self, origin: &Origin, established: &EstablishedConnection) -> Box<dyn Session> {
        if self.uses_http2(established) {
            let (rules, lexicon) = (Arc::clone(&self.http1.rules), Arc::clone(&self.lexicon));
            Box::new(Http2Session::new(rules, lexicon, self.prepared().exchanges_per_connection, established.tls))
        } else {
            self.http1.session(origin, established)
        }
    }
    fn code_name(&self, code: u32) -> String {
        http2::frames::code::EndCode::describe(code).unwrap_or_else(|| code.to_string())
    }
    fn protocol_version(&self, established: &EstablishedConnection) -> String {
        if self.uses_http2(established) { "HTTP/2".to_owned() } else { self.http1.protocol_version(established) }
    }
}
