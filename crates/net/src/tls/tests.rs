//! The client against rustls' server in memory: bytes split at every position, both versions, every refusal.

use std::sync::{Arc, OnceLock};

use brunt_contract::{ChannelProgress, Handshake, Origin, OutputBuffer, SecureChannel, SecureChannelFactory};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};

use super::server::{TestAuthority, TestIdentity, TestServerSettings, TestTlsServer, config, self_signed};
use super::{RustlsSecurity, TlsSettings};

const BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

struct TlsFixture {
    authority: TestAuthority,
    good: TestIdentity,
    expired: TestIdentity,
}

fn world() -> &'static TlsFixture {
    static WORLD: OnceLock<TlsFixture> = OnceLock::new();
    WORLD.get_or_init(|| {
        let authority = TestAuthority::new("the authority of the tests");
        let good = authority.identity(&["good.test", "127.0.0.1", "::1"], 2999);
        let expired = authority.identity(&["good.test"], 2020);
        TlsFixture { authority, good, expired }
    })
}

fn serving(identity: &TestIdentity, version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    config(&TestServerSettings { identity, versions: &[version], alpn: &[], demands: None })
}

fn trusting() -> TlsSettings {
    TlsSettings { cacert: Some(world().authority.pem.clone()), ..TlsSettings::default() }
}

fn origin(host: &str) -> Origin {
    Origin::tcp(host, 443, true)
}

/// A client and a server, with the client's plaintext and progress.
struct TlsPair {
    client: Box<dyn SecureChannel>,
    server: TestTlsServer,
    plain: Vec<u8>,
    established: u32,
    ended: u32,
}

impl TlsPair {
    fn new(security: &RustlsSecurity, host: &str, config: &Arc<ServerConfig>) -> TlsPair {
        let client = security.client(&origin(host), &[b"http/1.1"]).unwrap();
        TlsPair { client, server: TestTlsServer::new(config), plain: Vec::new(), established: 0, ended: 0 }
    }

    /// Feeds the client in pieces of `piece` bytes and the server with its output; returns the server's plaintext.
    fn feed(&mut self, bytes: &[u8], piece: usize) -> Result<Vec<u8>, String> {
        let mut heard = Vec::new();
        for part in bytes.chunks(piece.max(1)) {
            let mut out = OutputBuffer::default();
            let fed = self.client.feed(part, &mut self.plain, &mut out);
            // A server that rejects what it receives reports that with its next bytes.
            heard.extend(self.server.receive(out.bytes()).unwrap_or_default());
            match fed.map_err(|why| why.to_string())? {
                ChannelProgress::Established => self.established += 1,
                ChannelProgress::PeerFinished => self.ended += 1,
                ChannelProgress::More => {}
            }
        }
        Ok(heard)
    }

    fn shake(&mut self, piece: usize) -> Result<Handshake, String> {
        let mut out = OutputBuffer::default();
        self.client.start(&mut out);
        assert_eq!(self.client.handshake(), None);
        let _ = self.server.receive(out.bytes());
        loop {
            let bytes = self.server.send(b"");
            if bytes.is_empty() {
                return self.client.handshake().ok_or_else(|| "the handshake hangs".to_owned());
            }
            self.feed(&bytes, piece)?;
        }
    }

    fn ask(&mut self, plain: &[u8]) -> Vec<u8> {
        let (mut question, mut out) = (OutputBuffer::default(), OutputBuffer::default());
        question.put(plain);
        self.client.seal(&question, &mut out);
        self.server.receive(out.bytes()).unwrap()
    }
}

fn shake(settings: &TlsSettings, host: &str, server: &Arc<ServerConfig>) -> Result<Handshake, String> {
    TlsPair::new(&RustlsSecurity::new(settings).unwrap(), host, server).shake(usize::MAX)
}

