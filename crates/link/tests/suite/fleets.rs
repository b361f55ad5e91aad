//! Fleets of these tests: Zenoh with certificates, and a NATS server.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use brunt_fleet::{AgentToken, FleetDirectory};
use brunt_link::{AgentIdentity, JoinedFleet, NatsMessenger, renewed};
use brunt_messenger::{LinkedMessenger, Messenger, bridge};

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
pub struct NatsServer {
    child: Mutex<Child>,
    pub url: String,
    program: PathBuf,
    store: tempfile::TempDir,
}

impl NatsServer {
    pub fn start() -> Option<NatsServer> {
        let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
        let program = match brunt_programs::servers::build_go(&target, "nats") {
            Ok(program) => program,
            Err(why) => {
                assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "cannot be left out here: {why}");
                eprintln!("SKIPPED: {why}");
                return None;
            }
        };
        let store = tempfile::tempdir().unwrap();
        let (child, url) = NatsServer::run(&program, store.path(), None);
        Some(NatsServer { child: Mutex::new(child), url, program, store })
    }

    fn run(program: &Path, store: &Path, port: Option<&str>) -> (Child, String) {
        let mut command = Command::new(program);
        command.arg(store).args(port).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        (child, url.trim().to_owned())
    }

    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn lose_disk(&self) {
        for entry in std::fs::read_dir(self.store.path()).unwrap() {
            std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
    }

    /// Starts it again on the port where it was, with what is on its disk.
    pub fn start_again(&self) {
        let port = self.url.rsplit(':').next();
        let (child, url) = NatsServer::run(&self.program, self.store.path(), port);
        assert_eq!(url, self.url);
        *self.child.lock().unwrap() = child;
    }

    pub fn connect(&self) -> Arc<dyn Messenger> {
        NatsServer::reach(&self.url)
    }

    pub fn reach(url: &str) -> Arc<dyn Messenger> {
        Arc::new(NatsMessenger::connect(url).unwrap())
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = (child.kill(), child.wait());
    }
}
