//! Looks at fleets that a script plays.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;

/// A line as `brunt fleet --json --watch` writes it: one agent runs, one does not answer, one of three did not come.
const LINE: &str = r#"{"agents":[
    {"name":"eu-1","description":{"name":"eu-1","labels":["eu"],"brunt":"0.0.1","host":{"name":"h","kernel":"Linux 6","cores":8.0,
     "descriptors":1024,"memory":2048},"terms":{"allow":["10.0.0.0/8"],"max_rate":50.0},"state":{"runs":"r1"},"remarks":[],"busy_cores":0.5},
     "clock_ahead_ns":7,"wall_ahead_ns":2000000000,"round_trip":412000,"capacity_per_s":612000.0,"remarks":[{"en":"old","zh":"旧"}]},
    {"name":"eu-2","description":null,"clock_ahead_ns":0,"wall_ahead_ns":0,"round_trip":0,"capacity_per_s":null,"times":2,"remarks":[]}],
    "expected":["asia-1","eu-1","eu-2"],"unfinished_runs":["r0"],"join":"h:7500"}"#;

fn fleet_that(does: &str) -> (tempfile::TempDir, Arc<FleetWatch>) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("does"), does).unwrap();
    std::fs::write(directory.path().join("line"), LINE.replace('\n', "") + "\n").unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fleet/stand-in.sh");
    let asked = Some(directory.path().display().to_string());
    let watch = FleetWatch::new(BruntProgram(program), FleetPlace { asked, exists: Box::new(|| true) });
    (directory, Arc::new(watch))
}

fn look(fleet: &Arc<FleetWatch>) -> FleetView {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(fleet.look())
}

fn processes(directory: &tempfile::TempDir) -> usize {
    std::fs::read_to_string(directory.path().join("processes")).map_or(0, |text| text.lines().count())
}

fn until(is: impl Fn() -> bool) {
    let since = Instant::now();
    while !is() {
        assert!(since.elapsed() < Duration::from_secs(30), "it does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn who_is_there_is_told_by_one_process_for_all_who_look() {
    let (directory, fleet) = fleet_that("goes on");
    let FleetView::Seen(line) = look(&fleet) else { panic!("a line") };
    assert!(matches!(look(&fleet), FleetView::Seen(_)));
    assert_eq!(processes(&directory), 1);
    let runs = HashMap::from([("eu-1".to_owned(), "7-a".to_owned()), ("eu-2".to_owned(), "8-b".to_owned())]);
    let told = shown(&line, &runs, "zh");
    assert_eq!((&told["absent"], &told["unfinished_runs"]), (&["asia-1"].into(), &["r0"].into()), "{told}");
    assert_eq!(told["join"], "h:7500");
    let [first, second] = &told["agents"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!((&first["state"], &first["fleet_run"], &first["run"]), (&"runs".into(), &"r1".into(), &"7-a".into()));
    assert_eq!((&first["busy_cores"], &first["capacity_per_s"]), (&0.5.into(), &612_000.0.into()));
    assert_eq!((&first["round_trip_us"], &first["clock_ahead_ms"]), (&412.0.into(), &2000.0.into()));
    assert_eq!((&first["remarks"], &first["terms"]["max_rate"]), (&["旧"].into(), &50.0.into()));
    assert_eq!((&second["state"], &second["times"]), (&"silent".into(), &2.into()), "{second}");
    fleet.stop();
    until(|| !fleet.standing().watches);
    assert_eq!(look(&fleet), FleetView::Awaited, "a console that ends starts nothing");
    assert_eq!(processes(&directory), 1);
}

#[test]
fn the_process_ends_once_nobody_looks_and_what_it_said_is_not_told_later() {
    let (directory, fleet) = fleet_that("goes on");
    look(&fleet);
    fleet.standing().looked = Instant::now().checked_sub(LINGER * 2).unwrap();
    until(|| !fleet.standing().watches);
    assert_eq!(*fleet.view.borrow(), FleetView::Awaited);
    assert!(matches!(look(&fleet), FleetView::Seen(_)));
    assert_eq!(processes(&directory), 2);
    fleet.stop();
}

#[test]
fn why_there_is_no_fleet_is_told_in_the_language_of_who_asks_and_one_that_is_made_is_found() {
    let (directory, fleet) = fleet_that("none");
    let FleetView::Unseen(why) = look(&fleet) else { panic!("a reason") };
    assert_eq!((why.of("en"), why.of("zh")), ("--fleet: there is no fleet", "--fleet：没有机群"));
    until(|| !fleet.standing().watches);
    look(&fleet);
    assert_eq!(processes(&directory), 1, "it is not started again at once");
    std::fs::write(directory.path().join("does"), "goes on").unwrap();
    fleet.standing().rests_until = Instant::now();
    look(&fleet);
    until(|| matches!(look(&fleet), FleetView::Seen(_)));
    fleet.stop();
}

#[test]
fn a_process_that_dies_is_told_of_and_started_again() {
    let (directory, fleet) = fleet_that("dies");
    look(&fleet);
    until(|| !fleet.standing().watches);
    let FleetView::Unseen(why) = look(&fleet) else { panic!("a reason") };
    assert_eq!(why.of("en"), "it broke");
    std::fs::write(directory.path().join("does"), "goes on").unwrap();
    fleet.standing().rests_until = Instant::now();
    look(&fleet);
    until(|| matches!(look(&fleet), FleetView::Seen(_)));
    fleet.stop();
    let lost = FleetPlace { asked: None, exists: Box::new(|| false) };
    let fleet = Arc::new(FleetWatch::new(BruntProgram("/nowhere/brunt".into()), lost));
    let FleetView::Unseen(why) = look(&fleet) else { panic!("a reason") };
    assert!(why.of("zh").starts_with("brunt cannot be started"), "{why:?}");
}

#[test]
fn the_place_of_a_fleet_is_shown_without_a_password() {
    for (asked, shown) in [
        ("nats://me:secret@nats.test:4222", "nats://nats.test:4222"),
        ("nats://nats.test", "nats://nats.test"),
        ("/a@b/c", "/a@b/c"),
    ] {
        let place = FleetPlace { asked: Some(asked.into()), exists: Box::new(|| true) };
        let fleet = FleetWatch::new(BruntProgram("brunt".into()), place);
        assert_eq!(fleet.place().as_deref(), Some(shown));
        assert_eq!(fleet.options().collect::<Vec<_>>(), ["--fleet", asked]);
    }
}
