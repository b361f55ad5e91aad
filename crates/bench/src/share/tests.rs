//! Shares of a run over a transport other than pipes to child processes: pipes within this process, whose other end is
//! served by a thread.

use std::io::{Read, Write, pipe};
use std::sync::Mutex;
use std::thread::JoinHandle;

use brunt_contract::PeerAddress;
use brunt_engine::{ClockOffset, Launcher, ProcessHandle, ProcessLink, Stop};
use brunt_measure::Nanos;
use brunt_plan::Trial;
use brunt_test_server::{Config, TargetServer};

use super::*;
use crate::WorkerPlaces;
use brunt_config::{Command, Defaults, read};

type ShareResult = Result<(), String>;

/// A launcher that runs each share on a thread and keeps the bytes written to it.
#[derive(Default)]
struct ThreadLauncher {
    /// Bytes sent before the first frame of a share, if any.
    says_first: Option<&'static [u8]>,
    sent: Arc<Mutex<Vec<u8>>>,
}

struct ThreadExit(Mutex<Option<JoinHandle<ShareResult>>>);

impl ProcessHandle for ThreadExit {
    fn exit_text(&self) -> std::io::Result<Option<String>> {
        let mut thread = self.0.lock().unwrap();
        let over = thread.as_ref().is_none_or(JoinHandle::is_finished);
        Ok(over.then(|| thread.take().map_or(Ok(()), |thread| thread.join().unwrap()).err().unwrap_or_default()))
    }
    fn kill(&self) {}
}

struct CountingWriter<W>(W, Arc<Mutex<Vec<u8>>>);

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1.lock().unwrap().extend_from_slice(bytes);
        self.0.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Launcher for ThreadLauncher {
    fn launch(&self, _task: &Task) -> std::io::Result<ProcessLink> {
        let ((there, to), (from, mut back)) = (pipe()?, pipe()?);
        let first = self.says_first;
        let thread = std::thread::spawn(move || {
            if let Some(said) = first {
                back.write_all(said).unwrap();
                let _ = (&there).read_to_end(&mut Vec::new());
                return Err("it was a stranger".into());
            }
            let protocols = brunt_protocols::all();
            let assignment = Assignment::accept(there, back).map_err(|error| error.to_string())?;
            run_assignment(assignment, &protocols, &GeneratorHost::default(), None)
                .map_err(|complaint| complaint.to_string())
        });
        Ok(ProcessLink {
            to: Box::new(CountingWriter(to, Arc::clone(&self.sent))),
            from: Box::new(from),
            process: Arc::new(ThreadExit(Mutex::new(Some(thread)))),
            clock: ClockOffset::default(),
        })
    }

    fn hosts(&self) -> Vec<GeneratorHost> {
        vec![GeneratorHost { name: "another".into(), ..GeneratorHost::default() }]
    }
}

fn target() -> TargetServer {
    let listen = PeerAddress::Tcp(([127, 0, 0, 1], 0).into());
    TargetServer::start(Config { listen, workers: 1, ..Config::default() }).expect("a target")
}

/// Creates a bench whose shares run within this process.
fn bench(words: &[&str], launcher: ThreadLauncher) -> (Bench, Plan) {
    let words: Vec<String> = ["--processes", "2", "-w", "2"].iter().chain(words).map(ToString::to_string).collect();
    let defaults = Defaults { cores: 2.0, descriptors: 1024, seed: 7 };
    let protocols = brunt_protocols::all();
    let Ok(Command::Run(mut intent)) = read(&words, &protocols, &defaults) else { panic!("{words:?}") };
    let protocol = &*protocols[intent.protocol];
    let bench = Bench::prepare(&mut intent, protocol, &GeneratorHost::default(), WorkerPlaces::here(launcher));
    let bench = bench.map_err(|complaint| complaint.to_string()).expect("a good plan");
    (bench, intent.plan)
}

