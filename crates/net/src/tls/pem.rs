//! Certificates and keys from PEM files; every error names the option that the file was given with.

use brunt_contract::UsageError;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Returns all certificates of a file, at least one.
///
/// # Errors
/// Returns a usage error that says what is wrong with the file of `option`.
pub(super) fn certificates(option: &str, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, UsageError> {
    let wrong = |trouble: String| UsageError::new(option, trouble);
    let mut found = Vec::new();
    for item in CertificateDer::pem_slice_iter(bytes) {
        let nth = found.len() + 1;
        found.push(item.map_err(|e| wrong(format!("certificate {nth} in the file is damaged: {}", damage(&e))))?);
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(wrong(format!("there is no certificate in the file{}", instead(bytes, "CERTIFICATE")))),
    }
}

/// Returns the private key of a file.
///
/// # Errors
/// Returns a usage error that says what is wrong with the file of `option`.
pub(super) fn private_key(option: &str, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, UsageError> {
    if holds(bytes, "-----BEGIN ENCRYPTED PRIVATE KEY-----") || holds(bytes, "Proc-Type: 4,ENCRYPTED") {
        let trouble = "the key is protected by a password; decrypt it first: openssl pkey -in FILE";
        return Err(UsageError::new(option, trouble));
    }
    PrivateKeyDer::from_pem_slice(bytes).map_err(|e| {
        let trouble = match e {
            Error::NoItemsFound => format!("there is no private key in the file{}", instead(bytes, "PRIVATE KEY")),
            e => format!("the private key in the file is damaged: {}", damage(&e)),
        };
        UsageError::new(option, trouble)
    })
}

/// Returns a description of what the file contains instead.
fn instead(bytes: &[u8], wanted: &str) -> String {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return "; it is empty".into();
    }
    let is_der = bytes.first() == Some(&0x30) && bytes.get(1).is_some_and(|b| *b >= 0x80);
    if is_der {
        return "; it is DER; convert it to PEM: openssl x509 (or pkey) -inform DER -in FILE".into();
    }
    let text = String::from_utf8_lossy(bytes);
    match text.split_once("-----BEGIN ").and_then(|(_, rest)| rest.split_once("-----")) {
        Some((label, _)) if label.len() < 40 && !label.contains(wanted) => {
            format!("; it has a {label}, not a {wanted}")
        }
        _ => format!("; write a PEM file with a line `-----BEGIN {wanted}-----`"),
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

fn damage(error: &Error) -> String {
    match error {
        Error::MissingSectionEnd { end_marker } => {
            let label = String::from_utf8_lossy(end_marker);
            format!("the line `-----END {}-----` is missing", label.trim())
        }
        Error::IllegalSectionStart { line } => {
            format!("the line `{}` is malformed", String::from_utf8_lossy(line).trim())
        }
        Error::Base64Decode(_) => "its content is not base64".into(),
        other => other.to_string(),
    }
}
