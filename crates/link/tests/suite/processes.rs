//! The link as brunt starts it, killed and stopped: the other side notices, and nothing is lost.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_messenger::{FrameId, LinkedMessenger, Messenger, Presence, ReplaceableMessenger};

use crate::fleets::{ZenohFleet, bridged};
use crate::networks::{BUSY, NOTICED, hand_in, noticed_and_caught_up};
use crate::{Attendance, KeptFrames, SOON, id, until};

/// A process of the link with the messenger that reaches it; killed when dropped.
pub struct LinkProcess {
    child: Mutex<Child>,
    pub messenger: Arc<ReplaceableMessenger>,
    /// What it says to the owner of an agent, with the moment of each line.
    said: Arc<Mutex<Vec<(String, Instant)>>>,
}

impl LinkProcess {
    fn new(child: Child, stream: UnixStream) -> LinkProcess {
        let link = LinkProcess { child: Mutex::new(child), messenger: Arc::default(), said: Arc::default() };
        link.listen();
        link.connect(stream);
        link
    }

    fn listen(&self) {
        let Some(out) = self.child.lock().unwrap().stderr.take() else { return };
        let said = Arc::clone(&self.said);
        std::thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.for_each(|line| said.lock().unwrap().push((line, Instant::now())));
        });
    }

    fn connect(&self, stream: UnixStream) {
        let linked = LinkedMessenger::connect(stream).unwrap();
        self.messenger.replace(|| Ok::<_, ()>(Arc::new(linked) as Arc<dyn Messenger>)).unwrap();
    }

    /// Starts it again, as brunt does when its link has ended.
    fn again(&self, (child, stream): (Child, UnixStream)) {
        *self.child.lock().unwrap() = child;
        self.listen();
        self.connect(stream);
    }

    fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn signal(&self, name: &str) {
        let id = self.child.lock().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits until it has ended by itself, and returns its exit code.
    #[track_caller]
    fn until_ended(&self) -> Option<i32> {
        until("it ends", || self.child.lock().unwrap().try_wait().unwrap().is_some());
        self.child.lock().unwrap().wait().unwrap().code()
    }

    /// Returns the most memory that it has had, in kB.
    pub fn peak_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.lock().unwrap().id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits until it says something since a moment; returns how long that took.
    #[track_caller]
    fn until_said(&self, what: &str, since: Instant) -> Duration {
        let find = || {
            let said = self.said.lock().unwrap();
            said.iter().find(|(line, at)| line.contains(what) && *at >= since).map(|(_, at)| at.duration_since(since))
        };
        until(what, || find().is_some());
        find().unwrap()
    }
}

impl Drop for LinkProcess {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = (child.kill(), child.wait());
    }
}

fn link(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt-link"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn coordinator(directory: &Path, listen: &str) -> (Child, UnixStream) {
    coordinator_with(directory, listen, &[])
}

fn coordinator_with(directory: &Path, listen: &str, options: &[&str]) -> (Child, UnixStream) {
    let path = directory.display().to_string();
    let mut command = link(&["coordinator", "--dir", &path, "--listen", listen, "--linger", "60"]);
    let mut child = command.args(options).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, UnixStream::connect(directory.join("link.sock")).unwrap())
}

fn agent(fleet: &ZenohFleet, name: &str) -> (Child, UnixStream) {
    agent_with(fleet, name, &[])
}

fn agent_with(fleet: &ZenohFleet, name: &str, options: &[&str]) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = link(&["agent", "--join", &fleet.address]);
    command.args(options);
    command.env("BRUNT_LINK_IDENTITY", fleet.identity_text(name)).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
    (command.spawn().unwrap(), ours)
}

/// What is done to a process of the link, and how it is undone.
#[derive(Clone, Copy, Debug)]
enum Misfortune {
    Killed,
    Stopped,
}

/// The processes of a fleet: its coordinator's link and an agent's, which has appeared.
pub struct Processes {
    pub fleet: ZenohFleet,
    pub coordinator: LinkProcess,
    pub agent: LinkProcess,
}

impl Processes {
    pub fn start() -> Processes {
        let fleet = ZenohFleet::make(&["a", "b"]);
        let (child, stream) = coordinator(&fleet.path(), &fleet.address);
        let coordinator = LinkProcess::new(child, stream);
        let (child, stream) = agent(&fleet, "a");
        Processes { fleet, coordinator, agent: LinkProcess::new(child, stream) }
    }
}

impl Misfortune {
    fn strike(self, link: &LinkProcess) {
        match self {
            Misfortune::Killed => link.kill(),
            Misfortune::Stopped => link.signal("STOP"),
        }
    }

    fn undo(self, link: &LinkProcess, start_again: impl Fn() -> (Child, UnixStream)) {
        match self {
            Misfortune::Killed => link.again(start_again()),
            Misfortune::Stopped => link.signal("CONT"),
        }
    }
}

fn of_an_agent(misfortune: Misfortune) {
    let Processes { fleet, coordinator, agent: lent } = Processes::start();
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*coordinator.messenger), attendance.watch(&*coordinator.messenger));
    let _here = lent.messenger.appear(&Presence::draw("a")).unwrap();
    let gone = |since| attendance.until("a", false, since);
    let (strike, undo) = (|| misfortune.strike(&lent), || misfortune.undo(&lent, || agent(&fleet, "a")));
    let what = format!("{misfortune:?}: an agent's link");
    noticed_and_caught_up(&what, &*lent.messenger, &kept, &gone, (&strike, &undo));
    until("it is there again", || attendance.said().last() == Some(&("a".to_owned(), true)));
}

