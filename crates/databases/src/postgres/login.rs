//! Login on a connection: SSLRequest, startup, and the password proof that the server requests ("Message Flow",
//! Start-up).

use brunt_contract::ProtocolError;
use md5::{Digest as _, Md5};

use super::codec::{put_message, put_text, ssl_request, startup};
use super::scram::{self, ScramExchange};
use super::workload::PostgresPlan;
use crate::sql::DatabaseAccount;

/// The state of a login.
#[derive(Debug)]
pub struct PostgresLogin {
    bound: u32,
    step: LoginStep,
    /// Set once the password or its proof was sent, because a server may ask for it only once.
    password_sent: bool,
    scram: ScramExchange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoginStep {
    /// The one-byte answer to SSLRequest is awaited.
    TlsRequested,
    /// The TLS handshake is in progress.
    TlsHandshake,
    /// The server requests a proof, or accepts the login.
    Authenticating,
    /// The login is accepted, and the server sends its parameters.
    Accepted,
}

/// The error for a server that requests a password when none was given.
pub const NO_PASSWORD: ProtocolError = ProtocolError(brunt_cause::postgres::no_password());

impl PostgresLogin {
    /// Begins a login; `seed` differs between connections.
    pub fn new(ssl: bool, bound: u32, seed: u64) -> PostgresLogin {
        PostgresLogin {
            bound,
            step: if ssl { LoginStep::TlsRequested } else { LoginStep::Authenticating },
            scram: ScramExchange::new(seed),
            password_sent: false,
        }
    }

    fn account<'a>(&self, plan: &'a PostgresPlan) -> Option<&'a DatabaseAccount> {
        plan.accounts.get(self.bound as usize)
    }

    /// Appends the first message, on a fresh connection or after the TLS handshake.
    pub fn begin(&mut self, plan: &PostgresPlan, out: &mut Vec<u8>) {
        if self.step == LoginStep::TlsRequested {
            return ssl_request(out);
        }
        self.step = LoginStep::Authenticating;
        if let Some(account) = self.account(plan) {
            startup(&account.user, &account.database, out);
        }
    }

    /// Returns `true` if the answer to SSLRequest is awaited: one byte without a length.
    pub fn awaits_tls_answer(&self) -> bool {
        self.step == LoginStep::TlsRequested
    }

    /// Returns `true` if TLS begins now.
    pub fn secures_now(&self) -> bool {
        self.step == LoginStep::TlsHandshake
    }

    /// Handles the answer to SSLRequest.
    ///
    /// # Errors
    /// Returns an error if the server does not support TLS or sent surplus bytes (CVE-2021-23222).
    pub fn on_tls_answer(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        match bytes {
            b"S" => {
                self.step = LoginStep::TlsHandshake;
                Ok(())
            }
            [b'N', ..] => Err(ProtocolError(brunt_cause::postgres::no_tls())),
            [b'S', ..] => Err(ProtocolError(brunt_cause::postgres::clear_after_tls())),
            _ => Err(ProtocolError(brunt_cause::postgres::wrong_ssl_response())),
        }
    }

    /// Handles an authentication message and appends the reply.
    ///
    /// # Errors
    /// Returns an error if the authentication method is not supported or the message is out of order.
    pub fn on_authentication(
        &mut self,
        body: &[u8],
        plan: &PostgresPlan,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        let wrong = ProtocolError(brunt_cause::postgres::wrong_authentication());
        let Some((code, rest)) = body.split_first_chunk::<4>() else { return Err(wrong) };
        let Some(account) = self.account(plan).filter(|_| self.step == LoginStep::Authenticating) else {
            return Err(wrong);
        };
        let code = u32::from_be_bytes(*code);
        if matches!(code, 3 | 5 | 10) && account.password.is_empty() {
            return Err(NO_PASSWORD);
        }
        if matches!(code, 3 | 5) && std::mem::replace(&mut self.password_sent, true) {
            return Err(ProtocolError(brunt_cause::postgres::asks_again()));
        }
        match code {
            0 if self.scram.lacks_server_proof() => {
                return Err(ProtocolError(brunt_cause::postgres::no_own_proof()));
            }
            0 => self.step = LoginStep::Accepted,
            3 => put_message(b'p', out, |out| put_text(&account.password, out)),
            5 => {
                let salt = rest.get(..4).ok_or(wrong)?;
                let inner = md5_hex(&[&account.password[..], &account.user].concat());
                let proof = format!("md5{}", md5_hex(&[inner.as_bytes(), salt].concat()));
                put_message(b'p', out, |out| put_text(proof.as_bytes(), out));
            }
            10 => {
                if !rest.split(|byte| *byte == 0).any(|name| name == scram::NAME) {
                    return Err(ProtocolError(brunt_cause::postgres::no_method()));
                }
                let first = self.scram.first_message()?;
                put_message(b'p', out, |out| {
                    put_text(scram::NAME, out);
                    out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                    out.extend_from_slice(first.as_bytes());
                });
            }
            11 => {
                let answer = self.scram.answer(rest, &account.password, &plan.keys)?;
                put_message(b'p', out, |out| out.extend_from_slice(answer.as_bytes()));
            }
            12 => self.scram.check_signature(rest)?,
            _ => {
                return Err(ProtocolError(brunt_cause::postgres::other_login()));
            }
        }
        Ok(())
    }

    /// Returns `true` once the server may send ReadyForQuery.
    pub fn is_accepted(&self) -> bool {
        self.step == LoginStep::Accepted
    }
}

/// Returns the MD5 digest of PostgreSQL's old password authentication, in hexadecimal digits.
fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