#[test]
fn a_share_is_taken_where_the_files_of_the_plan_are_not() {
    let (target, folder) = (target(), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let content = "content-of-the-body ".repeat(30_000);
    std::fs::write(path("body"), &content).unwrap();
    std::fs::write(path("users.csv"), "name\nann\nbob\n").unwrap();
    let (header, url) = (format!("X-Name: {{csv {}.name}}", path("users.csv")), format!("http://{}/", target.addr()));
    let launcher = ThreadLauncher::default();
    let sent = Arc::clone(&launcher.sent);
    let line = ["-c", "4", "-n", "40", "--data-file", &path("body"), "-H", &header, &url];
    let (bench, plan) = bench(&line, launcher);
    drop(folder);
    let summary = bench.measure(&Trial::from_plan(&plan), &Stop::default(), &mut []).unwrap();
    let notices = &summary.notices;
    assert_eq!((summary.totals.due, summary.totals.finished), (40, 40), "{notices:?}");
    let stats = target.stats();
    assert_eq!(stats.heard, 40);
    assert!(stats.bytes_received > 40 * content.len() as u64, "bodies travelled: {}", stats.bytes_received);
    let hosts = &summary.started.as_ref().unwrap().hosts;
    assert_eq!(hosts.iter().map(|host| &*host.name).collect::<Vec<_>>(), ["", "another"]);
    // The content is sent once to each process, for any number of workers and requests.
    let sent = sent.lock().unwrap().len();
    assert!((2 * content.len()..2 * content.len() + 20_000).contains(&sent), "{sent}");
    // The same bench is measured again with another load.
    let again = bench.measure(&Trial::users(2, Nanos::from_millis(300)), &Stop::default(), &mut []).unwrap();
    assert!(again.totals.finished > 0 && again.notices.is_empty(), "{:?}", again.notices);
}

#[test]
fn schemas_and_what_they_import_travel_too() {
    let (target, folder) = (target(), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).display().to_string();
    let message = "syntax = \"proto3\"; package brunt; message Payload { bytes body = 1; }";
    std::fs::create_dir(path("deep")).unwrap();
    std::fs::write(path("deep/message.proto"), message).unwrap();
    let service = "syntax = \"proto3\"; package brunt; import \"deep/message.proto\"; \
                   service Target { rpc Unary(Payload) returns (Payload); }";
    std::fs::write(path("service.proto"), service).unwrap();
    let url = format!("grpc://{}/brunt.Target/Unary", target.addr());
    let (bench, plan) =
        bench(&["-c", "2", "-n", "20", "--proto", &path("service.proto"), &url], ThreadLauncher::default());
    drop(folder);
    let summary = bench.measure(&Trial::from_plan(&plan), &Stop::default(), &mut []).unwrap();
    assert_eq!((summary.totals.due, summary.totals.finished), (20, 20), "{:?}", summary.notices);
}

#[test]
fn a_stranger_and_another_version_are_told_in_the_report() {
    let target = target();
    let url = format!("http://{}/", target.addr());
    for (says, told) in [
        (&b"Welcome to Debian!\n"[..], "it sent `Welcome to Debian!` instead of `brunt-link 1`"),
        (b"brunt-link 2 7.0.0\n", "it is brunt 7.0.0 with version 2 of the link between processes, and this is brunt"),
        (b"brunt-link 1 0.1.0\n\xff\xff\xff\xff", "it sent a frame with an impossible length"),
    ] {
        let (bench, plan) = bench(
            &["-c", "4", "-n", "40", &url],
            ThreadLauncher { says_first: Some(says), ..ThreadLauncher::default() },
        );
        let summary = bench.measure(&Trial::from_plan(&plan), &Stop::default(), &mut []).unwrap();
        let how = &summary.notices[0].facts["how"];
        assert!(summary.notices[0].code == "process_lost" && how.starts_with(told), "{how}");
        assert_eq!((summary.end, target.stats().heard), (brunt_report::End::Partial, 0));
    }
}

/// Reads a plan and prepares all of it as the share of a lent machine; returns the refusal.
fn lent(words: &[&str], terms: OwnerTerms) -> Result<(), String> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let (defaults, protocols) = (Defaults { cores: 2.0, descriptors: 1024, seed: 7 }, brunt_protocols::all());
    let Ok(Command::Run(intent)) = read(&words, &protocols, &defaults) else { panic!("{words:?}") };
    let briefing = briefing(intent.plan, Bundle::default(), None, None);
    let share = LentShare { terms, task: Task { from: 0, to: 1, of: 1 } };
    let prepared = prepare(&briefing.description, &protocols, &GeneratorHost::default(), Some(&share));
    prepared.map(drop).map_err(|why| why.to_string())
}

#[test]
fn a_ceiling_of_connections_counts_the_servers_of_each_user() {
    let within = |words: &str, most| {
        let words: Vec<&str> = words.split(' ').collect();
        lent(&words, OwnerTerms { max_connections: Some(most), ..OwnerTerms::default() })
    };
    let two = "http://127.0.0.1:1/ http://127.0.0.2:1/";
    assert_eq!(within("-c 10 http://127.0.0.1:1/", 10), Ok(()));
    assert_eq!(within(&format!("-c 5 {two}"), 10), Ok(()));
    assert!(within(&format!("-c 10 {two}"), 10).unwrap_err().contains("its share is 20"));
    assert!(within("-c 10 -L http://127.0.0.1:1/", 10).unwrap_err().contains("redirects"));
    // Arrivals share their connections.
    assert_eq!(within(&format!("-r 10/s --max-connections 10 -L {two}"), 10), Ok(()));
    assert!(within(&format!("-r 10/s --max-connections 11 {two}"), 10).unwrap_err().contains("its share is 11"));
}

#[test]
fn nothing_is_asked_of_a_target_that_the_owner_does_not_allow() {
    let target = target();
    let url = format!("grpc://{}/brunt.Target/Unary", target.addr());
    let terms = |allow: &str| OwnerTerms { allow: vec![allow.parse().unwrap()], ..OwnerTerms::default() };
    assert!(lent(&["-c", "1", &url], terms("10.0.0.0/8")).unwrap_err().contains("--allow"));
    assert_eq!(target.stats().accepted, 0);
    let (socket, other) = ("/nowhere/docker.sock", "http://127.0.0.1:1/");
    assert!(lent(&["--unix-socket", socket, other], terms("127.0.0.1")).unwrap_err().contains("Unix"));
    let mapped = ["--connect-to", "a.test:80:127.0.0.1:1", "http://a.test/"];
    assert!(lent(&mapped, terms("a.test")).unwrap_err().contains("127.0.0.1"));
    assert_eq!(lent(&mapped, terms("127.0.0.1")), Ok(()));
}
