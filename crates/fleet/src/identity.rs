//! Who belongs to a fleet: a certificate authority of its own, a certificate for the coordinator, and one for each agent,
//! whose common name is what the access rules of the link look at.
//!
//! A token is all that an agent needs, in one word: the authority's certificate, and the agent's own certificate and key.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use brunt_cause::{Complaint, complaint};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// Beginning of every token; the number is that of its form.
const TOKEN: &str = "brunt1.";
/// Name that certificates of coordinators bear beside their hosts.
const COORDINATOR: &str = "brunt";
/// Maximum length of an agent's name.
const LONGEST: usize = 40;

/// The directory of a fleet's identities, on the coordinator's machine.
#[derive(Clone, Debug)]
pub struct FleetDirectory {
    path: PathBuf,
}

/// What an agent proves itself with, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentToken {
    /// Certificate of the fleet's authority.
    pub ca: String,
    /// Certificate of the agent.
    pub cert: String,
    /// Private key of the agent.
    pub key: String,
    /// Name of the agent.
    pub name: String,
}

/// Checks the name of an agent.
///
/// # Errors
/// It cannot be used in file names and access rules.
pub fn check_name(name: &str) -> Result<(), Complaint> {
    let fits = (1..=LONGEST).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
    if fits {
        return Ok(());
    }
    Err(complaint!(
        "names of agents are up to {LONGEST} small letters, digits and hyphens, a letter first: eu-1, not `{name}`",
        "施压机的名称最多 {LONGEST} 个小写字母、数字和连字符，以字母开头：eu-1，而不是“{name}”"
    ))
}

impl FleetDirectory {
    /// Opens the identities of a fleet.
    ///
    /// # Errors
    /// There are none.
    pub fn open(path: &Path) -> Result<FleetDirectory, Complaint> {
        if path.join("ca.pem").is_file() {
            return Ok(FleetDirectory { path: path.to_owned() });
        }
        let shown = path.display();
        Err(complaint!(
            "there is no fleet in {shown}; make one with `brunt fleet init --host HOST eu-1 eu-2`",
            "{shown} 中没有机群；请用 `brunt fleet init --host HOST eu-1 eu-2` 创建"
        ))
    }

    /// Makes a new fleet, whose coordinator is reached at these hosts.
    ///
    /// # Errors
    /// There is one already, or nothing can be written.
    pub fn init(path: &Path, hosts: &[String]) -> Result<FleetDirectory, Complaint> {
        let shown = path.display();
        if path.join("ca.pem").exists() {
            return Err(complaint!(
                "there is a fleet in {shown} already: add agents with `brunt fleet add eu-1`, change its host or port in \
                 the files `host` and `listen` there, or make another with --fleet DIRECTORY",
                "{shown} 中已有机群：用 `brunt fleet add eu-1` 添加施压机，在其中的文件 `host` 和 `listen` 里更改主机或端口，\
                 或用 --fleet 目录 另建一个"
            ));
        }
        let fleet = FleetDirectory { path: path.to_owned() };
        fleet.make(hosts).map_err(|why| complaint!("{shown}: {why}", "{shown}：{why}"))?;
        Ok(fleet)
    }

