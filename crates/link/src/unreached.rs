//! Why an agent does not reach its coordinator, as far as that can be told apart: Zenoh only says that it did not.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use brunt_cause::{Complaint, complaint};
use quinn::rustls::crypto::ring::default_provider;
use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use quinn::rustls::{ClientConfig, RootCertStore, version};
use quinn::{ConnectionError, crypto::rustls::QuicClientConfig};

use crate::joined_fleet::{AgentIdentity, GREETING};
use crate::zenoh_messenger::COORDINATOR;

/// The protocol of Zenoh over QUIC.
const ALPN: &[u8] = b"hq-29";
/// Time within which a machine says that nobody listens at a port, and a coordinator that it refuses a certificate.
const REFUSES: Duration = Duration::from_millis(1000);

/// Time for the last packet of a greeting to leave.
const PARTING: Duration = Duration::from_millis(200);

/// A reason why a coordinator is not reached.
#[derive(Debug)]
pub struct Unreached {
    /// What it is, without saying that the agent goes on trying.
    pub complaint: Complaint,
    pub(crate) worth: WorthSaying,
}

/// When a reason is worth saying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorthSaying {
    /// At once: it does not go by.
    Always,
    /// If it lasts.
    IfItLasts,
    /// If it lasts and there was no connection before: it is how it is between runs.
    IfItLastsAtFirst,
}

impl Unreached {
    fn if_it_lasts(complaint: Complaint) -> Unreached {
        Unreached { complaint, worth: WorthSaying::IfItLasts }
    }

    fn of(complaint: Complaint) -> Unreached {
        Unreached { complaint, worth: WorthSaying::Always }
    }

    fn nobody_listens(coordinator: &str) -> Unreached {
        let complaint = complaint!(
            "nobody listens at {coordinator} (UDP): no run on agents and no console goes on there now, or the port is wrong",
            "{coordinator} 无人监听（UDP）：那里现在没有使用施压机的压测，也没有控制台；或端口有误"
        );
        Unreached { complaint, worth: WorthSaying::IfItLastsAtFirst }
    }

    pub(crate) fn no_address(coordinator: &str, error: &io::Error) -> Unreached {
        Unreached::of(complaint!("{coordinator} has no address ({error})", "{coordinator} 解析不到地址（{error}）"))
    }

    fn not_a_member(coordinator: &str, name: &str) -> Unreached {
        Unreached::of(complaint!(
            "the coordinator at {coordinator} has no agent {name}: it was removed from the fleet",
            "{coordinator} 的协调端没有施压机 {name}：它已从机群中移除"
        ))
    }

    /// Finds out why none was reached at an address; what it tries is bounded.
    /// `is_greeted` says that a session was opened, in which nobody answered for the agent's fleet.
    pub(crate) fn at(coordinator: &str, address: SocketAddr, identity: &AgentIdentity, is_greeted: bool) -> Unreached {
        if is_refused(address) {
            return Unreached::nobody_listens(coordinator);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let outcome = runtime
            .map_err(|error| error.to_string())
            .and_then(|runtime| runtime.block_on(async { Ok(greet(address, identity)?.await_outcome().await) }));
        match outcome {
            Ok(GreetingOutcome::Accepted) if is_greeted => Unreached::not_a_member(coordinator, &identity.name),
            Ok(outcome) => outcome.unreached(coordinator),
            Err(error) => Unreached::of(complaint!("the token cannot be used ({error})", "令牌无法使用（{error}）")),
        }
    }
}

/// Returns `true` if the machine there says that nobody listens at this port.
fn is_refused(address: SocketAddr) -> bool {
    let own: SocketAddr = if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 8], 0).into() };
    let ask = || -> io::Result<usize> {
        let socket = UdpSocket::bind(own)?;
        socket.connect(address)?;
        socket.set_read_timeout(Some(REFUSES))?;
        // No coordinator answers a byte that is no QUIC.
        socket.send(&[0])?;
        socket.recv(&mut [0])
    };
    ask().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// A greeting under way.
struct Greeting {
    endpoint: quinn::Endpoint,
    connecting: quinn::Connecting,
}

