//! The composite workload of a flow with several protocols.

use std::sync::Arc;

use wire::{
    About, Asked, Belongs, Complaint, Dialogue, Draft, Established, Fill, Follow, Found, Lesson, Memory, Names,
    OptionSpec, Options, Origin, Page, Prepared, Protocol, Recalled, Session, Takes, Trace, Weighted,
};

use super::parts::{Made, Request, inner, inner_code, outer, outer_code, part_of_bound};
use super::session::MixedSession;
use values::capture;
use values::capture::CAPTURE;

/// Options that only apply to runs of a single protocol, and what to write instead.
const OF_ONE: [(&str, &str); 8] = [
    ("before", "write it as a step in `once`"),
    ("after", "leave it out"),
    ("pipeline", "users of a flow wait for each response; leave it out"),
    ("streams", "users of a flow each have their own connection; leave it out"),
    ("on-connect", "write it as the first step on that connection"),
    ("match-field", "write `await` at the step"),
    ("push", "messages that no step awaits are counted as pushes anyway; leave it out"),
    ("reply", "write it as a step after one that awaits a message"),
];

/// The name in plans and reports.
pub const NAME: &str = "mixed";

/// The composite protocol: several protocols in one flow, each identified by its index in the list.
pub struct Mixed {
    protocols: Vec<Arc<dyn Protocol>>,
    options: Vec<OptionSpec>,
    of_one_url: Vec<&'static str>,
}

impl Mixed {
    /// Creates the composite of these protocols.
    pub fn of(protocols: Vec<Arc<dyn Protocol>>) -> Mixed {
        let mut options: Vec<OptionSpec> = Vec::new();
        for spec in protocols.iter().flat_map(|protocol| protocol.options()) {
            match options.iter_mut().find(|known| known.name == spec.name) {
                None => options.push(*spec),
                Some(known) if matches!((known.takes, spec.takes), (Takes::One(_), Takes::Many(_))) => {
                    known.takes = spec.takes;
                }
                Some(_) => {}
            }
        }
        let of_one_url = protocols.iter().flat_map(|protocol| protocol.options_of_one_url()).copied().collect();
        Mixed { protocols, options, of_one_url }
    }

    /// Returns the part of the request for each protocol that has URLs here, with the index of the protocol.
    fn each(&self, asked: &Asked) -> impl Iterator<Item = Result<(usize, &dyn Protocol, Own), Complaint>> {
        self.protocols.iter().enumerate().filter_map(move |(part, protocol)| {
            let own = asked_of(&**protocol, asked).map_err(|trouble| Complaint::new("flow", trouble)).transpose()?;
            Some(own.map(|own| (part, &**protocol, own)))
        })
    }
}

impl Protocol for Mixed {
    /// Describes the composite, which has no scheme; URLs use those of its members.
    fn about(&self) -> About<'_> {
        About::new(NAME, &[], &self.options, &self.of_one_url)
    }
    fn checks(&self, url: &str) -> &'static [&'static str] {
        let scheme = url.split("://").next().unwrap_or_default();
        let spoken = self.protocols.iter().find(|protocol| protocol.schemes().contains(&scheme));
        spoken.map_or(&[], |protocol| protocol.checks(url))
    }
    fn heartbeats(&self, asked: &Asked) -> Result<(), String> {
        let mut why = Err("none of the protocols of this flow has a heartbeat; leave it out".to_owned());
        for protocol in &self.protocols {
            if let Some(own) = asked_of(&**protocol, asked)? {
                why = why.or_else(|_| protocol.heartbeats(&own.asked));
            }
        }
        why
    }
    fn inquire(&self, asked: &Asked) -> Result<Option<Arc<dyn Dialogue>>, Complaint> {
        for each in self.each(asked) {
            let (part, protocol, own) = each?;
            if let Some(inquiry) = protocol.inquire(&own.asked)? {
                return Ok(Some(Arc::new(MixedDialogue::of_one(part, inquiry))));
            }
        }
        Ok(None)
    }
    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        self.refuse_options(asked)?;
        let mut building = Building::of(asked.urls.len());
        for each in self.each(asked) {
            let (part, protocol, own) = each?;
            let dialogue = protocol.prepare(&own.asked).map_err(|complaint| own.complaint(complaint))?;
            building.add(part, dialogue, &own.urls)?;
        }
        Ok(Arc::new(building.finish(asked)?))
    }
}

