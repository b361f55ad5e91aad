//! Sessions on scripted bytes, and unit tests of their parts.

mod conversation;
mod login;
mod options;
mod proofs;
mod properties;
mod server;
mod slots;

use std::sync::Arc;

use brunt_contract::{Protocol, ProtocolConfig, RequestedUrl, UsageError, Workload};

use super::MysqlProtocol;

/// Prepares a workload with these options.
pub fn prepared(url: &str, options: &[(&str, &str)]) -> Result<Arc<dyn Workload>, UsageError> {
    let mut asked =
        ProtocolConfig { urls: vec![RequestedUrl { url: url.to_owned(), weight: 1.0 }], ..ProtocolConfig::default() };
    for (name, value) in options {
        asked.options.entry((*name).to_owned()).or_default().push((*value).to_owned());
    }
    MysqlProtocol.prepare(&asked)
}
