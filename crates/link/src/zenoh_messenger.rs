//! Zenoh, embedded, over QUIC with mutual TLS: the coordinator is the router, agents are its clients.
//!
//! Figures go as queries that are answered once they are safe: plain publications are lost without an error while a peer
//! stands still. What blocks runs on threads of its own, because a callback that blocks holds up the leases of its session.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use brunt_messenger::{FrameId, Held, Keep, Messenger, OnPresence, ReplaceableMessenger, Respond, Undelivered};
use serde_json::{Value, json};
use zenoh::qos::CongestionControl;
use zenoh::query::Query;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};

/// Time without a sign of life after which a peer counts as gone.
const LEASE_MS: u64 = 3000;
/// Questions under way to what answers at one address; beyond that they are asked again by whoever asked.
const UNDER_WAY: usize = 4096;
/// Common name of the certificate of a coordinator.
const COORDINATOR: &str = "brunt";
/// Length of epoch and number in front of a frame.
const FRAME_HEAD: usize = 12;

/// A session of Zenoh.
pub struct ZenohMessenger {
    session: Session,
}

/// What an agent proves itself with, as PEM.
pub struct AgentIdentity {
    /// Certificate of the fleet's authority.
    pub ca: String,
    /// Certificate of the agent.
    pub cert: String,
    /// Private key of the agent.
    pub key: String,
    /// Name of the agent.
    pub name: String,
}

/// An agent's way to its coordinator, which is tried again and again until it is there.
pub struct JoinedFleet {
    messenger: Arc<ReplaceableMessenger>,
    session: Arc<Mutex<Option<Arc<ZenohMessenger>>>>,
}

impl JoinedFleet {
    /// Joins the fleet of a coordinator (`host:7447`), in the background.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn join(coordinator: &str, identity: AgentIdentity) -> Result<JoinedFleet, Undelivered> {
        let joined = JoinedFleet { messenger: Arc::default(), session: Arc::default() };
        let (messenger, session) = (Arc::downgrade(&joined.messenger), Arc::clone(&joined.session));
        let coordinator = coordinator.to_owned();
        let open = move || {
            // An identity that cannot be used never connects, which `is_connected` tells.
            let Ok(opened) = ZenohMessenger::agent(&coordinator, &identity).map(Arc::new) else { return };
            let Some(messenger) = messenger.upgrade() else { return };
            *session.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Arc::clone(&opened));
            let _ = messenger.replace(|| Ok::<_, ()>(opened as Arc<dyn Messenger>));
        };
        std::thread::Builder::new().name("join".into()).spawn(open).map_err(failed)?;
        Ok(joined)
    }

    /// Returns the messenger, whose questions and frames fail until the coordinator is reached.
    pub fn messenger(&self) -> Arc<dyn Messenger> {
        Arc::clone(&self.messenger) as Arc<dyn Messenger>
    }

    /// Returns `true` while the coordinator is reached.
    pub fn is_connected(&self) -> bool {
        let session = self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        session.is_some_and(|session| session.is_connected())
    }
}

impl Drop for ZenohMessenger {
    fn drop(&mut self) {
        // The address is free once this returns; it ends in any case.
        let _ = self.session.close().wait();
    }
}

