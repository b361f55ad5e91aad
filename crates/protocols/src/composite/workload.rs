//! The composite workload of a flow with several protocols.

use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{
    CacheHit, ConnectionOwner, EstablishedConnection, FollowUp, OptionArity, OptionSpec, OptionValues, Origin,
    PageResources, PreparedWorkload, Protocol, ProtocolConfig, ProtocolDescription, RequestDraft, RequestNames,
    ResourceSearch, Session, SlotContext, StateUpdate, Trace, UsageError, UserState, WeightedRequest, Workload,
};

use super::member_ids::{
    CompositeRequest, MemberRequest, member_of_bound, to_composite, to_composite_code, to_member, to_member_code,
};
use super::session::CompositeSession;
use brunt_values::capture;
use brunt_values::capture::CAPTURE;

/// Options that apply only to runs of a single protocol, and what to write instead, in English and in Chinese.
const OF_ONE: [(&str, [&str; 2]); 8] = [
    ("before", ["make it a step in `once`", "请写成 `once` 中的步骤"]),
    ("after", ["leave it out", "请去掉"]),
    ("pipeline", ["users of a flow wait for each response; leave it out", "流程的用户会等待每个响应；请去掉"]),
    ("streams", ["users of a flow each have their own connection; leave it out", "流程的每个用户有自己的连接；请去掉"]),
    ("on-connect", ["make it the first step on that connection", "请写成该连接上的第一个步骤"]),
    ("match-field", ["write `await` at the step", "请在步骤中写 `await`"]),
    (
        "push",
        [
            "messages that no step awaits are counted as pushes anyway; leave it out",
            "没有步骤等待的消息本来就计为推送；请去掉",
        ],
    ),
    ("reply", ["make it a step after one that awaits a message", "请写成等待消息之后的步骤"]),
];

/// The name in plans and reports.
pub const NAME: &str = "mixed";

/// The composite protocol: several protocols in one flow, each identified by its index in the list.
pub struct CompositeProtocol {
    protocols: Vec<Arc<dyn Protocol>>,
    options: Vec<OptionSpec>,
    of_one_url: Vec<&'static str>,
}

impl CompositeProtocol {
    /// Creates the composite of these protocols.
    pub fn of(protocols: Vec<Arc<dyn Protocol>>) -> CompositeProtocol {
        let mut options: Vec<OptionSpec> = Vec::new();
        for spec in protocols.iter().flat_map(|protocol| protocol.options()) {
            match options.iter_mut().find(|known| known.name == spec.name) {
                None => options.push(*spec),
                Some(known) if matches!((known.arity, spec.arity), (OptionArity::One(_), OptionArity::Many(_))) => {
                    known.arity = spec.arity;
                }
                Some(_) => {}
            }
        }
        let of_one_url = protocols.iter().flat_map(|protocol| protocol.options_of_one_url()).copied().collect();
        CompositeProtocol { protocols, options, of_one_url }
    }

    /// Returns the settings for each protocol that has URLs in this flow, with the index of the protocol.
    fn members(
        &self,
        config: &ProtocolConfig,
    ) -> impl Iterator<Item = Result<(usize, &dyn Protocol, MemberSettings), UsageError>> {
        self.protocols.iter().enumerate().filter_map(move |(part, protocol)| {
            let own =
                member_settings(&**protocol, config).map_err(|trouble| UsageError::new("flow", trouble)).transpose()?;
            Some(own.map(|own| (part, &**protocol, own)))
        })
    }
}