    fn make(&self, hosts: &[String]) -> Result<(), String> {
        let text = |error: io::Error| error.to_string();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.agents()).map_err(text)?;
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "brunt fleet");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca = params.self_signed(&key).map_err(|error| error.to_string())?;
        write(&self.path.join("ca.key"), &key.serialize_pem()).map_err(text)?;
        write(&self.path.join("ca.pem"), &ca.pem()).map_err(text)?;
        let names = hosts.iter().cloned().chain([COORDINATOR.to_owned()]).collect::<Vec<String>>();
        hosts.first().map_or(Ok(()), |host| write(&self.path.join("host"), host)).map_err(text)?;
        let (cert, key) = self.issue(COORDINATOR, names, ExtendedKeyUsagePurpose::ServerAuth)?;
        write(&self.path.join("coordinator.key"), &key).map_err(text)?;
        write(&self.path.join("coordinator.pem"), &cert).map_err(text)
    }

    /// Issues a certificate for one purpose; returns it with its key, as PEM.
    fn issue(
        &self,
        name: &str,
        hosts: Vec<String>,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Result<(String, String), String> {
        let read = |file: &str| fs::read_to_string(self.path.join(file)).map_err(|error| error.to_string());
        let ca_key = KeyPair::from_pem(&read("ca.key")?).map_err(|error| error.to_string())?;
        let mut ca = CertificateParams::default();
        ca.distinguished_name.push(DnType::CommonName, "brunt fleet");
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let issuer = Issuer::new(ca, ca_key);
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let mut params = CertificateParams::new(hosts).map_err(|error| error.to_string())?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let cert = params.signed_by(&key, &issuer).map_err(|error| error.to_string())?;
        Ok((cert.pem(), key.serialize_pem()))
    }

    /// Notes at which address the coordinator listens (`0.0.0.0:7447`).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn set_listen(&self, address: &str) -> io::Result<()> {
        write(&self.path.join("listen"), address)
    }

    /// Returns the address at which the coordinator listens, if it is known.
    pub fn listen(&self) -> Option<String> {
        fs::read_to_string(self.path.join("listen")).ok().map(|text| text.trim().to_owned())
    }

    /// Returns the host at which agents reach the coordinator, if it is known.
    pub fn host(&self) -> Option<String> {
        fs::read_to_string(self.path.join("host")).ok().map(|text| text.trim().to_owned())
    }

    /// Returns what agents join (`coordinator.test:7447`), by this host, or by the one that the fleet was made with.
    pub fn join_address(&self, host: Option<&str>) -> String {
        let host = host.map(str::to_owned).or_else(|| self.host()).unwrap_or_else(|| "HOST".into());
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
        let port = self.listen().and_then(|listen| listen.rsplit_once(':').map(|(_, port)| port.to_owned()));
        format!("{host}:{}", port.unwrap_or_else(|| "7447".into()))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn agents(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// Returns the names of the agents that may come.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.agents()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let file = entry.file_name();
            Some(file.to_str()?.strip_suffix(".pem")?.split('.').next()?.to_owned())
        });
        let mut names: Vec<String> = names.filter(|name| check_name(name).is_ok()).collect();
        names.sort();
        names
    }

    /// Returns the file with the certificate of an agent.
    fn certificate(&self, name: &str) -> Option<PathBuf> {
        let mut entries = fs::read_dir(self.agents()).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.find(|path| path.file_stem().and_then(|stem| stem.to_str()?.split('.').next()) == Some(name))
    }

    /// Adds an agent, and returns its token.
    ///
    /// # Errors
    /// The name is taken or cannot be used, or nothing can be written.
    pub fn add(&self, name: &str) -> Result<String, Complaint> {
        check_name(name)?;
        if self.certificate(name).is_some() {
            return Err(complaint!(
                "{name} is an agent already; `brunt fleet remove {name}` makes its token worthless",
                "{name} 已是施压机；`brunt fleet remove {name}` 可使其令牌失效"
            ));
        }
        // A token is known by its common name: the next one of this name bears another.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let member = format!("{name}.{:x}", since.as_nanos() as u64);
        let file = self.agents().join(format!("{member}.pem"));
        let failed = |why: String| complaint!("{}: {why}", "{}：{why}", file.display());
        let (cert, key) = self.issue(&member, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth).map_err(failed)?;
        let ca = fs::read_to_string(self.path.join("ca.pem")).map_err(|error| failed(error.to_string()))?;
        // The key stays in the token alone: who reads this directory later cannot speak for the agent.
        write(&file, &cert).map_err(|error| failed(error.to_string()))?;
        Ok(AgentToken { ca, cert, key, name: name.to_owned() }.to_text())
    }

    /// Removes an agent: its token is worth nothing any more.
    ///
    /// # Errors
    /// There is no such agent.
    pub fn remove(&self, name: &str) -> Result<(), Complaint> {
        let removed = self.certificate(name).is_some_and(|file| fs::remove_file(file).is_ok());
        removed.then_some(()).ok_or_else(|| complaint!("{name} is no agent of this fleet", "{name} 不是该机群的施压机"))
    }
}

