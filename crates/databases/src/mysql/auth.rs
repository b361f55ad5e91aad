//! Password proofs: `mysql_native_password` and `caching_sha2_password`.
//!
//! The formulas are those of the documentation's pages "Native Authentication" and "Caching_sha2_password information".
//! Not supported: `client_ed25519`, PAM dialogs and Kerberos, which are refused by name.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use base64::Engine as _;
use brunt_contract::ProtocolError;

/// SHA-1 of the password, mixed with the server's random bytes (since MySQL 4.1; MariaDB's default).
pub const NATIVE: &[u8] = b"mysql_native_password";
/// Like [`NATIVE`], but with SHA-256 (MySQL 8's default); once per account, the password itself must be sent.
pub const SHA2: &[u8] = b"caching_sha2_password";
/// The password in clear text.
pub const CLEAR: &[u8] = b"mysql_clear_password";

/// Returns SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))).
pub fn native_proof(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let hash = |parts: &[&[u8]]| digest(&SHA1_FOR_LEGACY_USE_ONLY, parts);
    let once = hash(&[password]);
    let twice = hash(&[&once]);
    xor(&once, &hash(&[scramble, &twice]))
}

/// Returns SHA256(password) XOR SHA256(SHA256(SHA256(password)), scramble).
pub fn sha2_proof(password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let hash = |parts: &[&[u8]]| digest(&SHA256, parts);
    let once = hash(&[password]);
    let twice = hash(&[&once]);
    xor(&once, &hash(&[&twice, scramble]))
}

/// Encrypts the password with the server's public key: the password and a zero byte, XOR the server's random bytes
/// repeated, by RSA with OAEP (SHA-1, MGF1 with SHA-1; RFC 8017 7.1).
///
/// # Errors
/// Returns an error if the key is invalid or too short for this password.
pub fn encrypt_password(password: &[u8], scramble: &[u8], pem: &[u8]) -> Result<Vec<u8>, ProtocolError> {
    let no_key = ProtocolError(brunt_cause::mysql::no_rsa_key());
    let key = PublicEncryptingKey::from_der(&from_pem(pem).ok_or(no_key.clone())?)
        .map_err(|_| no_key.clone())
        .and_then(|key| OaepPublicEncryptingKey::new(key).map_err(|_| no_key))?;
    let mut text: Vec<u8> = password.iter().copied().chain([0]).collect();
    text.iter_mut().zip(scramble.iter().cycle()).for_each(|(byte, other)| *byte ^= other);
    let mut sealed = vec![0; key.ciphertext_size()];
    let size = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, &text, &mut sealed, None)
        .map_err(|_| ProtocolError(brunt_cause::mysql::long_password()))?
        .len();
    sealed.truncate(size);
    Ok(sealed)
}

/// Returns the bytes inside `-----BEGIN PUBLIC KEY-----` (RFC 7468).
fn from_pem(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let inside = text.split_once("-----BEGIN PUBLIC KEY-----")?.1.split_once("-----END")?.0;
    let inside: String = inside.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    base64::engine::general_purpose::STANDARD.decode(inside).ok()
}

fn digest(algorithm: &'static aws_lc_rs::digest::Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().to_vec()
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}
