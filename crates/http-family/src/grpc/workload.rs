//! The gRPC plug-in: its schemes, its options, and the calls of a run, encoded before it starts.

use std::sync::{Arc, Mutex};

use brunt_cause::complaint;
use brunt_contract::{
    ConnectionOwner, EstablishedConnection, Origin, PreparedWorkload, Protocol, ProtocolConfig, ProtocolDescription,
    RequestNames, Session, SlotContext, Trace, UsageError, UserState, WeightedRequest, Workload,
};
use prost_reflect::MethodDescriptor;

use super::expect::GrpcChecks;
use super::json::PreparedMessage;
use super::options::{self, GrpcOptions};
use super::reflection::{self, ReflectionStep};
use super::request::{CallBuilder, CaptureCell, CapturedResponse, GrpcRequest, GrpcUrl};
use super::schema::{Schema, shape};
use super::session::GrpcSession;
use super::status::{self, GrpcStatusSet};
use super::steps::{self, HeldStreamPlan};
use super::transcript::{self, TranscriptState};
use super::{framing, json};
use crate::http2::frames::code;
use crate::http2::hpack::Lexicon;
use crate::placeholders::Placeholders;
use brunt_values::budget::MemoryBudget;
use brunt_values::url_overrides;

/// Services whose descriptors are built in: health checks, reflection, the built-in target.
const BUILT: [&str; 3] = ["grpc.health.v1.Health", reflection::SERVICES[0], "brunt.Target"];

/// Value of `bound` for connections with streams held open by steps.
const HELD: u32 = 1;

/// gRPC over HTTP/2, over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrpcProtocol;

impl Protocol for GrpcProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription {
            checks: &["expect-json", "expect-status", "expect-header", "expect-trailer", "expect-messages"],
            heartbeats: true,
            ..ProtocolDescription::new("grpc", &["grpc", "grpcs"], options::OPTIONS, options::OF_ONE_URL)
        }
    }

    fn inquiry(&self, config: &ProtocolConfig) -> Result<Option<Arc<dyn Workload>>, UsageError> {
        let mut marks = Placeholders::new(config);
        let wishes = GrpcOptions::read(config, &mut marks)?;
        let places = places(config)?;
        if !wishes.protos.is_empty() || places.iter().all(is_builtin) {
            return Ok(None);
        }
        let Some(first) = places.first() else { return Ok(None) };
        if let Some(other) = places.iter().find(|place| place.origin != first.origin) {
            let trouble = complaint!(
                "is missing: {} and {} are two servers, and reflection works with only one; give the FILE that \
                    defines their services",
                "没有给出：{} 和 {} 是两个服务器，而反射只能用于一个；请给出定义其服务的 FILE",
                first.authority,
                other.authority
            );
            return Err(UsageError::new("--proto", trouble));
        }
        match reflection::next(&wanted(&places), &answers(config))? {
            ReflectionStep::Done(_) => Ok(None),
            ReflectionStep::Ask(service, messages) => {
                let inquiry = GrpcWorkload::inquiry(first, &wishes, service, messages, &mut marks)?;
                Ok(Some(Arc::new(inquiry)))
            }
        }
    }

    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let mut marks = Placeholders::new(config);
        match prepared(config, &mut marks) {
            Ok(dialogue) => Ok(Arc::new(dialogue)),
            Err(complaint) => Err(marks.restore_error(complaint)),
        }
    }
}

