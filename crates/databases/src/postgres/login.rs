//! Login on a connection: SSLRequest, startup, and the password proof that the server requests ("Message Flow",
//! Start-up).

use md5::{Digest as _, Md5};
use wire::Broken;

use super::codec::{put, ssl_request, startup, text};
use super::dialogue::Plan;
use super::scram::{self, Scram};
use crate::sql::Account;

/// The state of a login.
#[derive(Debug)]
pub struct Login {
    bound: u32,
    step: Step,
    /// Set once the password or its proof was sent: a server may ask once, not forever.
    told: bool,
    scram: Scram,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The one-byte answer to SSLRequest is awaited.
    AskedForTls,
    /// The TLS handshake is in progress.
    Securing,
    /// The server requests a proof, or accepts the login.
    Proving,
    /// The login is accepted, and the server sends its parameters.
    Entered,
}

/// The error for a server that requests a password if none was given.
pub const NO_PASSWORD: Broken = Broken(cause::postgres::no_password());

impl Login {
    /// Begins a login; `seed` differs between connections.
    pub fn new(ssl: bool, bound: u32, seed: u64) -> Login {
        Login { bound, step: if ssl { Step::AskedForTls } else { Step::Proving }, scram: Scram::new(seed), told: false }
    }

    fn account<'a>(&self, plan: &'a Plan) -> Option<&'a Account> {
        plan.accounts.get(self.bound as usize)
    }

    /// Appends the first message, on a fresh connection or after the TLS handshake.
    pub fn begin(&mut self, plan: &Plan, out: &mut Vec<u8>) {
        if self.step == Step::AskedForTls {
            return ssl_request(out);
        }
        self.step = Step::Proving;
        if let Some(account) = self.account(plan) {
            startup(&account.user, &account.database, out);
        }
    }

    /// Returns `true` if the answer to SSLRequest is awaited: one byte without a length.
    pub fn asked_for_tls(&self) -> bool {
        self.step == Step::AskedForTls
    }

    /// Returns `true` if TLS begins now.
    pub fn secures_now(&self) -> bool {
        self.step == Step::Securing
    }

    /// Handles the answer to SSLRequest.
    ///
    /// # Errors
    /// The server does not support TLS, or sent more than it may (CVE-2021-23222).
    pub fn tls_answered(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        match bytes {
            b"S" => {
                self.step = Step::Securing;
                Ok(())
            }
            [b'N', ..] => Err(Broken(cause::postgres::no_tls())),
            [b'S', ..] => Err(Broken(cause::postgres::clear_after_tls())),
            _ => Err(Broken(cause::postgres::wrong_ssl_response())),
        }
    }

    /// Handles an authentication message and appends the reply.
    ///
    /// # Errors
    /// An unsupported authentication method, or a message out of order.
    pub fn asked(&mut self, body: &[u8], plan: &Plan, out: &mut Vec<u8>) -> Result<(), Broken> {
        let wrong = Broken(cause::postgres::wrong_authentication());
        let Some((code, rest)) = body.split_first_chunk::<4>() else { return Err(wrong) };
        let Some(account) = self.account(plan).filter(|_| self.step == Step::Proving) else { return Err(wrong) };
        let code = u32::from_be_bytes(*code);
        if matches!(code, 3 | 5 | 10) && account.password.is_empty() {
            return Err(NO_PASSWORD);
        }
        if matches!(code, 3 | 5) && std::mem::replace(&mut self.told, true) {
            return Err(Broken(cause::postgres::asks_again()));
        }
        match code {
            0 if self.scram.is_one_sided() => {
                return Err(Broken(cause::postgres::no_own_proof()));
            }
            0 => self.step = Step::Entered,
            3 => put(b'p', out, |out| text(&account.password, out)),
            5 => {
                let salt = rest.get(..4).ok_or(wrong)?;
                let inner = md5_hex(&[&account.password[..], &account.user].concat());
                let proof = format!("md5{}", md5_hex(&[inner.as_bytes(), salt].concat()));
                put(b'p', out, |out| text(proof.as_bytes(), out));
            }
            10 => {
                if !rest.split(|byte| *byte == 0).any(|name| name == scram::NAME) {
                    return Err(Broken(cause::postgres::no_method()));
                }
                let first = self.scram.first()?;
                put(b'p', out, |out| {
                    text(scram::NAME, out);
                    out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                    out.extend_from_slice(first.as_bytes());
                });
            }
            11 => {
                let answer = self.scram.answer(rest, &account.password, &plan.keys)?;
                put(b'p', out, |out| out.extend_from_slice(answer.as_bytes()));
            }
            12 => self.scram.check(rest)?,
            _ => {
                return Err(Broken(cause::postgres::other_login()));
            }
        }
        Ok(())
    }

    /// Returns `true` once the server may send ReadyForQuery.
    pub fn entered(&self) -> bool {
        self.step == Step::Entered
    }
}

/// Returns the MD5 digest of PostgreSQL's old password authentication, in hexadecimal digits.
fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
