//! What a flow of several protocols says: that of each, put together.

use std::sync::{Arc, LazyLock};

use wire::{
    Asked, Belongs, ByOrder, Complaint, Dialogue, Established, Fill, Follow, Found, Lesson, Memory, Names, OptionSpec,
    Options, Origin, Page, Protocol, Recalled, Takes, Trace, Weighted,
};

use super::parts::{
    COUNT, DialogueOf, Part, Parts, Request, RequestOf, found, inner, inner_code, of_part, outer, outer_code,
    part_of_bound,
};
use super::session::MixedSession;
use crate::capture;
use crate::http1::captured::CAPTURE;
use crate::{grpc::Grpc, http::Http, mysql::Mysql, postgres::Postgres, raw::Raw, redis::Redis, websocket::WebSocket};

/// Options that hold for runs of one protocol only, and what to write instead.
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

/// What it is called in plans and reports.
pub const NAME: &str = "mixed";

/// Several protocols in one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixed;

/// Each protocol in turn: `P` is it.
macro_rules! each {
    ($p:ident => $body:expr) => {{
        {
            type $p = Http;
            $body
        }
        {
            type $p = WebSocket;
            $body
        }
        {
            type $p = Grpc;
            $body
        }
        {
            type $p = Redis;
            $body
        }
        {
            type $p = Mysql;
            $body
        }
        {
            type $p = Postgres;
            $body
        }
        {
            type $p = Raw;
            $body
        }
    }};
}

static OPTIONS: LazyLock<Vec<OptionSpec>> = LazyLock::new(|| {
    let mut all: Vec<OptionSpec> = Vec::new();
    each!(P => for spec in P::default().options() {
        match all.iter_mut().find(|known| known.name == spec.name) {
            None => all.push(*spec),
            Some(known) if matches!((known.takes, spec.takes), (Takes::One(_), Takes::Many(_))) => known.takes = spec.takes,
            Some(_) => {}
        }
    });
    all
});

static OF_ONE_URL: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut all: Vec<&'static str> = Vec::new();
    each!(P => all.extend(P::default().options_of_one_url()));
    all
});

impl Protocol for Mixed {
    type Dialogue = MixedDialogue;

    fn name(&self) -> &'static str {
        NAME
    }
    /// None of its own: it speaks those of the others.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }
    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }
    fn checks(&self, url: &str) -> &'static [&'static str] {
        let scheme = url.split("://").next().unwrap_or_default();
        each!(P => if P::default().schemes().contains(&scheme) {
            return P::default().checks(url);
        });
        &[]
    }
    fn options_of_one_url(&self) -> &'static [&'static str] {
        &OF_ONE_URL
    }
    fn heartbeats(&self, asked: &Asked) -> Result<(), String> {
        let mut why = Err("none of the protocols of this flow has a heartbeat; leave it out".to_owned());
        each!(P => if let Some(own) = asked_of(&P::default(), asked)? {
            why = why.or_else(|_| P::default().heartbeats(&own.asked));
        });
        why
    }
    fn inquire(&self, asked: &Asked) -> Result<Option<MixedDialogue>, Complaint> {
        let mut inquiry = None;
        each!(P => if inquiry.is_none() && let Some(own) = own_of(&P::default(), asked)? {
            inquiry = P::default().inquire(&own.asked)?.map(MixedDialogue::of_one::<P>);
        });
        Ok(inquiry)
    }
    fn prepare(&self, asked: &Asked) -> Result<MixedDialogue, Complaint> {
        refuse_options(asked)?;
        let mut building = Building::of(asked.urls.len());
        each!(P => if let Some(own) = own_of(&P::default(), asked)? {
            let dialogue = P::default().prepare(&own.asked).map_err(|complaint| own.complaint(complaint))?;
            building.add::<P>(dialogue, &own.urls)?;
        });
        building.finish(asked)
    }
}