/// Prepares everything that a run sends, with slots replaced by placeholders in all texts.
fn prepared(config: &ProtocolConfig, marks: &mut Placeholders) -> Result<GrpcWorkload, UsageError> {
    let wishes = GrpcOptions::read(config, marks)?;
    let places = places(config)?;
    let schema = schema(config, &wishes, &places)?;
    let (mut maker, mut origins, mut requests) = (CallBuilder::default(), Vec::new(), Vec::new());
    let (mut names, mut holds) = (RequestNames::default(), HeldStreamPlan::default());
    let mut most_messages = Vec::new();
    for (index, (place, url)) in places.iter().zip(&config.urls).enumerate() {
        marks.begin_url(config, index);
        let method = method(&schema, place)?;
        let own =
            url_overrides::read_overrides(config, index, options::OF_ONE_URL, |asked| GrpcOptions::read(asked, marks))?;
        let (own, stream) = (own.as_ref().unwrap_or(&wishes), steps::stream(config, index)?);
        let leads = Origin { bound: stream.map_or(0, |_| HELD), ..place.origin.clone() };
        let origin = origins.iter().position(|origin| *origin == leads).unwrap_or_else(|| {
            origins.push(leads);
            origins.len() - 1
        });
        let mut calls = calls(&mut maker, place, own, (&method, stream.is_some()), marks)?;
        let mut most = std::mem::take(&mut maker.most_messages).max(1) as u64;
        let mut called = format!("{}/{}", method.parent_service().full_name(), method.name());
        if let (Some(stream), [step]) = (stream, &mut calls[..]) {
            let does = holds.add((config, index), stream, own, step)?;
            called = format!("{does} {called}");
            // A step that neither opens a stream nor has a message for it sends no request.
            most = if holds.steps.last().is_some_and(|step| step.opens) { most } else { 0 };
        }
        most_messages.push(most);
        let weight = url.weight / calls.len() as f64;
        calls.iter().for_each(|_| names.add(config.name(index).unwrap_or(&called)));
        requests.extend(calls.into_iter().map(|request| WeightedRequest::new(request, origin, weight)));
    }
    if requests.is_empty() {
        return Err(UsageError::new(
            "URL",
            complaint!(
                "none given; add one, such as grpc://127.0.0.1:50051/grpc.health.v1.Health/Check",
                "没有给出；请加上，例如 grpc://127.0.0.1:50051/grpc.health.v1.Health/Check"
            ),
        ));
    }
    let prepared = PreparedWorkload {
        exchanges_per_connection: wishes.streams,
        has_slots: requests.iter().any(|weighted: &WeightedRequest<GrpcRequest>| weighted.request.slots.is_some()),
        max_requests: marks.request_limit(),
        messages_per_request: most_messages,
        ..PreparedWorkload::new(requests, origins, names)
    };
    Ok(GrpcWorkload {
        prepared,
        lexicon: Arc::new(maker.lexicon),
        budget: MemoryBudget::default(),
        capture: None,
        held_streams: Arc::new(holds),
        shown: Mutex::default(),
    })
}

fn places(config: &ProtocolConfig) -> Result<Vec<GrpcUrl>, UsageError> {
    config.urls.iter().map(|url| GrpcUrl::read(&url.url)).collect()
}

fn is_builtin(place: &GrpcUrl) -> bool {
    place.method.as_ref().is_some_and(|(service, _)| BUILT.contains(&service.as_str()))
}

/// Returns the services whose descriptors are requested by reflection; empty if all are needed.
fn wanted(places: &[GrpcUrl]) -> Vec<String> {
    // Whether a name is a service or a method is known only once all services are known.
    if places.iter().any(|place| place.method.is_none() || place.dotted && !is_builtin(place)) {
        return Vec::new();
    }
    let mut wanted = Vec::new();
    for place in places.iter().filter(|place| !is_builtin(place)) {
        if let Some((service, _)) = &place.method
            && !wanted.contains(service)
        {
            wanted.push(service.clone());
        }
    }
    wanted
}

/// Decodes the reflection responses received so far.
fn answers(config: &ProtocolConfig) -> Vec<CapturedResponse> {
    config.inquiry_responses.iter().map(|bytes| CapturedResponse::decode(bytes)).collect()
}

/// Returns the schema that describes the run's methods.
fn schema(config: &ProtocolConfig, wishes: &GrpcOptions, places: &[GrpcUrl]) -> Result<Schema, UsageError> {
    if !wishes.protos.is_empty() {
        return Schema::of_files(&wishes.protos, &wishes.imports);
    }
    if places.iter().all(is_builtin) {
        return Schema::built();
    }
    match reflection::next(&wanted(places), &answers(config))? {
        ReflectionStep::Done(schema) => Ok(schema),
        ReflectionStep::Ask(..) => Err(UsageError::new(
            "--proto",
            complaint!("is missing; give the FILE that defines the service", "缺少；请给出定义服务的 FILE"),
        )),
    }
}