fn of_the_coordinator(misfortune: Misfortune) {
    let Processes { fleet, coordinator: master, agent: lent } = Processes::start();
    let (kept, attendance) = (KeptFrames::default(), Attendance::default());
    let _held = (kept.receive(&*master.messenger), attendance.watch(&*master.messenger));
    let _here = lent.messenger.appear(&Presence::draw("a")).unwrap();
    let lost = |since: Instant| {
        let ask = || lent.messenger.ask("agent/b", &[0], Duration::from_millis(100));
        until("it is noticed", || ask().is_err_and(|why| why.0.contains("being started")));
        since.elapsed()
    };
    let start_again = || coordinator(&fleet.path(), &fleet.address);
    let (strike, undo) = (|| misfortune.strike(&master), || misfortune.undo(&master, start_again));
    let what = format!("{misfortune:?}: the coordinator's link");
    noticed_and_caught_up(&what, &*lent.messenger, &kept, &lost, (&strike, &undo));
    until("it is there again", || attendance.said().last() == Some(&("a".to_owned(), true)));
}

#[test]
fn an_agents_link_that_is_killed_is_noticed_and_its_successor_hands_in_everything() {
    of_an_agent(Misfortune::Killed);
}

#[test]
fn an_agents_link_that_is_stopped_is_noticed_and_hands_in_everything_later() {
    of_an_agent(Misfortune::Stopped);
}

#[test]
fn a_coordinators_link_that_is_killed_is_noticed_and_its_successor_gets_everything() {
    of_the_coordinator(Misfortune::Killed);
}

#[test]
fn a_coordinators_link_that_is_stopped_is_noticed_and_gets_everything_later() {
    of_the_coordinator(Misfortune::Stopped);
}

#[test]
fn links_that_stood_still_end_by_themselves_and_their_successors_get_everything() {
    let fleet = ZenohFleet::make(&["a"]);
    let bound = ["--standstill", "3"];
    let (child, stream) = coordinator_with(&fleet.path(), &fleet.address, &bound);
    let master = LinkProcess::new(child, stream);
    let (child, stream) = agent_with(&fleet, "a", &bound);
    let lent = LinkProcess::new(child, stream);
    let kept = KeptFrames::default();
    let _held = kept.receive(&*master.messenger);
    let restart = |link: &LinkProcess, start_again: &dyn Fn() -> (Child, UnixStream)| {
        let went_on = Instant::now();
        link.signal("CONT");
        assert_eq!(link.until_ended(), Some(3));
        link.until_said("stood still for", went_on);
        link.again(start_again());
    };
    let number = hand_in(&*lent.messenger, "a", |_| {
        until("the first frames", || kept.of("a").len() > 9);
        [&master, &lent].iter().for_each(|link| link.signal("STOP"));
        std::thread::sleep(Duration::from_millis(5000));
        restart(&master, &|| coordinator(&fleet.path(), &fleet.address));
        restart(&lent, &|| agent(&fleet, "a"));
        let before = kept.of("a").len();
        until("it hands in again", || kept.of("a").len() > before + 9);
    });
    kept.assert_whole("a", number);
}

#[test]
fn an_agents_owner_is_told_in_their_language() {
    let (fleet, other) = (ZenohFleet::make(&["a"]), ZenohFleet::make(&["a"]));
    let _coordinator = fleet.coordinator();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = link(&["agent", "--join", &fleet.address]);
    command.env("BRUNT_LINK_IDENTITY", other.identity_text("a")).env("BRUNT_LINK_LANGUAGE", "zh");
    let link = LinkProcess::new(command.stdin(OwnedFd::from(theirs)).spawn().unwrap(), ours);
    link.until_said("未连接：", Instant::now() - SOON);
    assert!(link.said.lock().unwrap()[0].0.ends_with("；将继续尝试"));
}

#[test]
fn a_brunt_that_stands_still_at_its_link_holds_up_nobody_else() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let shared = fleet.coordinator();
    let (still, awake) = (bridged(Arc::clone(&shared)), bridged(shared));
    let (reached, going_on) = channel();
    let hold = Arc::new(Mutex::new(()));
    let standing = hold.lock().unwrap();
    let kept: Vec<_> = (0..8)
        .map(|run| {
            let (hold, reached) = (Arc::clone(&hold), reached.clone());
            let keep = move |_: &FrameId, _: &[u8]| {
                let _ = reached.send(());
                drop(hold.lock());
                true
            };
            still.receive(&run.to_string(), Box::new(keep)).unwrap()
        })
        .collect();
    let (unread, attendance) = (Attendance::default(), Attendance::default());
    let _watches = (unread.watch(&*still), attendance.watch(&*awake));
    let agents = ["a", "b"].map(|name| bridged(fleet.agent(name)));
    let began = Instant::now();
    let _here = agents[0].appear(&Presence::draw("a")).unwrap();
    attendance.until("a", true, began);
    std::thread::scope(|scope| {
        // More than what fits between the two: the link waits for the first brunt to read.
        for run in 0..8 {
            let id = FrameId { run: run.to_string(), ..id("a", 0) };
            scope.spawn(|| agents[0].deliver(&{ id }, &vec![0; 512 << 10], NOTICED + BUSY));
        }
        going_on.recv_timeout(SOON).unwrap();
        for _ in 0..3 {
            let came = Instant::now();
            let there = agents[1].appear(&Presence::draw("b")).unwrap();
            assert!(attendance.until("b", true, came) <= NOTICED, "it waits for the other");
            drop(there);
            attendance.until("b", false, came);
        }
    });
    assert!(!attendance.said().contains(&("a".to_owned(), false)), "its lease was held up");
    drop((standing, kept));
}