/// What is asked of one of the protocols.
struct Own {
    asked: Asked,
    /// Its URLs, by their places among all.
    urls: Vec<usize>,
}

impl Own {
    /// A complaint that names a URL by its number names it by that among all.
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

fn own_of<P: Protocol>(protocol: &P, asked: &Asked) -> Result<Option<Own>, Complaint> {
    asked_of(protocol, asked).map_err(|trouble| Complaint::new("flow", trouble))
}

/// What is asked of a protocol; None: nothing.
fn asked_of<P: Protocol>(protocol: &P, asked: &Asked) -> Result<Option<Own>, String> {
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
        learnt: asked.learnt.clone(),
        variables: Arc::clone(&asked.variables),
        steps: true,
    };
    Ok(Some(Own { asked, urls }))
}

/// Options that no protocol of the flow has, or that hold for runs of one protocol only.
fn refuse_options(asked: &Asked) -> Result<(), Complaint> {
    for name in asked.options.keys() {
        if let Some((_, instead)) = OF_ONE.iter().find(|(known, _)| known == name) {
            let trouble = format!("is for runs of a single protocol, and this flow mixes several; {instead}");
            return Err(Complaint::new(format!("--{name}"), trouble));
        }
        let mut known = false;
        each!(P => {
            let asks = asked.urls.iter().any(|url| P::default().schemes().iter().any(|s| url.url.starts_with(&format!("{s}://"))));
            known |= asks && P::default().options().iter().any(|spec| spec.name == name);
        });
        if !known {
            let trouble = "is not an option of any protocol in this flow; leave it out";
            return Err(Complaint::new(format!("--{name}"), trouble));
        }
    }
    Ok(())
}

/// A dialogue that is being put together.
struct Building {
    parts: Parts,
    /// By URL: its request, where that goes, and what it is called.
    steps: Vec<Option<(Request, usize, String)>>,
    origins: Vec<Origin>,
}

impl Building {
    fn of(urls: usize) -> Building {
        Building { parts: Parts::default(), steps: (0..urls).map(|_| None).collect(), origins: Vec::new() }
    }

    /// What one protocol says to its URLs, by their places among all.
    fn add<P: Part>(&mut self, dialogue: DialogueOf<P>, urls: &[usize]) -> Result<(), Complaint> {
        let first = self.origins.len();
        self.origins.extend(dialogue.origins().iter().map(|origin| outer(P::NUMBER, origin)));
        if dialogue.requests().len() != urls.len() {
            let trouble = "has a step that picks one of several at random; make each a step, in `choose`";
            return Err(Complaint::new("flow", trouble));
        }
        let names = dialogue.names();
        for (at, (url, weighted)) in urls.iter().zip(dialogue.requests()).enumerate() {
            let name = names.list().get(usize::from(names.of(at))).cloned().unwrap_or_default();
            self.steps[*url] = Some((Request::Listed(P::NUMBER, at), first + weighted.origin, name));
        }
        *P::of(&mut self.parts) = Some(Arc::new(dialogue));
        Ok(())
    }

    fn finish(self, asked: &Asked) -> Result<MixedDialogue, Complaint> {
        let (mut requests, mut names) = (Vec::new(), Names::default());
        for (at, step) in self.steps.into_iter().enumerate() {
            let spoken =
                || Complaint::new("URL", format!("`{}` is not a protocol that flows support", asked.urls[at].url));
            let (request, origin, name) = step.ok_or_else(spoken)?;
            names.add(&name);
            requests.push(Weighted { request, origin, weight: asked.urls[at].weight });
        }
        let row = |part: usize| {
            let own = of_part!(self.parts, part, P, dialogue => dialogue.names().list().to_vec()).unwrap_or_default();
            own.iter().map(|name| names.beside(name)).collect()
        };
        let rows = (0..COUNT).map(row).collect();
        Ok(MixedDialogue { parts: self.parts, requests, names, rows, origins: self.origins })
    }
}

