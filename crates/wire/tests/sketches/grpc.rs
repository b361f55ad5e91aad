//! A gRPC bidirectional stream over HTTP/2 with prior knowledge: one exchange is one stream, messages go both ways until
//! the trailers end it. Leaves out: HPACK beyond literals without Huffman and `:status 200`, padding, priorities,
//! CONTINUATION, messages larger than a frame, compression, and giving credit back for more than what was read.

use wire::{Broken, Done, Ended, Event, ExchangeId, FaultKind, Full, Out, Session};

use crate::feed;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

struct Stream {
    exchange: ExchangeId,
    number: u32,
    /// What the peer lets us send.
    credit: i64,
    /// The beginning of a message whose end has not come.
    message: Vec<u8>,
    payload: u64,
    heard: bool,
}

struct Grpc {
    input: Vec<u8>,
    streams: Vec<Stream>,
    next_number: u32,
    credit: i64,
    credit_of_new: i64,
    most: usize,
    leaving: bool,
}

impl Grpc {
    fn new() -> Grpc {
        let (credit, most) = (65_535, 100);
        Grpc { input: vec![], streams: vec![], next_number: 1, credit, credit_of_new: credit, most, leaving: false }
    }

    fn end(&mut self, at: usize, code: u32, fault: Option<FaultKind>, done: &mut Done<Vec<u8>>) {
        let s = self.streams.swap_remove(at);
        let (id, payload) = (s.exchange, s.payload);
        done.push(Event::Ended(Ended { id, fault, code, payload, excerpt: None, follow: None }));
    }

    fn data(&mut self, at: usize, body: &[u8], out: &mut Out, done: &mut Done<Vec<u8>>) -> Result<(), Broken> {
        let s = &mut self.streams[at];
        s.message.extend_from_slice(body);
        while let Some(head) = s.message.first_chunk::<5>() {
            let size = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            if head[0] != 0 {
                return Err(Broken("a compressed message nobody asked for"));
            }
            if s.message.len() < 5 + size as usize {
                break;
            }
            s.message.drain(..5 + size as usize);
            s.payload += u64::from(size);
            done.push(Event::Message(s.exchange, size));
        }
        if !body.is_empty() {
            for stream in [0, s.number] {
                frame(out, WINDOW_UPDATE, 0, stream, &(body.len() as u32).to_be_bytes());
            }
        }
        Ok(())
    }

    /// Headers open an answer; headers with END_STREAM are its trailers and carry the status.
    fn headers(&mut self, at: usize, flags: u8, block: &[u8], done: &mut Done<Vec<u8>>) {
        let s = &mut self.streams[at];
        if !std::mem::replace(&mut s.heard, true) {
            done.push(Event::FirstByte(s.exchange));
        }
        if flags & END_STREAM != 0 {
            let name = b"grpc-status";
            let at_name = block.windows(name.len()).position(|w| w == name);
            let code = at_name
                .and_then(|p| block.get(p + name.len() + 1))
                .map_or(2, |digit| u32::from(digit.wrapping_sub(b'0')));
            self.end(at, code, (code != 0).then_some(FaultKind::WrongStatus), done);
        }
    }

    fn settings(&mut self, entries: &[u8]) {
        for entry in entries.chunks_exact(6) {
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            match entry[1] {
                3 => self.most = value as usize,
                4 => {
                    let more = i64::from(value) - self.credit_of_new;
                    self.streams.iter_mut().for_each(|s| s.credit += more);
                    self.credit_of_new = i64::from(value);
                }
                _ => {}
            }
        }
    }

