//! Sessions on scripted bytes, and unit tests of their parts.

mod conversation;
mod login;
mod options;
mod proofs;
mod properties;
mod server;
mod slots;

use std::sync::Arc;

use wire::{Asked, AskedUrl, Complaint, Dialogue, Protocol};

use super::Mysql;

/// Prepares a workload with these options.
pub fn prepared(url: &str, options: &[(&str, &str)]) -> Result<Arc<dyn Dialogue>, Complaint> {
    let mut asked = Asked { urls: vec![AskedUrl { url: url.to_owned(), weight: 1.0 }], ..Asked::default() };
    for (name, value) in options {
        asked.options.entry((*name).to_owned()).or_default().push((*value).to_owned());
    }
    Mysql.prepare(&asked)
}