impl Protocol for CompositeProtocol {
    /// Describes the composite, which has no scheme; URLs use those of its members.
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription::new(NAME, &[], &self.options, &self.of_one_url)
    }
    fn checks(&self, url: &str) -> &'static [&'static str] {
        let scheme = url.split("://").next().unwrap_or_default();
        let spoken = self.protocols.iter().find(|protocol| protocol.schemes().contains(&scheme));
        spoken.map_or(&[], |protocol| protocol.checks(url))
    }
    fn check_heartbeats(&self, config: &ProtocolConfig) -> Result<(), Complaint> {
        let mut why = Err(complaint!(
            "none of the protocols of this flow has a heartbeat; leave it out",
            "该流程的协议都没有心跳；请去掉"
        ));
        for protocol in &self.protocols {
            if let Some(own) = member_settings(&**protocol, config)? {
                why = why.or_else(|_| protocol.check_heartbeats(&own.config));
            }
        }
        why
    }
    fn inquiry(&self, config: &ProtocolConfig) -> Result<Option<Arc<dyn Workload>>, UsageError> {
        for each in self.members(config) {
            let (part, protocol, own) = each?;
            if let Some(inquiry) = protocol.inquiry(&own.config)? {
                return Ok(Some(Arc::new(CompositeWorkload::single(part, inquiry))));
            }
        }
        Ok(None)
    }
    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        self.reject_options(config)?;
        let mut building = CompositeBuilder::of(config.urls.len());
        for each in self.members(config) {
            let (part, protocol, own) = each?;
            let dialogue = protocol.prepare(&own.config).map_err(|complaint| own.renumbered(complaint))?;
            building.add(part, dialogue, &own.urls)?;
        }
        Ok(Arc::new(building.finish(config)?))
    }
}

/// The part of the settings that concerns one member protocol.
struct MemberSettings {
    config: ProtocolConfig,
    /// Positions of its URLs among all URLs.
    urls: Vec<usize>,
}

impl MemberSettings {
    /// Replaces the URL number in an error, which counts only the member's URLs, with the number among all URLs.
    fn renumbered(&self, complaint: UsageError) -> UsageError {
        let Some(rest) = complaint.location.strip_prefix("URL ") else { return complaint };
        let (number, behind) = rest.split_once(',').unwrap_or((rest, ""));
        let at = number.parse().ok().and_then(|number: usize| self.urls.get(number.checked_sub(1)?));
        match at {
            Some(at) => UsageError { location: format!("URL {},{behind}", at + 1), ..complaint },
            None => complaint,
        }
    }
}

/// Returns the settings for one protocol; `None` if it has no URLs.
fn member_settings(protocol: &dyn Protocol, config: &ProtocolConfig) -> Result<Option<MemberSettings>, Complaint> {
    let is_own = |url: &str| url.split_once("://").is_some_and(|(scheme, _)| protocol.schemes().contains(&scheme));
    let urls: Vec<usize> = (0..config.urls.len()).filter(|at| is_own(&config.urls[*at].url)).collect();
    if urls.is_empty() {
        return Ok(None);
    }
    let has = |name: &str| protocol.options().iter().any(|spec| spec.name == name);
    let options: OptionValues = config
        .options
        .iter()
        .filter(|(name, _)| has(name))
        .map(|(name, values)| (name.clone(), values.clone()))
        .collect();
    let own = |at: &usize| config.url_options.get(*at).cloned().unwrap_or_default();
    for at in &urls {
        let known = protocol.options_of_one_url();
        if let Some(name) = own(at).keys().find(|name| !known.contains(&name.as_str())) {
            let why = if name == CAPTURE {
                complaint!("captures nothing from responses", "不能从响应中提取值")
            } else {
                complaint!("has no such option at a step", "在步骤中没有这个选项")
            };
            let zh = why.zh();
            return Err(complaint!(
                "step {}, {name}: {} {why}; leave it out",
                "步骤 {}，{name}：{} {zh}；请去掉",
                at + 1,
                protocol.name()
            ));
        }
    }
    let asked = ProtocolConfig {
        urls: urls.iter().map(|at| config.urls[*at].clone()).collect(),
        names: urls.iter().map(|at| config.names.get(*at).cloned().flatten()).collect(),
        url_options: urls.iter().map(own).collect(),
        url_scenarios: urls.iter().filter_map(|at| config.url_scenarios.get(*at).cloned()).collect(),
        options,
        unix_socket: config.unix_socket.clone(),
        proxies: Arc::clone(&config.proxies),
        seed: config.seed,
        returns_content: config.returns_content,
        inquiry_responses: config.inquiry_responses.clone(),
        variables: Arc::clone(&config.variables),
        is_composite_flow: true,
        composes_requests: config.composes_requests,
    };
    Ok(Some(MemberSettings { config: asked, urls }))
}

