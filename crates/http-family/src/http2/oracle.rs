//! Properties that hold for arbitrary bytes: the outcome does not depend on how they are split, and every exchange is
//! reported at most once. Called by the property tests and the fuzz targets; panics if a property is violated.

use std::borrow::Cow;
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolConfig,
    RequestedUrl, SlotContext, Workload,
};

use super::hpack::HpackDecoder;
use crate::http::Http;

/// Number of exchanges in flight when the bytes arrive.
const EXCHANGES: u32 = 3;

/// Feeds these bytes to the client as a server's output, whole and split at `at`.
pub fn answers(bytes: &[u8], at: usize) {
    for options in
        [&[][..], &[("redirects", "2"), ("expect-body", "lo")], &[("data", "body")], &[("expect-trailer", "a: b*")]]
    {
        let dialogue = dialogue(options);
        let (a, b) = bytes.split_at(at % (bytes.len() + 1));
        let whole = played(&dialogue, [bytes].into_iter());
        assert_eq!(played(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(played(&dialogue, bytes.chunks(1)), whole);
    }
}

/// Feeds these bytes to the header decoder, as blocks whose lengths are given by the first bytes.
pub fn blocks(bytes: &[u8]) {
    let (mut one, mut two) = (HpackDecoder::default(), HpackDecoder::default());
    let mut rest = bytes;
    while let Some((&length, more)) = rest.split_first() {
        let (block, more) = more.split_at(usize::from(length).min(more.len()));
        rest = more;
        let mut fields = one.read(block);
        let known = fields.remembered_digest(0);
        let mut count = 0;
        let read = loop {
            match fields.next() {
                Ok(Some(_)) => count += 1,
                Ok(None) => break fields.remember(0, count),
                Err(malformed) => break Err(malformed),
            }
        };
        assert!(known.is_none_or(|known| read.is_ok() && known == count), "a known block means something else");
        assert_eq!(two.read(block).finish(), read);
        if read.is_err() {
            return;
        }
    }
}

fn dialogue(options: &[(&str, &str)]) -> Arc<dyn Workload> {
    let url = RequestedUrl { url: "http://h/".to_owned(), weight: 1.0 };
    let mut asked = ProtocolConfig { urls: vec![url], ..ProtocolConfig::default() };
    for (name, value) in [("http", "2"), ("streams", "10")].iter().chain(options) {
        asked.options.insert((*name).to_owned(), vec![(*value).to_owned()]);
    }
    Http.prepare(&asked).expect("a good plan")
}

/// Returns the result of feeding the pieces: how exchanges ended, why the connection broke, and the bytes we sent.
fn played<'a>(
    workload: &Arc<dyn Workload>,
    mut pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<String>, Option<Cow<'static, str>>, Vec<u8>) {
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.open(&mut out);
    for id in 0..EXCHANGES {
        session
            .submit(ExchangeId(id), &workload.requests()[0].request, &SlotContext::default(), &mut out)
            .expect("room");
    }
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err()).map(|broken| broken.0.en());
    session.peer_closed(&mut done);
    let mut over = [0; EXCHANGES as usize];
    let ends = done.events.iter().filter_map(|event| {
        let (id, words) = match event {
            Event::Ended(e) => {
                let follow = e.follow_up.as_ref().map(|f| workload.encoded(&f.request));
                (e.id, format!("{:?}", (e.id, e.fault, e.code, e.payload, &e.excerpt, follow)))
            }
            Event::Refused(id) => (*id, format!("refused {}", id.0)),
            _ => return None,
        };
        over[id.0 as usize] += 1;
        Some(words)
    });
    let ends = ends.collect();
    assert!(over.iter().all(|times| *times <= 1), "{over:?}");
    (ends, broken, out.bytes().to_vec())
}
