//! Tests of the library.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use brunt_record::{RecordWriter, RunEnd, RunEvent};

use super::index::STALE;
use super::*;
use crate::testing;

fn library() -> (tempfile::TempDir, Library) {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let library = Library::open(&directory.path().join("library"), Some(kept)).unwrap();
    (directory, library)
}

fn keep(directory: &Path, id: &str, events: &[RunEvent]) -> RecordWriter {
    let mut writer = RecordWriter::create(&directory.join("kept").join(format!("{id}{ENDING}"))).unwrap();
    events.iter().for_each(|event| writer.write(event).unwrap());
    writer
}

fn all(library: &Library, query: &RunQuery) -> Vec<String> {
    library.list(query).unwrap().runs.into_iter().map(|run| run.id).collect()
}

#[test]
fn what_is_made_is_private_and_what_was_there_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let theirs = directory.path().join("shared");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::set_permissions(&theirs, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(Library::open(&theirs, None).unwrap());
    assert_eq!((mode(&theirs), mode(&theirs.join("library.jsonl"))), (0o755, 0o600));
    assert_eq!((mode(&theirs.join("records")), mode(&theirs.join("plans"))), (0o700, 0o700));
    let ours = directory.path().join("new/library");
    drop(Library::open(&ours, None).unwrap());
    assert_eq!((mode(&ours), mode(ours.parent().unwrap())), (0o700, 0o700));
}

#[test]
fn what_the_command_line_keeps_is_taken_over_and_stays() {
    let (directory, library) = library();
    drop(keep(directory.path(), "00000000000007-1", &testing::a_run(3)));
    let going = keep(directory.path(), "00000000000008-1", &testing::a_run(3)[..2]);
    std::fs::write(directory.path().join("kept/..nothing.brunt.zst"), "x").unwrap();
    library.refresh(&|_| false).unwrap();
    let page = library.list(&RunQuery::default()).unwrap();
    let states: Vec<(RunSource, RunState)> = page.runs.iter().map(|run| (run.origin, run.state)).collect();
    assert_eq!(states, [(RunSource::CommandLine, RunState::Running), (RunSource::CommandLine, RunState::Over)]);
    let figures = page.runs[1].figures.as_ref().unwrap();
    assert_eq!((figures.scheduled, figures.succeeded, figures.exit), (30, 30, testing::EXIT));
    assert_eq!((&*figures.target, &*figures.mode, figures.load_peak), ("http://127.0.0.1:8080/", "closed", 10.0));
    // The writer continues in the same file, and ends.
    drop(going);
    std::fs::remove_dir_all(directory.path().join("kept")).unwrap();
    library.refresh(&|_| false).unwrap();
    let run = library.run("00000000000008-1").unwrap().unwrap();
    assert_eq!((run.state, run.figures.unwrap().ended.as_str()), (RunState::Over, "cut_off"));
    assert!(library.record("00000000000007-1").exists());
}

#[test]
fn a_deleted_run_does_not_come_back() {
    let (directory, library) = library();
    drop(keep(directory.path(), "7-1", &testing::a_run(1)));
    library.refresh(&|_| false).unwrap();
    assert!(library.delete("7-1").unwrap() && !library.delete("7-1").unwrap());
    library.refresh(&|_| false).unwrap();
    assert_eq!(all(&library, &RunQuery::default()), Vec::<String>::new());
    assert!(!library.record("7-1").exists());
}

