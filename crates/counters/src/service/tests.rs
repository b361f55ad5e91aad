use std::net::TcpListener;

use super::*;
use crate::Counters;
use crate::fake_host::FakeHost;
use crate::listener::tests::socket;
use crate::process::tests::{UNITS, process, waited};
use crate::sock_diag::TcpState;

/// A process id that no real host has.
const PID: u32 = 5_000_000;

/// A simulated host with a service at 127.0.0.1:80.
struct ServiceScene {
    fake: FakeHost,
    source: CounterSource,
    service: Service,
    now: Nanos,
}

impl ServiceScene {
    fn new(sockets: &[(u32, (u32, u32))]) -> ServiceScene {
        let fake = FakeHost::new(&[("proc/self/stat", "")]);
        let mut source = fake.source();
        source.sockets =
            sockets.iter().map(|(inode, full)| socket("0.0.0.0:80", TcpState::Listen, *inode, *full)).collect();
        let service = Service::listening_at(&HostReader::new(clone(&source)), "127.0.0.1:80".parse().unwrap()).unwrap();
        ServiceScene { fake, source, service, now: Nanos::from_secs(100) }
    }

    /// Adds a process, with or without a socket.
    fn process(&self, pid: u32, parent: u32, ticks: u64, inode: Option<u32>) {
        process(&self.fake, pid, parent, (ticks, 10), &format!("{} {} {}\n", ticks * 10_000_000, ticks, ticks));
        if let Some(inode) = inode {
            self.fake.link(&format!("proc/{pid}/fd/3"), &format!("socket:[{inode}]"));
        }
    }

    /// Lets a process run.
    fn works(&self, pid: u32, parent: u32, ticks: u64) {
        self.process(pid, parent, ticks, None);
    }

    /// Ends a process. The kernel returns an error for its files; here they are empty.
    fn ends(&self, pid: u32) {
        self.fake.write(&format!("proc/{pid}/stat"), "");
        self.fake.write(&format!("proc/{pid}/task/{pid}/schedstat"), "");
        self.fake.remove(&format!("proc/{pid}"));
    }

    fn after_secs(&mut self, seconds: u64) -> Counters {
        let mut sink = CounterSink::default();
        self.now = self.now.saturating_add(Nanos::from_secs(seconds));
        self.service.report(&self.source, UNITS, self.now, &mut Vec::new(), &mut sink);
        sink.take(self.now)
    }
}

fn clone(source: &CounterSource) -> CounterSource {
    CounterSource { sockets: source.sockets.clone(), ..CounterSource::under(&source.root) }
}

fn pids(told: &Counters) -> Vec<u32> {
    let of = |name: &str| name.strip_prefix("service.")?.strip_suffix(".rss")?.parse::<u32>().ok();
    told.values.keys().filter_map(|name| of(name)).map(|pid| pid - PID).collect()
}

#[test]
fn a_service_is_told_with_its_queue_its_processes_and_their_sums() {
    let mut scene = ServiceScene::new(&[(77, (5, 128))]);
    scene.process(PID + 1, 1, 10, Some(77));
    scene.process(PID + 2, PID + 1, 30, Some(77));
    scene.process(PID + 3, PID + 1, 20, None);
    scene.process(PID + 4, 1, 99, None);
    scene.source.sockets.push(socket("127.0.0.1:80", TcpState::Established, 0, (0, 0)));
    let told = scene.after_secs(0);
    assert_eq!(pids(&told), [1, 2, 3]);
    for (name, value) in [
        ("listener.0.0.0.0:80.queue", 5),
        ("listener.0.0.0.0:80.limit", 128),
        ("service.connections", 1),
        ("service.5000002.cpu", 300_000_000),
        ("service.5000002.wait", 30),
        ("service.5000002.threads", 1),
        ("service.5000002.fds", 1),
        ("service.5000002.fd_limit", 1024),
        ("service.5000002.rss", 40_960),
        ("service.5000002.swap", 3072),
        ("service.5000002.voluntary", 30),
        ("service.5000002.involuntary", 1),
        ("service.5000002.busiest.cpu", 300_000_000),
        ("service.5000002.busiest.tid", u64::from(PID + 2)),
        ("service.all.processes", 3),
        ("service.all.cpu", 600_000_000),
        ("service.all.wait", 60),
        ("service.all.rss", 122_880),
        ("service.all.busiest.cpu", 300_000_000),
    ] {
        assert_eq!(told.get(name), Some(value), "{name}");
    }
    // The descriptors of the third cannot be read, so their sum is unknown.
    assert_eq!((told.get("service.5000003.fds"), told.get("service.all.fds")), (None, None));
    assert_eq!(told.unobservable, ["service.5000003.fds: no such file", "service.cgroup: no such file"]);
    assert_eq!(told.label("service.all.busiest.comm"), Some("srv 5000002"));
    scene.works(PID + 3, PID + 1, 60);
    let then = scene.after_secs(1);
    assert_eq!(
        (then.get("service.all.cpu"), then.get("service.all.busiest.cpu")),
        (Some(1_000_000_000), Some(700_000_000))
    );
    assert_eq!(then.get("service.all.busiest.tid"), Some(u64::from(PID + 3)));
}

