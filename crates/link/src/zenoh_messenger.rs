//! Zenoh, embedded, over QUIC with mutual TLS: the coordinator is the router, agents are its clients.
//!
//! Figures go as queries that are answered once they are safe: plain publications are lost without an error while a peer
//! stands still. What blocks runs on threads of its own, because a callback that blocks holds up the leases of its session.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use base64::Engine;
use brunt_messenger::{FrameId, Held, Keep, Messenger, OnPresence, Presence, Respond, Undelivered};
use serde_json::{Value, json};
use zenoh::qos::CongestionControl;
use zenoh::query::Query;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};

use crate::QUESTIONS_AT_ONCE;
use crate::joined_fleet::{AgentIdentity, PATIENCE};
use crate::under_way::{Room, UnderWay};

/// Time without a sign of life after which a peer counts as gone.
const LEASE_MS: u64 = 3000;
/// Time within which both sides of a connection greet.
pub(crate) const GREETING: Duration = Duration::from_secs(5);
/// Common name of the certificate of a coordinator.
pub(crate) const COORDINATOR: &str = "brunt";
/// Time within which a coordinator says that an agent is of its fleet, and attempts to ask it.
const MEMBER_WITHIN: Duration = Duration::from_millis(1000);
const MEMBER_TRIES: u32 = 4;
/// What is around the body of a message.
const HEAD_ROOM: usize = 4 << 10;
/// Length of epoch and number in front of a frame.
const FRAME_HEAD: usize = 12;

/// Longest message that passes, in bytes: the longest event of a record with what is around it. Zenoh keeps as much for each of
/// its channels of a session until the last piece is there.
const LONGEST: usize = 17 << 20;
/// Longest question, and bytes of the questions under way.
const LONGEST_QUESTION: usize = 2 << 20;
const QUESTIONS: usize = 64 << 20;
/// Frames of an agent under way (it hands in one after the other), their bytes, and those of all.
const AGENT_FRAMES: usize = 8;
const AGENT_BYTES: usize = 20 << 20;
const FRAMES: usize = 96 << 20;

/// A session of Zenoh.
pub struct ZenohMessenger {
    session: Session,
    questions: Arc<UnderWay>,
    frames: Arc<UnderWay>,
}

impl Drop for ZenohMessenger {
    fn drop(&mut self) {
        // The address is free once this returns; it ends in any case.
        let _ = self.session.close().wait();
    }
}

fn failed(why: impl std::fmt::Display) -> Undelivered {
    Undelivered(without_places(&why.to_string()))
}

/// Returns an error of Zenoh without the places in its source (` at /path/of/file.rs:17.`), which say nothing to users.
fn without_places(why: &str) -> String {
    let mut parts = why.split(" at /");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let place = part.split_once(".rs:").filter(|(file, _)| !file.contains(char::is_whitespace));
        match place {
            Some((_, rest)) => kept += rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches('.'),
            None => kept = kept + " at /" + part,
        }
    }
    kept
}

impl ZenohMessenger {
    /// Opens the coordinator's session: a router on this address (`0.0.0.0:7447`), with the identities of a fleet.
    ///
    /// # Errors
    /// The address is taken, or a file cannot be used.
    pub fn coordinator(directory: &Path, listen: &str) -> Result<ZenohMessenger, Undelivered> {
        let file = |name: &str| directory.join(name).display().to_string();
        let tls = json!({
            "root_ca_certificate": file("ca.pem"),
            "listen_certificate": file("coordinator.pem"),
            "listen_private_key": file("coordinator.key"),
            "enable_mtls": true,
        });
        let mut config = json!({
            "mode": "router",
            "listen": { "endpoints": [format!("quic/{listen}")], "exit_on_failure": true },
            "connect": { "endpoints": [] },
            "access_control": access(&members(directory)),
        });
        add_transport(&mut config, &tls);
        let session = open(&config)?;
        let yes = |query: Query| drop(query.reply(query.key_expr().clone(), [1]).wait());
        session.declare_queryable(member("*")).complete(true).callback(yes).background().wait().map_err(failed)?;
        Ok(ZenohMessenger::new(session))
    }

