use std::net::{TcpListener, TcpStream};

use proptest::prelude::*;

use super::*;
use crate::CounterSource;

fn all(bytes: &[u8]) -> (Vec<Socket>, io::Result<AnswerProgress>) {
    let mut found = Vec::new();
    let told = answers(bytes, 1, socket, &mut |socket| found.push(socket));
    (found, told)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// Answer of Linux 6.18: a listener at 127.0.0.1 with a backlog of 7, 3 of them used.
const LISTENING: &str = "a4000000140002000100000049040000 020a0000cc8100007f0000010000000000000000000000000000000000000000
    0000000000000000000000000100000000000000000000000300000007000000000000004b031500 050008000000000008000f0000000000
    0c00150001000000000000000600160052000000 28000700000000000000020000000000004000000000000000000000000000000000000000000000";
/// A listener at [::] with a backlog of 511.
const LISTENING_V6: &str =
    "ac0000001400020001000000490400000a0a0000db2900000000000000000000000000000000000000000000000000000000000000000000
    0000000002000000000000000000000000000000ff01000000000000ac031500050008000000000005000b000000000008000f0000000000
    0c00150001000000000000000600160012000000280007000000000000000200000000000040000000000000000000000000000000000000
    00000000";
/// The end of the answer.
const NO_MORE: &str = "1400000003000200010000004904000000000000";
/// A connection to 127.0.0.1:52353.
const CONNECTION: &str = "7c000000140002000100000049040000 02010000cc81d8307f0000010000000000000000000000007f0000010000
    0000000000000000000000000000030000000000000000000000000000000000000000000000000000000500080000000000 08000f0000000000
    0c0015000100000000000000 0600160052000000";

#[test]
fn what_the_kernel_answered_is_understood() {
    let bytes = [hex(LISTENING), hex(LISTENING_V6), hex(CONNECTION), hex(NO_MORE)].concat();
    let (found, told) = all(&bytes);
    assert_eq!(told.unwrap(), AnswerProgress::Done);
    let listening = Socket {
        state: TcpState::Listen as u8,
        local: "127.0.0.1:52353".parse().unwrap(),
        peer: "0.0.0.0:0".parse().unwrap(),
        cookie: 1,
        queue: 3,
        limit: 7,
        inode: 1_377_099,
        drops: Some(0),
        only_v6: false,
        tcp: None,
    };
    let v6 = Socket {
        local: "[::]:56105".parse().unwrap(),
        peer: "[::]:0".parse().unwrap(),
        cookie: 2,
        queue: 0,
        limit: 511,
        inode: 1_377_196,
        ..listening.clone()
    };
    let state = TcpState::Established as u8;
    let peer = "127.0.0.1:55344".parse().unwrap();
    let connection = Socket { state, peer, cookie: 3, queue: 0, limit: 0, inode: 0, drops: None, ..listening.clone() };
    assert_eq!(found, [listening, v6, connection]);
}

#[test]
fn drops_and_ipv6_alone_are_told() {
    let mut bytes = hex(LISTENING_V6);
    let drops = bytes.len() - 4;
    bytes[drops..].copy_from_slice(&9u32.to_ne_bytes());
    let at = bytes.windows(4).position(|four| four == [5, 0, 11, 0]).unwrap();
    bytes[at + 4] = 1;
    let (found, _) = all(&bytes);
    assert_eq!((found[0].drops, found[0].only_v6), (Some(9), true));
}

#[test]
fn answers_to_others_are_gone_past_and_errors_said() {
    let mut other = hex(LISTENING);
    other[8] = 2;
    assert_eq!(all(&[other, hex(NO_MORE)].concat()).0, []);
    let error = |errno: i32, kind: u8| {
        let mut bytes = hex(NO_MORE);
        bytes[4] = kind;
        bytes[16..20].copy_from_slice(&errno.to_ne_bytes());
        all(&bytes).1.map_err(|error| error.raw_os_error())
    };
    for (errno, kind, told) in [
        (-2, 2, Err(Some(2))),
        (-13, 3, Err(Some(13))),
        (0, 2, Ok(AnswerProgress::More)),
        (0, 3, Ok(AnswerProgress::Done)),
        (i32::MIN, 2, Err(Some(i32::MAX))),
        (0, 1, Ok(AnswerProgress::More)),
    ] {
        assert_eq!(error(errno, kind), told, "{errno} {kind}");
    }
}

#[test]
fn cut_at_any_place_it_is_whole_or_an_error() {
    let bytes = [hex(LISTENING), hex(CONNECTION)].concat();
    let whole = [0, hex(LISTENING).len(), bytes.len()];
    for cut in 0..bytes.len() {
        let (found, told) = all(&bytes[..cut]);
        let Some(messages) = whole.iter().position(|length| *length == cut) else {
            assert_eq!(told.unwrap_err().kind(), ErrorKind::InvalidData, "cut at {cut}");
            continue;
        };
        assert_eq!((found.len(), told.unwrap()), (messages, AnswerProgress::More));
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_go_on_for_ever(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = all(&bytes);
    }

    #[test]
    fn no_change_of_an_answer_makes_it_panic(at in 0usize..164, to: u8) {
        let mut bytes = hex(LISTENING);
        bytes[at] = to;
        prop_assert!(all(&bytes).0.len() <= 40);
    }
}

#[test]
fn a_question_is_as_the_kernel_has_it() {
    let asked = SocketQuery { v6: true, state: TcpState::Listen, port: 0x1f90, peer: 0, sampled: false }.encode(7);
    let expected = "48000000 1400 0103 07000000 00000000 0a064000 00040000 1f90";
    let mut wanted = hex(expected);
    wanted.resize(72, 0);
    assert_eq!(Vec::from(asked), wanted);
    let asked = SocketQuery { v6: false, state: TcpState::Established, port: 80, peer: 0, sampled: false }.encode(1);
    assert_eq!(asked[16..28], [2, 6, 0, 0, 2, 0, 0, 0, 0, 80, 0, 0]);
    let asked = SocketQuery { v6: false, state: TcpState::Established, port: 0, peer: 443, sampled: true }.encode(1);
    assert_eq!(asked[16..28], [2, 6, 2, 0, 2, 0, 0, 0, 0, 0, 1, 187]);
}

/// A real listener with a backlog of 7, queried from the kernel.
#[test]
fn a_real_listener_has_its_limit_and_its_queue() {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &"127.0.0.1:0".parse::<SocketAddr>().unwrap()).unwrap();
    rustix::net::listen(&socket, 7).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let ask = |state| {
        let mut found = Vec::new();
        let query = SocketQuery { v6: false, state, port: address.port(), peer: 0, sampled: false };
        CounterSource::here().sockets(&query, &mut |socket| found.push(socket)).unwrap();
        found
    };
    let of = |found: &[Socket]| found.iter().map(|s| (s.local, s.queue, s.limit)).collect::<Vec<_>>();
    assert_eq!(of(&ask(TcpState::Listen)), [(address, 0, 7)]);
    assert!(ask(TcpState::Listen)[0].inode > 0);
    let connected: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(of(&ask(TcpState::Listen)), [(address, 3, 7)]);
    let accepted = listener.accept().unwrap();
    assert_eq!(of(&ask(TcpState::Listen)), [(address, 2, 7)]);
    assert_eq!(ask(TcpState::Established).len(), 3, "those that connect have other ports of their own");
    drop((connected, accepted));
}

#[test]
fn what_tcp_knows_is_read_where_it_stands_and_not_where_it_is_cut() {
    let mut info = vec![0; 232];
    info[68..72].copy_from_slice(&1_500u32.to_ne_bytes());
    info[100..104].copy_from_slice(&3u32.to_ne_bytes());
    for (at, time) in [(168, 9_000_000u64), (176, 8_000_000), (184, 20)] {
        info[at..at + 8].copy_from_slice(&time.to_ne_bytes());
    }
    let whole = TcpStats { rtt: 1_500, retransmits: 3, busy: 9_000_000, window_limited: 8_000_000, buffer_limited: 20 };
    assert_eq!(TcpStats::parse(&info), Some(whole));
    assert_eq!(TcpStats::parse(&info[..191]), None, "a kernel without these times");
}

/// A server that does not read: sent data fills its window, and both ends report it.
#[test]
fn a_real_connection_whose_reader_sleeps_waits_for_its_window() {
    use std::io::Write;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut sender = TcpStream::connect(address).unwrap();
    let asleep = listener.accept().unwrap();
    sender.set_nonblocking(true).unwrap();
    while sender.write(&[7; 1 << 16]).is_ok() {}
    let ask = |port, peer| {
        let mut found = Vec::new();
        let query = SocketQuery { v6: false, state: TcpState::Established, port, peer, sampled: true };
        CounterSource::here().sockets(&query, &mut |socket| found.push(socket)).unwrap();
        found
    };
    let limited = || ask(0, address.port()).first().and_then(|socket| socket.tcp).map_or(0, |tcp| tcp.window_limited);
    while limited() == 0 {
        std::thread::yield_now();
        let _ = sender.write(&[7; 1 << 16]);
    }
    let (here, there) = (ask(0, address.port()), ask(address.port(), 0));
    assert_eq!((here.len(), there.len()), (1, 1));
    assert_eq!((here[0].peer, there[0].local, here[0].local), (address, address, there[0].peer));
    assert_ne!(here[0].cookie, there[0].cookie);
    let tcp = here[0].tcp.unwrap();
    assert!(tcp.busy >= tcp.window_limited && there[0].tcp.unwrap().window_limited == 0, "{tcp:?}");
    assert!(there[0].queue > 0 && here[0].queue == 0, "{} bytes unread", there[0].queue);
    drop(asleep);
}
