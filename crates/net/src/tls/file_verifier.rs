//! `--cacert`: the certificates of a file are trusted as authorities, and also as servers' own certificates.
//!
//! `openssl req -x509` makes a certificate that is both: self-signed, with CA:TRUE, presented by the server itself.
//! webpki does not accept an authority's certificate as a server's (RFC 5280); a user who trusts exactly this
//! certificate expects it to be accepted anyway, as in curl. Validity period and name are checked as for any other
//! certificate.

use std::sync::Arc;

use brunt_cause::complaint;
use brunt_contract::UsageError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Trusts authorities, and the certificates of the file themselves.
#[derive(Debug)]
pub(super) struct FileVerifier {
    by_authorities: Arc<WebPkiServerVerifier>,
    themselves: Vec<CertificateDer<'static>>,
}

impl FileVerifier {
    /// Creates the verifier from the authorities of a file and all of its certificates.
    ///
    /// # Errors
    /// Returns an error if no verifier can be built from them.
    pub(super) fn new(
        authorities: RootCertStore,
        themselves: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<FileVerifier, UsageError> {
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider));
        let unusable =
            |e| UsageError::new("--cacert", complaint!("the file cannot be used: {e}", "无法使用该文件：{e}"));
        let by_authorities = builder.build().map_err(unusable)?;
        Ok(FileVerifier { by_authorities, themselves })
    }
}

impl ServerCertVerifier for FileVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self.by_authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match judged {
            // webpki checks the validity period before the issuer and the purpose, so the period is known to be valid
            // here.
            Err(Error::InvalidCertificate(ref wrong))
                if is_about_trust(wrong) && self.themselves.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authorities.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authorities.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authorities.supported_verify_schemes()
    }
}

/// Returns `true` if a certificate was rejected only because of its issuer.
fn is_about_trust(wrong: &CertificateError) -> bool {
    matches!(wrong, CertificateError::UnknownIssuer | CertificateError::BadSignature) || is_of_an_authority(wrong)
}

/// Returns `true` if a server presented the certificate of an authority, usually self-signed. webpki identifies this
/// case only by the text of its error.
pub(super) fn is_of_an_authority(wrong: &CertificateError) -> bool {
    wrong.to_string().contains("CaUsedAsEndEntity")
}