fn failed(why: impl std::fmt::Display) -> Undelivered {
    Undelivered(why.to_string())
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
            "access_control": access(&names(directory)),
        });
        add_transport(&mut config, &tls);
        Ok(ZenohMessenger { session: open(&config)? })
    }

    /// Opens an agent's session; blocks until the coordinator (`host:7447`) is reached.
    ///
    /// # Errors
    /// The identity cannot be used.
    fn agent(coordinator: &str, identity: &AgentIdentity) -> Result<ZenohMessenger, Undelivered> {
        let tls = json!({
            "root_ca_certificate_base64": base64(&identity.ca),
            "connect_certificate_base64": base64(&identity.cert),
            "connect_private_key_base64": base64(&identity.key),
            "enable_mtls": true,
            // The coordinator is known by the name in its certificate, whatever name it is reached by: see the access rules.
            "verify_name_on_connect": false,
        });
        let retry = json!({ "period_init_ms": 200, "period_max_ms": 1000, "period_increase_factor": 2 });
        let mut config = json!({
            "mode": "client",
            "listen": { "endpoints": [] },
            "connect": {
                "endpoints": [format!("quic/{coordinator}")], "timeout_ms": -1, "exit_on_failure": false, "retry": retry,
            },
            "access_control": own_access(&identity.name),
        });
        add_transport(&mut config, &tls);
        Ok(ZenohMessenger { session: open(&config)? })
    }

    /// Returns `true` while the session is connected to a coordinator.
    fn is_connected(&self) -> bool {
        self.session.info().routers_zid().wait().next().is_some()
    }

    /// Answers queries for a key, in their order, on a thread of its own.
    fn serve(
        &self,
        key: String,
        answer: impl Fn(&Query, &[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Held, Undelivered> {
        let (told, queries): (SyncSender<Query>, _) = sync_channel(UNDER_WAY);
        let serve = move || {
            for query in queries {
                let body = query.payload().map(|payload| payload.to_bytes().into_owned()).unwrap_or_default();
                if let Some(answer) = answer(&query, &body) {
                    let _ = query.reply(query.key_expr().clone(), answer).wait();
                }
            }
        };
        std::thread::Builder::new().name("serve".into()).spawn(serve).map_err(failed)?;
        let callback = move |query| drop(told.try_send(query));
        let declared = self.session.declare_queryable(key).complete(true).callback(callback).wait();
        Ok(Box::new(declared.map_err(failed)?))
    }

    fn query(&self, key: String, body: Vec<u8>, within: Duration) -> Result<Vec<u8>, Undelivered> {
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
        "unicast": { "accept_pending": 300, "max_sessions": 2000 },
        "link": { "tx": { "lease": LEASE_MS, "keep_alive": 4 }, "tls": tls },
    });
}

/// Returns the names of the agents that may come.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("agents")).into_iter().flatten().flatten().map(|entry| entry.path());
    let certificates = entries.filter(|path: &PathBuf| path.extension().is_some_and(|ending| ending == "pem"));
    let mut names: Vec<String> = certificates.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// Returns the access rules of a coordinator: an agent appears and answers under its own name, asks coordinators of runs,
/// and hands in frames of its own. Nothing else is allowed to it; flows are seen from the router.
fn access(names: &[String]) -> Value {
    let policies: Vec<AccessPolicy> = names
        .iter()
        .map(|name| AccessPolicy { peer: name.clone(), agent: name.clone(), from_agent: "ingress", to_agent: "egress" })
        .collect();
    access_rules(&policies)
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
        let (own, asked) = ([here(agent)], [asks(&format!("agent/{agent}"))]);
        let asking = [asks("run/*"), frames("*", agent)];
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

fn here(name: &str) -> String {
    format!("brunt/here/{name}")
}

fn asks(address: &str) -> String {
    format!("brunt/ask/{address}")
}

fn frames(run: &str, agent: &str) -> String {
    format!("brunt/frame/{run}/{agent}")
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

impl Messenger for ZenohMessenger {
    fn appear(&self, name: &str) -> Result<Held, Undelivered> {
        Ok(Box::new(self.session.liveliness().declare_token(here(name)).wait().map_err(failed)?))
    }

    fn watch(&self, on_presence: OnPresence) -> Result<Held, Undelivered> {
        let told = move |sample: zenoh::sample::Sample| {
            on_presence(last(sample.key_expr()), sample.kind() == SampleKind::Put);
        };
        let watching = self.session.liveliness().declare_subscriber(here("*")).history(true).callback(told).wait();
        Ok(Box::new(watching.map_err(failed)?))
    }

    fn answer(&self, address: &str, respond: Respond) -> Result<Held, Undelivered> {
        // Each on a thread of its own: one that takes long holds up no other.
        let respond = Arc::new(respond);
        let callback = move |query: Query| {
            let respond = Arc::clone(&respond);
            let answer = move || {
                let body = query.payload().map(|payload| payload.to_bytes().into_owned()).unwrap_or_default();
                let _ = query.reply(query.key_expr().clone(), respond(&body)).wait();
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
        let run_name = run.to_owned();
        self.serve(frames(run, "*"), move |query, body| {
            let (head, frame) = body.split_at_checked(FRAME_HEAD)?;
            let (epoch, seq) = head.split_at(4);
            // The name is that of the key, which the access rules bind to the certificate.
            let id = FrameId {
                run: run_name.clone(),
                agent: last(query.key_expr()).to_owned(),
                epoch: u32::from_le_bytes(epoch.try_into().ok()?),
                seq: u64::from_le_bytes(seq.try_into().ok()?),
            };
            Some(vec![u8::from(keep(&id, frame))])
        })
    }
}
