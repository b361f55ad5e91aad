//! Tests of declared framing against third-party servers: the four worked examples of the guide, and each server's own
//! counts.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

use brunt_tests::daemon::{Daemon, free_datagram_port};
use brunt_tests::guide::from_guide;
use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::{TestReport, brunt};
use rustix::process::Signal;

#[track_caller]
fn run(arguments: &[String]) -> TestReport {
    report(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).with_code(0)
}

/// Number of pre-flight requests, which the server counts as well.
const PROBE: u64 = 1;

#[track_caller]
fn all_answered(report: &TestReport, count: u64) {
    assert_eq!(report.requests(), [count, count, 0, 0], "{report}");
}

fn memcached() -> Option<(Daemon, u16)> {
    let port = free_port();
    let args = ["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "nobody"];
    let server = Daemon::start("memcached", &args, &[])?;
    Some((server.up(|_| TcpStream::connect(("127.0.0.1", port)).is_ok()), port))
}

/// Returns memcached's reply to a line.
fn asked(port: u16, line: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(format!("{line}\r\nquit\r\n").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

fn stat(port: u16, name: &str) -> u64 {
    let stats = asked(port, "stats");
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {stats}")).trim().parse().expect("a number")
}

#[test]
fn memcached_counts_what_we_count() {
    let Some((_server, port)) = memcached() else { return };
    let [set, get] = &from_guide("tcp://127.0.0.1:11211", port)[..] else { panic!("two commands") };
    all_answered(&run(set), 2000);
    assert_eq!(stat(port, "cmd_set"), 2000 + PROBE);
    assert_eq!(stat(port, "curr_items"), 100);
    all_answered(&run(get), 3000);
    assert_eq!(stat(port, "get_hits"), 3000 + PROBE);
}

#[test]
fn a_miss_is_a_failure_where_a_value_is_expected() {
    let Some((_server, port)) = memcached() else { return };
    let url = format!("tcp://127.0.0.1:{port}");
    let report = report(&[
        "-n",
        "50",
        "-c",
        "2",
        &url,
        "--send",
        r"get nothing\r\n",
        "--until",
        r"END\r\n",
        "--expect-bytes",
        "VALUE",
    ]);
    assert_eq!(report.requests(), [50, 0, 50, 0], "{report}");
    assert_eq!(stat(port, "get_misses"), 50 + PROBE);
}

/// Uses frames with a sequence number of 4 bytes, a kind, a status, and a length of 2 bytes; replies come in another
/// order.
#[test]
fn a_length_prefixed_protocol_whose_answers_overtake_each_other() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/servers/frames.py");
    for order in ["straight", "shuffled"] {
        let Some(server) = Daemon::start("python3", &[script, order], &[]) else { return };
        let server = server.up(|server| server.text("said").ends_with('\n'));
        let port = server.text("said").trim().parse().expect("a port");
        all_answered(&run(&from_guide("tcp://127.0.0.1:7000", port)[0]), 2000);
        let url = format!("tcp://127.0.0.1:{port}");
        let count = brunt(["--debug", &url, "--send-hex", "00000000 02 00 0000", "--until-length", "at 6, 2 bytes"]);
        count.containing(&(2000 + PROBE).to_string());
    }
}

#[test]
fn dns_over_udp_answered_by_dnsmasq() {
    let port = free_datagram_port();
    let listen = port.to_string();
    let args = [
        "--no-daemon",
        "--no-resolv",
        "--no-hosts",
        "--listen-address=127.0.0.1",
        "--bind-interfaces",
        "--port",
        &listen,
        "--address=/test/127.1.2.3",
        "--conf-file=/dev/null",
        "--pid-file=",
        "--user=root",
    ];
    let Some(server) = Daemon::start("dnsmasq", &args, &[]) else { return };
    let server = server.up(|server| server.text("said").contains("cleared cache"));
    all_answered(&run(&from_guide("udp://127.0.0.1:5353", port)[0]), 2000);
    server.signal(Signal::USR1);
    brunt_tests::program::until("dnsmasq tells its counts", || server.text("said").contains("answered locally"));
    let said = server.text("said");
    let count = said.rsplit("answered locally ").next().and_then(|rest| rest.lines().next()).expect("a count");
    assert_eq!(count.trim().parse::<u64>().expect("a number"), 2000 + PROBE, "{said}");
}

const RADIUS: &str = include_str!("../../servers/radiusd.conf");

/// Sends an Access-Request with the password hidden (RFC 2865 5.2) and signed (RFC 3579 3.2); the server drops unsigned
/// ones.
#[test]
fn radius_answered_by_freeradius() {
    let port = free_datagram_port();
    let configuration = RADIUS.replace("{port}", &port.to_string());
    let Some(server) = Daemon::start("freeradius", &["-d", "{dir}", "-f"], &[("radiusd.conf", &configuration)]) else {
        return;
    };
    let server = server.up(|server| server.text("log").contains("Ready to process requests"));
    let arguments = &from_guide("udp://127.0.0.1:1812", port)[0];
    all_answered(&run(arguments), 500);
    // The server writes its log shortly after its reply.
    let logged = |what: &str| server.text("log").matches(what).count() as u64;
    brunt_tests::program::until("freeradius has logged the logins", || logged("Login OK") >= 500 + PROBE);
    assert_eq!(logged("Login OK"), 500 + PROBE);
    let wrong: Vec<String> = arguments.iter().map(|word| word.replace("hello", "wrong").replace("500", "40")).collect();
    let refused = report(&wrong.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(refused.requests(), [40, 0, 40, 0], "{refused}");
    assert_eq!(refused.count("status.3"), 40, "{refused}");
    brunt_tests::program::until("freeradius has logged the refusals", || logged("Login incorrect") >= 40 + PROBE);
    assert_eq!(logged("Login incorrect"), 40 + PROBE);
}

/// Uses a server that leaves out every fifth datagram, answers another twice, and sends an unsolicited one.
#[test]
fn losses_and_strays_are_counted() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let url = format!("udp://{}", server.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((n, from)) = server.recv_from(&mut buffer) {
            let number = u32::from_be_bytes(buffer[..4].try_into().expect("four bytes"));
            let copies = match number % 5 {
                1 => 0,
                2 => 2,
                _ => 1,
            };
            for _ in 0..copies {
                let _ = server.send_to(&buffer[..n], from);
            }
        }
    });
    let line = ["-n", "50", "-c", "1", "-t", "50ms", &url, "--send", "{counter u32}", "--match", "at 0, 4 bytes"];
    let report = report(&line);
    assert_eq!(report.requests(), [50, 40, 10, 0], "{report}");
    assert_eq!(report.failures()["timeout"], 10, "{report}");
    assert_eq!(report.count("unsolicited"), 10, "{report}");
    assert_eq!(report.count("connections.opened"), 1, "the socket lives on: {report}");
}

#[test]
fn a_port_nobody_listens_at_is_refused_at_once() {
    let url = format!("udp://127.0.0.1:{}", free_datagram_port());
    brunt(["-n", "10", &url, "--send", "x"]).with_code(20).containing("refused");
}

/// Sends without waiting for replies, so that the refusal is the only sign of failure: few or many datagrams, with or
/// without a rate.
#[test]
fn one_way_datagrams_to_a_port_nobody_listens_at_are_not_trusted() {
    let url = format!("udp://127.0.0.1:{}", free_datagram_port());
    for load in [&["-n", "1", "-c", "1"][..], &["-n", "200", "-c", "3"], &["-r", "200/s", "-d", "500ms"]] {
        let line: Vec<&str> = load.iter().copied().chain([&*url, "--send", "x", "--no-answer"]).collect();
        let report = report(&line).with_code(20);
        assert!(report.count("connections.refused") > 0, "{report}");
        assert!(report.to_string().contains("unheard"), "{report}");
        brunt(line).with_code(20).containing("ICMP port unreachable");
    }
}

#[test]
fn one_way_datagrams_that_somebody_hears_are_trusted() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let url = format!("udp://{}", server.local_addr().expect("an address"));
    let report = report(&["-n", "50", "-c", "2", &url, "--send", "x", "--no-answer"]).with_code(0);
    assert_eq!((report.requests(), report.count("connections.refused")), ([50, 50, 0, 0], 0), "{report}");
}

