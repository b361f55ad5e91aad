//! TLS as a layer without I/O: rustls behind [`brunt_contract::SecureChannelFactory`] and
//! [`brunt_contract::SecureChannel`].
//!
//! The unbuffered interface of rustls is used, because an idle connection then holds only its keys: bytes are decrypted
//! in a scratch buffer of the thread, and only an incomplete record is kept. rustls 0.24 replaces that interface with a
//! better one; everything that depends on it is in `channel.rs`.
//!
//! [`TlsNetwork`] adds the server side to a listening network.
//!
//! Not supported: early data (0-RTT requests can be replayed), certificate revocation, the system's root store.

mod channel;
mod errors;
mod file_verifier;
mod insecure;
mod network;
mod pem;
mod server_security;
mod stream;
mod tickets;

#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use brunt_cause::Cause;
use brunt_cause::complaint;
use brunt_contract::{Origin, SecureChannel, SecureChannelFactory, UsageError};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use self::channel::RustlsChannel;
use self::file_verifier::FileVerifier;
pub use self::network::TlsNetwork;
pub use self::server_security::RustlsServer;
pub use self::stream::PlainStream;
use self::tickets::SessionStore;

/// Settings of the TLS client; files are given by their content.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Set if every certificate is accepted (`--insecure`).
    pub insecure: bool,
    /// The only trusted authorities, PEM (`--cacert`); `None` for the public ones.
    pub cacert: Option<Vec<u8>>,
    /// Client certificate and its chain, PEM (`--cert`).
    pub cert: Option<Vec<u8>>,
    /// Private key of the client certificate, PEM (`--key`).
    pub key: Option<Vec<u8>>,
    /// Set if earlier sessions are resumed when the server allows it.
    pub resume: bool,
    /// Versions to offer.
    pub versions: Versions,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// 1.2 and 1.3.
    #[default]
    Both,
    /// Only 1.2.
    Only12,
    /// Only 1.3.
    Only13,
}

impl Default for TlsSettings {
    /// Returns settings that check certificates against the public authorities and resume sessions.
    fn default() -> Self {
        TlsSettings { insecure: false, cacert: None, cert: None, key: None, resume: true, versions: Versions::Both }
    }
}

/// Creates TLS channels with rustls; one instance serves all workers of a run.
#[derive(Debug)]
pub struct RustlsSecurity {
    config: Arc<ClientConfig>,
}

impl RustlsSecurity {
    /// Parses the PEM content once, for the whole run.
    ///
    /// # Errors
    /// Returns a usage error that names the option and says what is wrong with its file.
    pub fn new(settings: &TlsSettings) -> Result<RustlsSecurity, UsageError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = client_config(settings, &provider)?;
        config.resumption = match settings.resume {
            true => Resumption::store(Arc::new(SessionStore::default())),
            false => Resumption::disabled(),
        };
        Ok(RustlsSecurity { config: Arc::new(config) })
    }
}

fn client_config(settings: &TlsSettings, provider: &Arc<CryptoProvider>) -> Result<ClientConfig, UsageError> {
    let versions: &[&SupportedProtocolVersion] = match settings.versions {
        Versions::Both => &[&TLS13, &TLS12],
        Versions::Only12 => &[&TLS12],
        Versions::Only13 => &[&TLS13],
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(versions)
        .map_err(|e| UsageError::new("TLS", complaint!("TLS cannot be set up: {e}", "无法启用 TLS：{e}")))?;
    let trusted = settings.cacert.as_deref().map(|bytes| trusted(bytes, provider)).transpose()?;
    let builder = match (settings.insecure, trusted) {
        (true, _) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(insecure::AcceptAnything::new(Arc::clone(provider)))),
        (false, Some(trusted)) => builder.dangerous().with_custom_certificate_verifier(Arc::new(trusted)),
        (false, None) => {
            builder.with_root_certificates(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
        }
    };
    match (&settings.cert, &settings.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(_), None) => Err(UsageError::new(
            "--cert",
            complaint!("its private key is missing; add --key FILE", "缺少私钥；请加 --key FILE"),
        )),
        (None, Some(_)) => Err(UsageError::new(
            "--key",
            complaint!("the certificate it belongs to is missing; add --cert FILE", "缺少对应的证书；请加 --cert FILE"),
        )),
        (Some(cert), Some(key)) => builder
            .with_client_auth_cert(pem::certificates("--cert", cert)?, private_key(cert, key)?)
            .map_err(|e| errors::own_certificate(&e)),
    }
}

/// Returns the private key, which may be in the file of the certificate.
fn private_key(cert: &[u8], key: &[u8]) -> Result<PrivateKeyDer<'static>, UsageError> {
    if cert != key {
        return pem::private_key("--key", key);
    }
    pem::private_key("--cert", key).map_err(|UsageError { problem, .. }| {
        let zh = problem.zh();
        let trouble = complaint!(
            "{problem}; or add --key FILE for a key in a file of its own",
            "{zh}；若私钥在单独的文件中，请加上 --key FILE"
        );
        UsageError::new("--cert", trouble)
    })
}

/// Returns a verifier that trusts only the authorities of `--cacert` (as curl does) and the certificates in its file
/// themselves.
fn trusted(bytes: &[u8], provider: &Arc<CryptoProvider>) -> Result<FileVerifier, UsageError> {
    let (mut store, themselves) = (RootCertStore::empty(), pem::certificates("--cacert", bytes)?);
    for (index, certificate) in themselves.iter().enumerate() {
        store.add(certificate.clone()).map_err(|e| {
            UsageError::new(
                "--cacert",
                complaint!("certificate {} in the file cannot be used: {e}", "无法使用文件中的证书 {}：{e}", index + 1),
            )
        })?;
    }
    FileVerifier::new(store, themselves, provider)
}

impl SecureChannelFactory for RustlsSecurity {
    fn client(&self, origin: &Origin, alpn: &[&'static [u8]]) -> Result<Box<dyn SecureChannel>, Cause> {
        let name = server_name(&origin.host)?;
        let alpn = alpn.iter().map(|p| p.to_vec()).collect();
        Ok(Box::new(RustlsChannel::new(Arc::clone(&self.config), name, alpn, &origin.host)?))
    }
}

/// Returns the name that the certificate must be for; addresses in certificates have no zone (`fe80::1%eth0`).
fn server_name(host: &str) -> Result<ServerName<'static>, Cause> {
    let bare = host.split('%').next().unwrap_or(host);
    ServerName::try_from(bare.to_owned()).map_err(|_| brunt_cause::tls::no_server_name(host))
}