/// Writes a file that only its owner can read.
fn write(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

impl AgentToken {
    /// Returns the token as one word.
    pub fn to_text(&self) -> String {
        let mut bytes = vec![self.name.len() as u8];
        bytes.extend(self.name.as_bytes());
        for pem in [&self.ca, &self.cert, &self.key] {
            let der = der_of(pem);
            bytes.extend((der.len() as u16).to_le_bytes());
            bytes.extend(der);
        }
        format!("{TOKEN}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// It is none, or not all of it.
    pub fn parse(text: &str) -> Result<AgentToken, Complaint> {
        let text = text.trim();
        let cut = || {
            complaint!(
                "the token is not whole; copy all of it from the command that `brunt fleet init` printed",
                "令牌不完整；请从 `brunt fleet init` 打印的命令中完整复制"
            )
        };
        let Some(word) = text.strip_prefix(TOKEN) else {
            return Err(complaint!(
                "is no token of an agent, which begins with {TOKEN}; `brunt fleet init` prints one for each agent",
                "不是施压机的令牌（应以 {TOKEN} 开头）；`brunt fleet init` 会为每个施压机打印一个"
            ));
        };
        let bytes = URL_SAFE_NO_PAD.decode(word).map_err(|_| cut())?;
        let mut rest = &bytes[..];
        let mut name = || {
            let (length, after) = rest.split_first()?;
            let (name, after) = after.split_at_checked(usize::from(*length))?;
            rest = after;
            String::from_utf8(name.to_vec()).ok()
        };
        let name = name().ok_or_else(cut)?;
        let mut part = |label| {
            let (length, after) = rest.split_first_chunk::<2>()?;
            let (der, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            rest = after;
            Some(pem_of(label, der))
        };
        let parts = (part("CERTIFICATE"), part("CERTIFICATE"), part("PRIVATE KEY"));
        let (Some(ca), Some(cert), Some(key)) = parts else { return Err(cut()) };
        check_name(&name)?;
        Ok(AgentToken { ca, cert, key, name })
    }
}

/// Returns the content of a PEM text of one section.
fn der_of(pem: &str) -> Vec<u8> {
    let lines: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(lines.trim()).unwrap_or_default()
}

/// Returns a section of PEM.
fn pem_of(label: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let lines: Vec<&str> = encoded.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_fleet_has_identities_that_only_its_owner_can_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("fleet");
        assert!(FleetDirectory::open(&path).is_err());
        let fleet = FleetDirectory::init(&path, &["127.0.0.1".into(), "coordinator.test".into()]).unwrap();
        let token = AgentToken::parse(&fleet.add("eu-1").unwrap()).unwrap();
        assert_eq!(token.name, "eu-1");
        assert!(token.key.contains("PRIVATE KEY") && token.cert != token.ca);
        assert_eq!(fleet.names(), ["eu-1"]);
        assert_eq!(fleet.join_address(None), "127.0.0.1:7447");
        fleet.set_listen("[::]:7500").unwrap();
        assert_eq!(fleet.join_address(Some("::1")), "[::1]:7500");
        assert!(fleet.add("eu-1").is_err());
        assert!(FleetDirectory::init(&path, &[]).unwrap_err().to_string().ends_with("another with --fleet DIRECTORY"));
        let certificate = fleet.certificate("eu-1").unwrap();
        for file in [path.join("ca.key"), path.join("coordinator.key"), certificate.clone()] {
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        assert!(!fs::read_to_string(certificate).unwrap().contains("PRIVATE"));
        fleet.remove("eu-1").unwrap();
        assert!(fleet.names().is_empty() && fleet.remove("eu-1").is_err() && fleet.remove("../ca").is_err());
    }

    #[test]
    fn what_is_no_token_is_told_apart_from_half_of_one() {
        let certificate = |content: &[u8]| pem_of("CERTIFICATE", content);
        let key = pem_of("PRIVATE KEY", b"key");
        let token = AgentToken { ca: certificate(&[7; 300]), cert: certificate(b"own"), key, name: "eu-1".into() };
        let text = token.to_text();
        assert_eq!(AgentToken::parse(&format!(" {text}\n")), Ok(token));
        for (text, said) in [
            (&text[..text.len() - 3], "not whole"),
            ("brunt1.", "not whole"),
            ("brunt1.***", "not whole"),
            ("brunt2.abc", "is no token"),
            ("", "is no token"),
        ] {
            let complaint = AgentToken::parse(text).unwrap_err().to_string();
            assert!(complaint.contains(said), "{text}: {complaint}");
        }
    }

    #[test]
    fn names_fit_file_names_and_rules() {
        for name in ["", "A", "1", "-a", "a/b", "a*", "..", "a b", &"a".repeat(41)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("eu-1").is_ok());
    }
}
