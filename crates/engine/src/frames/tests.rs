//! Round trips of frames, and rejection of malformed frames before memory is allocated.

use brunt_measure::Rng;
use brunt_plan::Change;
use proptest::prelude::*;

use super::*;
use crate::control::ScheduledChange;
use crate::ids::UserId;
use crate::processes::Task;
use crate::tally::{WorkerTally, encode};
use crate::tests::harness::each_seed;

fn messages() -> Vec<WorkerMessage> {
    let sort = FailureClass { kind: FaultKind::Refused, phase: Phase::Connect, errno: Some(libc::ECONNREFUSED) };
    let mut early = EarlyFailures::new(Nanos::ZERO);
    (early.finished, early.failed, early.classes) = (3, 4, vec![(sort, 3), (FailureClass { errno: None, ..sort }, 1)]);
    let (sent, received) = (vec![1, 2], vec![]);
    let why = brunt_cause::connecting::no_connection("h:1", brunt_cause::connecting::refused("ECONNREFUSED"));
    let of = FailureClass { errno: None, ..sort };
    let named = RawExample {
        sort: of,
        name: Some(1000),
        code: 503,
        at_ns: -1,
        why: Some(why),
        sent,
        received,
        reused: true,
        trace: Some(Trace { id: 7 << 64 | 9, span: 3, sampled: true }),
        values: vec![("token".to_owned(), Some(vec![0, 255])), ("page".to_owned(), None)],
    };
    vec![
        WorkerMessage::Snapshot(encode(
            &WorkerTally::new(1),
            (Nanos(5), Nanos(9)),
            brunt_record::RunPart::Window,
            Nanos(5),
        )),
        WorkerMessage::Early(early),
        WorkerMessage::Early(EarlyFailures::new(Nanos::ZERO)),
        WorkerMessage::Example(RawExample { sort, name: None, code: 0, at_ns: 7, trace: None, ..named.clone() }),
        WorkerMessage::Example(named),
        WorkerMessage::Over { window: Nanos(12), interrupted: true },
        WorkerMessage::Broken("gone".into()),
    ]
}

#[test]
fn what_is_written_is_read_again() {
    let mut bytes = Vec::new();
    write_ready(&mut bytes, 1).unwrap();
    for (worker, message) in messages().iter().enumerate() {
        write(&mut bytes, worker as u32, message).unwrap();
    }
    let from = &mut bytes.as_slice();
    assert!(matches!(read(from).unwrap(), Some(ProcessFrame::Ready(1))));
    for (worker, message) in messages().iter().enumerate() {
        let Some(ProcessFrame::Worker(who, what)) = read(from).unwrap() else { panic!("a frame is missing") };
        assert_eq!((who, format!("{what:?}")), (worker as u32, format!("{message:?}")));
    }
    assert!(read(from).unwrap().is_none());
}

#[test]
fn a_frame_that_is_cut_off_is_an_error_and_no_frame() {
    let mut whole = Vec::new();
    write(&mut whole, 0, &messages()[3]).unwrap();
    for cut in 4..whole.len() {
        assert!(read(&mut &whole[..cut]).is_err(), "{cut}");
    }
}

fn orders() -> Vec<Order> {
    vec![
        Order::File("a/b.csv".into(), 7),
        Order::Piece(vec![0, 1, 255]),
        Order::Variable("TOKEN".into(), "söme".into()),
        Order::Description(b"{}".to_vec()),
        Order::Task(Task { from: 2, to: 5, of: 9 }),
        Order::Go(1, Nanos(u64::MAX)),
        Order::Change(ScheduledChange { at: Nanos(5), change: Change::Rate(0.1) }),
        Order::Change(ScheduledChange { at: Nanos(6), change: Change::Users(Change::MOST_USERS) }),
        Order::Change(ScheduledChange { at: Nanos(7), change: Change::Pause }),
        Order::Change(ScheduledChange { at: Nanos(8), change: Change::Resume }),
        Order::Change(ScheduledChange { at: Nanos(9), change: Change::Drain }),
        Order::Stop,
    ]
}

#[test]
fn what_the_coordinator_writes_is_read_again_and_nothing_of_it_cut_off() {
    let mut bytes = Vec::new();
    orders().iter().for_each(|order| order.write(&mut bytes).unwrap());
    let mut from = bytes.as_slice();
    for order in orders() {
        assert_eq!(Order::read(&mut from).unwrap(), Some(order));
    }
    assert_eq!(Order::read(&mut from).unwrap(), None);
    for order in orders() {
        let mut whole = Vec::new();
        order.write(&mut whole).unwrap();
        assert!((4..whole.len()).all(|cut| Order::read(&mut &whole[..cut]).is_err()), "{order:?}");
    }
    for task in [Task { from: 3, to: 3, of: 9 }, Task { from: 0, to: 3, of: 2 }] {
        let mut impossible = Vec::new();
        Order::Task(task).write(&mut impossible).unwrap();
        assert!(Order::read(&mut impossible.as_slice()).is_err(), "{task:?}");
    }
}