#[test]
fn processes_that_end_stay_in_the_sums_and_their_successors_are_found() {
    let mut scene = ServiceScene::new(&[(77, (0, 128))]);
    scene.process(PID + 1, 1, 10, Some(77));
    scene.process(PID + 2, PID + 1, 30, None);
    assert_eq!(pids(&scene.after_secs(0)), [1, 2]);
    scene.ends(PID + 2);
    let told = scene.after_secs(1);
    assert_eq!((pids(&told), told.get("service.all.cpu")), (vec![1], Some(400_000_000)));
    // Another child starts; it is found when processes are listed next.
    scene.process(PID + 3, PID + 1, 5, None);
    let told = scene.after_secs(60);
    assert_eq!((pids(&told), told.get("service.all.cpu")), (vec![1, 3], Some(450_000_000)));
    // The service is restarted with another socket.
    scene.ends(PID + 1);
    scene.ends(PID + 3);
    scene.source.sockets.clear();
    let told = scene.after_secs(1);
    assert_eq!((pids(&told), told.get("service.all.cpu")), (vec![], None));
    assert_eq!(told.unobservable, ["listener.0.0.0.0:80: nothing listens"]);
    scene.source.sockets = vec![socket("127.0.0.1:80", TcpState::Listen, 99, (1, 7))];
    scene.process(PID + 9, 1, 1, Some(99));
    scene.after_secs(1);
    let told = scene.after_secs(60);
    assert_eq!((pids(&told), told.get("listener.127.0.0.1:80.limit")), (vec![9], Some(7)));
    assert_eq!(told.get("service.all.cpu"), Some(460_000_000));
}

#[test]
fn what_children_did_that_came_and_went_counts_once() {
    let mut scene = ServiceScene::new(&[(77, (0, 128))]);
    scene.fake.write("proc/uptime", "10.00 5.00\n");
    scene.process(PID + 1, 1, 10, Some(77));
    assert_eq!(scene.after_secs(0).get("service.all.cpu"), Some(100_000_000));
    // A child is found a second later, without listing all processes. All its time counts, since it was started after
    // the first reading.
    let mut ticks = 10;
    let mut works = |scene: &ServiceScene, reaped| {
        ticks += 1;
        scene.works(PID + 1, 1, ticks);
        waited(&scene.fake, PID + 1, 1, (10, 10), (1, reaped, 5));
    };
    works(&scene, 0);
    scene.after_secs(1);
    scene.fake.write(&format!("proc/{0}/task/{0}/children", PID + 1), &format!("{} ", PID + 2));
    works(&scene, 0);
    scene.works(PID + 2, PID + 1, 30);
    waited(&scene.fake, PID + 2, PID + 1, (30, 10), (1, 0, 1200));
    scene.after_secs(1);
    let told = scene.after_secs(1);
    assert_eq!((pids(&told), told.get("service.all.cpu")), (vec![1, 2], Some(400_000_000)));
    // It ran for 5 more ticks before it ended; other children that were never seen ran for 7.
    scene.ends(PID + 2);
    scene.fake.write(&format!("proc/{0}/task/{0}/children", PID + 1), "");
    works(&scene, 42);
    assert_eq!(scene.after_secs(1).get("service.all.cpu"), Some(520_000_000));
    // Another child is waited for only after it has been found missing.
    scene.fake.write(&format!("proc/{0}/task/{0}/children", PID + 1), &format!("{} ", PID + 3));
    works(&scene, 42);
    scene.works(PID + 3, PID + 1, 20);
    waited(&scene.fake, PID + 3, PID + 1, (20, 10), (1, 0, 1300));
    scene.after_secs(1);
    assert_eq!(scene.after_secs(1).get("service.all.cpu"), Some(720_000_000));
    scene.ends(PID + 3);
    works(&scene, 42);
    assert_eq!(scene.after_secs(1).get("service.all.cpu"), Some(720_000_000));
    works(&scene, 64);
    assert_eq!(scene.after_secs(1).get("service.all.cpu"), Some(740_000_000));
}