fn blob(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

#[test]
fn both_versions_carry_data_both_ways_in_pieces_of_any_size() {
    for version in BOTH {
        let config = serving(&world().good, version);
        let security = RustlsSecurity::new(&trusting()).unwrap();
        for piece in [1, 2, 3, 4, 5, 6, 7, 64, 1000, usize::MAX] {
            let mut pair = TlsPair::new(&security, "good.test", &config);
            let handshake = pair.shake(piece).unwrap();
            assert_eq!(handshake.version, if version == &TLS13 { "TLSv1.3" } else { "TLSv1.2" });
            assert_eq!((pair.established, pair.ended), (1, 0));
            let (asked, answer) = (blob(40_000), blob(50_000));
            assert_eq!(pair.ask(&asked), asked);
            let bytes = pair.server.send(&answer);
            pair.feed(&bytes, piece).unwrap();
            assert!(pair.plain == answer, "piece {piece}");
        }
    }
}

#[test]
fn an_answer_split_at_every_position_arrives_whole_and_questions_may_go_out_in_between() {
    for version in BOTH {
        let mut pair =
            TlsPair::new(&RustlsSecurity::new(&trusting()).unwrap(), "good.test", &serving(&world().good, version));
        pair.shake(usize::MAX).unwrap();
        let answer = blob(60);
        let total = pair.server.send(&answer).len();
        let fresh =
            TlsPair::new(&RustlsSecurity::new(&trusting()).unwrap(), "good.test", &serving(&world().good, version));
        pair = fresh;
        pair.shake(usize::MAX).unwrap();
        for at in 0..=total {
            let bytes = pair.server.send(&answer);
            pair.plain.clear();
            pair.feed(&bytes[..at], usize::MAX).unwrap();
            assert_eq!(pair.ask(b"meanwhile"), b"meanwhile", "split at {at}");
            pair.feed(&bytes[at..], usize::MAX).unwrap();
            assert_eq!(pair.plain, answer, "split at {at}");
        }
    }
}

#[test]
fn a_handshake_split_at_every_position_succeeds() {
    for version in BOTH {
        let config = serving(&world().good, version);
        let security = RustlsSecurity::new(&TlsSettings { resume: false, ..trusting() }).unwrap();
        let mut at = 0;
        loop {
            let mut pair = TlsPair::new(&security, "good.test", &config);
            let mut out = OutputBuffer::default();
            pair.client.start(&mut out);
            pair.server.receive(out.bytes()).unwrap();
            let flight = pair.server.send(b"");
            if at > flight.len() {
                break;
            }
            pair.feed(&flight[..at], usize::MAX).unwrap();
            pair.feed(&flight[at..], usize::MAX).unwrap();
            let rest = pair.server.send(b"hello");
            pair.feed(&rest, usize::MAX).unwrap();
            assert_eq!((pair.established, pair.plain.as_slice()), (1, &b"hello"[..]), "split at {at}");
            at += 7;
        }
        assert!(at > 300, "the first flight was only {at} bytes");
    }
}

#[test]
fn a_large_body_leaves_as_several_records_and_a_shared_block_follows_its_head() {
    let mut pair =
        TlsPair::new(&RustlsSecurity::new(&trusting()).unwrap(), "good.test", &serving(&world().good, &TLS13));
    pair.shake(usize::MAX).unwrap();
    let (head, body) = (b"POST / HTTP/1.1\r\n\r\n", blob(100_000));
    let (mut plain, mut cipher) = (OutputBuffer::default(), OutputBuffer::default());
    plain.put(head);
    plain.put_shared(&Arc::from(body.as_slice()));
    pair.client.seal(&plain, &mut cipher);
    let mut lengths = Vec::new();
    let mut rest = cipher.bytes();
    while let [23, 3, 3, high, low, after @ ..] = rest {
        let n = usize::from(u16::from_be_bytes([*high, *low]));
        lengths.push(n - 17);
        rest = &after[n..];
    }
    assert!(rest.is_empty());
    assert_eq!(lengths, [19, 16_384, 16_384, 16_384, 16_384, 16_384, 16_384, 100_000 - 6 * 16_384]);
    let heard = pair.server.receive(cipher.bytes()).unwrap();
    assert!(heard.starts_with(head) && heard[head.len()..] == body);
}

#[test]
fn sessions_are_resumed_unless_that_is_switched_off() {
    for version in BOTH {
        let config = serving(&world().good, version);
        for (resume, expected) in [(true, [false, true, true]), (false, [false, false, false])] {
            let security = RustlsSecurity::new(&TlsSettings { resume, ..trusting() }).unwrap();
            let resumed = [(); 3].map(|()| TlsPair::new(&security, "good.test", &config).shake(33).unwrap().resumed);
            assert_eq!(resumed, expected, "{version:?} resume {resume}");
        }
    }
}

#[test]
fn many_connections_at_once_are_all_resumed() {
    let config = serving(&world().good, &TLS13);
    let security = RustlsSecurity::new(&trusting()).unwrap();
    let mut first: Vec<TlsPair> = (0..50).map(|_| TlsPair::new(&security, "good.test", &config)).collect();
    first.iter_mut().for_each(|p| drop(p.shake(usize::MAX).unwrap()));
    let mut second: Vec<TlsPair> = (0..50).map(|_| TlsPair::new(&security, "good.test", &config)).collect();
    assert!(second.iter_mut().all(|p| p.shake(usize::MAX).unwrap().resumed));
}

#[test]
fn certificates_are_refused_with_a_sentence_and_insecure_accepts_them() {
    let own = self_signed("good.test");
    let public = TlsSettings::default();
    let cases: [(&str, &TlsSettings, &TestIdentity, &str, &[&str]); 6] = [
        ("good.test", &trusting(), &world().expired, "expired on 2020-01-01", &["good.test"]),
        ("bad.test", &trusting(), &world().good, "is for a different name", &["bad.test", "good.test"]),
        ("10.0.0.1", &trusting(), &world().good, "is for a different name", &["10.0.0.1", "127.0.0.1"]),
        ("good.test", &public, &world().good, "unknown issuer", &["good.test", "--cacert", "--insecure"]),
        ("good.test", &trusting(), &own, "unknown issuer", &["good.test", "--insecure"]),
        ("good.test", &public, &own, "unknown issuer", &["good.test", "--insecure"]),
    ];
    for version in BOTH {
        for (host, settings, identity, expected, names) in &cases {
            let server = serving(identity, version);
            let said = shake(settings, host, &server).unwrap_err();
            assert!(said.contains(expected), "{said}");
            assert!(names.iter().all(|n| said.contains(n)), "{said}");
            let insecure = TlsSettings { insecure: true, ..(*settings).clone() };
            assert!(shake(&insecure, host, &server).is_ok());
        }
    }
}

#[test]
fn a_refused_server_is_told_by_an_alert_and_the_channel_stays_failed() {
    let security = RustlsSecurity::new(&trusting()).unwrap();
    let mut pair = TlsPair::new(&security, "bad.test", &serving(&world().good, &TLS13));
    let mut out = OutputBuffer::default();
    pair.client.start(&mut out);
    pair.server.receive(out.bytes()).unwrap();
    let flight = pair.server.send(b"");
    out.clear();
    let said = pair.client.feed(&flight, &mut Vec::new(), &mut out).unwrap_err();
    assert!(!out.is_empty(), "no alert");
    assert!(pair.server.receive(out.bytes()).is_err());
    out.clear();
    assert_eq!(pair.client.feed(b"more", &mut Vec::new(), &mut out), Err(said));
    pair.client.seal(&OutputBuffer::default(), &mut out);
    pair.client.finish(&mut out);
    assert!(out.is_empty());
}

#[test]
fn addresses_are_checked_against_the_certificate() {
    for host in ["127.0.0.1", "::1", "::1%lo", "GOOD.test"] {
        shake(&trusting(), host, &serving(&world().good, &TLS13)).unwrap();
    }
    let said = RustlsSecurity::new(&trusting()).unwrap().client(&origin("no good"), &[]).err().unwrap().to_string();
    assert!(said.contains("`no good` is not a valid server name"), "{said}");
}

#[test]
fn a_client_certificate_is_sent_where_it_is_demanded() {
    let own = world().authority.identity(&["client.test"], 2999);
    let stranger = TestAuthority::new("a stranger").identity(&["client.test"], 2999);
    for version in BOTH {
        let behaviour = TestServerSettings {
            identity: &world().good,
            versions: &[version],
            alpn: &[],
            demands: Some(&world().authority),
        };
        let server = config(&behaviour);
        let with =
            |i: &TestIdentity| TlsSettings { cert: Some(i.cert.clone()), key: Some(i.key.clone()), ..trusting() };
        let mut pair = TlsPair::new(&RustlsSecurity::new(&with(&own)).unwrap(), "good.test", &server);
        pair.shake(usize::MAX).unwrap();
        assert_eq!(pair.server.0.peer_certificates().map(<[_]>::len), Some(1));
        assert_eq!(pair.ask(b"hello"), b"hello");
        for (settings, expected) in
            [(trusting(), "client certificate"), (with(&stranger), "did not accept our certificate")]
        {
            let said = shake(&settings, "good.test", &server).unwrap_err();
            assert!(said.contains(expected) && said.contains("--cert"), "{said}");
        }
    }
}

#[test]
fn alpn_is_chosen_by_the_server() {
    let serving =
        |alpn| config(&TestServerSettings { identity: &world().good, versions: &[&TLS13], alpn, demands: None });
    let settings = trusting();
    assert_eq!(
        shake(&settings, "good.test", &serving(&[b"h2", b"http/1.1"])).unwrap().alpn,
        Some(b"http/1.1".to_vec())
    );
    assert_eq!(shake(&settings, "good.test", &serving(&[])).unwrap().alpn, None);
    let said = shake(&settings, "good.test", &serving(&[b"h2"])).unwrap_err();
    assert!(said.contains("ALPN"), "{said}");
}

#[test]
fn close_notify_goes_both_ways_and_what_follows_it_is_ignored() {
    for version in BOTH {
        let server = serving(&world().good, version);
        let mut pair = TlsPair::new(&RustlsSecurity::new(&trusting()).unwrap(), "good.test", &server);
        pair.shake(usize::MAX).unwrap();
        let last = pair.server.send(b"last words");
        pair.server.0.send_close_notify();
        let close = pair.server.send(b"");
        let both = [last, close, b"rubbish behind it".to_vec()].concat();
        pair.feed(&both, 3).unwrap();
        assert_eq!((pair.plain.as_slice(), pair.ended), (&b"last words"[..], 1));
        let mut out = OutputBuffer::default();
        pair.client.finish(&mut out);
        assert!(!out.is_empty());
        pair.server.receive(out.bytes()).unwrap();
        assert!(pair.server.0.process_new_packets().unwrap().peer_has_closed());
    }
}

#[test]
fn what_is_no_tls_is_an_error_and_never_a_panic() {
    let security = RustlsSecurity::new(&trusting()).unwrap();
    let feed = |bytes: &[u8], piece: usize| {
        let mut client = security.client(&origin("good.test"), &[]).unwrap();
        let mut out = OutputBuffer::default();
        client.start(&mut out);
        bytes
            .chunks(piece)
            .try_for_each(|part| client.feed(part, &mut Vec::new(), &mut out).map(drop))
            .map_err(|why| why.to_string())
    };
    for piece in [1, 5, 1000] {
        let said = feed(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", piece).unwrap_err();
        let plain = "good.test does not use TLS on this port: it responded in plain HTTP; use a scheme without TLS";
        assert_eq!(said, format!("{plain} (http://, ws://)"));
        let said = feed(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100], piece).unwrap_err();
        assert!(said.ends_with("in plain HTTP/2; use a scheme without TLS (http:// with --http2, grpc://)"), "{said}");
        let said = feed(b"220 mail.test ESMTP\r\n", piece).unwrap_err();
        assert_eq!(said, "good.test does not use TLS on this port; use a scheme without TLS");
    }
    for seed in 0..2000_usize {
        let mut bytes = blob(600 + seed)[seed..].to_vec();
        if seed % 2 == 0 {
            bytes[..5].copy_from_slice(&[20 + (seed % 5) as u8, 3, 3, 0, seed as u8]);
        }
        let _ = feed(&bytes, 1 + seed % 50);
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_and_never_a_panic() {
    for version in BOTH {
        let server = serving(&world().good, version);
        let security = RustlsSecurity::new(&trusting()).unwrap();
        for at in (0..400).step_by(3) {
            let mut pair = TlsPair::new(&security, "good.test", &server);
            let mut out = OutputBuffer::default();
            pair.client.start(&mut out);
            pair.server.receive(out.bytes()).unwrap();
            let mut flight = pair.server.send(b"");
            if let Some(byte) = flight.get_mut(at) {
                *byte ^= 1 << (at % 8);
            }
            let _ = pair.feed(&flight, 11);
            let mut pair = TlsPair::new(&security, "good.test", &server);
            pair.shake(usize::MAX).unwrap();
            let mut data = pair.server.send(&blob(400));
            // After the length of the record, where every bit is protected.
            data[5 + at] ^= 1 << (at % 8);
            let said = pair.feed(&data, 11).unwrap_err();
            assert!(said.contains("cannot be decrypted"), "{said}");
            assert!(pair.plain.is_empty());
        }
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
    let good = &world().good;
    let other = self_signed("x.test");
    let text = |b: &[u8]| Some(b.to_vec());
    let cut = good.cert[..good.cert.len() - 30].to_vec();
    let cases = [
        (None, text(&good.cert), None, "--cert: its private key is missing"),
        (None, None, text(&good.key), "--key: the certificate it belongs to is missing"),
        (text(b""), None, None, "--cacert: there is no certificate in the file; it is empty"),
        (
            text(b"hello"),
            None,
            None,
            "--cacert: there is no certificate in the file; write a PEM file with a line `-----BEGIN",
        ),
        (text(&good.key), None, None, "it has a PRIVATE KEY, not a CERTIFICATE"),
        (text(&[0x30, 0x82, 1, 2]), None, None, "it is DER; convert it to PEM"),
        (Some(cut), None, None, "--cacert: certificate 1 in the file is damaged: the line `-----END CERTIFICATE-----`"),
        (None, text(&good.cert), text(&good.cert), "--cert: there is no private key in the file; it has a CERTIFICATE"),
        (None, text(&good.cert), text(&other.key), "--key: the key does not belong to the certificate of --cert"),
        (
            None,
            text(&good.cert),
            text(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"),
            "--key: the key is protected by a password",
        ),
    ];
    for (cacert, cert, key, expected) in cases {
        let said = RustlsSecurity::new(&TlsSettings { cacert, cert, key, ..TlsSettings::default() });
        let said = said.unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}