    /// Opens an agent's session with a coordinator at an address, within [`PATIENCE`].
    ///
    /// # Errors
    /// No coordinator of the fleet greets there, or the identity cannot be used.
    pub(crate) fn agent(coordinator: SocketAddr, identity: &AgentIdentity) -> Result<ZenohMessenger, Undelivered> {
        let tls = json!({
            "root_ca_certificate_base64": base64(&identity.ca),
            "connect_certificate_base64": base64(&identity.cert),
            "connect_private_key_base64": base64(&identity.key),
            "enable_mtls": true,
            // The coordinator is known by the name in its certificate, whatever name it is reached by: see the access rules.
            "verify_name_on_connect": false,
        });
        let mut config = json!({
            "mode": "client",
            "listen": { "endpoints": [] },
            // Once: whoever opens it tries again, and finds the address again.
            "connect": { "endpoints": [format!("quic/{coordinator}")], "timeout_ms": 0, "exit_on_failure": true },
            "access_control": own_access(&identity.name),
        });
        add_transport(&mut config, &tls);
        Ok(ZenohMessenger::new(open(&config)?))
    }

    /// Returns `true` once the coordinator says that it has an agent of this name. One that was removed has no rule, so that
    /// its question is not passed to anyone.
    pub(crate) fn is_member(&self, name: &str) -> bool {
        // A coordinator answers shortly after it listens.
        (0..MEMBER_TRIES).any(|_| {
            let answer = self.query(member(name), Vec::new(), MEMBER_WITHIN);
            if answer.is_err() && self.is_connected() {
                std::thread::sleep(MEMBER_WITHIN / 5);
            }
            answer.is_ok()
        })
    }

    /// Returns `true` while the session is connected to a coordinator.
    pub(crate) fn is_connected(&self) -> bool {
        self.session.info().routers_zid().wait().next().is_some()
    }

    fn new(session: Session) -> ZenohMessenger {
        let questions = UnderWay::new(QUESTIONS_AT_ONCE, QUESTIONS, QUESTIONS);
        let frames = UnderWay::new(AGENT_FRAMES, AGENT_BYTES, FRAMES);
        ZenohMessenger { session, questions, frames }
    }

    fn query(&self, key: String, body: Vec<u8>, within: Duration) -> Result<Vec<u8>, Undelivered> {
        if body.len() > LONGEST - HEAD_ROOM {
            return Err(Undelivered("no message is that long".into()));
        }
        let query = self.session.get(&key).payload(body).congestion_control(CongestionControl::Block);
        let answers = query.timeout(within).wait().map_err(failed)?;
        let answer = answers.recv().map_err(|_| Undelivered("nobody is there to answer".into()))?;
        match answer.result() {
            Ok(sample) => Ok(sample.payload().to_bytes().into_owned()),
            Err(error) => Err(Undelivered(match &*String::from_utf8_lossy(&error.payload().to_bytes()) {
                "Timeout" | "Timeout!" => "no answer in time".to_owned(),
                other => other.to_owned(),
            })),
        }
    }
}

fn open(config: &Value) -> Result<Session, Undelivered> {
    let config = Config::from_json5(&config.to_string()).map_err(failed)?;
    zenoh::open(config).wait().map_err(failed)
}

fn add_transport(config: &mut Value, tls: &Value) {
    config["scouting"] = json!({ "multicast": { "enabled": false }, "gossip": { "enabled": false } });
    config["transport"] = json!({
        "unicast": {
            "accept_pending": 300, "max_sessions": 2000,
            // One priority: a hostile agent gets the memory of its incomplete messages once, not eight times.
            "qos": { "enabled": false },
            "open_timeout": PATIENCE.as_millis() as u64, "accept_timeout": GREETING.as_millis() as u64,
        },
        "link": { "tx": { "lease": LEASE_MS, "keep_alive": 4 }, "rx": { "max_message_size": LONGEST }, "tls": tls },
    });
}

