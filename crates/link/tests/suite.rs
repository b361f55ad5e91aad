//! What every engine must do, tried in the same way on each: within a process, on Zenoh with certificates, and on NATS; the
//! last two through the bridge, as brunt uses them.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_fleet::{AgentToken, FleetDirectory};
use brunt_link::{AgentIdentity, JoinedFleet, NatsMessenger, renewed};
use brunt_messenger::{FrameId, LinkedMessenger, LocalMessenger, Messenger, bridge};

const SOON: Duration = Duration::from_secs(30);
/// Time for which one that stands still answers nothing, and for which one that is refused tries.
const FROZEN: Duration = Duration::from_secs(60);
const REFUSED: Duration = Duration::from_secs(2);

/// Connects a client through a bridge.
fn bridged(messenger: Arc<dyn Messenger>) -> Arc<LinkedMessenger> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || bridge::serve(theirs, messenger).unwrap());
    Arc::new(LinkedMessenger::connect(ours).unwrap())
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Makes the participant for an agent of this name.
type MakeAgent = Box<dyn Fn(&str) -> Arc<dyn Messenger>>;

/// An engine under test: makes participants of one fleet.
struct Engine {
    coordinator: Arc<dyn Messenger>,
    agent: MakeAgent,
}

/// A fleet of Zenoh on this machine, with these agents.
struct ZenohFleet {
    directory: tempfile::TempDir,
    tokens: Vec<AgentToken>,
    address: String,
}

impl ZenohFleet {
    fn make(names: &[&str]) -> ZenohFleet {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fleet");
        let fleet = FleetDirectory::init(&path, &["127.0.0.1".into()]).unwrap();
        let tokens = names.iter().map(|name| AgentToken::parse(&fleet.add(name).unwrap()).unwrap()).collect();
        let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        ZenohFleet { directory, tokens, address: format!("127.0.0.1:{port}") }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("fleet")
    }

    fn coordinator(&self) -> Arc<dyn Messenger> {
        renewed::coordinator(&self.path(), &self.address).unwrap()
    }

    fn agent(&self, name: &str) -> Arc<dyn Messenger> {
        self.joined(name, &self.address).messenger()
    }

    fn joined(&self, name: &str, address: &str) -> JoinedFleet {
        let token = self.tokens.iter().find(|token| token.name == name).unwrap().clone();
        let AgentToken { ca, cert, key, name } = token;
        let identity = AgentIdentity { ca, cert, key, name };
        JoinedFleet::join(address, identity).unwrap()
    }
}

/// A NATS server of this test.
struct NatsServer {
    child: Child,
    url: String,
    store: tempfile::TempDir,
}

impl NatsServer {
    fn start() -> Option<NatsServer> {
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
        Some(NatsServer { child, url, store })
    }

    fn run(program: &Path, store: &Path, port: Option<&str>) -> (Child, String) {
        let mut command = Command::new(program);
        command.arg(store).args(port).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        (child, url.trim().to_owned())
    }

    fn connect(&self) -> Arc<dyn Messenger> {
        Arc::new(NatsMessenger::connect(&self.url).unwrap())
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait(), &self.store);
    }
}

fn id(agent: &str, seq: u64) -> FrameId {
    FrameId { run: "r".into(), agent: agent.into(), epoch: 0, seq }
}

