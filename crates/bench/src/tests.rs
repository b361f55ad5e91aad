//! Repeated measurements of one bench. The server's count shows that one-time requests are sent only once.

use brunt_contract::PeerAddress;
use brunt_plan::{Arrivals, Load};
use brunt_report::End;
use brunt_test_server::{Config, TargetServer};

use super::*;
use brunt_config::{Command, Defaults, read};

const HALF: Nanos = Nanos::from_millis(500);

/// Starts a target; returns it with its URL.
fn target() -> (TargetServer, String) {
    let place = PeerAddress::Tcp(([127, 0, 0, 1], 0).into());
    let target = TargetServer::start(Config { listen: place, workers: 1, ..Config::default() }).expect("a target");
    let PeerAddress::Tcp(address) = target.place().clone() else { panic!("no TCP") };
    (target, format!("http://{address}/"))
}

/// A launcher that starts no process: none of these plans asks for one.
struct RefusingLauncher;

impl brunt_engine::Launcher for RefusingLauncher {
    fn launch(&self, _task: &brunt_engine::Task) -> std::io::Result<brunt_engine::ProcessLink> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

fn bench(words: &[&str]) -> (Bench, Plan) {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
    let protocols = brunt_protocols::all();
    let Ok(Command::Run(mut intent)) = read(&words, &protocols, &defaults) else { panic!("{words:?}") };
    let protocol = &*protocols[intent.protocol];
    let bench = Bench::prepare(&mut intent, protocol, &GeneratorHost::default(), WorkerPlaces::here(RefusingLauncher));
    let bench = bench.map_err(|complaint| complaint.to_string()).expect("a good plan");
    (bench, intent.plan)
}

#[test]
fn one_bench_is_measured_with_many_loads_and_asks_its_first_answer_once() {
    let (target, url) = target();
    let (mut bench, plan) = bench(&["-c", "2", "-n", "40", "-H", "Authorization: Bearer hunter-22", &url]);
    let stop = Stop::default();
    let first = bench.first_answer(&stop).ok().expect("it answers").answer;
    assert_eq!((first.status.as_str(), target.stats().heard), ("200", 1));

    let as_asked = bench.measure(&Trial::from_plan(&plan), &stop, &mut []).unwrap();
    assert_eq!((as_asked.totals.due, as_asked.totals.finished, as_asked.end), (40, 40, End::Completed));
    let rate = bench.measure(&Trial::rate(200.0, Arrivals::Constant, HALF), &stop, &mut []).unwrap();
    assert_eq!((rate.open, rate.totals.due, rate.totals.finished), (true, 100, 100));
    let users = Trial { requests: Some(30), duration: None, seed: Some(99), ..Trial::users(3, HALF) };
    let mut events = Vec::new();
    let users = bench.measure(&users, &stop, &mut [&mut events]).unwrap();
    assert_eq!((users.open, users.totals.due, users.totals.finished), (false, 30, 30));

    assert_eq!(target.stats().heard, 1 + 40 + 100 + 30, "nothing is asked that is in no figure");
    let [RunEvent::Started(started), RunEvent::FirstResponse(again), ..] = &events[..] else { panic!("{events:?}") };
    assert_eq!((again, users.probe.as_ref()), (&first, Some(&first)));
    assert!(matches!(&started.plan.load, Load::Closed { stages, .. } if stages[0].from == 3.0), "{:?}", started.plan);
    assert_eq!((started.plan.requests, started.plan.seed), (Some(30), 99));
    assert!(!format!("{events:?}").contains("hunter-22"), "secrets are masked");
}

#[test]
fn a_trial_that_cannot_be_is_a_complaint_and_leaves_the_bench_as_it_was() {
    let (target, url) = target();
    let (bench, plan) = bench(&["-c", "2", "-n", "10", &url]);
    let most = Trial { load: Trial::users(u32::MAX, HALF).load, ..Trial::from_plan(&plan) };
    let said = bench.measure(&most, &Stop::default(), &mut []).expect_err("more connections than descriptors");
    assert!(said.to_string().starts_with("-c: 4,294,967,295 connections are more than a run can hold"), "{said}");
    assert_eq!(target.stats().heard, 0);
    let summary = bench.measure(&Trial::from_plan(&plan), &Stop::default(), &mut []).unwrap();
    assert_eq!(summary.totals.finished, 10);
}