impl CompositeProtocol {
    /// Rejects options that no protocol of the flow has, or that apply only to runs of a single protocol.
    fn reject_options(&self, config: &ProtocolConfig) -> Result<(), UsageError> {
        let speaks = |protocol: &&Arc<dyn Protocol>| {
            let is_its = |url: &str, scheme: &str| url.strip_prefix(scheme).is_some_and(|rest| rest.starts_with("://"));
            config.urls.iter().any(|url| protocol.schemes().iter().any(|scheme| is_its(&url.url, scheme)))
        };
        for name in config.options.keys() {
            if let Some((_, [instead, zh])) = OF_ONE.iter().find(|(known, _)| known == name) {
                let trouble = complaint!(
                    "is for runs of a single protocol, and this flow mixes several; {instead}",
                    "用于只有一种协议的压测，而该流程混用多种；{zh}"
                );
                return Err(UsageError::new(format!("--{name}"), trouble));
            }
            let mut options = self.protocols.iter().filter(speaks).flat_map(|protocol| protocol.options());
            if !options.any(|spec| spec.name == name) {
                let trouble = complaint!(
                    "is not an option of any protocol in this flow; leave it out",
                    "不是该流程中任何协议的选项；请去掉"
                );
                return Err(UsageError::new(format!("--{name}"), trouble));
            }
        }
        Ok(())
    }
}

/// The workloads of the member protocols by index; `None` for protocols that are not used.
#[derive(Default)]
struct MemberWorkloads(Vec<Option<Arc<dyn Workload>>>);

impl MemberWorkloads {
    fn set(&mut self, part: usize, workload: Arc<dyn Workload>) {
        if self.0.len() <= part {
            self.0.resize_with(part + 1, || None);
        }
        self.0[part] = Some(workload);
    }

    /// Returns the workloads in use.
    fn all(&self) -> impl Iterator<Item = &dyn Workload> {
        self.0.iter().flatten().map(|dialogue| &**dialogue)
    }

    /// Combines the properties of all members.
    fn prepared(
        &self,
        requests: Vec<WeightedRequest<CompositeRequest>>,
        origins: Vec<Origin>,
        names: RequestNames,
    ) -> PreparedWorkload {
        let each = || self.all().map(|dialogue| dialogue.prepared());
        PreparedWorkload {
            by_order: each().find_map(|one| one.by_order),
            inspects_responses: each().any(|one| one.inspects_responses),
            has_slots: true,
            counts_messages: each().any(|one| one.counts_messages),
            keeps_state: each().any(|one| one.keeps_state),
            caches_responses: each().any(|one| one.caches_responses),
            max_requests: each().filter_map(|one| one.max_requests).min(),
            ..PreparedWorkload::new(requests, origins, names)
        }
    }

    /// Returns the workload of the member with this index, which comes from an origin, a request or a status code.
    fn get(&self, part: usize) -> &Arc<dyn Workload> {
        self.0.get(part).and_then(Option::as_ref).expect("numbers are given to protocols that say something")
    }
}

/// A builder of the composite workload.
struct CompositeBuilder {
    parts: MemberWorkloads,
    /// Request, origin and name of each URL.
    steps: Vec<Option<(CompositeRequest, usize, String)>>,
    /// Most messages that a request to each URL sends.
    messages: Vec<u64>,
    origins: Vec<Origin>,
}

impl CompositeBuilder {
    fn of(urls: usize) -> CompositeBuilder {
        CompositeBuilder {
            parts: MemberWorkloads::default(),
            steps: (0..urls).map(|_| None).collect(),
            messages: vec![1; urls],
            origins: Vec::new(),
        }
    }

    /// Adds the workload of one protocol; `urls` are the positions of its URLs among all.
    fn add(&mut self, part: usize, workload: Arc<dyn Workload>, urls: &[usize]) -> Result<(), UsageError> {
        let first = self.origins.len();
        self.origins.extend(workload.origins().iter().map(|origin| to_composite(part, origin)));
        if workload.requests().len() != urls.len() {
            let trouble = complaint!(
                "has a step that picks one of several at random; make each a step, in `choose`",
                "有步骤会随机选择多者之一；请在 `choose` 中把每个写成步骤"
            );
            return Err(UsageError::new("flow", trouble));
        }
        let sent = &workload.prepared().messages_per_request;
        urls.iter().zip(sent).for_each(|(url, most)| self.messages[*url] = *most);
        let names = workload.names();
        for (at, (url, weighted)) in urls.iter().zip(workload.requests().iter()).enumerate() {
            let name = names.list().get(usize::from(names.index_of(at))).cloned().unwrap_or_default();
            let request = CompositeRequest { member: part, request: MemberRequest::Prepared(at) };
            self.steps[*url] = Some((request, first + weighted.origin, name));
        }
        self.parts.set(part, workload);
        Ok(())
    }