/// Returns the method named by a URL.
fn method(schema: &Schema, place: &GrpcUrl) -> Result<MethodDescriptor, UsageError> {
    match &place.method {
        Some((service, method)) if is_builtin(place) && !schema.has(service) => {
            Schema::built()?.method(service, method)
        }
        Some((service, method)) => schema.method(service, method),
        None => {
            let all = schema.listing().join(", ");
            let scheme = if place.origin.tls { "grpcs" } else { "grpc" };
            let trouble = complaint!(
                "does not name a method; use {scheme}://{}/ and one of: {all}",
                "没有写方法；请用 {scheme}://{}/ 加上其中之一：{all}",
                place.authority
            );
            Err(UsageError::new("URL", trouble))
        }
    }
}

/// Creates the calls to a method: one with all messages if it takes a stream, else one per message.
fn calls(
    maker: &mut CallBuilder,
    place: &GrpcUrl,
    wishes: &GrpcOptions,
    (method, held): (&MethodDescriptor, bool),
    marks: &mut Placeholders,
) -> Result<Vec<GrpcRequest>, UsageError> {
    let mut messages = Vec::new();
    for (at, text) in &wishes.texts {
        let read = json::messages(&method.input(), text, at, marks)?;
        if read.is_empty() {
            return Err(UsageError::new(
                at,
                complaint!("has no message; write a JSON object, such as {{}}", "没有消息；请写 JSON 对象，例如 {{}}"),
            ));
        }
        messages.extend(read);
    }
    let (takes_stream, gives_stream) = (method.is_client_streaming(), method.is_server_streaming());
    // A step on a stream may send nothing.
    if messages.is_empty() && !(held && takes_stream) {
        messages.push(PreparedMessage::Fixed(Vec::new()));
    }
    if wishes.lockstep && !(takes_stream && gives_stream) {
        let (name, [en, zh]) = (method.name(), shape(method));
        let trouble = complaint!(
            "is for bidirectional streams, and {name} is {en}; leave it out",
            "用于双向流，而 {name} 是{zh}方法；请去掉"
        );
        return Err(UsageError::new("--lockstep", trouble));
    }
    let mut calls = match takes_stream {
        true => vec![maker.call(place, wishes, messages, (wishes.lockstep, gives_stream), marks)?],
        false => {
            let one = |message| maker.call(place, wishes, vec![message], (false, gives_stream), marks);
            messages.into_iter().map(one).collect::<Result<_, _>>()?
        }
    };
    let expected = if held { None } else { expected(wishes, method)? };
    for call in &mut calls {
        (call.method, call.expected) = (Some(method.clone()), expected.clone());
    }
    Ok(calls)
}

/// Returns the checks of a method's responses, if there are any.
fn expected(wishes: &GrpcOptions, method: &MethodDescriptor) -> Result<Option<Arc<GrpcChecks>>, UsageError> {
    let metadata = wishes.metadata_expected.iter().any(|lines| !lines.is_empty());
    if wishes.expected.is_empty() && wishes.captures.is_empty() && !metadata && wishes.messages.is_none() {
        return Ok(None);
    }
    let expected = GrpcChecks::new(wishes, method.output(), method.is_server_streaming());
    expected.map(|expected| Some(Arc::new(expected))).map_err(|trouble| UsageError::new("--expect-json", trouble))
}

/// A gRPC workload: everything a run will send.
#[derive(Debug)]
pub struct GrpcWorkload {
    prepared: PreparedWorkload,
    lexicon: Arc<Lexicon>,
    /// The memory budget for heads that arrive in pieces.
    budget: MemoryBudget,
    /// The place for the response of a reflection call; `None` in a run.
    capture: Option<CaptureCell>,
    /// The streams held open by steps of a flow.
    held_streams: Arc<HeldStreamPlan>,
    /// The transcript state of a connection with streams held open.
    shown: Mutex<TranscriptState>,
}

