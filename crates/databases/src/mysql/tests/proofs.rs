//! Password proofs compared with values from other implementations, and a key that decrypts a sealed password.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine as _;

use super::super::auth;

const SCRAMBLE: &[u8; 20] = b"01234567890123456789";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn proofs_are_those_of_other_implementations() {
    // Computed with Python's hashlib by the formulas of the documentation.
    assert_eq!(hex(&auth::native_proof(b"secret", SCRAMBLE)), "7abe1a8776b59e931059451f81e596a60dbbf7a8");
    assert_eq!(
        hex(&auth::sha2_proof(b"secret", SCRAMBLE)),
        "1a2da2573c2faa367e2afddb54cdfd11a95ed22eef0167151196a6fc8e3d3813"
    );
    assert!(auth::native_proof(b"", SCRAMBLE).is_empty() && auth::sha2_proof(b"", SCRAMBLE).is_empty());
}

#[test]
fn the_server_reads_a_sealed_password_and_nobody_else() {
    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der: PublicKeyX509Der<'_> = private.public_key().as_der().unwrap();
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        base64::engine::general_purpose::STANDARD.encode(der.as_ref())
    );
    let sealed = auth::encrypt_password(b"a password longer than the scramble", SCRAMBLE, pem.as_bytes()).unwrap();
    let key = OaepPrivateDecryptingKey::new(private).unwrap();
    let mut text = vec![0; key.min_output_size()];
    let text = key.decrypt(&OAEP_SHA1_MGF1SHA1, &sealed, &mut text, None).unwrap();
    let plain: Vec<u8> = text.iter().zip(SCRAMBLE.iter().cycle()).map(|(a, b)| a ^ b).collect();
    assert_eq!(plain, b"a password longer than the scramble\0");

    for (key, password, said) in [
        ("no key", vec![b'x'; 4], "not an RSA key"),
        ("-----BEGIN PUBLIC KEY-----\n!!\n-----END PUBLIC KEY-----", vec![b'x'; 4], "not an RSA key"),
        (&pem, vec![b'x'; 300], "too long"),
    ] {
        let broken = auth::encrypt_password(&password, SCRAMBLE, key.as_bytes()).unwrap_err();
        assert!(broken.to_string().contains(said), "{broken:?}");
    }
}