/// What became of a greeting.
enum GreetingOutcome {
    /// Both sides accept each other's certificates.
    Accepted,
    Silent,
    /// The certificate there is not of this fleet.
    OtherFleet(String),
    /// This agent's certificate is refused there.
    Refused(String),
    Failed(String),
}

fn greet(address: SocketAddr, identity: &AgentIdentity) -> Result<Greeting, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut authority = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(identity.ca.as_bytes()).map_err(|error| text(&error))?;
    authority.add(ca).map_err(|error| text(&error))?;
    let cert = CertificateDer::from_pem_slice(identity.cert.as_bytes()).map_err(|error| text(&error))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| text(&error))?;
    let mut tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| text(&error))?
        .with_root_certificates(authority)
        .with_client_auth_cert(vec![cert], key)
        .map_err(|error| text(&error))?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let own: SocketAddr = if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 8], 0).into() };
    let mut endpoint = quinn::Endpoint::client(own).map_err(|error| text(&error))?;
    let crypto = QuicClientConfig::try_from(tls).map_err(|error| text(&error))?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
    // Every coordinator's certificate bears this name beside those of its host.
    let connecting = endpoint.connect(address, COORDINATOR).map_err(|error| text(&error))?;
    Ok(Greeting { endpoint, connecting })
}

impl Greeting {
    async fn await_outcome(self) -> GreetingOutcome {
        let outcome = outcome(self.connecting).await;
        // The coordinator takes one handshake after the other: one that is left without a word holds up all others for 30 s.
        self.endpoint.close(0u32.into(), b"");
        let _ = tokio::time::timeout(PARTING, self.endpoint.wait_idle()).await;
        outcome
    }
}

async fn outcome(connecting: quinn::Connecting) -> GreetingOutcome {
    let connection = match tokio::time::timeout(GREETING, connecting).await {
        Err(_) | Ok(Err(ConnectionError::TimedOut)) => return GreetingOutcome::Silent,
        Ok(Err(ConnectionError::TransportError(error))) => return GreetingOutcome::OtherFleet(error.reason),
        Ok(Err(other)) => return refusal(&other),
        Ok(Ok(connection)) => connection,
    };
    // The certificate of a client is judged after the handshake.
    match tokio::time::timeout(REFUSES, connection.closed()).await {
        Ok(why) => refusal(&why),
        Err(_) => GreetingOutcome::Accepted,
    }
}

fn refusal(why: &ConnectionError) -> GreetingOutcome {
    match why {
        ConnectionError::ConnectionClosed(close) => {
            GreetingOutcome::Refused(String::from_utf8_lossy(&close.reason).into_owned())
        }
        other => GreetingOutcome::Failed(other.to_string()),
    }
}

impl GreetingOutcome {
    fn unreached(self, coordinator: &str) -> Unreached {
        match self {
            GreetingOutcome::Silent => Unreached::if_it_lasts(complaint!(
                "nothing comes back from {coordinator}: UDP does not get through, the machine is not there, or its \
                 coordinator does not take new agents now",
                "{coordinator} 没有任何回应：UDP 不通，该机器不在线，或其协调端目前不接纳新的施压机"
            )),
            GreetingOutcome::OtherFleet(why) => Unreached::of(complaint!(
                "the coordinator at {coordinator} is of another fleet than the token ({why})",
                "{coordinator} 的协调端与令牌不属于同一机群（{why}）"
            )),
            GreetingOutcome::Refused(why) => Unreached::of(complaint!(
                "the coordinator at {coordinator} refuses the token ({why})",
                "{coordinator} 的协调端拒绝此令牌（{why}）"
            )),
            GreetingOutcome::Accepted => Unreached::if_it_lasts(complaint!(
                "the coordinator at {coordinator} does not take new agents now: it is starting, is held up by others who \
                 join, or is of another version",
                "{coordinator} 的协调端目前不接纳新的施压机：它正在启动、被其他加入者占住，或版本不同"
            )),
            GreetingOutcome::Failed(why) => Unreached::of(complaint!(
                "no connection with {coordinator} ({why})",
                "无法与 {coordinator} 建立连接（{why}）"
            )),
        }
    }
}
