//! Certificates and keys from PEM files; every error names the option that the file was given with.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Returns all certificates of a file, at least one.
///
/// # Errors
/// Returns a usage error that says what is wrong with the file of `option`.
pub(super) fn certificates(option: &str, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, UsageError> {
    let wrong = |trouble: Complaint| UsageError::new(option, trouble);
    let mut found = Vec::new();
    for item in CertificateDer::pem_slice_iter(bytes) {
        let nth = found.len() + 1;
        found.push(item.map_err(|e| {
            let damage = damage(&e);
            let zh = damage.zh();
            wrong(complaint!("certificate {nth} in the file is damaged: {damage}", "文件中第 {nth} 个证书已损坏：{zh}"))
        })?);
    }
    match found.is_empty() {
        false => Ok(found),
        true => {
            let instead = instead(bytes, "CERTIFICATE");
            let zh = instead.zh();
            Err(wrong(complaint!("there is no certificate in the file{instead}", "文件中没有证书{zh}")))
        }
    }
}

/// Returns the private key of a file.
///
/// # Errors
/// Returns a usage error that says what is wrong with the file of `option`.
pub(super) fn private_key(option: &str, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, UsageError> {
    if holds(bytes, "-----BEGIN ENCRYPTED PRIVATE KEY-----") || holds(bytes, "Proc-Type: 4,ENCRYPTED") {
        let trouble = complaint!(
            "the key is protected by a password; decrypt it first: openssl pkey -in FILE",
            "该私钥受密码保护；请先解密：openssl pkey -in FILE"
        );
        return Err(UsageError::new(option, trouble));
    }
    PrivateKeyDer::from_pem_slice(bytes).map_err(|e| {
        let trouble = match e {
            Error::NoItemsFound => {
                let instead = instead(bytes, "PRIVATE KEY");
                let zh = instead.zh();
                complaint!("there is no private key in the file{instead}", "文件中没有私钥{zh}")
            }
            e => {
                let damage = damage(&e);
                let zh = damage.zh();
                complaint!("the private key in the file is damaged: {damage}", "文件中的私钥已损坏：{zh}")
            }
        };
        UsageError::new(option, trouble)
    })
}

/// Returns a description of what the file contains instead.
fn instead(bytes: &[u8], wanted: &str) -> Complaint {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return complaint!("; it is empty", "；文件为空");
    }
    let is_der = bytes.first() == Some(&0x30) && bytes.get(1).is_some_and(|b| *b >= 0x80);
    if is_der {
        return complaint!(
            "; it is DER; convert it to PEM: openssl x509 (or pkey) -inform DER -in FILE",
            "；它是 DER 格式；请转换为 PEM：openssl x509（或 pkey）-inform DER -in FILE"
        );
    }
    let text = String::from_utf8_lossy(bytes);
    match text.split_once("-----BEGIN ").and_then(|(_, rest)| rest.split_once("-----")) {
        Some((label, _)) if label.len() < 40 && !label.contains(wanted) => {
            complaint!("; it has a {label}, not a {wanted}", "；其中是 {label}，而不是 {wanted}")
        }
        _ => complaint!(
            "; write a PEM file with a line `-----BEGIN {wanted}-----`",
            "；请写含有 `-----BEGIN {wanted}-----` 行的 PEM 文件"
        ),
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

fn damage(error: &Error) -> Complaint {
    match error {
        Error::MissingSectionEnd { end_marker } => {
            let label = String::from_utf8_lossy(end_marker);
            complaint!("the line `-----END {}-----` is missing", "缺少 `-----END {}-----` 行", label.trim())
        }
        Error::IllegalSectionStart { line } => {
            complaint!("the line `{}` is malformed", "`{}` 行格式有误", String::from_utf8_lossy(line).trim())
        }
        Error::Base64Decode(_) => complaint!("its content is not base64", "其内容不是 base64"),
        other => other.to_string().into(),
    }
}
