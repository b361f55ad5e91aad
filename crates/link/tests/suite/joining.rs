//! An agent that looks for its coordinator, and says why it does not find it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_fleet::FleetDirectory;
use brunt_link::{FleetContact, JoinedFleet};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::rustls::ServerConfig;
use quinn::rustls::crypto::ring::default_provider;
use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::fleets::ZenohFleet;
use crate::networks::BUSY;
use crate::until;

/// Time within which an agent turns from whoever does not greet.
const GREETING: Duration = Duration::from_secs(5);

/// Time within which a handshake with an agent that is there is done.
const SETTLED: Duration = Duration::from_secs(2);

/// What an agent was told, in English and Chinese.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Vec<[String; 2]>>>);

impl Told {
    pub fn hear(&self) -> impl Fn(FleetContact) + Send + 'static {
        let told = self.clone();
        move |contact| {
            let texts = match contact {
                FleetContact::Connected => ["connected".to_owned(), "connected".to_owned()],
                FleetContact::Unreached(why) => [why.complaint.to_string(), why.complaint.zh().to_owned()],
            };
            told.0.lock().unwrap().push(texts);
        }
    }

    #[track_caller]
    pub fn until(&self, what: &str, zh: &str) {
        let is_told = || self.0.lock().unwrap().iter().any(|told| told[0].contains(what) && told[1].contains(zh));
        until(&format!("{what}, of {:?}", self.0.lock().unwrap()), is_told);
    }
}

#[test]
fn a_coordinator_whose_address_changes_is_found_again_and_a_silent_one_is_left_alone() {
    let fleet = ZenohFleet::make(&["a"]);
    // It takes what comes and says nothing.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addresses = Arc::new(Mutex::new(vec![silent.local_addr().unwrap()]));
    let now = Arc::clone(&addresses);
    let resolve = move |name: &str| {
        assert_eq!(name, "coordinator.example:7447");
        Ok(now.lock().unwrap().clone())
    };
    let told = Told::default();
    let identity = fleet.identity("a");
    let joined = JoinedFleet::join_by(Box::new(resolve), "coordinator.example:7447", identity, told.hear()).unwrap();
    let first = fleet.coordinator();
    let real: SocketAddr = fleet.address.parse().unwrap();
    let changed = Instant::now();
    // The first address of a name may be of a protocol that leads nowhere.
    *addresses.lock().unwrap() = vec![silent.local_addr().unwrap(), real];
    until("it is connected", || joined.is_connected());
    println!("found after {:.1} s, behind one that is silent", changed.elapsed().as_secs_f64());
    // An attempt under way, with a look at why it failed, and another before the right address.
    assert!(changed.elapsed() < GREETING * 4 + BUSY);
    drop(first);
    until("it is not connected any more", || !joined.is_connected());
    let mut moved = fleet;
    moved.address = ZenohFleet::free_address();
    *addresses.lock().unwrap() = vec![moved.address.parse().unwrap()];
    let _second = moved.coordinator();
    until("it is connected again", || joined.is_connected());
    let said = told.0.lock().unwrap().iter().filter(|told| told[0] == "connected").count();
    assert_eq!(said, 1, "that it was not there for a moment is no news");
}

#[test]
fn why_a_coordinator_is_not_reached_is_told() {
    let (fleet, other) = (ZenohFleet::make(&["a", "b"]), ZenohFleet::make(&["a"]));
    let _coordinator = fleet.coordinator();
    let join = |address: &str, of: &ZenohFleet, name: &str| {
        let told = Told::default();
        (JoinedFleet::join(address, of.identity(name), told.hear()).unwrap(), told)
    };
    let nobody = ZenohFleet::free_address();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent_at = silent.local_addr().unwrap().to_string();
    let (_stranger, of_another) = join(&fleet.address, &other, "a");
    let (_alone, of_nobody) = join(&nobody, &fleet, "a");
    let (_unheard, of_silence) = join(&silent_at, &fleet, "a");
    let (member, of_removal) = join(&fleet.address, &fleet, "b");
    let unknown = |_: &str| Err(std::io::Error::other("no such name"));
    let of_no_name = Told::default();
    let _nameless = JoinedFleet::join_by(Box::new(unknown), "x:1", fleet.identity("a"), of_no_name.hear()).unwrap();
    of_no_name.until("x:1 has no address (no such name)", "解析不到地址");
    of_another.until("of another fleet than the token", "不属于同一机群");
    until("a member is connected", || member.is_connected());
    FleetDirectory::open(&fleet.path()).unwrap().remove("b").unwrap();
    of_removal.until("has no agent b: it was removed", "已从机群中移除");
    assert!(!member.is_connected());
    of_nobody.until("nobody listens at", "无人监听");
    of_silence.until("nothing comes back from", "没有任何回应");
}

/// Opens an endpoint with the certificate of a fleet's coordinator, which takes no connection by itself.
fn held_up(fleet: &ZenohFleet) -> quinn::Endpoint {
    let chain = vec![CertificateDer::from_pem_file(fleet.path().join("coordinator.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(fleet.path().join("coordinator.key")).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
    let mut tls = tls.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    tls.alpn_protocols = vec![b"hq-29".to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap()
}

#[tokio::test]
async fn no_attempt_that_was_given_up_holds_up_those_that_come_after_it() {
    let fleet = ZenohFleet::make(&["a"]);
    let coordinator = held_up(&fleet);
    let at = coordinator.local_addr().unwrap().to_string();
    let told = Told::default();
    let _joined = JoinedFleet::join(&at, fleet.identity("a"), told.hear()).unwrap();
    told.until("nothing comes back from", "没有任何回应");
    // Then comes one that is under way.
    for what in ["the attempt", "the look at why it failed"] {
        let incoming = tokio::time::timeout(SETTLED, coordinator.accept()).await.unwrap().unwrap();
        let ended = tokio::time::timeout(SETTLED, incoming.into_future()).await;
        assert!(matches!(ended, Ok(Err(_))), "{what}: {ended:?}");
    }
}
