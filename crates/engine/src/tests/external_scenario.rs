//! An external scenario, as a scripting crate would provide it: its users derive their next request, its path and their
//! pauses from a response.

use std::sync::{Arc, Mutex};

use brunt_contract::{RequestDraft, RequestId, ServerRequest, UserValues};
use brunt_measure::Nanos;
use brunt_plan::WeightedUrl;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_scenario::{Action, Actions, Scenario, SpanEvent, SpanEventKind, StopScope, UserEvent, UserIndex, Wakeup};
use brunt_sim::SimReply;

use super::harness::{MS, SECOND, SimPlan, SimResult, each_seed};

/// The variable for the path, and the one that holds the last response.
const PATH: u16 = 0;
const SAID: u16 = 1;

/// A scenario that follows the pages of a book: each names the next page, and the number of milliseconds that it takes
/// to read.
struct BookScenario {
    /// Time at which each user's iteration began, and how long the user has paused since.
    began: Vec<(Nanos, Nanos)>,
}

impl BookScenario {
    fn ends(&self, user: UserIndex, at: Nanos, passed: bool, actions: &mut Actions) {
        let (began, paused) = self.began[user.at()];
        let what = SpanEventKind::Ended { passed, lasted: at - began, active: at - began - paused, own: Nanos::ZERO };
        actions.push_back(Action::Report(SpanEvent { user, span: 0, began, kind: what }));
    }
}

impl Scenario for BookScenario {
    fn wake(&mut self, Wakeup { user, event: news, at, .. }: Wakeup, values: &mut UserValues, actions: &mut Actions) {
        let user_at = user.at();
        match news {
            UserEvent::Begin => {
                self.began.resize(self.began.len().max(user_at + 1), (at, Nanos::ZERO));
                self.began[user_at] = (at, Nanos::ZERO);
                values.set(PATH, b"cover");
                actions.push_back(Action::Report(SpanEvent { user, span: 0, began: at, kind: SpanEventKind::Began }));
                actions.push_back(Action::Send(RequestId(0)));
            }
            UserEvent::Resumed => actions.push_back(Action::Send(RequestId(0))),
            UserEvent::Ended { fault: Some(_), .. } => {
                self.ends(user, at, false, actions);
                actions.push_back(Action::Stop(StopScope { run: true, user: false }));
                actions.push_back(Action::Leave);
            }
            UserEvent::Ended { .. } | UserEvent::Cached => {
                let said = String::from_utf8(values.get(SAID).expect("captured").to_vec()).expect("text");
                let Some((next, millis)) = said.split_once(' ') else {
                    self.ends(user, at, true, actions);
                    return actions.push_back(Action::Done);
                };
                values.set(PATH, next.as_bytes());
                let pause = Nanos::from_millis(millis.parse().expect("a number"));
                self.began[user_at].1 += pause;
                actions.push_back(Action::Pause(pause));
            }
            UserEvent::NoMoreVisits => actions.push_back(Action::Leave),
        }
    }

    fn has_iterations(&self) -> bool {
        true
    }

    fn on_leave(&mut self, user: UserIndex, at: Nanos, _anew: bool, actions: &mut Actions) {
        let Some((began, _)) = self.began.get(user.at()) else { return };
        actions.push_back(Action::Report(SpanEvent {
            user,
            span: 0,
            began: *began,
            kind: SpanEventKind::Cut(at - *began),
        }));
    }
}

/// Returns a server of books: the cover leads to one of two chapters in turn, and each chapter to the end.
fn book() -> impl FnMut(Nanos, &ServerRequest<'_>) -> (Nanos, SimReply) + Send + Clone {
    let mut covers = 0;
    move |now, ask| {
        covers += usize::from(ask.path == "/cover");
        let said = match ask.path {
            "/cover" => ["long 50", "short 10"][covers % 2],
            "/long" | "/short" => "end 5",
            "/end" => "closed",
            _ => return (now + MS, SimReply::new(404, b"no such page")),
        };
        (now + MS, SimReply::new(200, said.as_bytes()))
    }
}

fn scripted(users: u32) -> SimPlan {
    let mut scene = SimPlan::closed(users, SECOND).with(|plan| {
        let mut page = WeightedUrl { name: Some("page".into()), ..WeightedUrl::plain("http://test/{path}") };
        page.options.insert("capture".into(), vec!["said body".into()]);
        plan.urls = vec![page].into();
        let variables = vec!["path".into(), "said".into()];
        let steps = vec![Step::Request { url: 0, on_failure: OnFailure::default() }];
        plan.flow = Some(Flow { steps, variables, ..Flow::default() });
    });
    scene.scenario = Some(Arc::new(|_seed| Box::new(BookScenario { began: Vec::new() })));
    scene
}

#[test]
fn a_script_decides_from_a_response_what_it_sends_next_and_how_long_it_pauses() {
    each_seed(0..8, |seed| {
        let played = scripted(1).with(|plan| (plan.seed, plan.requests) = (seed, Some(4))).play(book);
        let sum = &played.sum;
        assert_eq!((sum.due, sum.finished, played.heard), (12, 12, 12));
        let asks: Vec<(Nanos, &str)> = played.asks.iter().map(|(at, path)| (*at, path.as_str())).collect();
        let paths: Vec<&str> = asks.iter().map(|(_, path)| *path).collect();
        let (short, long) = (["/cover", "/short", "/end"], ["/cover", "/long", "/end"]);
        assert_eq!(paths, [short, long, short, long].concat(), "four iterations were asked for");
        let pauses: Vec<u64> = asks.windows(2).map(|pair| (pair[1].0 - pair[0].0).0 / MS.0).collect();
        // A response takes one millisecond, plus one millisecond of network time.
        for (nth, paused) in [10, 5, 0, 50, 5, 0, 10, 5, 0, 50, 5].into_iter().enumerate() {
            assert!((paused + 1..=paused + 3).contains(&pauses[nth]), "{nth}: {pauses:?}");
        }
    });
}

