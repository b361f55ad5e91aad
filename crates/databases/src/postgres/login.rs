//! The first words on a connection: SSLRequest, startup, and whatever proof of the password the server asks for
//! ("Message Flow", Start-up).

use md5::{Digest as _, Md5};
use wire::Broken;

use super::codec::{put, ssl_request, startup, text};
use super::dialogue::Plan;
use super::scram::{self, Scram};
use crate::sql::Account;

/// How far a login is.
#[derive(Debug)]
pub struct Login {
    bound: u32,
    step: Step,
    /// The password was told, or a proof of it: a server may ask once, not for ever.
    told: bool,
    scram: Scram,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// One byte will say whether the server speaks TLS.
    AskedForTls,
    /// TLS shakes hands.
    Securing,
    /// The server asks for proofs, or lets us in.
    Proving,
    /// We are in, and the server tells about itself.
    Entered,
}

/// What to do where a password is asked for and none was given.
pub const NO_PASSWORD: Broken = Broken(cause::postgres::no_password());

impl Login {
    /// A login that begins; `seed` differs between connections.
    pub fn new(ssl: bool, bound: u32, seed: u64) -> Login {
        Login { bound, step: if ssl { Step::AskedForTls } else { Step::Proving }, scram: Scram::new(seed), told: false }
    }

    fn account<'a>(&self, plan: &'a Plan) -> Option<&'a Account> {
        plan.accounts.get(self.bound as usize)
    }

    /// What is said first, on a fresh connection or behind TLS.
    pub fn begin(&mut self, plan: &Plan, out: &mut Vec<u8>) {
        if self.step == Step::AskedForTls {
            return ssl_request(out);
        }
        self.step = Step::Proving;
        if let Some(account) = self.account(plan) {
            startup(&account.user, &account.database, out);
        }
    }

    /// True where the answer to SSLRequest is awaited: one byte without a length.
    pub fn asked_for_tls(&self) -> bool {
        self.step == Step::AskedForTls
    }

    /// True where TLS begins now.
    pub fn secures_now(&self) -> bool {
        self.step == Step::Securing
    }

    /// The answer to SSLRequest.
    ///
    /// # Errors
    /// The server does not speak TLS, or said more than it may (CVE-2021-23222).
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

    /// An authentication message: what is asked, and for it.
    ///
    /// # Errors
    /// A way to prove a password that is not spoken here, or a server that makes no sense.
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

    /// Whether the server may say that it is ready.
    pub fn entered(&self) -> bool {
        self.step == Step::Entered
    }
}

/// The digest of PostgreSQL's old way to prove a password, in hexadecimal digits.
fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