impl GrpcWorkload {
    /// Creates a reflection call whose response is captured.
    fn inquiry(
        place: &GrpcUrl,
        wishes: &GrpcOptions,
        service: &str,
        messages: Vec<Vec<u8>>,
        marks: &mut Placeholders,
    ) -> Result<GrpcWorkload, UsageError> {
        let method = Some((service.to_owned(), reflection::METHOD.to_owned()));
        let place = GrpcUrl { method, ..place.clone() };
        let (mut maker, capture) = (CallBuilder::default(), Arc::new(Mutex::new(None)));
        let messages = messages.into_iter().map(PreparedMessage::Fixed).collect();
        let mut request = maker.call(&place, wishes, messages, (false, true), marks)?;
        let has_slots = request.slots.is_some();
        (request.capture, request.success) = (Some(Arc::clone(&capture)), GrpcStatusSet::USUAL);
        let prepared = PreparedWorkload::new(
            vec![WeightedRequest::new(request, 0, 1.0)],
            vec![place.origin],
            RequestNames::default(),
        );
        Ok(GrpcWorkload {
            prepared: PreparedWorkload { has_slots, ..prepared },
            lexicon: Arc::new(maker.lexicon),
            budget: MemoryBudget::default(),
            capture: Some(capture),
            held_streams: Arc::default(),
            shown: Mutex::default(),
        })
    }
}

impl Workload for GrpcWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        &[b"h2"]
    }
    /// Streams held open belong to their user's connection, which the first step on one of them opens.
    fn connection_owner(&self, origin: &Origin) -> ConnectionOwner {
        if origin.bound == HELD { ConnectionOwner::User } else { ConnectionOwner::default() }
    }
    fn take_inquiry_response(&self) -> Option<Vec<u8>> {
        let kept = self.capture.as_ref()?.lock().ok()?.take()?;
        Some(kept.encode())
    }
    /// Returns the path and the messages, without their frames.
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext,
        _memory: Option<&UserState>,
    ) -> Vec<u8> {
        let request = request.downcast::<GrpcRequest>();
        let mut text = format!("POST {}\n", request.path).into_bytes();
        let mut filled = Vec::new();
        if let Some(slots) = &request.slots {
            // A message with a value that does not fit is shown as far as it goes.
            let _ = slots.put(context, &mut Vec::new(), &mut filled);
        }
        let body = if filled.is_empty() { &*request.body } else { &filled };
        for message in framing::messages(body) {
            text.extend_from_slice(message);
            text.push(b'\n');
        }
        text
    }
    fn trace(&self, request: &brunt_contract::Request, context: &SlotContext) -> Option<Trace> {
        let request = request.downcast::<GrpcRequest>();
        request.slots.as_ref()?.head.as_ref()?.trace(context)
    }
    fn display_bytes(&self, established: &EstablishedConnection, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        let requests = self.prepared.requests.iter().map(|weighted| weighted.request.downcast::<GrpcRequest>());
        let mut others = TranscriptState::default();
        // The state belongs to a single user, whose steps follow one another. A flow of several protocols uses the
        // higher bits of `bound`.
        let mut held = self.shown.lock().ok().filter(|_| established.bound & HELD != 0);
        Some(transcript::readable(requests, (sent, received), held.as_deref_mut().unwrap_or(&mut others)))
    }
    fn session(&self, origin: &Origin, _established: &EstablishedConnection) -> Box<dyn Session> {
        let streams = self.prepared.exchanges_per_connection;
        let session = GrpcSession::new(Arc::clone(&self.lexicon), streams, (origin.tls, self.budget.clone()));
        Box::new(if origin.bound == HELD { session.with_held_streams(Arc::clone(&self.held_streams)) } else { session })
    }
    fn protocol_version(&self, _established: &EstablishedConnection) -> String {
        "gRPC over HTTP/2".to_owned()
    }
    fn code_name(&self, code: u32) -> String {
        code::EndCode::describe(code).unwrap_or_else(|| status::name(status::of_counted(code)))
    }
    fn code_meaning(&self, code: u32) -> Option<brunt_cause::StaticCause> {
        status::meaning(status::of_counted(code))
    }
}
