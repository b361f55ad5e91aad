//! Who may do what: certificates, and the rules for their names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_fleet::{AgentToken, FleetDirectory};
use brunt_link::{AgentIdentity, JoinedFleet};
use brunt_messenger::Presence;

use crate::fleets::ZenohFleet;
use crate::joining::Told;
use crate::{answered, deliver, id, until};

/// Time for which one that is refused tries.
const REFUSED: Duration = Duration::from_secs(2);

#[test]
fn a_stolen_token_speaks_for_its_own_agent_only() {
    let fleet = ZenohFleet::make(&["a", "b"]);
    let coordinator = fleet.coordinator();
    let there = Arc::<Mutex<Vec<String>>>::default();
    let told = Arc::clone(&there);
    let _watch = coordinator.watch(Box::new(move |who, _| told.lock().unwrap().push(who.name.clone()))).unwrap();
    let kept = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&kept);
    let _receiving = coordinator
        .receive(
            "r",
            Box::new(move |id, _| {
                seen.lock().unwrap().push(id.agent.clone());
                true
            }),
        )
        .unwrap();
    let (honest, thief) = (fleet.agent("b"), fleet.agent("a"));
    let _answers = honest.answer("agent/b", Box::new(|_| b"b".to_vec())).unwrap();
    let _bundle = coordinator.answer("run/r", Box::new(|_| b"plan".to_vec())).unwrap();
    // It can do all of this under its own name.
    deliver(&*thief, &id("a", 0), b"x");
    let _own = thief.appear(&Presence::draw("a")).unwrap();
    until("it appears as itself", || there.lock().unwrap().contains(&"a".to_owned()));
    assert_eq!(answered(&*thief, "run/r", b"?"), b"plan");
    // And none of it under another.
    let _forged = (
        thief.appear(&Presence::draw("b")),
        thief.answer("agent/b", Box::new(|_| b"forged".to_vec())),
        thief.answer("run/r", Box::new(|_| b"forged".to_vec())),
    );
    assert!(thief.deliver(&id("b", 0), b"x", Duration::from_secs(1)).is_err());
    for _ in 0..20 {
        assert_eq!(answered(&*coordinator, "agent/b", b"?"), b"b");
        assert_eq!(answered(&*honest, "run/r", b"?"), b"plan");
    }
    assert_eq!(*kept.lock().unwrap(), ["a"]);
    assert!(!there.lock().unwrap().contains(&"b".to_owned()));
}

#[test]
fn agents_obey_nobody_but_the_coordinator_whoever_signed_for_it() {
    let fleet = ZenohFleet::make(&["a"]);
    // Signed by an authority that the agent trusts, for a name that is not the coordinator's: as the public ones would.
    let read = |file: &str| std::fs::read_to_string(fleet.path().join(file)).unwrap();
    let genuine = (read("coordinator.pem"), read("coordinator.key"));
    let mut authority = rcgen::CertificateParams::default();
    authority.distinguished_name.push(rcgen::DnType::CommonName, "brunt fleet");
    let authority = rcgen::Issuer::new(authority, rcgen::KeyPair::from_pem(&read("ca.key")).unwrap());
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["127.0.0.1".into()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "coordinator.example");
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let write = |file: &str, text: &str| std::fs::write(fleet.path().join(file), text).unwrap();
    write("coordinator.pem", &params.signed_by(&key, &authority).unwrap().pem());
    write("coordinator.key", &key.serialize_pem());
    let forged = fleet.coordinator();
    let contact = Told::default();
    let agent = JoinedFleet::join(&fleet.address, fleet.identity("a"), contact.hear()).unwrap().messenger();
    let heard = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&heard);
    let answer = move |_: &[u8]| {
        counted.fetch_add(1, Ordering::Relaxed);
        b"yes".to_vec()
    };
    let answers = agent.answer("agent/a", Box::new(answer)).unwrap();
    let there = Arc::<Mutex<Vec<bool>>>::default();
    let told = Arc::clone(&there);
    let watch = forged.watch(Box::new(move |_, is| told.lock().unwrap().push(is))).unwrap();
    let bundle = forged.answer("run/r", Box::new(|_| b"forged".to_vec())).unwrap();
    let here = agent.appear(&Presence::draw("a")).unwrap();
    contact.until("of another fleet", "不属于同一机群");
    assert!(forged.ask("agent/a", b"start", Duration::from_secs(1)).is_err(), "it obeys");
    assert!(agent.ask("run/r", b"?", Duration::from_secs(1)).is_err(), "it believes");
    assert!(there.lock().unwrap().is_empty() && heard.load(Ordering::Relaxed) == 0);
    drop((watch, bundle, forged));
    until("its port is free", || std::net::UdpSocket::bind(&fleet.address).is_ok());
    write("coordinator.pem", &genuine.0);
    write("coordinator.key", &genuine.1);
    let coordinator = fleet.coordinator();
    assert_eq!(answered(&*coordinator, "agent/a", b"start"), b"yes");
    drop((here, answers));
}

#[test]
fn who_is_not_of_the_fleet_or_no_more_gets_nothing() {
    let (fleet, other) = (ZenohFleet::make(&["a"]), ZenohFleet::make(&["a"]));
    let coordinator = fleet.coordinator();
    let there = Arc::<Mutex<Vec<bool>>>::default();
    let told = Arc::clone(&there);
    let _watch = coordinator.watch(Box::new(move |_, is| told.lock().unwrap().push(is))).unwrap();
    let _bundle = coordinator.answer("run/r", Box::new(|_| b"plan".to_vec())).unwrap();
    let stranger = other.joined("a", &fleet.address);
    let _there = stranger.messenger().appear(&Presence::draw("a")).unwrap();
    std::thread::sleep(REFUSED);
    assert!(stranger.messenger().ask("run/r", b"?", Duration::from_secs(1)).is_err());
    assert!(there.lock().unwrap().is_empty() && !stranger.is_connected());
    let member = fleet.agent("a");
    let _here = member.appear(&Presence::draw("a")).unwrap();
    until("the member is there", || *there.lock().unwrap() == [true]);
    FleetDirectory::open(&fleet.path()).unwrap().remove("a").unwrap();
    until("it is gone", || there.lock().unwrap().last() == Some(&false));
    assert!(member.ask("run/r", b"?", Duration::from_secs(3)).is_err());
    // Its token is worth nothing to the end of time, whoever gets its name.
    let token = FleetDirectory::open(&fleet.path()).unwrap().add("a").unwrap();
    let AgentToken { ca, cert, key, name } = AgentToken::parse(&token).unwrap();
    let identity = AgentIdentity { ca, cert, key, name };
    let next = JoinedFleet::join(&fleet.address, identity, |_| ()).unwrap();
    let _there = next.messenger().appear(&Presence::draw("a")).unwrap();
    until("the next of its name is there", || there.lock().unwrap().last() == Some(&true) && next.is_connected());
    std::thread::sleep(REFUSED);
    assert!(member.ask("run/r", b"?", Duration::from_secs(3)).is_err());
    assert_eq!(answered(&*next.messenger(), "run/r", b"?"), b"plan");
}
