//! Tests of server sessions as peers: reply times, queueing formulas, and every fault.

use std::sync::{Arc, Mutex};

use brunt_contract::{Network, OutputBuffer, ProtocolError, ServerRequest, ServerResponse, ServerSession};
use brunt_measure::{Nanos, Rng};

use super::super::{ReplyFault, ServerPeer, Sim, SimInterval, SimQueue, SimReply, SimSettings};
use super::{SimEvent, connected, just, send, turn, turns};

const SECOND: Nanos = Nanos::from_secs(1);

/// A server whose requests are lines; a reply is status and body. "bye" closes, "?" violates the protocol.
#[derive(Default)]
struct LineServer {
    partial: Vec<u8>,
    next: u32,
    over: bool,
}

impl ServerSession for LineServer {
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        self.partial.extend_from_slice(bytes);
        while let Some(end) = self.partial.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let path = str::from_utf8(&line[..end]).unwrap();
            if path == "?" {
                return Err(ProtocolError(brunt_cause::http1::unsolicited()));
            }
            self.over |= path == "bye";
            self.next += 1;
            hear(ServerRequest { id: self.next, method: "GET", path, head: &line, ..ServerRequest::default() });
        }
        Ok(())
    }
    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        out.put(format!("{id}:{}:", reply.status).as_bytes());
        out.put(reply.body);
        out.put(b"\n");
    }
    fn is_finished(&self) -> bool {
        self.over
    }
}

fn told(news: &[(Nanos, SimEvent)]) -> String {
    let texts = news.iter().map(|(_, t)| match t {
        SimEvent::Connected(_) => "+".to_owned(),
        SimEvent::Bytes(_, bytes) => String::from_utf8_lossy(bytes).into_owned(),
        SimEvent::Sent(_) => "sent".to_owned(),
        SimEvent::Closed(_, why) => format!("end {why:?}"),
    });
    texts.collect()
}

#[test]
fn answers_come_when_they_are_due_and_never_is_never() {
    let brain = |now: Nanos, ask: &ServerRequest<'_>| match ask.path.parse::<u64>() {
        Ok(ms) => (now + Nanos::from_millis(ms), SimReply::new(200, ask.path.as_bytes())),
        Err(_) => (Nanos::MAX, SimReply::new(500, b"")),
    };
    let mut sim = Sim::new(1, SimSettings::default(), Box::new(ServerPeer::new(LineServer::default, brain)));
    let conn = connected(&mut sim);
    let start = sim.now();
    send(&mut sim, conn, b"30\n10\nhang\n20\n0\n");
    let news = turns(&mut sim, SECOND);
    let leg = Nanos::from_micros(50);
    let at: Vec<u64> = news.iter().map(|(at, _)| (*at - start - leg - leg).0 / 1_000_000).collect();
    assert_eq!(at, [0, 10, 20, 30]);
    assert_eq!(told(&news), "5:200:0\n2:200:10\n4:200:20\n1:200:30\n");
    assert_eq!((sim.peer().heard(), sim.peer().answered(), sim.peer().broken()), (5, 4, 0));
}

#[test]
fn every_mishap_looks_as_it_should() {
    let cases: [(ReplyFault, &str); 6] = [
        (ReplyFault::Reset, "end Some(104)"),
        (ReplyFault::Close, "end None"),
        (ReplyFault::Cut(5), "1:200end None"),
        (ReplyFault::CutReset(5), "end Some(104)"),
        (ReplyFault::Garbage(Arc::from(&b"%%%"[..])), "%%%"),
        (ReplyFault::Surplus(Arc::from(&b"more"[..])), "1:200:body\nmore"),
    ];
    for (mishap, expected) in cases {
        let brain = move |now, _: &ServerRequest<'_>| (now, SimReply::new(200, b"body").with(mishap.clone()));
        let mut sim = Sim::new(1, SimSettings::default(), Box::new(ServerPeer::new(LineServer::default, brain)));
        let conn = connected(&mut sim);
        send(&mut sim, conn, b"x\n");
        assert_eq!(told(&turns(&mut sim, SECOND)), expected);
        assert_eq!(sim.peer().answered(), 1);
        sim.close(conn);
        turns(&mut sim, SECOND);
        assert_eq!(connected(&mut sim), conn);
    }
}

