//! The server side of TLS: a given or self-signed certificate, and channels to clients.
//!
//! Tickets are stateless, so that a server stores no sessions. Not supported: client certificates, and selection of a
//! certificate by server name.

use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::{SecureChannel, UsageError};
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;

use super::channel::RustlsChannel;
use super::{errors, pem};

fn no_tls(error: &rustls::Error) -> UsageError {
    UsageError::whole(complaint!("TLS cannot be set up: {error}", "无法建立 TLS：{error}"))
}

/// Creates TLS channels to clients; one instance serves all workers.
#[derive(Clone, Debug)]
pub struct RustlsServer {
    pub(super) config: Arc<ServerConfig>,
}

impl RustlsServer {
    /// Creates a server with this certificate (which its chain may follow) and this key, both PEM; `alpn` is in order
    /// of preference.
    ///
    /// # Errors
    /// Returns one sentence that names `--cert` or `--key` and says what is wrong with its file.
    pub fn new(cert: &[u8], key: &[u8], alpn: &[&[u8]]) -> Result<RustlsServer, UsageError> {
        let chain = pem::certificates("--cert", cert)?;
        let key = pem::private_key("--key", key)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| no_tls(&e))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|e| errors::own_certificate(&e))?;
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(|e| no_tls(&e))?;
        Ok(RustlsServer { config: Arc::new(config) })
    }

    /// Creates a server with a new self-signed certificate for `names` (host names and addresses).
    ///
    /// # Errors
    /// Returns an error if no certificate can be created for these names.
    pub fn self_signed(names: &[&str], alpn: &[&[u8]]) -> Result<RustlsServer, UsageError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = || {
            let key = KeyPair::generate()?;
            let cert = CertificateParams::new(names)?.self_signed(&key)?;
            Ok((cert.pem(), key.serialize_pem()))
        };
        let (cert, key) = made().map_err(|e: rcgen::Error| {
            UsageError::whole(complaint!("no certificate can be made: {e}", "无法生成证书：{e}"))
        })?;
        RustlsServer::new(cert.as_bytes(), key.as_bytes(), alpn)
    }

    /// Returns the rustls configuration, for servers with their own loop.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Creates a channel to a client that is about to send.
    ///
    /// # Errors
    /// Returns the error of the TLS library as a sentence.
    pub fn channel(&self) -> Result<Box<dyn SecureChannel>, String> {
        Ok(Box::new(RustlsChannel::serving(Arc::clone(&self.config))?))
    }
}