/// Returns the common names of the certificates of the agents that may come: that of the agent, a point, and a number, so that
/// a token which was removed stays worthless when another agent gets the name.
pub fn members(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("agents")).into_iter().flatten().flatten().map(|entry| entry.path());
    let certificates = entries.filter(|path: &PathBuf| path.extension().is_some_and(|ending| ending == "pem"));
    let mut names: Vec<String> = certificates.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// Returns the access rules of a coordinator: an agent appears and answers under its own name, asks coordinators of runs,
/// and hands in frames of its own. Nothing else is allowed to it; flows are seen from the router.
fn access(members: &[String]) -> Value {
    let policy = |member: &String| {
        let name = member.split('.').next().unwrap_or(member);
        AccessPolicy { peer: member.clone(), agent: name.to_owned(), from_agent: "ingress", to_agent: "egress" }
    };
    access_rules(&members.iter().map(policy).collect::<Vec<_>>())
}

/// Returns the access rules of an agent: the same, seen from its side, and with the coordinator alone. Zenoh trusts every
/// public authority beside the fleet's own; none of them would sign a certificate for the name `brunt`.
fn own_access(name: &str) -> Value {
    let (from_agent, to_agent) = ("egress", "ingress");
    access_rules(&[AccessPolicy { peer: COORDINATOR.to_owned(), agent: name.to_owned(), from_agent, to_agent }])
}

/// What passes between one agent and the peer whose certificate bears a name.
struct AccessPolicy {
    peer: String,
    agent: String,
    from_agent: &'static str,
    to_agent: &'static str,
}

fn access_rules(allowed: &[AccessPolicy]) -> Value {
    let (mut rules, mut subjects, mut policies) = (Vec::new(), Vec::new(), Vec::new());
    for AccessPolicy { peer, agent, from_agent, to_agent } in allowed {
        let (own, asked) = ([here(&format!("{agent}/*"))], [asks(&format!("agent/{agent}"))]);
        let asking = [asks("run/*"), frames("*", agent), member(agent)];
        let all: [(&str, &str, &[&str], &[String]); 5] = [
            ("here", from_agent, &["liveliness_token"], &own),
            ("answers", from_agent, &["declare_queryable", "reply"], &asked),
            ("asked", to_agent, &["query"], &asked),
            ("asks", from_agent, &["query"], &asking),
            ("answered", to_agent, &["reply", "declare_queryable"], &asking),
        ];
        rules.extend(all.iter().map(|(id, flow, messages, keys)| {
            json!({
                "id": format!("{agent}-{id}"), "flows": [flow], "permission": "allow",
                "messages": messages, "key_exprs": keys,
            })
        }));
        let ids: Vec<String> = all.iter().map(|(id, ..)| format!("{agent}-{id}")).collect();
        subjects.push(json!({ "id": peer, "cert_common_names": [peer] }));
        policies.push(json!({ "rules": ids, "subjects": [peer] }));
    }
    json!({
        "enabled": true, "default_permission": "deny",
        "rules": rules, "subjects": subjects, "policies": policies,
    })
}

fn here(presence: &str) -> String {
    format!("brunt/here/{presence}")
}

fn asks(address: &str) -> String {
    format!("brunt/ask/{address}")
}

fn frames(run: &str, agent: &str) -> String {
    format!("brunt/frame/{run}/{agent}")
}

fn length(query: &Query) -> usize {
    query.payload().map_or(0, |payload| payload.len())
}

fn body(query: &Query) -> Vec<u8> {
    query.payload().map(|payload| payload.to_bytes().into_owned()).unwrap_or_default()
}