#[test]
fn another_version_and_another_program_are_told_in_a_sentence() {
    let read = |said: &str| read_hello(&mut said.as_bytes()).map_err(|error| error.to_string());
    let mut hello = Vec::new();
    write_hello(&mut hello).unwrap();
    assert_eq!(read_hello(&mut hello.as_slice()).map_err(|error| error.to_string()), Ok(()));
    let said = read("brunt-link 7 9.9.9\n").unwrap_err();
    let ours = env!("CARGO_PKG_VERSION");
    assert!(
        said.contains("is brunt 9.9.9 with version 7 of") && said.contains(&format!("brunt {ours} with version 1;")),
        "{said}"
    );
    let said = read("Welcome to \u{1b}[1mDebian\n").unwrap_err();
    assert!(said.contains("sent `Welcome to ") && said.contains("instead of `brunt-link 1`"), "{said}");
    assert!(!said.contains('\u{1b}'), "the text of others acts on no screen");
    assert!(read("").is_err() && read("brunt-link x\n").is_err());
    let endless = read(&"x".repeat(1 << 20)).unwrap_err();
    assert!(endless.len() < 300, "{endless}");
}

#[test]
fn an_announced_length_takes_no_memory() {
    struct AnnouncingReader(usize);
    impl Read for AnnouncingReader {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            assert!(
                into.len() <= brunt_record::frames::MEMORY as usize,
                "room for {} bytes that never came",
                into.len()
            );
            let rest = &LINK.max_length.to_le_bytes()[self.0.min(4)..];
            let n = rest.len().min(into.len());
            into[..n].copy_from_slice(&rest[..n]);
            self.0 += n;
            Ok(n)
        }
    }
    assert_eq!(read(&mut AnnouncingReader(0)).err().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
    let too_long = [(LINK.max_length + 1).to_le_bytes(), [0; 4]].concat();
    assert!(read(&mut too_long.as_slice()).is_err_and(|error| error.to_string().contains("impossible length")));
}

#[test]
fn what_is_longer_than_may_be_is_refused_or_cut() {
    let told = |kind, body: &[u8]| {
        let mut bytes = Vec::new();
        put(&mut bytes, 0, kind, body).unwrap();
        read(&mut bytes.as_slice())
    };
    let failure = [&sort_bytes(sort_of(1))[..], &1u64.to_le_bytes()].concat();
    let early = |sorts: usize| [[0; 16].as_slice(), &failure.repeat(sorts)].concat();
    assert!(
        told(EARLY, &early(early_failures::MAX_CLASSES)).is_ok()
            && told(EARLY, &early(early_failures::MAX_CLASSES + 1)).is_err()
    );
    for (kind, length) in [(BROKEN, 0), (REFUSED, 1)] {
        let long = "x".repeat(REASON + 1 + length);
        let (ProcessFrame::Refused(why) | ProcessFrame::Worker(_, WorkerMessage::Broken(why))) =
            told(kind, long.as_bytes()).unwrap().unwrap()
        else {
            panic!("another frame")
        };
        assert_eq!(why.len(), REASON);
    }
    // The writer cuts the shown parts of an example; the reader rejects longer ones.
    let example = RawExample {
        sort: sort_of(1),
        name: None,
        code: 0,
        at_ns: 0,
        why: Some(brunt_cause::verbatim("é".repeat(SHOWN))),
        sent: vec![1; 1 << 20],
        received: vec![2; EXCERPT],
        reused: false,
        trace: None,
        values: Vec::new(),
    };
    let mut bytes = Vec::new();
    write(&mut bytes, 0, &WorkerMessage::Example(example)).unwrap();
    let Some(ProcessFrame::Worker(_, WorkerMessage::Example(read))) = read(&mut bytes.as_slice()).unwrap() else {
        panic!("an example")
    };
    let why = read.why.expect("a cause").to_string();
    assert_eq!([why.len(), read.sent.len(), read.received.len()], [EXCERPT, SHOWN, EXCERPT]);
    // The example ends with a count of zero values.
    let sent_at = bytes.len() - 1 - EXCERPT - 4 - SHOWN - 4;
    bytes[sent_at..sent_at + 4].copy_from_slice(&(SHOWN as u32 + 1).to_le_bytes());
    assert!(super::read(&mut bytes.as_slice()).is_err());
    // No error number is that large.
    assert!(told(EARLY, &[&[0; 16][..], &sort_bytes(sort_of(1 << 20)), &[0; 8]].concat()).is_err());
}

