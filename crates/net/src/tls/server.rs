//! The server side for tests: an authority that signs certificates, and rustls' server without I/O.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

/// Signs certificates.
pub(super) struct TestAuthority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: Vec<u8>,
}

/// A certificate and its key, both PEM.
pub(super) struct TestIdentity {
    pub(super) cert: Vec<u8>,
    pub(super) key: Vec<u8>,
}

fn params(names: &[&str], until: i32) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    params
}

/// Creates a self-signed certificate.
pub(super) fn self_signed(name: &str) -> TestIdentity {
    let key = KeyPair::generate().unwrap();
    let cert = params(&[name], 2999).self_signed(&key).unwrap();
    TestIdentity { cert: cert.pem().into_bytes(), key: key.serialize_pem().into_bytes() }
}

impl TestAuthority {
    pub(super) fn new(name: &str) -> TestAuthority {
        let key = KeyPair::generate().unwrap();
        let mut params = params(&[], 2999);
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem().into_bytes();
        TestAuthority { issuer: Issuer::new(params, key), pem }
    }

    pub(super) fn identity(&self, names: &[&str], until: i32) -> TestIdentity {
        let key = KeyPair::generate().unwrap();
        let cert = params(names, until).signed_by(&key, &self.issuer).unwrap();
        TestIdentity { cert: cert.pem().into_bytes(), key: key.serialize_pem().into_bytes() }
    }
}

/// Settings of a test server.
pub(super) struct TestServerSettings<'a> {
    pub(super) identity: &'a TestIdentity,
    pub(super) versions: &'a [&'static SupportedProtocolVersion],
    pub(super) alpn: &'a [&'a [u8]],
    pub(super) demands: Option<&'a TestAuthority>,
}

/// Creates the server's configuration; connections that share one can resume each other's sessions.
pub(super) fn config(behaviour: &TestServerSettings<'_>) -> Arc<ServerConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(behaviour.versions).unwrap();
    let builder = match behaviour.demands {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(&authority.pem).unwrap()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let chain = vec![CertificateDer::from_pem_slice(&behaviour.identity.cert).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&behaviour.identity.key).unwrap();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = behaviour.alpn.iter().map(|p| p.to_vec()).collect();
    config.ticketer = aws_lc_rs::Ticketer::new().unwrap();
    Arc::new(config)
}

/// The server side of one connection.
pub(super) struct TestTlsServer(pub(super) ServerConnection);

impl TestTlsServer {
    pub(super) fn new(config: &Arc<ServerConfig>) -> TestTlsServer {
        TestTlsServer(ServerConnection::new(config.clone()).unwrap())
    }

    /// Processes bytes from the wire and returns the plaintext in them.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        let mut plain = Vec::new();
        while !bytes.is_empty() {
            self.0.read_tls(&mut bytes).unwrap();
            let state = self.0.process_new_packets()?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.0.reader().read_exact(&mut plain[start..]).unwrap();
        }
        Ok(plain)
    }

    /// Returns all bytes to send, plaintext included.
    pub(super) fn send(&mut self, plain: &[u8]) -> Vec<u8> {
        self.0.set_buffer_limit(None);
        self.0.writer().write_all(plain).unwrap();
        let mut bytes = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut bytes).unwrap();
        }
        bytes
    }
}
