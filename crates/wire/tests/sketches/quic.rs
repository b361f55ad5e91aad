//! QUIC as a session: an adapter over a machine in the shape of `quinn_proto::Connection`, which keeps its own timers,
//! speaks in datagrams and does its TLS inside. The machine here is a toy that loses nothing but time: it repeats what is
//! not acknowledged. Leaves out: the endpoint that sorts datagrams by connection id, ECN, migration, several paths,
//! segmentation offload, and turning [`Nanos`] into the `Instant` quinn wants (one pair read at the start does it).

use std::collections::VecDeque;

use measure::Nanos;
use wire::{Broken, Done, Ended, Event, ExchangeId, Fill, Full, Out, Sent, Session};

use crate::said;

/// What the adapter needs; the verbs are quinn-proto's.
trait Machine: Send {
    fn handle_event(&mut self, now: Nanos, datagram: &[u8]) -> Result<(), Broken>;
    fn poll_transmit(&mut self, now: Nanos, datagram: &mut Vec<u8>) -> bool;
    fn poll_timeout(&self) -> Option<Nanos>;
    fn handle_timeout(&mut self, now: Nanos);
    /// The next stream that ended, with the bytes it carried.
    fn poll(&mut self) -> Option<(u8, u64)>;
    fn is_handshaking(&self) -> bool;
    /// Opens a stream, writes and ends it; None where the peer allows no more streams.
    fn send(&mut self, message: &[u8]) -> Option<u8>;
}

struct Quic<M> {
    machine: M,
    /// Datagrams that came; the machine hears them when the time is known.
    heard: VecDeque<Vec<u8>>,
    streams: Vec<(u8, ExchangeId)>,
    scratch: Vec<u8>,
}

impl<M: Machine> Session for Quic<M> {
    type Request = Vec<u8>;
    const TIMED: bool = true;

    fn submit(&mut self, id: ExchangeId, message: &Vec<u8>, _fill: &Fill, _out: &mut Out) -> Result<Sent, Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        let stream = self.machine.send(message).ok_or(Full)?;
        self.streams.push((stream, id));
        Ok(Sent::Asked)
    }

    /// One call is one datagram; what it means is known once `tick` brings the time.
    fn receive(&mut self, datagram: &[u8], _out: &mut Out, _done: &mut Done<Vec<u8>>) -> Result<(), Broken> {
        self.heard.push_back(datagram.to_vec());
        Ok(())
    }

    fn room(&self) -> usize {
        if self.opening() { 0 } else { 2 - self.streams.len() }
    }

    fn opening(&self) -> bool {
        self.machine.is_handshaking()
    }

    fn tick(&mut self, now: Nanos, out: &mut Out, done: &mut Done<Vec<u8>>) -> Result<Option<Nanos>, Broken> {
        while let Some(datagram) = self.heard.pop_front() {
            self.machine.handle_event(now, &datagram)?;
        }
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.handle_timeout(now);
        }
        while let Some((stream, payload)) = self.machine.poll() {
            if let Some(at) = self.streams.iter().position(|(s, _)| *s == stream) {
                let (_, id) = self.streams.swap_remove(at);
                done.push(Event::Ended(Ended {
                    id,
                    fault: None,
                    code: 0,
                    payload,
                    excerpt: None,
                    follow: None,
                    why: "".into(),
                }));
            }
        }
        while self.machine.poll_transmit(now, &mut self.scratch) {
            out.put(&self.scratch);
            out.end_datagram();
        }
        Ok(self.machine.poll_timeout())
    }
}

/// `I` asks for a handshake and `H` completes it; `S n …` is stream n with its bytes; both are repeated every 100 ms until
/// heard. An answer to stream n ends it.
struct Toy {
    shaken: bool,
    /// What is not acknowledged: stream (0: the handshake), datagram, sent when.
    open: Vec<(u8, Vec<u8>, Option<Nanos>)>,
    next_stream: u8,
    ended: Vec<(u8, u64)>,
}

const REPEAT: Nanos = Nanos::from_millis(100);