/// The part of the settings that concerns one member protocol.
struct Own {
    asked: Asked,
    /// Positions of its URLs among all URLs.
    urls: Vec<usize>,
}

impl Own {
    /// Rewrites the URL number in an error to the number among all URLs.
    fn complaint(&self, complaint: Complaint) -> Complaint {
        let Some(rest) = complaint.place.strip_prefix("URL ") else { return complaint };
        let (number, behind) = rest.split_once(',').unwrap_or((rest, ""));
        let at = number.parse().ok().and_then(|number: usize| self.urls.get(number.checked_sub(1)?));
        match at {
            Some(at) => Complaint { place: format!("URL {},{behind}", at + 1), ..complaint },
            None => complaint,
        }
    }
}

/// Returns the settings for one protocol; `None` if it has no URLs.
fn asked_of(protocol: &dyn Protocol, asked: &Asked) -> Result<Option<Own>, String> {
    let is_own = |url: &str| url.split_once("://").is_some_and(|(scheme, _)| protocol.schemes().contains(&scheme));
    let urls: Vec<usize> = (0..asked.urls.len()).filter(|at| is_own(&asked.urls[*at].url)).collect();
    if urls.is_empty() {
        return Ok(None);
    }
    let has = |name: &str| protocol.options().iter().any(|spec| spec.name == name);
    let options: Options = asked
        .options
        .iter()
        .filter(|(name, _)| has(name))
        .map(|(name, values)| (name.clone(), values.clone()))
        .collect();
    let own = |at: &usize| asked.own.get(*at).cloned().unwrap_or_default();
    for at in &urls {
        let known = protocol.options_of_one_url();
        if let Some(name) = own(at).keys().find(|name| !known.contains(&name.as_str())) {
            let why = if name == CAPTURE { "captures nothing from responses" } else { "has no such option at a step" };
            return Err(format!("step {}, {name}: {} {why}; leave it out", at + 1, protocol.name()));
        }
    }
    let asked = Asked {
        urls: urls.iter().map(|at| asked.urls[*at].clone()).collect(),
        names: urls.iter().map(|at| asked.names.get(*at).cloned().flatten()).collect(),
        own: urls.iter().map(own).collect(),
        options,
        unix_socket: asked.unix_socket.clone(),
        proxies: Arc::clone(&asked.proxies),
        seed: asked.seed,
        answers: asked.answers,
        learnt: asked.learnt.clone(),
        variables: Arc::clone(&asked.variables),
        steps: true,
        composes: asked.composes,
    };
    Ok(Some(Own { asked, urls }))
}

impl Mixed {
    /// Rejects options that no protocol of the flow has, or that only apply to runs of a single protocol.
    fn refuse_options(&self, asked: &Asked) -> Result<(), Complaint> {
        let speaks = |protocol: &&Arc<dyn Protocol>| {
            let is_its = |url: &str, scheme: &str| url.strip_prefix(scheme).is_some_and(|rest| rest.starts_with("://"));
            asked.urls.iter().any(|url| protocol.schemes().iter().any(|scheme| is_its(&url.url, scheme)))
        };
        for name in asked.options.keys() {
            if let Some((_, instead)) = OF_ONE.iter().find(|(known, _)| known == name) {
                let trouble = format!("is for runs of a single protocol, and this flow mixes several; {instead}");
                return Err(Complaint::new(format!("--{name}"), trouble));
            }
            let mut options = self.protocols.iter().filter(speaks).flat_map(|protocol| protocol.options());
            if !options.any(|spec| spec.name == name) {
                let trouble = "is not an option of any protocol in this flow; leave it out";
                return Err(Complaint::new(format!("--{name}"), trouble));
            }
        }
        Ok(())
    }
}

/// The workloads of the member protocols by index; `None` for protocols that are not used.
#[derive(Default)]
struct Parts(Vec<Option<Arc<dyn Dialogue>>>);

impl Parts {
    fn set(&mut self, part: usize, dialogue: Arc<dyn Dialogue>) {
        if self.0.len() <= part {
            self.0.resize_with(part + 1, || None);
        }
        self.0[part] = Some(dialogue);
    }

    /// Returns the workloads in use.
    fn all(&self) -> impl Iterator<Item = &dyn Dialogue> {
        self.0.iter().flatten().map(|dialogue| &**dialogue)
    }