#[test]
fn a_session_that_is_over_or_broken_is_closed() {
    let brain = |now, _: &ServerRequest<'_>| (now, SimReply::new(200, b""));
    for (line, expected, broken) in [("bye\n", "end None", 0), ("?\n", "end None", 1)] {
        let mut sim = Sim::new(1, SimSettings::default(), Box::new(ServerPeer::new(LineServer::default, brain)));
        let conn = connected(&mut sim);
        send(&mut sim, conn, line.as_bytes());
        assert_eq!(told(&turns(&mut sim, SECOND)), expected);
        assert_eq!(sim.peer().broken(), broken);
    }
}

#[test]
fn an_answer_for_a_connection_that_is_gone_does_not_reach_the_next_one() {
    let brain = |now, _: &ServerRequest<'_>| (now + SECOND, SimReply::new(200, b"late"));
    let mut sim = Sim::new(1, SimSettings::default(), Box::new(ServerPeer::new(LineServer::default, brain)));
    let conn = connected(&mut sim);
    send(&mut sim, conn, b"x\n");
    turns(&mut sim, Nanos::from_millis(1));
    sim.close(conn);
    turns(&mut sim, Nanos::from_millis(1));
    assert_eq!(connected(&mut sim), conn);
    assert_eq!(turns(&mut sim, SECOND + SECOND), []);
    assert_eq!(sim.peer().answered(), 0);
}

#[test]
fn one_exponential_server_is_m_m_1() {
    // 500/s at 1000/s: the mean is 1/(1000 - 500) = 2 ms, and p99 is ln(100) times that.
    let mut station = SimQueue::exponential(1, Nanos::from_millis(1), 11);
    let mut rng = Rng::new(12);
    let mut now = 0.0;
    let mut times: Vec<f64> = (0..400_000)
        .map(|_| {
            now += rng.exponential() / 500.0;
            let arrived = Nanos::from_secs_f64(now);
            (station.due(arrived) - arrived).as_millis_f64()
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let p99 = times[times.len() * 99 / 100];
    assert!((mean - 2.0).abs() < 0.05, "mean {mean} ms");
    assert!((p99 - 9.21).abs() < 0.4, "p99 {p99} ms");
}

#[test]
fn a_stall_holds_up_work_and_servers_work_side_by_side() {
    let ms = Nanos::from_millis;
    let mut two = SimQueue::constant(2, ms(10));
    assert_eq!([0, 0, 0, 5].map(|t| two.due(ms(t))), [10, 10, 20, 20].map(ms));
    let mut stalled = SimQueue::constant(1, ms(10)).stalled(SimInterval { from: ms(25), to: ms(125) });
    let due = [0, 20, 30, 200].map(|t| stalled.due(ms(t)));
    assert_eq!(due, [10, 130, 140, 210].map(ms));
}

#[test]
fn a_minute_of_requests_is_all_accounted_for() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&log);
    let mut station = SimQueue::exponential(1, Nanos::from_micros(500), 1);
    let brain = move |now: Nanos, _: &ServerRequest<'_>| {
        heard.lock().unwrap().push(now);
        (station.due(now), SimReply::new(200, b"ok"))
    };
    let mut sim = Sim::new(1, SimSettings::default(), Box::new(ServerPeer::new(LineServer::default, brain)));
    let conn = connected(&mut sim);
    let (start, mut rng) = (sim.now(), Rng::new(2));
    let (mut due, mut answers, mut sent) = (start, 0, 0);
    while sim.now() < start + Nanos::from_secs(60) {
        for (_, news) in turn(&mut sim, due) {
            let SimEvent::Bytes(_, bytes) = news else { panic!("{news:?}") };
            answers += bytes.iter().filter(|b| **b == b'\n').count();
        }
        while due <= sim.now() {
            send(&mut sim, conn, b"x\n");
            sent += 1;
            due += Nanos::from_secs_f64(rng.exponential() / 1000.0);
        }
    }
    let rest = just(&turns(&mut sim, SECOND));
    answers += rest
        .iter()
        .map(|t| if let SimEvent::Bytes(_, b) = t { b.iter().filter(|b| **b == b'\n').count() } else { 0 })
        .sum::<usize>();
    assert_eq!((answers, sim.peer().heard() as usize, log.lock().unwrap().len()), (sent, sent, sent));
    assert!((59_000..61_000).contains(&sent));
}