#[test]
fn what_a_script_tells_of_its_iterations_is_counted_and_stops_what_it_says() {
    let failing = |now: Nanos, ask: &ServerRequest<'_>| match ask.path {
        "/cover" => (now + MS, SimReply::new(200, b"long 50")),
        _ => (now + MS, SimReply::new(404, b"no such page")),
    };
    let played = scripted(1).play(|| failing);
    assert_eq!((played.sum.due, played.sum.finished, played.sum.failed, played.heard), (2, 1, 1, 2));
    let paths: Vec<&str> = played.asks.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(paths, ["/cover", "/long"], "a failed step stopped the run");
    let iterations: Vec<_> =
        played.seconds.iter().flat_map(|second| &second.named).filter(|row| row.name == 1).collect();
    let counts = iterations.iter().fold([0; 3], |[due, passed, failed], row| {
        [due + row.counts.due, passed + row.counts.finished, failed + row.counts.failed]
    });
    assert_eq!(counts, [1, 0, 1]);
}

/// A scenario that composes each request but the first from the previous response: its path, its method, a header and
/// its body.
struct ComposingScenario {
    /// Composes a draft from a response.
    drafts: fn(&str) -> RequestDraft,
}

impl Scenario for ComposingScenario {
    fn wake(&mut self, Wakeup { event: news, .. }: Wakeup, values: &mut UserValues, actions: &mut Actions) {
        actions.push_back(match news {
            UserEvent::Begin | UserEvent::Resumed => Action::Send(RequestId(0)),
            UserEvent::Ended { fault: None, .. } => {
                let said = String::from_utf8(values.get(SAID).expect("captured").to_vec()).expect("text");
                if said == "closed" { Action::Leave } else { Action::Compose(Box::new((self.drafts)(&said))) }
            }
            _ => Action::Leave,
        });
    }
}

/// Runs the scenario against a server that reports the size of each body and, after three bodies, that it is closed.
/// Also returns what the server received.
fn composed(drafts: fn(&str) -> RequestDraft) -> (SimResult, Vec<String>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let mut scene = SimPlan::closed(1, SECOND).with(|plan| {
        let page = WeightedUrl { name: Some("page".into()), ..WeightedUrl::plain("http://test/begin?x=1") };
        plan.urls = vec![page].into();
        plan.options.insert("capture".into(), vec!["said body".into()]);
        plan.flow = Some(Flow { variables: vec!["path".into(), "said".into()], ..Flow::default() });
    });
    scene.scenario = Some(Arc::new(move |_seed| Box::new(ComposingScenario { drafts })));
    let played = scene.play(|| {
        let heard = Arc::clone(&kept);
        move |now: Nanos, ask: &ServerRequest<'_>| {
            let mut heard = heard.lock().expect("no panic");
            let field = |name: &str| {
                let head = String::from_utf8_lossy(ask.head).to_ascii_lowercase();
                head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
            };
            let body = String::from_utf8_lossy(ask.body);
            heard.push(format!("{} {} {} {body}", ask.method, ask.path, field("x-said").unwrap_or_default()));
            let said = if heard.len() > 3 { "closed".to_owned() } else { format!("{}-bytes", ask.body_bytes) };
            (now + MS, SimReply::new(200, said.as_bytes()))
        }
    });
    let heard = std::mem::take(&mut *heard.lock().expect("no panic"));
    (played, heard)
}

#[test]
fn a_script_composes_requests_of_what_responses_said() {
    let (played, heard) = composed(|said| RequestDraft {
        url: Some(format!("/{said}?n={}", said.len())),
        method: Some("PUT".into()),
        headers: vec![("X-Said".into(), said.into())],
        body: Some(format!("<{said}>").into_bytes()),
        ..RequestDraft::default()
    });
    let expected = [
        "GET /begin?x=1  ",
        "PUT /0-bytes?n=7 0-bytes <0-bytes>",
        "PUT /9-bytes?n=7 9-bytes <9-bytes>",
        "PUT /9-bytes?n=7 9-bytes <9-bytes>",
    ];
    assert_eq!(heard, expected);
    assert_eq!((played.sum.due, played.sum.finished, played.sum.failed), (4, 4, 0));
    let named: u64 = played.seconds.iter().flat_map(|second| &second.named).map(|row| row.counts.finished).sum();
    assert!(named == 0 || named == 4, "all have the name of the one they are like: {named}");
}

#[test]
fn a_request_that_cannot_be_composed_has_failed_and_says_why() {
    let (played, heard) = composed(|_| RequestDraft { url: Some("http://[".into()), ..RequestDraft::default() });
    // After each failure, its user pauses as if the server could not be reached, and starts again.
    let sum = &played.sum;
    assert_eq!((heard.len() as u64, sum.due), (sum.finished, sum.finished + sum.failed));
    assert!(sum.failed > 0 && sum.failed == sum.failures("resolve"), "{:?}", sum.failures);
    let why = &played.examples[0].detail;
    assert!(why.contains("\"http://[\" is not a URL"), "{why}");
}
