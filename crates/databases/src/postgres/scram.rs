//! SCRAM-SHA-256 (RFC 5802 and 7677), client side, without channel binding.
//!
//! Deriving a key takes thousands of hashes by design, so each is derived once for all connections of its account.
//! SASLprep is not supported: a password outside of ASCII is used as plain UTF-8.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brunt_contract::ProtocolError;

/// The name of the mechanism.
pub const NAME: &[u8] = b"SCRAM-SHA-256";
/// Maximum number of rounds that a server may request: PostgreSQL's default is 4096.
const MOST_ROUNDS: u32 = 1_000_000;
/// The GS2 header for "no channel binding", and its base64.
const NO_BINDING: &str = "n,,";
const NO_BINDING_CODED: &str = "biws";

/// Maximum number of salted passwords in the cache: a server may send a different salt to each connection.
const MOST_KEYS: usize = 1024;

/// The cache of salted passwords. Each is derived once, by the first connection that needs it, while others of the same
/// account wait.
#[derive(Debug, Default)]
pub struct ScramKeys(Mutex<Vec<Arc<ScramKey>>>);

#[derive(Debug)]
struct ScramKey {
    password: Vec<u8>,
    salt: Vec<u8>,
    rounds: NonZeroU32,
    salted: OnceLock<[u8; 32]>,
}

impl ScramKeys {
    fn salted(&self, password: &[u8], salt: &[u8], rounds: NonZeroU32) -> [u8; 32] {
        let key = self.key(password, salt, rounds);
        *key.salted.get_or_init(|| {
            let mut salted = [0; 32];
            pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password, &mut salted);
            salted
        })
    }

    fn key(&self, password: &[u8], salt: &[u8], rounds: NonZeroU32) -> Arc<ScramKey> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|k| k.salt == salt && k.password == password && k.rounds == rounds) {
            return Arc::clone(known);
        }
        if all.len() == MOST_KEYS {
            all.remove(0);
        }
        let (password, salt) = (password.to_vec(), salt.to_vec());
        let key = Arc::new(ScramKey { password, salt, rounds, salted: OnceLock::new() });
        all.push(Arc::clone(&key));
        key
    }
}

/// The state of the exchange; each step is taken only once, so that a server cannot cause endless key derivations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScramStep {
    Initial,
    Begun,
    Answered,
    /// The server has proved that it knows the password too.
    Proven,
}

/// One SCRAM exchange in progress.
#[derive(Debug)]
pub struct ScramExchange {
    nonce: String,
    step: ScramStep,
    /// Signature expected from the server at the end.
    signature: Option<[u8; 32]>,
}

impl ScramExchange {
    /// Begins an exchange with a nonce made of `seed`, which must differ between connections.
    pub fn new(seed: u64) -> ScramExchange {
        ScramExchange { nonce: format!("{seed:016x}brunt"), step: ScramStep::Initial, signature: None }
    }

    /// Returns the first client message. PostgreSQL takes the user from the startup message, so the name is empty here.
    ///
    /// # Errors
    /// Returns an error if the message was sent before.
    pub fn first_message(&mut self) -> Result<String, ProtocolError> {
        self.advance(ScramStep::Initial, ScramStep::Begun)?;
        Ok(format!("{NO_BINDING}{}", self.first_message_bare()))
    }

    fn advance(&mut self, from: ScramStep, to: ScramStep) -> Result<(), ProtocolError> {
        match std::mem::replace(&mut self.step, to) == from {
            true => Ok(()),
            false => Err(ProtocolError(brunt_cause::postgres::scram_order())),
        }
    }

    /// Returns `true` if the server requested a proof but gave none of its own.
    pub fn lacks_server_proof(&self) -> bool {
        matches!(self.step, ScramStep::Begun | ScramStep::Answered)
    }

