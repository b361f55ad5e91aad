//! Zenoh, embedded, over QUIC with mutual TLS: the coordinator is the router, agents are its clients.
//!
//! Figures go as queries that are answered once they are safe: plain publications are lost without an error while a peer
//! stands still. What blocks runs on threads of its own, because a callback that blocks holds up the leases of its session.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use base64::Engine;
use brunt_messenger::{FrameId, Held, Keep, Messenger, OnPresence, Respond, Undelivered};
use serde_json::{Value, json};
use zenoh::qos::CongestionControl;
use zenoh::query::Query;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};

/// Time without a sign of life after which a peer counts as gone.
const LEASE_MS: u64 = 3000;
/// Questions under way to what answers at one address; beyond that they are asked again by whoever asked.
const UNDER_WAY: usize = 4096;
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

    /// Opens an agent's session, which goes on trying to reach the coordinator (`host:7447`).
    ///
    /// # Errors
    /// The identity cannot be used.
    pub fn agent(coordinator: &str, identity: &AgentIdentity) -> Result<ZenohMessenger, Undelivered> {
        let tls = json!({
            "root_ca_certificate_base64": base64(&identity.ca),
            "connect_certificate_base64": base64(&identity.cert),
            "connect_private_key_base64": base64(&identity.key),
            "enable_mtls": true,
            // The authority signs nothing else: whoever bears its certificate for servers is the coordinator, by whatever
            // name it is reached.
            "verify_name_on_connect": false,
        });
        let retry = json!({ "period_init_ms": 200, "period_max_ms": 1000, "period_increase_factor": 2 });
        let mut config = json!({
            "mode": "client",
            "listen": { "endpoints": [] },
            "connect": {
                "endpoints": [format!("quic/{coordinator}")], "timeout_ms": -1, "exit_on_failure": false, "retry": retry,
            },
        });
        add_transport(&mut config, &tls);
        Ok(ZenohMessenger { session: open(&config)? })
    }

    /// Returns `true` while the session is connected to a coordinator.
    pub fn is_connected(&self) -> bool {
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

/// Returns the access rules: an agent appears and answers under its own name, asks coordinators of runs, and hands in
/// frames of its own. Nothing else is allowed to it; flows are seen from the router.
fn access(names: &[String]) -> Value {
    let (mut rules, mut subjects, mut policies) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let rule = |id: &str, flow: &str, messages: &[&str], keys: &[String]| {
            json!({
                "id": format!("{name}-{id}"), "flows": [flow], "permission": "allow",
                "messages": messages, "key_exprs": keys,
            })
        };
        let (own, asked) = ([here(name)], [asks(&format!("agent/{name}"))]);
        let asking = [asks("run/*"), frames("*", name)];
        rules.push(rule("here", "ingress", &["liveliness_token"], &own));
        rules.push(rule("answers", "ingress", &["declare_queryable", "reply"], &asked));
        rules.push(rule("asked", "egress", &["query"], &asked));
        rules.push(rule("asks", "ingress", &["query"], &asking));
        rules.push(rule("answered", "egress", &["reply", "declare_queryable"], &asking));
        subjects.push(json!({ "id": name, "cert_common_names": [name] }));
        let ids: Vec<String> =
            ["here", "answers", "asked", "asks", "answered"].iter().map(|id| format!("{name}-{id}")).collect();
        policies.push(json!({ "rules": ids, "subjects": [name] }));
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
        let respond = std::sync::Arc::new(respond);
        let callback = move |query: Query| {
            let respond = std::sync::Arc::clone(&respond);
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
