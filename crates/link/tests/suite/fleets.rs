//! Fleets of these tests: Zenoh with certificates, and a NATS server.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use brunt_fleet::{AgentToken, FleetDirectory};
use brunt_link::{AgentIdentity, JoinedFleet, NatsMessenger, renewed};
use brunt_messenger::{LinkedMessenger, Messenger, bridge};
use brunt_programs::nats::NatsServer;

/// Connects a client through a bridge.
pub fn bridged(messenger: Arc<dyn Messenger>) -> Arc<LinkedMessenger> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || bridge::serve(theirs, messenger).unwrap());
    Arc::new(LinkedMessenger::connect(ours).unwrap())
}

/// A fleet of Zenoh on this machine, with these agents.
pub struct ZenohFleet {
    directory: tempfile::TempDir,
    tokens: Vec<AgentToken>,
    pub address: String,
}

impl ZenohFleet {
    pub fn make(names: &[&str]) -> ZenohFleet {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fleet");
        let fleet = FleetDirectory::init(&path, &["127.0.0.1".into()]).unwrap();
        let tokens = names.iter().map(|name| AgentToken::parse(&fleet.add(name).unwrap()).unwrap()).collect();
        ZenohFleet { directory, tokens, address: ZenohFleet::free_address() }
    }

    pub fn free_address() -> String {
        std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("fleet")
    }

    pub fn coordinator(&self) -> Arc<dyn Messenger> {
        renewed::coordinator(&self.path(), &self.address).unwrap()
    }

    pub fn agent(&self, name: &str) -> Arc<dyn Messenger> {
        self.joined(name, &self.address).messenger()
    }

    pub fn token(&self, name: &str) -> AgentToken {
        self.tokens.iter().find(|token| token.name == name).unwrap().clone()
    }

    /// Returns the identity of an agent, as brunt passes it to its link.
    pub fn identity_text(&self, name: &str) -> String {
        let AgentToken { ca, cert, key, name } = self.token(name);
        serde_json::json!({ "ca": ca, "cert": cert, "key": key, "name": name }).to_string()
    }

    pub fn joined(&self, name: &str, address: &str) -> JoinedFleet {
        JoinedFleet::join(address, self.identity(name), |_| ()).unwrap()
    }

    pub fn identity(&self, name: &str) -> AgentIdentity {
        let AgentToken { ca, cert, key, name } = self.token(name);
        AgentIdentity { ca, cert, key, name }
    }
}

/// A NATS server of this test.
pub struct NatsFleet {
    server: NatsServer,
    store: tempfile::TempDir,
}

impl NatsFleet {
    pub fn start() -> Option<NatsFleet> {
        let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
        let store = tempfile::tempdir().unwrap();
        match NatsServer::start(&target, store.path()) {
            Ok(server) => Some(NatsFleet { server, store }),
            Err(why) => {
                assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "cannot be left out here: {why}");
                eprintln!("SKIPPED: {why}");
                None
            }
        }
    }

    pub fn url(&self) -> &str {
        &self.server.url
    }

    pub fn kill(&self) {
        self.server.kill().unwrap();
    }

    pub fn lose_disk(&self) {
        for entry in std::fs::read_dir(self.store.path()).unwrap() {
            std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
    }

    pub fn start_again(&self) {
        self.server.start_again().unwrap();
    }

    pub fn connect(&self) -> Arc<dyn Messenger> {
        NatsFleet::reach(self.url())
    }

    pub fn reach(url: &str) -> Arc<dyn Messenger> {
        Arc::new(NatsMessenger::connect(url).unwrap())
    }
}