#[test]
fn what_a_process_did_before_it_joined_is_not_counted() {
    let mut scene = ServiceScene::new(&[(77, (0, 128))]);
    scene.fake.write("proc/uptime", "10.00 5.00\n");
    scene.process(PID + 1, 1, 10, Some(77));
    assert_eq!(scene.after_secs(0).get("service.all.cpu"), Some(100_000_000));
    // It had run for a long time before it began to listen at the same address.
    scene.process(PID + 2, 1, 5000, Some(78));
    scene.source.sockets.push(socket("0.0.0.0:80", TcpState::Listen, 78, (0, 0)));
    let told = scene.after_secs(60);
    assert_eq!((pids(&told), told.get("service.all.cpu")), (vec![1, 2], Some(100_000_000)));
    scene.works(PID + 2, 1, 5003);
    assert_eq!(scene.after_secs(1).get("service.all.cpu"), Some(130_000_000));
}

#[test]
fn a_process_that_is_named_is_the_service_whoever_holds_the_socket() {
    let mut scene = ServiceScene::new(&[(77, (5, 128))]);
    scene.process(PID + 1, 1, 10, Some(77));
    scene.process(PID + 2, 1, 30, None);
    scene.process(PID + 3, PID + 2, 20, None);
    let host = HostReader::new(clone(&scene.source));
    scene.service = Service::of_process(&host, PID + 2, "127.0.0.1:80".parse().ok()).unwrap();
    let told = scene.after_secs(0);
    assert_eq!((pids(&told), told.get("listener.0.0.0.0:80.queue")), (vec![2, 3], Some(5)));
    scene.service = Service::of_process(&host, PID + 2, None).unwrap();
    let told = scene.after_secs(0);
    assert_eq!((pids(&told), told.get("listener.0.0.0.0:80.queue")), (vec![2, 3], None));
    scene.ends(PID + 2);
    scene.ends(PID + 3);
    scene.after_secs(1);
    let told = scene.after_secs(60);
    assert_eq!((pids(&told), told.unobservable), (vec![], vec!["service: the process has ended".to_owned()]));
    assert_eq!(Service::of_process(&host, PID + 9, None).err(), Some("there is no such process"));
}

