//! What a coordinator's link costs with many agents, and what is lost when it dies: `scale AGENTS SECONDS [cut] [nats://HOST:4222]`. Each
//! agent has a session of its own, over QUIC with certificates of both sides or at a NATS server, and hands in 20 kB a second.
//! With `cut`, the coordinator's session is closed for ten seconds in the middle.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_fleet::{AgentToken, FleetDirectory};
use brunt_link::{AgentIdentity, JoinedFleet, NatsMessenger, renewed};
use brunt_messenger::{FrameId, Held, Messenger, Presence};

const FRAME: usize = 20_000;
const SECOND: Duration = Duration::from_secs(1);
/// Time for which the coordinator is away.
const CUT: Duration = Duration::from_secs(10);

/// Frames by agent: number of the next, and how many came again.
type Kept = Arc<Mutex<BTreeMap<String, (u64, u64)>>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "agents") {
        return agents(&words[1..]);
    }
    let number = |at: usize, usual: u64| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (agents, seconds) = (number(0, 200), number(1, 30));
    let cut = words.iter().any(|word| word == "cut");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("fleet");
    let fleet = FleetDirectory::init(&path, &["127.0.0.1".into()]).expect("a fleet");
    let tokens: Vec<String> = (0..agents).map(|n| fleet.add(&format!("a{n}")).expect("a token")).collect();
    let file = directory.path().join("tokens");
    std::fs::write(&file, tokens.join("\n")).expect("tokens");
    let nats = words.iter().find(|word| is_nats(word));
    let port = std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let address = nats.cloned().unwrap_or_else(|| format!("127.0.0.1:{port}"));
    let kept = Kept::default();
    let open = || -> (Arc<dyn Messenger>, Held) {
        let coordinator: Arc<dyn Messenger> = match is_nats(&address) {
            true => Arc::new(NatsMessenger::connect(&address).expect("a NATS server")),
            false => renewed::coordinator(&path, &address).expect("a coordinator"),
        };
        let receiving = receive(&coordinator, &kept);
        (coordinator, receiving)
    };
    let mut coordinator = Some(open());
    // In a process of their own, so that this one's figures are the coordinator's.
    let mut others = std::process::Command::new(std::env::current_exe().expect("a path"))
        .args(["agents", &address, &file.display().to_string(), &seconds.to_string()])
        .spawn()
        .expect("agents");
    let count = |kept: &Kept| kept.lock().expect("kept").values().map(|(next, _)| next).sum::<u64>();
    while count(&kept) < agents {
        std::thread::sleep(Duration::from_millis(50));
    }
    let (began, cpu, first) = (Instant::now(), cpu(), count(&kept));
    if cut {
        std::thread::sleep(SECOND * (seconds / 3) as u32);
        drop(coordinator.take());
        std::thread::sleep(CUT);
        coordinator = Some(open());
    }
    let ended = others.wait().expect("agents end");
    let took = began.elapsed().as_secs_f64();
    let used = (self::cpu() - cpu) / took;
    let kept = kept.lock().expect("kept");
    let whole = kept.values().filter(|(next, _)| *next == seconds).count();
    let again: u64 = kept.values().map(|(_, again)| again).sum();
    let total: u64 = kept.values().map(|(next, _)| next).sum();
    println!(
        "{agents} agents, {seconds} frames of {FRAME} B each, in {took:.1} s: {whole} agents whole, {total} frames kept, {again} came \
         again, {:.1} frames/s; coordinator {used:.3} cores, {} MB; agents {ended}",
        (total - first) as f64 / took,
        resident() / 1_000_000,
    );
    drop(coordinator);
}

fn is_nats(word: &str) -> bool {
    word.starts_with("nats://")
}

fn receive(coordinator: &Arc<dyn Messenger>, kept: &Kept) -> Held {
    let kept = Arc::clone(kept);
    let keep = move |id: &FrameId, frame: &[u8]| {
        let mut kept = kept.lock().expect("kept");
        let (next, again) = kept.entry(id.agent.clone()).or_default();
        if id.seq < *next {
            *again += 1;
        } else if id.seq == *next && frame.len() == FRAME {
            *next += 1;
        } else {
            return false;
        }
        true
    };
    coordinator.receive("r", Box::new(keep)).expect("receiving")
}

/// The agents: a session and a thread each.
fn agents(words: &[String]) {
    let [address, file, seconds] = words else { panic!("agents ADDRESS FILE SECONDS") };
    let seconds: u64 = seconds.parse().expect("seconds");
    let tokens = std::fs::read_to_string(file).expect("tokens");
    let (failed, slowest) = (AtomicU64::new(0), AtomicU64::new(0));
    let gave_up = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for token in tokens.lines() {
            let token = AgentToken::parse(token).expect("a token");
            let (failed, slowest, gave_up) = (&failed, &slowest, &gave_up);
            scope.spawn(move || {
                let AgentToken { ca, cert, key, name } = token;
                let identity = AgentIdentity { ca, cert, key, name: name.clone() };
                let join = || JoinedFleet::join(address, identity, |_| ()).expect("it joins").messenger();
                let messenger: Arc<dyn Messenger> = match is_nats(address) {
                    true => Arc::new(NatsMessenger::connect(address).expect("a NATS server")),
                    false => join(),
                };
                let _here = messenger.appear(&Presence::draw(&name));
                for seq in 0..seconds {
                    let id = FrameId { run: "r".into(), agent: name.clone(), epoch: 0, seq };
                    let due = Instant::now();
                    while messenger.deliver(&id, &[7; FRAME], Duration::from_secs(3)).is_err() {
                        failed.fetch_add(1, Ordering::Relaxed);
                        if due.elapsed() > Duration::from_secs(60) {
                            gave_up.store(true, Ordering::Relaxed);
                            return;
                        }
                        std::thread::sleep(Duration::from_millis(200));
                    }
                    let took = due.elapsed();
                    slowest.fetch_max(took.as_millis() as u64, Ordering::Relaxed);
                    std::thread::sleep(SECOND.saturating_sub(took));
                }
            });
        }
    });
    eprintln!(
        "agents: {} attempts failed, the slowest frame took {} ms, {}",
        failed.load(Ordering::Relaxed),
        slowest.load(Ordering::Relaxed),
        if gave_up.load(Ordering::Relaxed) { "SOME GAVE UP" } else { "none gave up" },
    );
}

/// Returns the CPU time of this process, in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Returns the memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}