/// Delivers until it is acknowledged, as agents do.
#[track_caller]
fn deliver(agent: &dyn Messenger, id: &FrameId, frame: &[u8]) {
    let end = Instant::now() + SOON;
    while let Err(why) = agent.deliver(id, frame, Duration::from_secs(3)) {
        assert!(Instant::now() < end, "{id:?}: {why}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until a question is answered.
#[track_caller]
fn answered(by: &dyn Messenger, address: &str, question: &[u8]) -> Vec<u8> {
    let end = Instant::now() + SOON;
    loop {
        match by.ask(address, question, Duration::from_secs(2)) {
            Ok(answer) if !answer.is_empty() || question.is_empty() => return answer,
            other => assert!(Instant::now() < end, "{address}: {other:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The suite; agents `a` and `b` may come.
fn suite(engine: &Engine) {
    let coordinator = &*engine.coordinator;
    presence_and_questions(engine, coordinator);
    frames(engine, coordinator);
    pieces(engine, coordinator);
}

fn presence_and_questions(engine: &Engine, coordinator: &dyn Messenger) {
    let there = Arc::<Mutex<Vec<(String, bool)>>>::default();
    let told = Arc::clone(&there);
    let watch = coordinator.watch(Box::new(move |name, is| told.lock().unwrap().push((name.to_owned(), is)))).unwrap();
    let agent = (engine.agent)("a");
    let here = agent.appear("a").unwrap();
    until("it appears", || there.lock().unwrap().contains(&("a".into(), true)));
    let answers = agent
        .answer(
            "agent/a",
            Box::new(|question| {
                std::thread::sleep(Duration::from_millis(u64::from(question[0])));
                question.to_vec()
            }),
        )
        .unwrap();
    assert_eq!(answered(coordinator, "agent/a", b"\x00x"), b"\x00x");
    // A slow answer holds up no other; large ones arrive.
    std::thread::scope(|scope| {
        for n in 0..8u8 {
            scope.spawn(move || assert_eq!(coordinator.ask("agent/a", &[n * 20, n], SOON).unwrap(), [n * 20, n]));
        }
    });
    let large = vec![0; 900 << 10];
    assert_eq!(coordinator.ask("agent/a", &large, SOON).unwrap().len(), large.len());
    assert!(coordinator.ask("agent/nobody", b"\x00", Duration::from_millis(500)).is_err());
    assert!(coordinator.ask("agent/a", &[250], Duration::from_millis(50)).is_err(), "it is too slow");
    drop((here, answers));
    until("it goes", || there.lock().unwrap().last() == Some(&("a".into(), false)));
    drop(watch);
}

fn frames(engine: &Engine, coordinator: &dyn Messenger) {
    let (a, b) = ((engine.agent)("a"), (engine.agent)("b"));
    let kept = Arc::<Mutex<Vec<(String, u64, usize)>>>::default();
    let (seen, refused) = (Arc::clone(&kept), Arc::new(AtomicBool::new(false)));
    let once = Arc::clone(&refused);
    let receiving = coordinator
        .receive(
            "r",
            Box::new(move |id, frame| {
                // The third of a is refused once: a disk may be full.
                if (&*id.agent, id.seq) == ("a", 2) && !once.swap(true, Ordering::Relaxed) {
                    return false;
                }
                let mut seen = seen.lock().unwrap();
                let known = seen.iter().any(|(agent, seq, _)| *agent == id.agent && *seq == id.seq);
                if !known {
                    seen.push((id.agent.clone(), id.seq, frame.len()));
                }
                true
            }),
        )
        .unwrap();
    std::thread::scope(|scope| {
        for (name, agent) in [("a", &a), ("b", &b)] {
            scope.spawn(move || {
                for seq in 0..50 {
                    deliver(&**agent, &id(name, seq), &vec![1; seq as usize * 1000]);
                }
                deliver(&**agent, &id(name, 49), &vec![1; 49_000]);
            });
        }
    });
    until("all are kept", || kept.lock().unwrap().len() == 100);
    for name in ["a", "b"] {
        let mut own: Vec<(u64, usize)> = kept
            .lock()
            .unwrap()
            .iter()
            .filter(|(agent, ..)| agent == name)
            .map(|(_, seq, length)| (*seq, *length))
            .collect();
        // A durable stream may bring the refused one again after later ones; who keeps them sorts that out.
        own.sort_unstable();
        assert_eq!(own, (0..50).map(|seq| (seq, seq as usize * 1000)).collect::<Vec<_>>(), "{name}");
    }
    drop(receiving);
}

/// Agents pull a bundle in pieces; one that stands still holds up nobody.
fn pieces(engine: &Engine, coordinator: &dyn Messenger) {
    const PIECES: u8 = 80;
    let bundle = coordinator.answer("run/r", Box::new(|question| vec![question[0]; 256 << 10])).unwrap();
    let frozen = (engine.agent)("b");
    let _never = frozen.answer(
        "agent/b",
        Box::new(|_| {
            std::thread::sleep(FROZEN);
            Vec::new()
        }),
    );
    let number = std::env::var("SUITE_AGENTS").map_or(4, |number| number.parse().unwrap());
    let agents: Vec<Arc<dyn Messenger>> = (0..number).map(|_| (engine.agent)("a")).collect();
    let began = Instant::now();
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for agent in &agents {
            scope.spawn(|| {
                for piece in 0..PIECES {
                    let got = answered(&**agent, "run/r", &[piece + 1]);
                    assert!(got.len() == 256 << 10 && got[9] == piece + 1);
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), agents.len());
    println!("{number} agents pulled 20 MB each in {:.2} s, one frozen beside them", began.elapsed().as_secs_f64());
    drop(bundle);
}

#[test]
fn within_a_process() {
    let hub = LocalMessenger::default();
    let agents = hub.clone();
    let agent = move |_: &str| Arc::new(agents.participant()) as Arc<dyn Messenger>;
    suite(&Engine { coordinator: Arc::new(hub.participant()), agent: Box::new(agent) });
}

#[test]
fn on_zenoh_over_quic_with_certificates() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let coordinator = bridged(fleet.coordinator());
    suite(&Engine { coordinator, agent: Box::new(move |name| bridged(fleet.agent(name)) as Arc<dyn Messenger>) });
}

#[test]
fn on_nats_jetstream() {
    let Some(server) = NatsServer::start() else { return };
    let coordinator = bridged(server.connect());
    suite(&Engine { coordinator, agent: Box::new(move |_| bridged(server.connect()) as Arc<dyn Messenger>) });
}

#[test]
fn a_stolen_token_speaks_for_its_own_agent_only() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let coordinator = fleet.coordinator();
    let there = Arc::<Mutex<Vec<String>>>::default();
    let told = Arc::clone(&there);
    let _watch = coordinator.watch(Box::new(move |name, _| told.lock().unwrap().push(name.to_owned()))).unwrap();
    let kept = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&kept);
    let _receiving = coordinator
        .receive(
            "r",
            Box::new(move |id, _| {
                seen.lock().unwrap().push(id.agent.clone());
                true
            }),
        )
        .unwrap();
    let (honest, thief) = (fleet.agent("b"), fleet.agent("a"));
    let _answers = honest.answer("agent/b", Box::new(|_| b"b".to_vec())).unwrap();
    let _bundle = coordinator.answer("run/r", Box::new(|_| b"plan".to_vec())).unwrap();
    // It can do all of this under its own name.
    deliver(&*thief, &id("a", 0), b"x");
    let _own = thief.appear("a").unwrap();
    until("it appears as itself", || there.lock().unwrap().contains(&"a".to_owned()));
    assert_eq!(answered(&*thief, "run/r", b"?"), b"plan");
    // And none of it under another.
    let _forged = (
        thief.appear("b"),
        thief.answer("agent/b", Box::new(|_| b"forged".to_vec())),
        thief.answer("run/r", Box::new(|_| b"forged".to_vec())),
    );
    assert!(thief.deliver(&id("b", 0), b"x", Duration::from_secs(1)).is_err());
    for _ in 0..20 {
        assert_eq!(answered(&*coordinator, "agent/b", b"?"), b"b");
        assert_eq!(answered(&*honest, "run/r", b"?"), b"plan");
    }
    assert_eq!(*kept.lock().unwrap(), ["a"]);
    assert!(!there.lock().unwrap().contains(&"b".to_owned()));
}

#[test]
fn agents_obey_nobody_but_the_coordinator_whoever_signed_for_it() {
    let fleet = ZenohFleet::make(&["a"]);
    // Signed by an authority that the agent trusts, for a name that is not the coordinator's: as the public ones would.
    let read = |file: &str| std::fs::read_to_string(fleet.path().join(file)).unwrap();
    let genuine = (read("coordinator.pem"), read("coordinator.key"));
    let mut authority = rcgen::CertificateParams::default();
    authority.distinguished_name.push(rcgen::DnType::CommonName, "brunt fleet");
    let authority = rcgen::Issuer::new(authority, rcgen::KeyPair::from_pem(&read("ca.key")).unwrap());
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["127.0.0.1".into()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "coordinator.example");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let write = |file: &str, text: &str| std::fs::write(fleet.path().join(file), text).unwrap();
    write("coordinator.pem", &params.signed_by(&key, &authority).unwrap().pem());
    write("coordinator.key", &key.serialize_pem());
    let forged = fleet.coordinator();
    let joined = fleet.joined("a", &fleet.address);
    let agent = joined.messenger();
    let heard = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&heard);
    let answer = move |_: &[u8]| {
        counted.fetch_add(1, Ordering::Relaxed);
        b"yes".to_vec()
    };
    let answers = agent.answer("agent/a", Box::new(answer)).unwrap();
    let there = Arc::<Mutex<Vec<bool>>>::default();
    let told = Arc::clone(&there);
    let watch = forged.watch(Box::new(move |_, is| told.lock().unwrap().push(is))).unwrap();
    let bundle = forged.answer("run/r", Box::new(|_| b"forged".to_vec())).unwrap();
    let here = agent.appear("a").unwrap();
    until("they are connected", || joined.is_connected());
    std::thread::sleep(REFUSED);
    assert!(forged.ask("agent/a", b"start", Duration::from_secs(1)).is_err(), "it obeys");
    assert!(agent.ask("run/r", b"?", Duration::from_secs(1)).is_err(), "it believes");
    assert!(there.lock().unwrap().is_empty() && heard.load(Ordering::Relaxed) == 0);
    drop((watch, bundle, forged));
    until("its port is free", || std::net::UdpSocket::bind(&fleet.address).is_ok());
    write("coordinator.pem", &genuine.0);
    write("coordinator.key", &genuine.1);
    let coordinator = fleet.coordinator();
    assert_eq!(answered(&*coordinator, "agent/a", b"start"), b"yes");
    drop((here, answers));
}

#[test]
fn who_is_not_of_the_fleet_or_no_more_gets_nothing() {
    let (fleet, other) = (ZenohFleet::make(&["a"]), ZenohFleet::make(&["a"]));
    let coordinator = fleet.coordinator();
    let there = Arc::<Mutex<Vec<bool>>>::default();
    let told = Arc::clone(&there);
    let _watch = coordinator.watch(Box::new(move |_, is| told.lock().unwrap().push(is))).unwrap();
    let _bundle = coordinator.answer("run/r", Box::new(|_| b"plan".to_vec())).unwrap();
    let stranger = other.joined("a", &fleet.address);
    let _there = stranger.messenger().appear("a").unwrap();
    std::thread::sleep(REFUSED);
    assert!(stranger.messenger().ask("run/r", b"?", Duration::from_secs(1)).is_err());
    assert!(there.lock().unwrap().is_empty() && !stranger.is_connected());
    let member = fleet.agent("a");
    let _here = member.appear("a").unwrap();
    until("the member is there", || *there.lock().unwrap() == [true]);
    FleetDirectory::open(&fleet.path()).unwrap().remove("a").unwrap();
    until("it is gone", || there.lock().unwrap().last() == Some(&false));
    assert!(member.ask("run/r", b"?", Duration::from_secs(3)).is_err());
}

#[test]
fn what_is_delivered_while_the_coordinator_is_away_arrives_later() {
    let fleet = ZenohFleet::make(&["a"]);
    let agent = fleet.agent("a");
    let kept = Arc::<Mutex<Vec<u64>>>::default();
    let receive = |coordinator: &Arc<dyn Messenger>| {
        let seen = Arc::clone(&kept);
        let keep = move |id: &FrameId, _: &[u8]| {
            let mut seen = seen.lock().unwrap();
            if !seen.contains(&id.seq) {
                seen.push(id.seq);
            }
            true
        };
        coordinator.receive("r", Box::new(keep)).unwrap()
    };
    let mut coordinator = fleet.coordinator();
    let mut receiving = receive(&coordinator);
    std::thread::scope(|scope| {
        let handing_in = scope.spawn(|| {
            (0..60).for_each(|seq| {
                deliver(&*agent, &id("a", seq), &[7; 20_000]);
                std::thread::sleep(Duration::from_millis(20));
            })
        });
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(300));
            drop(receiving);
            drop(coordinator);
            std::thread::sleep(Duration::from_millis(700));
            coordinator = fleet.coordinator();
            receiving = receive(&coordinator);
        }
        handing_in.join().unwrap();
    });
    assert_eq!(*kept.lock().unwrap(), (0..60).collect::<Vec<_>>());
}