impl Machine for Toy {
    fn handle_event(&mut self, _now: Nanos, datagram: &[u8]) -> Result<(), Broken> {
        let stream = match datagram {
            b"H" => 0,
            [b'S', stream, ..] => *stream,
            _ => return Err(Broken("a datagram this toy does not know")),
        };
        self.shaken |= stream == 0;
        let known = self.open.iter().position(|(s, ..)| *s == stream);
        if let (Some(at), true) = (known, stream != 0) {
            self.open.swap_remove(at);
            self.ended.push((stream, datagram.len() as u64 - 2));
        } else if let Some(at) = known {
            self.open.swap_remove(at);
        }
        Ok(())
    }
    fn poll_transmit(&mut self, now: Nanos, datagram: &mut Vec<u8>) -> bool {
        let Some((_, bytes, sent)) = self.open.iter_mut().find(|(_, _, sent)| sent.is_none()) else { return false };
        *sent = Some(now);
        datagram.clear();
        datagram.extend_from_slice(bytes);
        true
    }
    fn poll_timeout(&self) -> Option<Nanos> {
        self.open.iter().filter_map(|(_, _, sent)| sent.map(|at| at + REPEAT)).min()
    }
    fn handle_timeout(&mut self, now: Nanos) {
        let late = self.open.iter_mut().filter(|(_, _, sent)| sent.is_some_and(|at| at + REPEAT <= now));
        late.for_each(|(_, _, sent)| *sent = None);
    }
    fn poll(&mut self) -> Option<(u8, u64)> {
        self.ended.pop()
    }
    fn is_handshaking(&self) -> bool {
        !self.shaken
    }
    fn send(&mut self, message: &[u8]) -> Option<u8> {
        let stream = self.next_stream;
        self.next_stream += 1;
        self.open.push((stream, [&[b'S', stream], message].concat(), None));
        Some(stream)
    }
}

#[test]
fn datagrams_timers_and_a_handshake_of_its_own() {
    let machine = Toy { shaken: false, open: vec![(0, b"I".to_vec(), None)], next_stream: 1, ended: vec![] };
    let mut session = Quic { machine, heard: VecDeque::new(), streams: vec![], scratch: vec![] };
    let (mut out, mut done) = (Out::default(), Done::default());
    let at = Nanos::from_millis;
    session.open(&mut out);
    assert_eq!(session.tick(at(0), &mut out, &mut done), Ok(Some(at(100))), "wants to be woken for the repetition");
    assert_eq!((session.opening(), session.room()), (true, 0));
    assert_eq!(session.tick(at(100), &mut out, &mut done), Ok(Some(at(200))));
    assert_eq!((out.bytes(), out.boundaries()), (&b"II"[..], &[1, 2][..]), "the lost datagram went out again");
    out.clear();

    session.receive(b"H", &mut out, &mut done).unwrap();
    assert_eq!(session.tick(at(130), &mut out, &mut done), Ok(None));
    assert_eq!((session.opening(), session.room()), (false, 2));
    for id in [5, 6] {
        session.submit(ExchangeId(id), &b"ask".to_vec(), &Fill::default(), &mut out).unwrap();
    }
    assert_eq!(session.submit(ExchangeId(7), &b"ask".to_vec(), &Fill::default(), &mut out), Err(Full));
    assert_eq!(session.tick(at(130), &mut out, &mut done), Ok(Some(at(230))));
    assert_eq!((out.bytes(), out.boundaries()), (&b"S\x01askS\x02ask"[..], &[5, 10][..]));

    session.receive(b"S\x02answer", &mut out, &mut done).unwrap();
    assert_eq!(session.tick(at(150), &mut out, &mut done), Ok(Some(at(230))), "the other one is still open");
    assert_eq!(done.events.iter().map(said).collect::<Vec<_>>(), ["ended 6 with 0"]);

    session.receive(b"?", &mut out, &mut done).unwrap();
    assert!(session.tick(at(160), &mut out, &mut done).is_err());
}
