//! Targets that are given as host, port and method.

use super::tools::TargetSchemes;

/// The parts of a target.
#[derive(Debug, Default)]
pub struct TargetParts {
    pub host: Option<String>,
    pub port: Option<String>,
    /// Method of gRPC: `package.Service/Method` or `package.Service.Method`.
    pub call: Option<String>,
    /// Whether TLS is used; `None` for the default of the tool.
    pub tls: Option<bool>,
}

impl TargetParts {
    /// Returns the URL; `address` is a URL, or host and port, that was given as a word.
    pub fn url(&self, schemes: TargetSchemes, address: Option<String>) -> String {
        if let Some(url) = address.as_ref().filter(|address| address.contains("://")) {
            return url.clone();
        }
        let part = |given: &Option<String>, default: &str| given.clone().unwrap_or_else(|| default.to_owned());
        let address =
            address.unwrap_or_else(|| format!("{}:{}", part(&self.host, schemes.host), part(&self.port, schemes.port)));
        let scheme = if self.tls.unwrap_or(schemes.is_tls) { schemes.tls } else { schemes.plain };
        let path = self.call.as_deref().map(|call| match call.rsplit_once('.') {
            Some((service, method)) if !call.contains('/') => format!("/{service}/{method}"),
            _ => format!("/{call}"),
        });
        format!("{scheme}://{address}{}", path.unwrap_or_default())
    }
}