    fn frame(&mut self, f: &[u8], out: &mut Out, done: &mut Done<Vec<u8>>) -> Result<(), Broken> {
        let (kind, flags, body) = (f[3], f[4], &f[9..]);
        let number = u32::from_be_bytes([f[5], f[6], f[7], f[8]]);
        let at = self.streams.iter().position(|s| s.number == number);
        match (kind, at) {
            (DATA, Some(at)) => self.data(at, body, out, done)?,
            (HEADERS, Some(at)) => self.headers(at, flags, body, done),
            (RESET, Some(at)) => self.end(at, 14, Some(FaultKind::Reset), done),
            (SETTINGS, _) if flags & ACK == 0 => {
                self.settings(body);
                frame(out, SETTINGS, ACK, 0, &[]);
            }
            (PING, _) if flags & ACK == 0 => frame(out, PING, ACK, 0, body),
            (GOAWAY, _) => self.leaving = true,
            (WINDOW_UPDATE, at) => {
                let more = body.first_chunk::<4>().map_or(0, |b| i64::from(u32::from_be_bytes(*b)));
                let credit = at.map_or(&mut self.credit, |at| &mut self.streams[at].credit);
                *credit += more;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Session for Grpc {
    /// The method's path.
    type Request = Vec<u8>;

    fn open(&mut self, out: &mut Out) {
        out.put(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        frame(out, SETTINGS, 0, 0, &[]);
    }

    fn submit(&mut self, exchange: ExchangeId, path: &Vec<u8>, out: &mut Out) -> Result<(), Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        let number = self.next_number;
        self.next_number += 2;
        let credit = self.credit_of_new;
        self.streams.push(Stream { exchange, number, credit, message: vec![], payload: 0, heard: false });
        let mut block = vec![0x83, 0x86, 0x04, path.len() as u8];
        block.extend_from_slice(path);
        for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
            block.extend_from_slice(&[0, name.len() as u8]);
            block.extend_from_slice(name.as_bytes());
            block.push(value.len() as u8);
            block.extend_from_slice(value.as_bytes());
        }
        frame(out, HEADERS, END_HEADERS, number, &block);
        Ok(())
    }

    fn push(&mut self, id: ExchangeId, message: &[u8], last: bool, out: &mut Out) -> Result<(), Full> {
        let s = self.streams.iter_mut().find(|s| s.exchange == id).ok_or(Full)?;
        let need = message.len() as i64 + 5;
        if need > s.credit.min(self.credit) {
            return Err(Full);
        }
        (s.credit, self.credit) = (s.credit - need, self.credit - need);
        let mut body = vec![0];
        body.extend_from_slice(&(message.len() as u32).to_be_bytes());
        body.extend_from_slice(message);
        frame(out, DATA, u8::from(last) * END_STREAM, s.number, &body);
        Ok(())
    }

    fn cancel(&mut self, id: ExchangeId, out: &mut Out) -> bool {
        if let Some(at) = self.streams.iter().position(|s| s.exchange == id) {
            let s = self.streams.swap_remove(at);
            frame(out, RESET, 0, s.number, &8u32.to_be_bytes());
        }
        true
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Out, done: &mut Done<Vec<u8>>) -> Result<(), Broken> {
        self.input.extend_from_slice(bytes);
        while self.input.len() >= 9 {
            let size = 9 + u32::from_be_bytes([0, self.input[0], self.input[1], self.input[2]]) as usize;
            if self.input.len() < size {
                break;
            }
            let whole: Vec<u8> = self.input.drain(..size).collect();
            self.frame(&whole, out, done)?;
        }
        Ok(())
    }

    fn room(&self) -> usize {
        if self.leaving { 0 } else { self.most.saturating_sub(self.streams.len()) }
    }
}

fn frame(out: &mut Out, kind: u8, flags: u8, stream: u32, body: &[u8]) {
    out.put(&(body.len() as u32).to_be_bytes()[1..]);
    out.put(&[kind, flags]);
    out.put(&stream.to_be_bytes());
    out.put(body);
}

fn framed(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let mut out = Out::default();
    frame(&mut out, kind, flags, stream, body);
    out.bytes().to_vec()
}

#[test]
fn messages_go_both_ways_on_one_exchange_however_the_bytes_are_split() {
    let mut script = framed(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 2]);
    script.extend(framed(HEADERS, END_HEADERS, 1, &[0x88]));
    script.extend(framed(DATA, 0, 1, b"\0\0\0\0\x03one\0\0\0\0\x05th"));
    script.extend(framed(DATA, 0, 1, b"ree"));
    script.extend(framed(HEADERS, END_HEADERS | END_STREAM, 1, b"\x00\x0bgrpc-status\x010"));
    script.extend(framed(GOAWAY, 0, 0, &[0; 8]));
    for piece in 1..=script.len() {
        let (mut session, mut out) = (Grpc::new(), Out::default());
        session.open(&mut out);
        session.submit(ExchangeId(7), &b"/chat.Chat/Talk".to_vec(), &mut out).unwrap();
        session.push(ExchangeId(7), b"hello", false, &mut out).unwrap();
        session.push(ExchangeId(7), b"", true, &mut out).unwrap();
        let (events, answered) = feed(&mut session, &script, piece).unwrap();
        assert_eq!(events, ["first 7", "message 7 of 3", "message 7 of 5", "ended 7 with 0"], "pieces of {piece}");
        assert!(answered.starts_with(&framed(SETTINGS, ACK, 0, &[])));
        assert_eq!(session.room(), 0, "after GOAWAY");
    }
}

#[test]
fn a_full_window_refuses_a_message_and_a_cancelled_stream_leaves_the_others_alone() {
    let (mut session, mut out) = (Grpc::new(), Out::default());
    feed(&mut session, &framed(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 8]), 9).unwrap();
    for id in [1, 2] {
        session.submit(ExchangeId(id), &b"/a".to_vec(), &mut out).unwrap();
    }
    assert_eq!(session.push(ExchangeId(1), b"four", false, &mut out), Err(Full));
    feed(&mut session, &framed(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]), 13).unwrap();
    assert_eq!(session.push(ExchangeId(1), b"four", false, &mut out), Ok(()));
    out.clear();
    assert!(session.cancel(ExchangeId(1), &mut out));
    assert_eq!(out.bytes(), framed(RESET, 0, 1, &8u32.to_be_bytes()));
    let (events, _) = feed(&mut session, &framed(RESET, 0, 3, &[0; 4]), 13).unwrap();
    assert_eq!(events, ["failed 2 with 14: reset"]);
}