/// Takes a delivered body apart.
fn frame<'a>(run: &str, agent: &str, body: &'a [u8]) -> Option<(FrameId, &'a [u8])> {
    let (head, frame) = body.split_at_checked(FRAME_HEAD)?;
    let (epoch, seq) = head.split_at(4);
    let (epoch, seq) = (u32::from_le_bytes(epoch.try_into().ok()?), u64::from_le_bytes(seq.try_into().ok()?));
    Some((FrameId { run: run.to_owned(), agent: agent.to_owned(), epoch, seq }, frame))
}

fn member(name: &str) -> String {
    format!("brunt/member/{name}")
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

impl Messenger for ZenohMessenger {
    fn appear(&self, presence: &Presence) -> Result<Held, Undelivered> {
        let token = self.session.liveliness().declare_token(here(&presence.key('/')));
        Ok(Box::new(token.wait().map_err(failed)?))
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        let told = move |sample: zenoh::sample::Sample| {
            let presence = Presence::of_key(sample.key_expr(), '/');
            presence.iter().for_each(|presence| on_presence(presence, sample.kind() == SampleKind::Put));
        };
        let watching = self.session.liveliness().declare_subscriber(here("*/*")).history(true).callback(told).wait();
        Ok(Box::new(watching.map_err(failed)?))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        // Each on a thread of its own: one that takes long holds up no other.
        let (respond, under_way) = (Arc::new(respond), Arc::clone(&self.questions));
        let callback = move |query: Query| {
            let length = length(&query);
            let room = under_way.take(query.key_expr(), length).filter(|_| length <= LONGEST_QUESTION);
            let Some(room) = room else { return };
            let respond = Arc::clone(&respond);
            let answer = move || {
                let _ = query.reply(query.key_expr().clone(), respond(&body(&query))).wait();
                drop(room);
            };
            drop(std::thread::Builder::new().name("answer".into()).spawn(answer));
        };
        let declared = self.session.declare_queryable(asks(address)).complete(true).callback(callback).wait();
        Ok(Box::new(declared.map_err(failed)?))
    }

    fn ask(&self, address: &str, question: &[u8], within: Duration) -> Result<Vec<u8>, Undelivered> {
        self.query(asks(address), question.to_vec(), within)
    }

    fn deliver(&self, id: &FrameId, frame: &[u8], within: Duration) -> Result<(), Undelivered> {
        let body = [&id.epoch.to_le_bytes()[..], &id.seq.to_le_bytes(), frame].concat();
        let answer = self.query(frames(&id.run, &id.agent), body, within)?;
        if answer == [1] { Ok(()) } else { Err(Undelivered("the coordinator did not keep it".into())) }
    }

    fn receive(&self, run: &str, keep: Keep) -> Result<Held, Undelivered> {
        let (told, queries) = channel::<(Query, Room)>();
        let run_name = run.to_owned();
        // In their order, on a thread of its own.
        let serve = move || {
            for (query, room) in queries {
                // The name is that of the key, which the access rules bind to the certificate.
                if let Some((id, frame)) = frame(&run_name, last(query.key_expr()), &body(&query)) {
                    let _ = query.reply(query.key_expr().clone(), [u8::from(keep(&id, frame))]).wait();
                }
                drop(room);
            }
        };
        std::thread::Builder::new().name("serve".into()).spawn(serve).map_err(failed)?;
        let under_way = Arc::clone(&self.frames);
        let callback = move |query: Query| {
            let room = under_way.take(last(query.key_expr()), length(&query));
            room.into_iter().for_each(|room| drop(told.send((query.clone(), room))));
        };
        let declared = self.session.declare_queryable(frames(run, "*")).complete(true).callback(callback).wait();
        Ok(Box::new(declared.map_err(failed)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_no_place_in_the_source() {
        let said =
            "Can not bind at /home/x/link-1.10.2/src/unicast.rs:317. - Caused by Address in use at /home/y/a.rs:5.";
        assert_eq!(without_places(said), "Can not bind - Caused by Address in use");
        assert_eq!(without_places("no file at /etc/ca.pem"), "no file at /etc/ca.pem");
    }
}
