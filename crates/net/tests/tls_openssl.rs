//! TLS against OpenSSL's server, over 127.0.0.1: another implementation's records, tickets and alerts.
//!
//! Without an installed `openssl` there is nothing to compare with; the tests then say so and pass.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use brunt_contract::{ChannelProgress, Handshake, Origin, OutputBuffer, SecureChannelFactory};
use brunt_net::tls::{RustlsSecurity, TlsSettings, Versions};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// A certificate for `localhost` and the authority that signed it, as files and as PEM.
struct Files {
    cert: PathBuf,
    key: PathBuf,
    authority: PathBuf,
}

fn files(test: &str) -> Files {
    let at = |name: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{name}.pem"));
    let files = Files { cert: at("cert"), key: at("key"), authority: at("authority") };
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "the authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(&files.authority, params.self_signed(&authority_key).unwrap().pem()).unwrap();
    let key = KeyPair::generate().unwrap();
    let named = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let cert = named.signed_by(&key, &Issuer::new(params, authority_key)).unwrap();
    std::fs::write(&files.cert, cert.pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    files
}

/// OpenSSL's server, killed when dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Errors do not matter: the server may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(files: &Files, options: &[&str]) -> Option<Server> {
    let mut command = Command::new("openssl");
    command.args(["s_server", "-accept", "127.0.0.1:0", "-www", "-cert"]).arg(&files.cert);
    command.arg("-key").arg(&files.key).arg("-CAfile").arg(&files.authority).args(options);
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = started else {
        println!("openssl is not installed: nothing to compare with");
        return None;
    };
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let accepting = lines.map_while(Result::ok).find_map(|l| l.strip_prefix("ACCEPT ").map(str::to_owned));
    let port = accepting.and_then(|at| at.rsplit(':').next().and_then(|p| p.parse().ok())).expect("a port");
    Some(Server { child, port })
}

/// Sends one GET on a separate connection and reads the response in small pieces.
fn get(security: &RustlsSecurity, port: u16) -> Result<(Handshake, Vec<u8>), String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut channel =
        security.client(&Origin::tcp("localhost", port, true), &[b"http/1.1"]).map_err(|why| why.to_string())?;
    let (mut question, mut cipher, mut plain) = (OutputBuffer::default(), OutputBuffer::default(), Vec::new());
    question.put(b"GET / HTTP/1.0\r\n\r\n");
    channel.start(&mut cipher);
    let mut piece = [0; 333];
    loop {
        // A server that gave up may have closed before it read everything; what it sent must still be read.
        let _ = socket.write_all(cipher.bytes());
        cipher.clear();
        let n = socket.read(&mut piece).unwrap_or(0);
        let fed = channel.feed(&piece[..n], &mut plain, &mut cipher).map_err(|why| why.to_string())?;
        if fed == ChannelProgress::Established {
            channel.seal(&question, &mut cipher);
        }
        if fed == ChannelProgress::PeerFinished || n == 0 {
            return channel.handshake().map(|h| (h, plain)).ok_or_else(|| "no handshake".to_owned());
        }
    }
}

fn trusting(files: &Files) -> TlsSettings {
    TlsSettings { cacert: Some(std::fs::read(&files.authority).unwrap()), ..TlsSettings::default() }
}

#[test]
fn openssl_answers_and_resumes() {
    let files = files("resumes");
    for (option, version) in [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")] {
        let Some(server) = serve(&files, &[option]) else { return };
        let security = RustlsSecurity::new(&trusting(&files)).unwrap();
        let resumed = [(); 3].map(|()| {
            let (settled, page) = get(&security, server.port).unwrap();
            assert_eq!(settled.version, version);
            assert!(page.starts_with(b"HTTP/1.0 200") && page.ends_with(b"\r\n\r\n"), "{}", page.escape_ascii());
            settled.resumed
        });
        assert_eq!(resumed, [false, true, true], "{version}");
    }
}

#[test]
fn openssl_demands_a_client_certificate() {
    let files = files("demands");
    for option in ["-tls1_3", "-tls1_2"] {
        let Some(server) = serve(&files, &[option, "-Verify", "2", "-verify_return_error"]) else { return };
        let read = |path| Some(std::fs::read(path).unwrap());
        let own = TlsSettings { cert: read(&files.cert), key: read(&files.key), ..trusting(&files) };
        get(&RustlsSecurity::new(&own).unwrap(), server.port).unwrap();
        let said = get(&RustlsSecurity::new(&trusting(&files)).unwrap(), server.port).unwrap_err();
        assert!(said.contains("client certificate"), "{option}: {said}");
    }
}