    fn first_message_bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// Returns the reply to the first server message.
    ///
    /// # Errors
    /// Returns an error if the message is not valid.
    pub fn answer(&mut self, server: &[u8], password: &[u8], keys: &ScramKeys) -> Result<String, ProtocolError> {
        self.advance(ScramStep::Begun, ScramStep::Answered)?;
        let wrong = ProtocolError(brunt_cause::postgres::scram_message());
        let server = std::str::from_utf8(server).map_err(|_| wrong.clone())?;
        let field = |name: &str| server.split(',').find_map(|field| field.strip_prefix(name)).ok_or(wrong.clone());
        let nonce = field("r=")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(ProtocolError(brunt_cause::postgres::scram_nonce()));
        }
        let salt = STANDARD.decode(field("s=")?).map_err(|_| wrong.clone())?;
        let rounds: u32 = field("i=")?.parse().map_err(|_| wrong.clone())?;
        let rounds = NonZeroU32::new(rounds).filter(|r| r.get() <= MOST_ROUNDS);
        let rounds = rounds.ok_or(ProtocolError(brunt_cause::postgres::scram_rounds()))?;
        let salted = keys.salted(password, &salt, rounds);
        let client_key = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, &client_key);
        let last = format!("c={NO_BINDING_CODED},r={nonce}");
        let all = format!("{},{server},{last}", self.first_message_bare());
        let mut proof = sign(stored.as_ref(), all.as_bytes());
        proof.iter_mut().zip(client_key).for_each(|(p, k)| *p ^= k);
        self.signature = Some(sign(&sign(&salted, b"Server Key"), all.as_bytes()));
        Ok(format!("{last},p={}", STANDARD.encode(proof)))
    }

    /// Checks that the server knows the password too.
    ///
    /// # Errors
    /// Returns an error if the signature is missing or wrong.
    pub fn check_signature(&mut self, server: &[u8]) -> Result<(), ProtocolError> {
        self.advance(ScramStep::Answered, ScramStep::Proven)?;
        let signed = server.strip_prefix(b"v=").and_then(|coded| STANDARD.decode(coded).ok());
        match (signed, self.signature) {
            (Some(signed), Some(expected)) if signed == expected => Ok(()),
            _ => Err(ProtocolError(brunt_cause::postgres::scram_signature())),
        }
    }
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

    /// The example of RFC 7677, section 3. Its signed text includes the user name, which we leave empty, so the steps
    /// are checked with that name inserted.
    #[test]
    fn the_example_of_the_rfc() {
        let keys = ScramKeys::default();
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = keys.salted(b"pencil", &salt, NonZeroU32::new(4096).unwrap());
        let client_key = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, &client_key);
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let all = format!("n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}");
        let mut proof = sign(stored.as_ref(), all.as_bytes());
        proof.iter_mut().zip(client_key).for_each(|(p, k)| *p ^= k);
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let signature = sign(&sign(&salted, b"Server Key"), all.as_bytes());
        assert_eq!(STANDARD.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_key_is_derived_once_for_each_account_and_number_of_rounds() {
        let (keys, rounds) = (ScramKeys::default(), |rounds| NonZeroU32::new(rounds).unwrap());
        let first = keys.salted(b"a", b"salt", rounds(2));
        let others = [keys.salted(b"b", b"salt", rounds(2)), keys.salted(b"a", b"salt", rounds(3))];
        assert!(others.iter().all(|other| *other != first));
        assert_eq!(keys.salted(b"a", b"salt", rounds(2)), first);
        assert_eq!(keys.0.lock().unwrap().len(), 3, "two accounts in turn derive nothing anew");
        (0..2 * MOST_KEYS).for_each(|n| drop(keys.key(b"a", &n.to_be_bytes(), rounds(1))));
        assert_eq!(keys.0.lock().unwrap().len(), MOST_KEYS);
        assert_eq!(keys.salted(b"a", b"salt", rounds(2)), first);
    }

    #[test]
    fn a_server_that_cheats_is_found_out() {
        let keys = ScramKeys::default();
        for (server, why) in [
            ("r=other,s=AAAA,i=1", "did not use our nonce"),
            ("r=000000000000002abrunt,s=AAAA,i=1", "did not use our nonce"),
            ("r=000000000000002abruntx,s=AAAA,i=0", "invalid number of SCRAM-SHA-256 iterations"),
            ("r=000000000000002abruntx,s=AAAA,i=4000000000", "invalid number of SCRAM-SHA-256 iterations"),
            ("r=000000000000002abruntx,s=A,i=1", "message is invalid"),
            ("r=000000000000002abruntx", "message is invalid"),
        ] {
            let broken = begun().answer(server.as_bytes(), b"pw", &keys).unwrap_err();
            assert!(broken.to_string().contains(why), "{server}: {broken}");
        }
        let server = b"r=000000000000002abruntx,s=AAAA,i=1";
        let answered = || {
            let mut scram = begun();
            scram.answer(server, b"pw", &keys).expect("good");
            scram
        };
        assert!(begun().check_signature(b"v=AAAA").is_err());
        assert!(
            answered().check_signature(b"v=AAAA").is_err() && answered().check_signature(b"e=other-error").is_err()
        );
        let mut scram = answered();
        assert!(scram.lacks_server_proof());
        let right = format!("v={}", STANDARD.encode(scram.signature.unwrap()));
        assert!(scram.check_signature(right.as_bytes()).is_ok() && !scram.lacks_server_proof());
        // No step is taken twice, since each costs thousands of hashes.
        assert!(answered().answer(server, b"pw", &keys).is_err() && begun().first_message().is_err());
        assert!(
            ScramExchange::new(42).answer(server, b"pw", &keys).is_err()
                && scram.check_signature(right.as_bytes()).is_err()
        );
    }

    fn begun() -> ScramExchange {
        let mut scram = ScramExchange::new(42);
        assert_eq!(scram.first_message().expect("the first time"), "n,,n=,r=000000000000002abrunt");
        scram
    }
}