    /// Combines the properties of all members.
    fn prepared(&self, requests: Vec<Weighted<Request>>, origins: Vec<Origin>, names: Names) -> Prepared {
        let each = || self.all().map(|dialogue| dialogue.prepared());
        Prepared {
            by_order: each().find_map(|one| one.by_order),
            reads_closely: each().any(|one| one.reads_closely),
            has_slots: true,
            counts_messages: each().any(|one| one.counts_messages),
            remembers: each().any(|one| one.remembers),
            recalls: each().any(|one| one.recalls),
            requests_at_most: each().filter_map(|one| one.requests_at_most).min(),
            ..Prepared::new(requests, origins, names)
        }
    }

    /// Returns the workload with an index taken from an origin, a request or a code.
    fn get(&self, part: usize) -> &Arc<dyn Dialogue> {
        self.0.get(part).and_then(Option::as_ref).expect("numbers are given to protocols that say something")
    }
}

/// A builder of the composite workload.
struct Building {
    parts: Parts,
    /// Request, origin and name of each URL.
    steps: Vec<Option<(Request, usize, String)>>,
    origins: Vec<Origin>,
}

impl Building {
    fn of(urls: usize) -> Building {
        Building { parts: Parts::default(), steps: (0..urls).map(|_| None).collect(), origins: Vec::new() }
    }

    /// Adds the workload of one protocol; `urls` are the positions of its URLs among all.
    fn add(&mut self, part: usize, dialogue: Arc<dyn Dialogue>, urls: &[usize]) -> Result<(), Complaint> {
        let first = self.origins.len();
        self.origins.extend(dialogue.origins().iter().map(|origin| outer(part, origin)));
        if dialogue.requests().len() != urls.len() {
            let trouble = "has a step that picks one of several at random; make each a step, in `choose`";
            return Err(Complaint::new("flow", trouble));
        }
        let names = dialogue.names();
        for (at, (url, weighted)) in urls.iter().zip(dialogue.requests().iter()).enumerate() {
            let name = names.list().get(usize::from(names.of(at))).cloned().unwrap_or_default();
            let request = Request { part, own: Made::Prepared(at) };
            self.steps[*url] = Some((request, first + weighted.origin, name));
        }
        self.parts.set(part, dialogue);
        Ok(())
    }

    fn finish(self, asked: &Asked) -> Result<MixedDialogue, Complaint> {
        let (mut requests, mut names) = (Vec::new(), Names::default());
        for (at, step) in self.steps.into_iter().enumerate() {
            let spoken =
                || Complaint::new("URL", format!("`{}` is not a protocol that flows support", asked.urls[at].url));
            let (request, origin, name) = step.ok_or_else(spoken)?;
            names.add(&name);
            requests.push(Weighted::new(request, origin, asked.urls[at].weight));
        }
        let own = |part: &Option<Arc<dyn Dialogue>>| part.iter().flat_map(|d| d.names().list().to_vec()).collect();
        let rows = self.parts.0.iter().map(own).map(|own: Vec<String>| own.iter().map(|n| names.beside(n)).collect());
        let rows = rows.collect();
        let prepared = self.parts.prepared(requests, self.origins, names);
        Ok(MixedDialogue { parts: self.parts, rows, prepared })
    }
}

/// The composite workload of a flow.
pub struct MixedDialogue {
    parts: Parts,
    /// Mapping from the name indices of each member to those of the composite.
    rows: Vec<Arc<[u16]>>,
    prepared: Prepared,
}

impl MixedDialogue {
    /// Creates a composite of a single workload: an inquiry.
    fn of_one(part: usize, dialogue: Arc<dyn Dialogue>) -> MixedDialogue {
        let outer_request = |(at, one): (usize, &Weighted)| {
            Weighted::new(Request { part, own: Made::Prepared(at) }, one.origin, one.weight)
        };
        let requests: Vec<_> = dialogue.requests().iter().enumerate().map(outer_request).collect();
        let origins = dialogue.origins().iter().map(|origin| outer(part, origin)).collect();
        let (names, mut parts) = (dialogue.names().clone(), Parts::default());
        parts.set(part, dialogue);
        let prepared = parts.prepared(requests, origins, names);
        MixedDialogue { parts, rows: Vec::new(), prepared }
    }

