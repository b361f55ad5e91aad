//! From the first word to the server's consent: without a password, in clear, by MD5 and by SCRAM-SHA-256, over TLS where that is asked for.

use std::io;

use md5::{Digest, Md5};

use crate::conversation::{Conversation, Place};

use super::messages::{Talk, invalid, message, refusal, startup, strange};
use super::scram::{self, Scram};

/// Messages until the server is ready, at most: it may ask for ever.
const MOST_SAID: usize = 100;

/// Who asks, and for which database; none of them holds a zero byte.
#[derive(Debug)]
pub struct Account {
    pub user: Vec<u8>,
    pub password: Vec<u8>,
    pub database: Vec<u8>,
}

/// How far the proofs are.
#[derive(Debug)]
enum Step {
    Begun,
    /// The password was told, or a proof of it: a server may ask once.
    Told,
    Scram(Scram),
    /// The server owes a proof of its own.
    Owed(Vec<u8>),
    Entered,
}

/// "SSLRequest": its length, and the code that no version has.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// A connection on which the protocol may begin: over TLS, where it is to be.
///
/// # Errors
/// There is nobody, or who is there speaks no TLS.
pub fn opened(place: &mut Place) -> io::Result<Conversation> {
    let mut talk = place.open()?;
    if !place.is_over_tls() {
        return Ok(talk);
    }
    talk.say(&SSL_REQUEST)?;
    let mut heard = Vec::new();
    talk.more(&mut heard)?;
    match &heard[..] {
        b"S" => place.seal(talk),
        b"N" => Err(invalid("it does not support TLS; leave out ?sslmode")),
        // What came in clear behind the consent would be an attacker's.
        _ => Err(strange()),
    }
}

/// Logs in on a connection on which nothing was said yet.
///
/// # Errors
/// The server refuses, or speaks another protocol.
pub fn enter(talk: &mut Talk, account: &Account) -> io::Result<()> {
    talk.say(&startup(&account.user, &account.database))?;
    let mut step = Step::Begun;
    for _ in 0..MOST_SAID {
        let (kind, body) = talk.next()?;
        step = match (kind, step) {
            (b'E', _) => return Err(invalid(&refusal(&body))),
            (b'R', step) => {
                let (code, rest) = body.split_first_chunk::<4>().ok_or_else(strange)?;
                let (answer, step) = asked(u32::from_be_bytes(*code), rest, step, account)?;
                if let Some(answer) = answer {
                    talk.say(&message(b'p', &answer))?;
                }
                step
            }
            // The number of the connection.
            (b'K', Step::Entered) => Step::Entered,
            (b'Z', Step::Entered) => return Ok(()),
            _ => return Err(strange()),
        };
    }
    Err(invalid("it keeps asking for the password"))
}

/// What is answered to an "Authentication…" message, and how far that brings the login.
fn asked(code: u32, rest: &[u8], step: Step, account: &Account) -> io::Result<(Option<Vec<u8>>, Step)> {
    if matches!(code, 3 | 5 | 10) && account.password.is_empty() {
        return Err(invalid(&format!("it requires a password; {}", super::RIGHT)));
    }
    Ok(match (code, step) {
        (0, Step::Begun | Step::Told) => (None, Step::Entered),
        (0, Step::Scram(_) | Step::Owed(_)) => {
            return Err(invalid("it accepts the login without its own SCRAM-SHA-256 proof"));
        }
        (3, Step::Begun) => (Some(ended(account.password.clone())), Step::Told),
        (5, Step::Begun) => (Some(ended(proof(account, rest.get(..4).ok_or_else(strange)?))), Step::Told),
        (10, Step::Begun) => {
            if !rest.split(|byte| *byte == 0).any(|name| name == scram::NAME) {
                return Err(invalid("it offers no supported password authentication"));
            }
            let (scram, first) = Scram::begin()?;
            let mut answer = ended(scram::NAME.to_vec());
            answer.extend_from_slice(&(first.len() as u32).to_be_bytes());
            answer.extend_from_slice(first.as_bytes());
            (Some(answer), Step::Scram(scram))
        }
        (11, Step::Scram(scram)) => {
            let (answer, signature) = scram.answer(rest, &account.password)?;
            (Some(answer.into_bytes()), Step::Owed(signature))
        }
        (12, Step::Owed(signature)) => {
            if rest != signature {
                return Err(invalid("it does not know the password itself: its SCRAM-SHA-256 signature is wrong"));
            }
            (None, Step::Told)
        }
        (0 | 3 | 5 | 10 | 11 | 12, _) => return Err(strange()),
        _ => return Err(invalid("it requires Kerberos, GSSAPI, SSPI or another unsupported login")),
    })
}

fn ended(mut text: Vec<u8>) -> Vec<u8> {
    text.push(0);
    text
}

/// `md5` and MD5(MD5(password, user), salt).
fn proof(account: &Account, salt: &[u8]) -> Vec<u8> {
    let inner = hex(&[&account.password, &account.user]);
    format!("md5{}", hex(&[inner.as_bytes(), salt])).into_bytes()
}

fn hex(parts: &[&[u8]]) -> String {
    let mut digest = Md5::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_by_md5() {
        let account = Account { user: b"me".to_vec(), password: b"secret".to_vec(), database: Vec::new() };
        // md5(md5("secretme") + 01020304), reckoned by md5sum.
        assert_eq!(proof(&account, &[1, 2, 3, 4]), b"md58322d584bf59f0253d58346307bb6ba3");
    }
}
