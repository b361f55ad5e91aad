//! SCRAM-SHA-256 (RFC 5802 and 7677), client side, without channel binding and without SASLprep.

use std::io;
use std::num::NonZeroU32;

use aws_lc_rs::{digest, hmac, pbkdf2, rand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::messages::invalid;

/// The mechanism's name.
pub const NAME: &[u8] = b"SCRAM-SHA-256";
/// The most rounds of hashing that a server may ask for: PostgreSQL's default is 4096.
const MOST_ROUNDS: u32 = 1_000_000;

/// A login of which our first message was said.
#[derive(Debug)]
pub struct Scram {
    nonce: String,
}

impl Scram {
    /// Begins; with our first message. PostgreSQL takes the user from the startup message, so that the name is empty here.
    pub fn begin() -> io::Result<(Scram, String)> {
        let mut random = [0; 18];
        rand::fill(&mut random).map_err(|_| invalid("the system provides no random numbers"))?;
        Ok(Scram::with(STANDARD.encode(random)))
    }

    fn with(nonce: String) -> (Scram, String) {
        let first = format!("n,,n=,r={nonce}");
        (Scram { nonce }, first)
    }

    /// The answer to the server's first message, and what it must say to prove itself.
    pub fn answer(self, server: &[u8], password: &[u8]) -> io::Result<(String, Vec<u8>)> {
        let wrong = || invalid("its SCRAM-SHA-256 message is invalid");
        let server = std::str::from_utf8(server).map_err(|_| wrong())?;
        let field = |name: &str| server.split(',').find_map(|field| field.strip_prefix(name)).ok_or_else(wrong);
        let nonce = field("r=")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(invalid("it did not use our nonce in SCRAM-SHA-256"));
        }
        let salt = STANDARD.decode(field("s=")?).map_err(|_| wrong())?;
        let rounds: u32 = field("i=")?.parse().map_err(|_| wrong())?;
        let rounds = NonZeroU32::new(rounds).filter(|rounds| rounds.get() <= MOST_ROUNDS);
        let rounds = rounds.ok_or_else(|| invalid("it asks for an invalid number of SCRAM-SHA-256 iterations"))?;
        let last = format!("c=biws,r={nonce}");
        let all = format!("n=,r={},{server},{last}", self.nonce);
        let (proof, signature) = proofs(password, &salt, rounds, &all);
        Ok((format!("{last},p={}", STANDARD.encode(proof)), format!("v={}", STANDARD.encode(signature)).into_bytes()))
    }
}

/// ClientProof and ServerSignature (RFC 5802 3) over everything that was said.
fn proofs(password: &[u8], salt: &[u8], rounds: NonZeroU32, all: &str) -> ([u8; 32], [u8; 32]) {
    let mut salted = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password, &mut salted);
    let client = sign(&salted, b"Client Key");
    let mut proof = sign(digest::digest(&digest::SHA256, &client).as_ref(), all.as_bytes());
    proof.iter_mut().zip(client).for_each(|(proof, key)| *proof ^= key);
    (proof, sign(&sign(&salted, b"Server Key"), all.as_bytes()))
}

fn sign(key: &[u8], text: &[u8]) -> [u8; 32] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let mut signature = [0; 32];
    signature.copy_from_slice(tag.as_ref());
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677 3; the name, which it has and PostgreSQL leaves out, is part of what is signed.
    #[test]
    fn the_example_of_the_rfc() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let all = format!("n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}");
        let (proof, signature) = proofs(b"pencil", &salt, NonZeroU32::new(4096).unwrap(), &all);
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(STANDARD.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_server_that_cheats_is_found_out() {
        for (server, why) in [
            ("r=other,s=AAAA,i=1", "did not use our nonce"),
            ("r=abc,s=AAAA,i=1", "did not use our nonce"),
            ("r=abcx,s=AAAA,i=0", "invalid number of SCRAM-SHA-256 iterations"),
            ("r=abcx,s=AAAA,i=4000000000", "invalid number of SCRAM-SHA-256 iterations"),
            ("r=abcx,s=A,i=1", "message is invalid"),
            ("r=abcx", "message is invalid"),
        ] {
            let (scram, first) = Scram::with("abc".into());
            assert_eq!(first, "n,,n=,r=abc");
            let trouble = scram.answer(server.as_bytes(), b"pw").unwrap_err().to_string();
            assert!(trouble.contains(why), "{server}: {trouble}");
        }
        let (one, other) = (Scram::begin().unwrap().1, Scram::begin().unwrap().1);
        assert_ne!(one, other, "no nonce is used twice");
    }
}