#[test]
fn runs_are_found_by_words_tags_and_favour() {
    let (_directory, library) = library();
    for (at, name) in
        ["Checkout before the fix", "checkout after", "search Élan STRASSE ΑΣ 压测"].into_iter().enumerate()
    {
        let id = format!("r{at}");
        library.begin(&id, RunSource::Dropped, at as u64).unwrap();
        let tags = (at < 2).then(|| vec!["shop".to_owned(), format!("n{at}")]);
        let marks = RunEdits { name: Some(name.into()), tags, favourite: Some(at == 1), notes: None };
        assert!(library.edit(&id, &marks.validated().unwrap()).unwrap());
    }
    let find = |q: &str, tag: Option<&str>, favourite| {
        all(&library, &RunQuery { q: q.into(), tag: tag.map(String::from), favourite, ..RunQuery::default() })
    };
    assert_eq!(find("CHECKOUT", None, false), ["r1", "r0"]);
    assert_eq!(find("fix checkout", None, false), ["r0"]);
    assert_eq!(find("", Some("shop"), false), ["r1", "r0"]);
    assert_eq!(find("", Some("sho"), false), Vec::<String>::new());
    assert_eq!(find("n1", None, true), ["r1"]);
    assert_eq!(find("%", None, false), Vec::<String>::new());
    // Case is folded in every language.
    for sought in ["élan", "ÉLAN", "straße", "ας", "压测"] {
        assert_eq!(find(sought, None, false), ["r2"], "{sought}");
    }
    let tags: Vec<(String, u64)> = library.list(&RunQuery::default()).unwrap().tags.into_iter().collect();
    assert_eq!(tags, [("n0".to_owned(), 1), ("n1".into(), 1), ("shop".into(), 2)]);
    // Fields that are not set stay unchanged.
    library.edit("r1", &RunEdits { notes: Some("slower".into()), ..RunEdits::default() }).unwrap();
    let run = library.run("r1").unwrap().unwrap();
    assert_eq!((&*run.name, &*run.notes, run.favourite, run.tags.len()), ("checkout after", "slower", true, 2));
    assert!(!library.edit("none", &RunEdits::default()).unwrap());
}

#[test]
fn marks_are_bounded() {
    let tags = |tags: Vec<String>| RunEdits { tags: Some(tags), ..RunEdits::default() }.validated();
    let tidy = tags(vec![" b ".into(), "a\nx".into(), "b".into(), String::new()]).unwrap();
    assert_eq!(tidy.tags.unwrap(), ["a x", "b"]);
    assert!(tags((0..=MOST_TAGS).map(|n| n.to_string()).collect()).is_err());
    assert!(tags(vec!["x".repeat(LONGEST_TAG + 1)]).is_err());
    assert!(RunEdits { name: Some("x".repeat(LONGEST_NAME + 1)), ..RunEdits::default() }.validated().is_err());
    assert!(RunEdits { notes: Some("x".repeat(LONGEST_NOTES + 1)), ..RunEdits::default() }.validated().is_err());
}

#[test]
fn ten_thousand_runs_are_gone_through_page_by_page_and_searched_at_once() {
    let (_directory, library) = library();
    let figures = RunFigures { target: "http://127.0.0.1:8080/".into(), ..RunFigures::default() };
    for at in 0..10_000_u64 {
        let id = format!("r{at:05}");
        library.begin(&id, RunSource::Console, at).unwrap();
        let figures = RunFigures { started_ms: at / 10, ..figures.clone() };
        library.update(&id, RunState::Over, Some(figures), None, 1000).unwrap();
    }
    let mut seen = 0;
    let mut query = RunQuery { limit: Some(200), ..RunQuery::default() };
    loop {
        let page = library.list(&query).unwrap();
        assert_eq!((page.total, page.bytes), (10_000, 10_000_000));
        let first = page.runs[0].id.clone();
        assert_eq!(first, format!("r{:05}", 9_999 - seen));
        seen += page.runs.len();
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, 10_000);
    let began = Instant::now();
    assert_eq!(all(&library, &RunQuery { q: "R07777".into(), ..RunQuery::default() }), ["r07777"]);
    // Far beyond the expected time: a search that reads records would take minutes.
    assert!(began.elapsed().as_secs() < 5);
}