#[test]
fn a_server_of_old_versions_only_is_named() {
    let files = files("old");
    let Some(server) = serve(&files, &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]) else { return };
    let said = get(&RustlsSecurity::new(&trusting(&files)).unwrap(), server.port).unwrap_err();
    assert!(said.contains("supports none of the TLS versions offered: 1.2 and 1.3"), "{said}");
}

/// Creates a self-signed certificate with the usual command; returns its path and that of its key.
fn self_signed(test: &str, options: &[&str]) -> Option<Files> {
    let at = |name: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{name}.pem"));
    let files = Files { cert: at("own"), key: at("own-key"), authority: at("own") };
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost"]);
    command.arg("-keyout").arg(&files.key).arg("-out").arg(&files.cert).args(options);
    let made = command.stdin(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    assert!(made.success(), "{options:?}");
    Some(files)
}

#[test]
fn a_self_signed_certificate_is_trusted_where_it_is_named() {
    const NAMED: [&str; 2] = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    let of_servers = [&NAMED[..], &["-addext", "basicConstraints=critical,CA:FALSE"]].concat();
    // The default of openssl itself is CA:TRUE.
    for (test, options) in [("ca-true", &NAMED[..]), ("ca-false", &of_servers)] {
        for version in ["-tls1_3", "-tls1_2"] {
            let Some(files) = self_signed(test, options) else { return };
            let Some(server) = serve(&files, &[version]) else { return };
            get(&RustlsSecurity::new(&trusting(&files)).unwrap(), server.port).unwrap();
            let Some(other) = self_signed("other", &NAMED) else { return };
            for settings in [TlsSettings::default(), trusting(&other)] {
                let said = get(&RustlsSecurity::new(&settings).unwrap(), server.port).unwrap_err();
                assert!(said.contains("--cacert FILE, or skip the check with --insecure"), "{test}: {said}");
            }
        }
    }
}

#[test]
fn a_trusted_certificate_must_still_name_the_host_and_be_in_its_time() {
    let past =
        ["-addext", "subjectAltName=DNS:localhost", "-not_before", "20200101000000Z", "-not_after", "20200102000000Z"];
    for (test, options, wanted) in [
        ("cn-only", &[][..], "it has no subjectAltName, and its CN is ignored; recreate it with -addext"),
        ("another", &["-addext", "subjectAltName=DNS:elsewhere"], "is for a different name: elsewhere"),
        ("past", &past, "expired on 2020-01-02"),
    ] {
        // Only recent versions of openssl create certificates with dates in the past.
        if test == "past" && !can_make_past_certificates() {
            continue;
        }
        let Some(files) = self_signed(test, options) else { return };
        let Some(server) = serve(&files, &[]) else { return };
        let said = get(&RustlsSecurity::new(&trusting(&files)).unwrap(), server.port).unwrap_err();
        assert!(said.contains(wanted), "{test}: {said}");
    }
}

fn can_make_past_certificates() -> bool {
    let help = Command::new("openssl").args(["req", "-help"]).output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stderr).contains("-not_before"))
}

#[test]
fn the_versions_that_are_offered_can_be_chosen() {
    let files = files("versions");
    for (versions, wanted) in
        [(Versions::Only12, "TLSv1.2"), (Versions::Only13, "TLSv1.3"), (Versions::Both, "TLSv1.3")]
    {
        let Some(server) = serve(&files, &[]) else { return };
        let settings = TlsSettings { versions, ..trusting(&files) };
        let (settled, _) = get(&RustlsSecurity::new(&settings).unwrap(), server.port).unwrap();
        assert_eq!(settled.version, wanted);
    }
    let Some(server) = serve(&files, &["-tls1_2"]) else { return };
    let settings = TlsSettings { versions: Versions::Only13, ..trusting(&files) };
    let said = get(&RustlsSecurity::new(&settings).unwrap(), server.port).unwrap_err();
    assert!(said.contains("supports none of the TLS versions offered"), "{said}");
}
