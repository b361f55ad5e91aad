//! Client and server against each other.

use brunt_contract::{
    BodyFraming, EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, ServerResponse, ServerSession,
    SlotContext,
};

use super::super::{MysqlServer, oracle};

#[test]
fn the_two_halves_understand_each_other() {
    let dialogue = oracle::dialogue(&[
        ("sql", "SELECT a FROM t WHERE id = {counter}"),
        ("sql", "INSERT INTO t VALUES ({counter}, '{random 3}')"),
        ("sql", "SELECT 1"),
        ("sql", "BEGIN; DO 1; COMMIT"),
    ]);
    let mut session = dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default());
    let mut server = MysqlServer::new();
    let (mut out, mut back, mut done) = (OutputBuffer::default(), OutputBuffer::default(), EventBuffer::default());
    server.open(&mut back);
    session.open(&mut out);
    let (mut heard, mut next) = (Vec::new(), 0);
    while next < 9 {
        if session.room() > 0 {
            let request = &dialogue.requests()[next % 4].request;
            session.submit(ExchangeId(next as u32), request, &SlotContext::default(), &mut out).unwrap();
            next += 1;
        }
        // The server receives byte by byte.
        for byte in std::mem::take(&mut out).bytes().chunks(1) {
            let mut asked = Vec::new();
            server.receive(byte, &mut |ask| asked.push((ask.id, ask.method.to_owned()))).unwrap();
            for (id, method) in asked {
                let (status, body) = if next == 9 { (500, &b"no"[..]) } else { (200, &b"body"[..]) };
                heard.push(method);
                let reply = ServerResponse { status, headers: b"", body, framing: BodyFraming::Length, close: false };
                server.respond(id, &reply, &mut back);
            }
            server.write_due(&mut back);
        }
        session.receive(std::mem::take(&mut back).bytes(), &mut out, &mut done).unwrap();
    }
    let ended: Vec<_> = (done.events.iter())
        .filter_map(|e| match e {
            Event::Ended(e) => Some((e.fault.is_none(), e.code, e.payload)),
            _ => None,
        })
        .collect();
    let (row, none) = ((true, 0, 7), (true, 0, 0));
    assert_eq!(ended, [row, none, (true, 0, 5), none, row, none, (true, 0, 5), none, (false, 1105, 0)]);
    assert_eq!(heard[..6], ["SELECT", "INSERT", "SELECT", "BEGIN", "DO", "COMMIT"]);
    assert!(session.heartbeat(&mut out));
    session.finish(&mut out);
    server.receive(out.bytes(), &mut |_| ()).unwrap();
    assert!(server.is_finished());
}

#[test]
fn a_client_that_breaks_the_rules_is_let_go() {
    for (bytes, said) in [
        (oracle::packet(0, b""), "empty command"),
        (vec![0xff, 0xff, 0xff, 0], "more than 1 MiB"),
        (oracle::packet(0, b"\x17\x09\0\0\0"), "never prepared"),
    ] {
        let mut server = MysqlServer::new();
        server.receive(&oracle::packet(1, b"login"), &mut |_| ()).unwrap();
        assert!(server.receive(&bytes, &mut |_| ()).unwrap_err().to_string().contains(said));
    }
}
