//! Unsolicited messages, as a scenario from another crate receives them: one user publishes, the others receive its
//! messages, and the delay is measured.

use std::sync::{Arc, Mutex};

use brunt_contract::{RequestId, UserValues};
use brunt_measure::Nanos;
use brunt_protocols::raw::RawProtocol;
use brunt_protocols::websocket::WebSocketProtocol;
use brunt_scenario::{Action, Actions, Scenario, UnsolicitedMessage, UserEvent, UserIndex, Wakeup};
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{MS, SECOND, SimPlan, SimResult, each_seed};
use super::held_connections::upgrade_response;

const PUBLISHES: Action = Action::Send(RequestId(0));
const SPEAKS: Action = Action::Send(RequestId(1));
const PUBLISHER: UserIndex = UserIndex(0);
/// Number of messages published.
const NEWS: usize = 5;

/// A message that a user received: its user, its text, and the time since it was published.
type ReceivedMessage = (u32, String, Nanos);

/// The first user publishes; the others report once that they are ready, and again when they receive the third message.
struct Subscribers {
    hears: bool,
    /// Set once the publisher has sent that it is ready.
    began: bool,
    /// Time when each message was published.
    published: Vec<Nanos>,
    heard: Arc<Mutex<Vec<ReceivedMessage>>>,
}

impl Scenario for Subscribers {
    fn wake(&mut self, Wakeup { user, event: news, at, .. }: Wakeup, _values: &mut UserValues, actions: &mut Actions) {
        let act = match (news, user) {
            (UserEvent::NoMoreVisits, _) => Action::Leave,
            // By then, the others are ready.
            (UserEvent::Ended { .. }, PUBLISHER) if self.published.len() < NEWS => Action::Pause(Nanos(50 * MS.0)),
            (UserEvent::Ended { .. }, _) => Action::Wait,
            (_, PUBLISHER) if std::mem::replace(&mut self.began, true) => {
                self.published.push(at);
                PUBLISHES
            }
            _ => SPEAKS,
        };
        actions.push_back(act);
    }

    fn handles_unsolicited(&self) -> bool {
        self.hears
    }

    fn on_unsolicited(&mut self, unasked: UnsolicitedMessage<'_>, _values: &mut UserValues, actions: &mut Actions) {
        let text = String::from_utf8(unasked.message.to_vec()).expect("text");
        let nth = text.bytes().last().map_or(0, |digit| usize::from(digit - b'0'));
        if nth == 2 && text.starts_with("news") {
            actions.push_back(SPEAKS);
        }
        let took = unasked.at - self.published[nth];
        self.heard.lock().expect("no panic").push((unasked.user.0, text, took));
    }
}

/// A broker that passes each publication to all other connections, as two messages in one piece.
struct Broker {
    frames: bool,
    there: Vec<u32>,
    published: u8,
}

impl Broker {
    fn message(&self, text: &str) -> Vec<u8> {
        let head: &[u8] = if self.frames { &[0x81, text.len() as u8] } else { &[] };
        [head, text.as_bytes()].concat()
    }
}

impl SimPeer for Broker {
    fn opened(&mut self, _now: Nanos, conn: u32) {
        self.there.push(conn);
    }
    fn received(&mut self, _now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        if bytes.starts_with(b"GET ") {
            return say.send(conn, &upgrade_response(bytes));
        }
        // A client's frame has a mask, and is identified by its length.
        if bytes.len() != if self.frames { 6 + b"publish".len() } else { b"publish".len() } {
            return;
        }
        let said = ["news", "and"].map(|word| self.message(&format!("{word} {}", self.published)));
        self.published += 1;
        for other in self.there.iter().filter(|other| **other != conn) {
            say.send(*other, &said.concat());
        }
    }
    fn closed(&mut self, _now: Nanos, conn: u32) {
        self.there.retain(|there| *there != conn);
    }
}

/// Runs the scenario over WebSocket or plain TCP; returns the result and the messages received.
fn played(frames: bool, hears: bool, seed: u64) -> (SimResult, Vec<ReceivedMessage>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (url, says, one_way) = match frames {
        true => ("ws://test/news", "data", "one-way"),
        false => ("tcp://test:9", "send", "no-answer"),
    };
    let mut scene = SimPlan::closed(3, SECOND).urls(&[(url, 1.0)]).option(one_way, "").with(|plan| {
        plan.options.insert(says.into(), vec!["publish".into(), "here".into()]);
        plan.seed = seed;
    });
    let kept = Arc::clone(&heard);
    scene.scenario = Some(Arc::new(move |_seed| {
        Box::new(Subscribers { hears, began: false, published: Vec::new(), heard: Arc::clone(&kept) })
    }));
    let peer = |_| Box::new(Broker { frames, there: Vec::new(), published: 0 });
    let played = match frames {
        true => scene.play_protocol(&WebSocketProtocol, Arc::default(), peer),
        false => scene.play_protocol(&RawProtocol, Arc::default(), peer),
    };
    let heard = std::mem::take(&mut *heard.lock().expect("no panic"));
    (played, heard)
}

fn pushes(played: &SimResult) -> u64 {
    played.seconds.iter().map(|second| second.unsolicited).sum()
}

#[test]
fn what_one_user_publishes_the_others_hear_in_its_order_with_its_bytes_and_act_upon() {
    each_seed(0..4, |seed| {
        for frames in [true, false] {
            let (played, heard) = played(frames, true, seed);
            let of = |user: u32| heard.iter().filter(move |(of, ..)| *of == user).map(|(_, text, _)| text.as_str());
            let nth = |nth: usize| match frames {
                true => vec![format!("news {nth}"), format!("and {nth}")],
                // Without framing, everything that arrives at once is one message.
                false => vec![format!("news {nth}and {nth}")],
            };
            let all: Vec<String> = (0..NEWS).flat_map(nth).collect();
            assert_eq!(of(0).count(), 0, "the publisher");
            for user in [1, 2] {
                assert_eq!(of(user).collect::<Vec<_>>(), all, "user {user}, frames: {frames}");
            }
            // The delay covers both directions of the network.
            assert!(heard.iter().all(|(.., took)| (1..5 * MS.0).contains(&took.0)), "{heard:?}");
            assert_eq!(pushes(&played), heard.len() as u64);
            // Each user reported that it was ready; the two that received the third message did so again.
            let sum = &played.sum;
            assert_eq!((sum.due, sum.finished, sum.censored), (NEWS as u64 + 5, NEWS as u64 + 5, 0), "{frames}");
        }
    });
}

#[test]
fn where_nobody_hears_them_they_are_counted_and_nothing_else() {
    let (played, heard) = played(true, false, 1);
    assert_eq!((pushes(&played), heard.len()), (4 * NEWS as u64, 0));
}