#[test]
fn upstreams_on_the_same_host_are_the_service_and_others_are_named() {
    let mut scene = ServiceScene::new(&[(77, (0, 128))]);
    scene.source.sockets.push(socket("127.0.0.1:9000", TcpState::Listen, 90, (0, 128)));
    for (pid, name) in [(1, "nginx"), (2, "php-fpm: pool"), (3, "php-fpm: pool"), (4, "ffmpeg")] {
        scene.fake.write(&format!("proc/{}/comm", PID + pid), &format!("{name}\n"));
    }
    scene.fake.write("proc/uptime", "100.00 1.00\n");
    scene.process(PID + 1, 1, 10, Some(77));
    scene.process(PID + 2, 1, 10, Some(90));
    scene.works(PID + 3, PID + 2, 10);
    scene.works(PID + 4, 1, 10);
    assert_eq!(pids(&scene.after_secs(0)), [1], "it is connected to nothing yet");
    scene.fake.link(&format!("proc/{}/fd/9", PID + 1), "socket:[50]");
    let to_php = socket("127.0.0.1:40000", TcpState::Established, 50, (0, 0));
    scene.source.sockets.push(crate::sock_diag::Socket { peer: "127.0.0.1:9000".parse().unwrap(), ..to_php });
    scene.after_secs(60);
    for (pid, parent, ticks) in [(1, 1, 20), (2, 1, 30), (3, PID + 2, 90), (4, 1, 70)] {
        scene.works(PID + pid, parent, ticks);
    }
    let told = scene.after_secs(60);
    assert_eq!(pids(&told), [1, 2, 3]);
    let programs = |of: &str| {
        let name = |n: usize| told.label(&format!("{of}.{n}.comm"));
        let cpu = |n: usize| told.get(&format!("{of}.{n}.cpu"));
        (0..4).filter_map(|n| Some((name(n)?.to_owned(), cpu(n)? / 1_000_000))).collect::<Vec<_>>()
    };
    assert_eq!(programs("service.program"), [("nginx".to_owned(), 200), ("php-fpm: pool".to_owned(), 1_000)]);
    assert_eq!(programs("others"), [("srv".to_owned(), 600)], "by the name in its stat");
    assert_eq!(told.get("service.all.cpu"), Some(1_200_000_000));
}

#[test]
fn a_service_is_found_by_its_port_alone() {
    let scene = ServiceScene::new(&[(77, (5, 128))]);
    let host = HostReader::new(clone(&scene.source));
    assert!(Service::at_port(&host, 80).is_ok());
    assert_eq!(Service::at_port(&host, 81).err(), Some("nothing listens there"));
}

#[test]
fn of_very_many_processes_some_are_told_and_all_summed() {
    let mut scene = ServiceScene::new(&[(77, (0, 128))]);
    scene.process(PID + 30, 1, 1, Some(77));
    (0..30).for_each(|n| scene.process(PID + n, PID + 30, 1, None));
    let told = scene.after_secs(0);
    assert_eq!(pids(&told), (0..15).chain([30]).collect::<Vec<_>>());
    assert_eq!((told.get("service.all.processes"), told.get("service.all.cpu")), (Some(31), Some(310_000_000)));
}

#[test]
fn a_service_of_somebody_else_has_its_queue_and_says_what_is_hidden() {
    for (denied, said) in [
        (vec!["/proc/5000001/fd"], "service: the listening process belongs to another user (permission)"),
        (vec![], "service: no visible process holds the socket (other namespace)"),
    ] {
        let mut scene = ServiceScene::new(&[(77, (5, 128))]);
        scene.process(PID + 1, 1, 10, Some(if denied.is_empty() { 78 } else { 77 }));
        scene.source.denied = denied;
        let told = scene.after_secs(0);
        assert_eq!((pids(&told), told.get("listener.0.0.0.0:80.queue")), (vec![], Some(5)));
        assert_eq!(told.unobservable, [said]);
    }
}

#[test]
fn where_nobody_listens_or_elsewhere_there_is_no_service() {
    let scene = ServiceScene::new(&[(77, (0, 1))]);
    let host = HostReader::new(clone(&scene.source));
    for (target, found) in
        [("127.0.0.1:80", true), ("127.0.0.1:81", false), ("192.0.2.1:80", false), ("[::1]:80", false)]
    {
        assert_eq!(Service::listening_at(&host, target.parse().unwrap()).is_some(), found, "{target}");
    }
}

#[test]
fn a_listener_of_this_process_is_found_on_this_host() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut host = HostReader::new(CounterSource::here());
    let service = Service::listening_at(&host, address).unwrap();
    host.watch(service);
    let told = host.read();
    let me = std::process::id();
    for name in [format!("service.{me}.cpu"), format!("service.{me}.fds"), format!("listener.{address}.limit")] {
        assert!(told.get(&name).is_some(), "{name}: {told:?}");
    }
    assert_eq!((told.get("service.all.processes"), told.get("service.connections")), (Some(1), Some(0)));
    drop(listener);
    let told = host.read();
    assert_eq!(told.get(&format!("listener.{address}.limit")), None);
}