/// Frames of both directions with every field set, one encoded frame each.
fn frames() -> Vec<Vec<u8>> {
    let written = |write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let mut frame = Vec::new();
        write(&mut frame).expect("into memory");
        frame
    };
    let mut tally = WorkerTally::new(3);
    (200..220).for_each(|code| tally.code((code as u16 % 3, UserId(0)), code));
    tally.closing(7);
    tally.failure((1, UserId(0)), sort_of(libc::EPIPE));
    tally.lost(FaultKind::Closed, None, Some(&brunt_cause::verbatim("bye")));
    tally.not_opened(sort_of(libc::ECONNREFUSED), Some(&brunt_cause::verbatim("nobody there")));
    let histograms = tally.latency.all_mut().enumerate();
    histograms.for_each(|(nth, histogram)| histogram.record_n(Nanos(1000 << nth), 3));
    let named = tally.named.as_mut().expect("three names");
    named.finished(2, Nanos(900), Nanos(0));
    named.at_least(0, Nanos(1 << 40));
    let second = encode(&tally, (Nanos(5), Nanos(1_000_000_005)), brunt_record::RunPart::Drain, Nanos(5));
    let told = messages().into_iter().chain([WorkerMessage::Snapshot(second)]);
    let mut all: Vec<Vec<u8>> = told.map(|message| written(&|to| write(to, 1, &message))).collect();
    all.extend(orders().iter().map(|order| written(&|to| order.write(to))));
    all.extend([
        written(&|to| write_ready(to, 1)),
        written(&|to| write_refusal(to, "no")),
        written(&|to| write_hello(to)),
    ]);
    all
}

/// Applies one change to the bytes, as a fuzzer does.
fn garbled(bytes: &mut Vec<u8>, rng: &mut Rng) {
    const WORDS: [u64; 9] = [0, 1, 0x7f, 0xff, 1 << 31, u32::MAX as u64, 1 << 52, 1 << 63, u64::MAX];
    if bytes.is_empty() {
        return;
    }
    let mut below = |n: usize| rng.below(n as u64) as usize;
    let at = below(bytes.len());
    let end = at + 1 + below((bytes.len() - at).min(64));
    match below(6) {
        0 => bytes[at] ^= 1 << below(8),
        1 => {
            let (word, long) = (WORDS[below(WORDS.len())].to_le_bytes(), [4, 8][below(2)].min(bytes.len() - at));
            bytes[at..at + long].copy_from_slice(&word[..long]);
        }
        2 => drop(bytes.drain(at..end)),
        3 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        4 => bytes.truncate(at),
        _ => {
            let to = below(bytes.len() - (end - at) + 1);
            bytes.copy_within(at..end, to);
        }
    }
}

#[test]
fn frames_garbled_in_every_way_are_read_alike_and_hold_their_bounds() {
    let frames = frames();
    each_seed(0..600, |seed| {
        let (mut rng, mut said) = (Rng::new(seed), Vec::new());
        for _ in 0..=rng.below(3) {
            let mut frame = frames[rng.below(frames.len() as u64) as usize].clone();
            (0..rng.below(4)).for_each(|_| garbled(&mut frame, &mut rng));
            // Keep the length consistent most of the time; otherwise hardly anything after it would be read.
            if frame.len() > 4 && rng.below(4) > 0 {
                let length = frame.len() as u32 - 4;
                frame[..4].copy_from_slice(&length.to_le_bytes());
            }
            said.extend(frame);
        }
        oracle::check(&said);
    });
}

fn sort_of(errno: i32) -> FailureClass {
    FailureClass { kind: FaultKind::Refused, phase: Phase::Connect, errno: Some(errno) }
}

#[test]
fn a_second_that_cannot_be_is_no_frame() {
    let mut tally = WorkerTally::new(2);
    (1..200).for_each(|code| tally.code((1, UserId(0)), code));
    tally.lost(FaultKind::Closed, None, Some(&brunt_cause::verbatim("bye")));
    tally.failure((1, UserId(0)), sort_of(libc::EPIPE));
    let good = encode(&tally, (Nanos(5), Nanos(9)), brunt_record::RunPart::Window, Nanos(5));
    let told = |second: &[u8]| {
        let mut bytes = Vec::new();
        put(&mut bytes, 0, SNAPSHOT, second).unwrap();
        read(&mut bytes.as_slice()).is_ok()
    };
    assert!(told(&good));
    let whole: Vec<usize> = (0..good.len()).filter(|cut| told(&good[..*cut])).collect();
    assert!(whole.len() == 1, "cut off it is whole only where the names begin: {whole:?}");
    // Set any word to its maximum: lengths and counts are rejected, and nothing panics.
    let refused = (0..good.len() / 8).filter(|word| {
        let mut bad = good.clone();
        bad[word * 8..word * 8 + 8].fill(0xff);
        !told(&bad)
    });
    assert!(refused.count() > 2 * brunt_record::MAX_CODES);
}

proptest! {
    #[test]
    fn whatever_is_said_over_a_link_is_read_alike_and_holds_its_bounds(
        bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0u8..8, order in 60u8..75
    ) {
        for kind in [kind, order] {
            let mut frame = Vec::new();
            put(&mut frame, u32::from(kind), kind, &bytes).unwrap();
            frame.extend(&bytes);
            oracle::check(&frame);
        }
        oracle::check(&bytes);
    }

    #[test]
    fn a_link_that_is_cut_or_garbled_is_read_alike(at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>()) {
        let mut said = Vec::new();
        messages().iter().for_each(|message| write(&mut said, 0, message).unwrap());
        write_refusal(&mut said, "no").unwrap();
        orders().iter().for_each(|order| order.write(&mut said).unwrap());
        let at = at.index(said.len());
        said[at] ^= 1 << bit;
        said.truncate(cut.index(said.len()) + 1);
        oracle::check(&said);
    }
}