    fn finish(self, config: &ProtocolConfig) -> Result<CompositeWorkload, UsageError> {
        let (mut requests, mut names) = (Vec::new(), RequestNames::default());
        for (at, step) in self.steps.into_iter().enumerate() {
            let spoken = || {
                UsageError::new(
                    "URL",
                    complaint!("`{}` is not a protocol that flows support", "流程不支持协议 `{}`", config.urls[at].url),
                )
            };
            let (request, origin, name) = step.ok_or_else(spoken)?;
            names.add(&name);
            requests.push(WeightedRequest::new(request, origin, config.urls[at].weight));
        }
        let own = |part: &Option<Arc<dyn Workload>>| part.iter().flat_map(|d| d.names().list().to_vec()).collect();
        let rows = self.parts.0.iter().map(own).map(|own: Vec<String>| own.iter().map(|n| names.intern(n)).collect());
        let rows = rows.collect();
        let prepared = PreparedWorkload {
            messages_per_request: self.messages,
            ..self.parts.prepared(requests, self.origins, names)
        };
        Ok(CompositeWorkload { parts: self.parts, name_indices: rows, prepared })
    }
}

/// The composite workload of a flow.
pub struct CompositeWorkload {
    parts: MemberWorkloads,
    /// Mapping from the name indices of each member to those of the composite.
    name_indices: Vec<Arc<[u16]>>,
    prepared: PreparedWorkload,
}

impl CompositeWorkload {
    /// Creates a composite of a single workload, for an inquiry.
    fn single(part: usize, workload: Arc<dyn Workload>) -> CompositeWorkload {
        let outer_request = |(at, one): (usize, &WeightedRequest)| {
            WeightedRequest::new(
                CompositeRequest { member: part, request: MemberRequest::Prepared(at) },
                one.origin,
                one.weight,
            )
        };
        let requests: Vec<_> = workload.requests().iter().enumerate().map(outer_request).collect();
        let origins = workload.origins().iter().map(|origin| to_composite(part, origin)).collect();
        let (names, mut parts) = (workload.names().clone(), MemberWorkloads::default());
        parts.set(part, workload);
        let prepared = parts.prepared(requests, origins, names);
        CompositeWorkload { parts, name_indices: Vec::new(), prepared }
    }

    /// Returns the member that a request belongs to, and the request as the member knows it.
    fn member<'a>(&'a self, request: &'a brunt_contract::Request) -> (&'a dyn Workload, &'a brunt_contract::Request) {
        let request: &CompositeRequest = request.downcast();
        let part = &**self.parts.get(request.member);
        (part, request.member_request(part))
    }

    /// Returns the workload of a connection.
    fn member_of(&self, established: &EstablishedConnection) -> &dyn Workload {
        &**self.parts.get(member_of_bound(established.bound))
    }
}

/// Converts a page of a member to one of the composite.
fn to_composite_page(part: usize, page: PageResources, rows: &[u16]) -> PageResources {
    let PageResources { name, mut next, .. } = page;
    let name = rows.get(usize::from(name)).copied().unwrap_or_default();
    let next = move || next().map(|next| to_composite_follow(part, next));
    PageResources { name, next: Box::new(next), ..page }
}

/// Converts a follow-up request of a member to one of the composite.
pub(super) fn to_composite_follow(part: usize, next: FollowUp) -> FollowUp {
    let request = brunt_contract::Request::shared(CompositeRequest {
        member: part,
        request: MemberRequest::Created(next.request),
    });
    FollowUp { origin: to_composite(part, &next.origin), request }
}