/// Returns the sum of the bytes before the checksum field, modulo 256.
fn fix_sum(bytes: &[u8]) -> String {
    format!("{:03}", bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)))
}

/// Parses one FIX message with a valid length and checksum. Returns its MsgType and the remaining bytes.
fn fix_message(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let body = bytes.windows(4).position(|w| w == b"\x0135=")? + 1;
    let sum = bytes.windows(4).position(|w| w == b"\x0110=")? + 1;
    let whole = bytes.get(..sum + 7)?;
    let length = format!("8=FIX.4.4\x019={}\x01", sum - body);
    let right = whole[..body] == *length.as_bytes() && whole[sum + 3..sum + 6] == *fix_sum(&whole[..sum]).as_bytes();
    right.then(|| (whole[body + 3], &bytes[sum + 7..]))
}

/// Answers each TestRequest with a Heartbeat, and closes on a message with a wrong length or checksum.
fn fix_acceptor(mut stream: TcpStream) -> u64 {
    let (mut kept, mut answered) = (Vec::new(), 0);
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        kept.extend_from_slice(&piece[..count]);
        if !kept.windows(4).any(|w| w == b"\x0110=") || !kept.ends_with(b"\x01") {
            continue;
        }
        let Some((b'1', b"")) = fix_message(&kept) else { return answered };
        kept.clear();
        let message = "8=FIX.4.4\x019=23\x0135=0\x0149=YOU\x0156=ME\x0134=2\x01";
        let message = format!("{message}10={}\x01", fix_sum(message.as_bytes()));
        if stream.write_all(message.as_bytes()).is_err() {
            return answered;
        }
        answered += 1;
    }
    answered
}

#[test]
fn an_acceptor_of_fix_finds_lengths_and_checksums_right() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let acceptor = std::thread::spawn(move || {
        // One connection for the pre-flight request, and one for each of the two users.
        let served: Vec<_> = listener
            .incoming()
            .take(3)
            .map(|s| std::thread::spawn(|| fix_acceptor(s.expect("a connection"))))
            .collect();
        served.into_iter().map(|served| served.join().expect("no panic")).sum::<u64>()
    });
    let [command] = &from_guide("tcp://127.0.0.1:9878", port)[..] else { panic!("one command") };
    all_answered(&run(command), 500);
    assert_eq!(acceptor.join().expect("no panic"), 500 + PROBE);
}