/// Everything a flow of several protocols will say.
#[derive(Debug)]
pub struct MixedDialogue {
    parts: Parts,
    requests: Vec<Weighted<Request>>,
    names: Names,
    /// Of each part, by what a name is among its own: what it is among all.
    rows: Vec<Arc<[u16]>>,
    origins: Vec<Origin>,
}

impl MixedDialogue {
    /// What one protocol says: an inquiry.
    fn of_one<P: Part>(dialogue: DialogueOf<P>) -> MixedDialogue {
        let listed = |(at, weighted): (usize, &Weighted<_>)| Weighted {
            request: Request::Listed(P::NUMBER, at),
            origin: weighted.origin,
            weight: weighted.weight,
        };
        let requests = dialogue.requests().iter().enumerate().map(listed).collect();
        let origins = dialogue.origins().iter().map(|origin| outer(P::NUMBER, origin)).collect();
        let (names, mut parts) = (dialogue.names().clone(), Parts::default());
        *P::of(&mut parts) = Some(Arc::new(dialogue));
        MixedDialogue { parts, requests, names, rows: Vec::new(), origins }
    }
}

/// A page of one protocol, as one of the whole.
fn outer_page<P: Part>(page: Page<RequestOf<P>>, rows: &[u16]) -> Page<Request>
where
    RequestOf<P>: 'static,
{
    let Page { at_once, name, may_fail, found, elsewhere, beyond, cut, mut next } = page;
    let name = rows.get(usize::from(name)).copied().unwrap_or_default();
    let next = move || {
        let next = next()?;
        Some(Follow { origin: outer(P::NUMBER, &next.origin), request: P::hop(next.request) })
    };
    Page { at_once, name, may_fail, found, elsewhere, beyond, cut, next: Box::new(next) }
}

impl Dialogue for MixedDialogue {
    type Request = Request;
    type Session = MixedSession;