impl Workload for CompositeWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    fn alpn(&self, origin: &Origin) -> &[&'static [u8]] {
        let (part, origin) = to_member(origin);
        self.parts.get(part).alpn(&origin)
    }
    fn connection_owner(&self, origin: &Origin) -> ConnectionOwner {
        let (part, origin) = to_member(origin);
        self.parts.get(part).connection_owner(&origin)
    }
    fn may_precede_run(&self, request: &brunt_contract::Request) -> bool {
        let (part, own) = self.member(request);
        part.may_precede_run(own) && self.prepared.max_requests.is_none()
    }
    fn update_state(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext<'_>,
        update: StateUpdate,
        memory: &mut UserState,
    ) -> Option<ResourceSearch> {
        let lesson = match update.downcast::<capture::CapturedValues>() {
            Ok(taken) => {
                taken.store(memory);
                return None;
            }
            Err(lesson) => lesson,
        };
        let (dialogue, own) = self.member(request);
        let found = dialogue.update_state(own, context, lesson, memory)?;
        let part = request.downcast::<CompositeRequest>().member;
        let rows = Arc::clone(self.name_indices.get(part)?);
        Some(Box::new(move || to_composite_page(part, found(), &rows)))
    }
    fn cached_response(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext<'_>,
        memory: &mut UserState,
    ) -> Option<CacheHit> {
        let (dialogue, own) = self.member(request);
        let recalled = dialogue.cached_response(own, context, memory)?;
        Some(CacheHit {
            code: to_composite_code(request.downcast::<CompositeRequest>().member, recalled.code),
            ..recalled
        })
    }
    fn compose(&self, like: &brunt_contract::Request, draft: &RequestDraft) -> Result<FollowUp, brunt_cause::Cause> {
        let (dialogue, own) = self.member(like);
        Ok(to_composite_follow(like.downcast::<CompositeRequest>().member, dialogue.compose(own, draft)?))
    }
    fn addressed(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext<'_>,
    ) -> Option<Result<FollowUp, brunt_cause::Cause>> {
        let (dialogue, own) = self.member(request);
        let member = request.downcast::<CompositeRequest>().member;
        Some(dialogue.addressed(own, context)?.map(|follow| to_composite_follow(member, follow)))
    }
    fn encoded_with(
        &self,
        request: &brunt_contract::Request,
        context: &SlotContext<'_>,
        memory: Option<&UserState>,
    ) -> Vec<u8> {
        let (part, own) = self.member(request);
        part.encoded_with(own, context, memory)
    }
    fn trace(&self, request: &brunt_contract::Request, context: &SlotContext<'_>) -> Option<Trace> {
        let (part, own) = self.member(request);
        part.trace(own, context)
    }
    fn carries_no_trace(&self, request: &brunt_contract::Request) -> bool {
        let (part, own) = self.member(request);
        part.carries_no_trace(own)
    }
    fn response_condition(&self, request: &brunt_contract::Request) -> Option<String> {
        let (part, own) = self.member(request);
        part.response_condition(own)
    }
    fn display_request(&self, request: &brunt_contract::Request) -> String {
        let (part, own) = self.member(request);
        part.display_request(own)
    }
    fn display_bytes(&self, established: &EstablishedConnection, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        self.member_of(established).display_bytes(established, sent, received)
    }
    fn session(&self, origin: &Origin, established: &EstablishedConnection) -> Box<dyn Session> {
        let (part, origin) = to_member(origin);
        let established = EstablishedConnection { bound: origin.bound, ..established.clone() };
        Box::new(CompositeSession::new(part, Arc::clone(self.parts.get(part)), (&origin, &established)))
    }
    fn take_inquiry_response(&self) -> Option<Vec<u8>> {
        self.parts.all().find_map(Workload::take_inquiry_response)
    }
    fn protocol_version(&self, established: &EstablishedConnection) -> String {
        self.member_of(established).protocol_version(established)
    }
    fn code_name(&self, code: u32) -> String {
        let (part, code) = to_member_code(code);
        self.parts.0.get(part).and_then(Option::as_ref).map_or_else(|| code.to_string(), |own| own.code_name(code))
    }
    fn code_meaning(&self, code: u32) -> Option<brunt_cause::StaticCause> {
        let (part, code) = to_member_code(code);
        self.parts.0.get(part).and_then(Option::as_ref).and_then(|own| own.code_meaning(code))
    }
}