#[test]
fn a_library_of_a_later_version_is_left_alone() {
    let (directory, library) = library();
    drop(library);
    let path = directory.path().join("library/library.jsonl");
    std::fs::write(&path, "{\"brunt_library\":9}\n").unwrap();
    let said = Library::open(&directory.path().join("library"), None).map(|_| ()).unwrap_err();
    assert!(said.contains("it was written by a later version of brunt: version 9"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"brunt_library\":9}\n");
}

fn marks(name: &str) -> RunEdits {
    RunEdits { name: Some(name.into()), ..RunEdits::default() }
}

#[test]
fn several_consoles_see_what_each_says() {
    let (directory, one) = library();
    let two = Library::open(&directory.path().join("library"), None).unwrap();
    std::thread::scope(|threads| {
        for (library, origin) in [(&one, "a"), (&two, "b")] {
            threads.spawn(move || {
                for at in 0..100 {
                    library.begin(&format!("{origin}-{at}"), RunSource::Console, at).unwrap();
                    library.begin("both", RunSource::Dropped, 7).unwrap();
                }
            });
        }
    });
    assert!(one.edit("b-7", &marks("seven")).unwrap() && two.edit("a-7", &marks("of one")).unwrap());
    assert!(one.delete("b-8").unwrap() && !two.delete("b-8").unwrap());
    // A third one finds enough obsolete lines to rewrite the file while both have it open.
    (0..2 * STALE).for_each(|at| assert!(two.edit("both", &marks(&at.to_string())).unwrap()));
    let three = Library::open(&directory.path().join("library"), None).unwrap();
    let text = std::fs::read_to_string(directory.path().join("library/library.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 201);
    assert!(one.edit("both", &marks("after")).unwrap());
    for library in [&one, &two, &three] {
        let page = library.list(&RunQuery::default()).unwrap();
        let name = |id: &str| library.run(id).unwrap().map(|run| run.name);
        assert_eq!((page.total, name("b-7"), name("a-7")), (200, Some("seven".into()), Some("of one".into())));
        assert_eq!((name("both"), name("b-8")), (Some("after".into()), None));
    }
}

#[test]
fn a_line_that_was_torn_costs_that_line_alone() {
    let (directory, library) = library();
    library.begin("one", RunSource::Console, 1).unwrap();
    let path = directory.path().join("library/library.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    io::Write::write_all(&mut file, b"{\"marked\":[\"one\",{\"na").unwrap();
    assert_eq!(all(&library, &RunQuery::default()), ["one"]);
    assert!(library.edit("one", &marks("first")).unwrap());
    drop(library);
    let library = Library::open(&directory.path().join("library"), None).unwrap();
    assert_eq!(library.run("one").unwrap().unwrap().name, "first");
}

#[test]
fn a_lost_index_is_made_from_the_records() {
    let (directory, library) = library();
    drop(keep(directory.path(), "00000000000007-1", &testing::a_run(3)));
    library.refresh(&|_| false).unwrap();
    let dropped = "00000000000008-0123abcd";
    std::fs::copy(library.record("00000000000007-1"), library.record(dropped)).unwrap();
    std::fs::copy(library.record("00000000000007-1"), library.record("00000000000009-0123abcd")).unwrap();
    std::fs::write(library.plan("00000000000009-0123abcd"), "").unwrap();
    std::fs::write(library.incoming("00000000000010-1"), "half").unwrap();
    let before = library.run("00000000000007-1").unwrap().unwrap();
    drop(library);
    std::fs::write(directory.path().join("library/library.jsonl"), [0, 159, 146, 150, b'\n']).unwrap();
    let library = Library::open(&directory.path().join("library"), None).unwrap();
    library.refresh(&|_| false).unwrap();
    assert_eq!(library.run("00000000000007-1").unwrap().unwrap(), before);
    let origin = |id| library.run(id).unwrap().unwrap().origin;
    assert_eq!((origin(dropped), origin("00000000000009-0123abcd")), (RunSource::Dropped, RunSource::Console));
    assert_eq!(library.list(&RunQuery::default()).unwrap().total, 3);
}

#[test]
fn names_of_runs_are_names_of_files() {
    for (text, right) in
        [("00001-7", true), ("a-B9", true), ("", false), ("../x", false), ("a.b", false), ("a/b", false)]
    {
        assert_eq!(is_id(text), right, "{text}");
    }
    assert!(!is_id(&"a".repeat(65)));
    assert!(matches!(testing::a_run(1).last(), Some(RunEvent::Ended(RunEnd { .. }))));
}

#[test]
fn the_place_of_a_page_is_one_that_was_told() {
    for wrong in ["zz", "7", "7.", ".a", "x.a", "7.../a"] {
        let said = RunQuery { after: Some(wrong.into()), ..RunQuery::default() }.validated().map(drop);
        assert!(said.is_err(), "{wrong}");
    }
    assert!(RunQuery { after: Some("7.a-1".into()), ..RunQuery::default() }.validated().is_ok());
}
