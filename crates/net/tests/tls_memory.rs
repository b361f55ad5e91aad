//! Memory cost of an idle TLS connection: counted by an allocator, for both versions, after a handshake and an
//! exchange.
//!
//! aws-lc keeps its keys on the C heap, which Rust's allocator does not see; that part is read from `mallinfo2` and
//! shown, not asserted, because other threads of the process allocate there too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use brunt_contract::{Origin, OutputBuffer, SecureChannel, SecureChannelFactory};
use brunt_net::tls::{RustlsSecurity, TlsSettings};
use rcgen::generate_simple_self_signed;
use rustls::pki_types::PrivateKeyDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: everything is passed to the system's allocator unchanged; only sizes are added up.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn c_heap() -> usize {
    // SAFETY: mallinfo2 only reads the allocator's statistics.
    unsafe { libc::mallinfo2() }.uordblks
}

fn hear(server: &mut ServerConnection, out: &mut OutputBuffer) {
    let mut bytes = out.bytes();
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).unwrap();
        let state = server.process_new_packets().unwrap();
        server.reader().read_exact(&mut vec![0; state.plaintext_bytes_to_read()]).unwrap();
    }
    out.clear();
}

fn said(server: &mut ServerConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut bytes).unwrap();
    }
    bytes
}

/// Returns a connection after its handshake and an exchange of 100 bytes each way, the response split in two.
fn idle(security: &RustlsSecurity, config: &Arc<ServerConfig>) -> Box<dyn SecureChannel> {
    let origin = Origin::tcp("localhost", 443, true);
    let mut client = security.client(&origin, &[b"http/1.1"]).unwrap();
    let mut server = ServerConnection::new(Arc::clone(config)).unwrap();
    let (mut plain, mut question, mut out) = (Vec::new(), OutputBuffer::default(), OutputBuffer::default());
    client.start(&mut out);
    while !out.is_empty() {
        hear(&mut server, &mut out);
        for part in said(&mut server).chunks(1448) {
            client.feed(part, &mut plain, &mut out).unwrap();
        }
    }
    assert!(client.handshake().is_some());
    question.put(&[1; 100]);
    client.seal(&question, &mut out);
    hear(&mut server, &mut out);
    server.writer().write_all(&[2; 100]).unwrap();
    for part in said(&mut server).chunks(60) {
        client.feed(part, &mut plain, &mut out).unwrap();
    }
    assert_eq!(plain, [2; 100]);
    client
}

#[test]
fn an_idle_connection_holds_its_keys_and_no_buffer() {
    const CONNECTIONS: usize = 500;
    let made = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    for version in [&TLS13, &TLS12] {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let config =
            Arc::new(config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap());
        let security = RustlsSecurity::new(&TlsSettings {
            cacert: Some(made.cert.pem().into_bytes()),
            resume: false,
            ..TlsSettings::default()
        })
        .unwrap();
        drop(idle(&security, &config));
        let mut held = Vec::with_capacity(CONNECTIONS);
        let (before, before_c) = (LIVE.load(Ordering::Relaxed), c_heap());
        held.extend((0..CONNECTIONS).map(|_| idle(&security, &config)));
        let rust = (LIVE.load(Ordering::Relaxed) - before) as usize / CONNECTIONS;
        let all = c_heap().saturating_sub(before_c) / CONNECTIONS;
        println!("{version:?}: {rust} bytes a connection in Rust's heap, {all} with the heap of C");
        assert!((500..3_600).contains(&rust), "{version:?}: {rust} bytes a connection");
        drop(held);
    }
}