    fn requests(&self) -> &[Weighted<Request>] {
        &self.requests
    }
    fn origins(&self) -> &[Origin] {
        &self.origins
    }
    fn names(&self) -> &Names {
        &self.names
    }
    fn alpn_of(&self, origin: &Origin) -> &[&'static [u8]] {
        let (part, origin) = inner(origin);
        of_part!(self.parts, part, P, dialogue => dialogue.alpn_of(&origin)).unwrap_or_default()
    }
    fn belongs(&self, origin: &Origin) -> Belongs {
        let (part, origin) = inner(origin);
        of_part!(self.parts, part, P, dialogue => dialogue.belongs(&origin)).unwrap_or_default()
    }
    fn by_order(&self) -> Option<ByOrder> {
        (0..COUNT).find_map(|part| of_part!(self.parts, part, P, dialogue => dialogue.by_order()).flatten())
    }
    fn reads_closely(&self) -> bool {
        (0..COUNT).any(|part| of_part!(self.parts, part, P, dialogue => dialogue.reads_closely()).unwrap_or(false))
    }
    fn remembers(&self) -> bool {
        (0..COUNT).any(|part| of_part!(self.parts, part, P, dialogue => dialogue.remembers()).unwrap_or(false))
    }
    fn learn(&self, request: &Request, fill: &Fill<'_>, lesson: Lesson, memory: &mut Memory) -> Option<Found<Request>> {
        let lesson = match lesson.downcast::<capture::Taken>() {
            Ok(taken) => {
                taken.learn(memory);
                return None;
            }
            Err(lesson) => lesson,
        };
        let part = request.part();
        let rows = self.rows.get(part)?;
        let resources = of_part!(self.parts, part, P, dialogue => {
            let found = found::<P>(dialogue, request).and_then(|own| dialogue.learn(own, fill, lesson, memory));
            found.map(|found| {
                let rows = Arc::clone(rows);
                Box::new(move || outer_page::<P>(found(), &rows)) as Found<Request>
            })
        });
        resources.flatten()
    }
    fn recalls(&self) -> bool {
        (0..COUNT).any(|part| of_part!(self.parts, part, P, dialogue => dialogue.recalls()).unwrap_or(false))
    }
    fn recall(&self, request: &Request, fill: &Fill<'_>, memory: &mut Memory) -> Option<Recalled> {
        let part = request.part();
        let recalled = of_part!(self.parts, part, P, dialogue => {
            found::<P>(dialogue, request).and_then(|own| dialogue.recall(own, fill, memory))
        });
        recalled.flatten().map(|recalled| Recalled { code: outer_code(part, recalled.code), ..recalled })
    }
    fn requests_at_most(&self) -> Option<u64> {
        let ends = (0..COUNT)
            .filter_map(|part| of_part!(self.parts, part, P, dialogue => dialogue.requests_at_most()).flatten());
        ends.min()
    }
    fn sent(&self, request: &Request) -> Vec<u8> {
        self.sent_with(request, &Fill::default())
    }
    fn sent_with(&self, request: &Request, fill: &Fill<'_>) -> Vec<u8> {
        let sent = of_part!(self.parts, request.part(), P, dialogue => {
            found::<P>(dialogue, request).map(|request| dialogue.sent_with(request, fill))
        });
        sent.flatten().unwrap_or_default()
    }
    fn trace(&self, request: &Request, fill: &Fill<'_>) -> Option<Trace> {
        let trace = of_part!(self.parts, request.part(), P, dialogue => {
            found::<P>(dialogue, request).and_then(|request| dialogue.trace(request, fill))
        });
        trace.flatten()
    }
    fn says_no_trace(&self, request: &Request) -> bool {
        let says = of_part!(self.parts, request.part(), P, dialogue => {
            found::<P>(dialogue, request).is_some_and(|request| dialogue.says_no_trace(request))
        });
        says.unwrap_or_default()
    }
    fn sent_remembering(&self, request: &Request, fill: &Fill<'_>, memory: &Memory) -> Vec<u8> {
        let sent = of_part!(self.parts, request.part(), P, dialogue => {
            found::<P>(dialogue, request).map(|request| dialogue.sent_remembering(request, fill, memory))
        });
        sent.flatten().unwrap_or_default()
    }
    fn awaited(&self, request: &Request) -> Option<String> {
        let awaited = of_part!(self.parts, request.part(), P, dialogue => {
            found::<P>(dialogue, request).and_then(|request| dialogue.awaited(request))
        });
        awaited.flatten()
    }
    fn named(&self, request: &Request) -> String {
        let named = of_part!(self.parts, request.part(), P, dialogue => {
            found::<P>(dialogue, request).map(|request| dialogue.named(request))
        });
        named.flatten().unwrap_or_default()
    }
    fn readable(&self, established: &Established, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        let part = part_of_bound(established.bound);
        of_part!(self.parts, part, P, dialogue => dialogue.readable(established, sent, received)).flatten()
    }
    fn session(&self, origin: &Origin, established: &Established) -> MixedSession {
        MixedSession::new(&self.parts, origin, established)
    }
    fn learnt(&self) -> Option<Vec<u8>> {
        (0..COUNT).find_map(|part| of_part!(self.parts, part, P, dialogue => dialogue.learnt()).flatten())
    }
    fn spoken(&self, established: &Established) -> String {
        let part = part_of_bound(established.bound);
        of_part!(self.parts, part, P, dialogue => dialogue.spoken(established)).unwrap_or_default()
    }
    fn code_name(&self, code: u32) -> String {
        let (part, code) = inner_code(code);
        of_part!(self.parts, part, P, dialogue => dialogue.code_name(code)).unwrap_or_else(|| code.to_string())
    }
    fn code_meaning(&self, code: u32) -> &'static str {
        let (part, code) = inner_code(code);
        of_part!(self.parts, part, P, dialogue => dialogue.code_meaning(code)).unwrap_or_default()
    }
}