    /// Returns the member that a request belongs to, and the request as the member knows it.
    fn part<'a>(&'a self, request: &'a wire::Request) -> (&'a dyn Dialogue, &'a wire::Request) {
        let request: &Request = request.of();
        let part = &**self.parts.get(request.part);
        (part, request.own(part))
    }

    /// Returns the workload of a connection.
    fn bound(&self, established: &Established) -> &dyn Dialogue {
        &**self.parts.get(part_of_bound(established.bound))
    }
}

/// Converts a page of a member to one of the composite.
fn outer_page(part: usize, page: Page, rows: &[u16]) -> Page {
    let Page { name, mut next, .. } = page;
    let name = rows.get(usize::from(name)).copied().unwrap_or_default();
    let next = move || next().map(|next| outer_follow(part, next));
    Page { name, next: Box::new(next), ..page }
}

/// Converts a follow-up request of a member to one of the composite.
pub(super) fn outer_follow(part: usize, next: Follow) -> Follow {
    let request = wire::Request::shared(Request { part, own: Made::During(next.request) });
    Follow { origin: outer(part, &next.origin), request }
}

impl Dialogue for MixedDialogue {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    fn alpn(&self, origin: &Origin) -> &[&'static [u8]] {
        let (part, origin) = inner(origin);
        self.parts.get(part).alpn(&origin)
    }
    fn belongs(&self, origin: &Origin) -> Belongs {
        let (part, origin) = inner(origin);
        self.parts.get(part).belongs(&origin)
    }
    fn learn(&self, request: &wire::Request, fill: &Fill<'_>, lesson: Lesson, memory: &mut Memory) -> Option<Found> {
        let lesson = match lesson.downcast::<capture::Taken>() {
            Ok(taken) => {
                taken.learn(memory);
                return None;
            }
            Err(lesson) => lesson,
        };
        let (dialogue, own) = self.part(request);
        let found = dialogue.learn(own, fill, lesson, memory)?;
        let part = request.of::<Request>().part;
        let rows = Arc::clone(self.rows.get(part)?);
        Some(Box::new(move || outer_page(part, found(), &rows)))
    }
    fn recall(&self, request: &wire::Request, fill: &Fill<'_>, memory: &mut Memory) -> Option<Recalled> {
        let (dialogue, own) = self.part(request);
        let recalled = dialogue.recall(own, fill, memory)?;
        Some(Recalled { code: outer_code(request.of::<Request>().part, recalled.code), ..recalled })
    }
    fn compose(&self, like: &wire::Request, draft: &Draft) -> Result<Follow, cause::Cause> {
        let (dialogue, own) = self.part(like);
        Ok(outer_follow(like.of::<Request>().part, dialogue.compose(own, draft)?))
    }
    fn sent_with(&self, request: &wire::Request, fill: &Fill<'_>, memory: Option<&Memory>) -> Vec<u8> {
        let (part, own) = self.part(request);
        part.sent_with(own, fill, memory)
    }
    fn trace(&self, request: &wire::Request, fill: &Fill<'_>) -> Option<Trace> {
        let (part, own) = self.part(request);
        part.trace(own, fill)
    }
    fn says_no_trace(&self, request: &wire::Request) -> bool {
        let (part, own) = self.part(request);
        part.says_no_trace(own)
    }
    fn awaited(&self, request: &wire::Request) -> Option<String> {
        let (part, own) = self.part(request);
        part.awaited(own)
    }
    fn named(&self, request: &wire::Request) -> String {
        let (part, own) = self.part(request);
        part.named(own)
    }
    fn readable(&self, established: &Established, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        self.bound(established).readable(established, sent, received)
    }
    fn session(&self, origin: &Origin, established: &Established) -> Box<dyn Session> {
        let (part, origin) = inner(origin);
        let established = Established { bound: origin.bound, ..established.clone() };
        Box::new(MixedSession::new(part, Arc::clone(self.parts.get(part)), (&origin, &established)))
    }
    fn learnt(&self) -> Option<Vec<u8>> {
        self.parts.all().find_map(Dialogue::learnt)
    }
    fn spoken(&self, established: &Established) -> String {
        self.bound(established).spoken(established)
    }
    fn code_name(&self, code: u32) -> String {
        let (part, code) = inner_code(code);
        self.parts.0.get(part).and_then(Option::as_ref).map_or_else(|| code.to_string(), |own| own.code_name(code))
    }
    fn code_meaning(&self, code: u32) -> Option<cause::Plain> {
        let (part, code) = inner_code(code);
        self.parts.0.get(part).and_then(Option::as_ref).and_then(|own| own.code_meaning(code))
    }
}
