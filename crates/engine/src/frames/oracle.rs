//! Properties that hold for any bytes on a link between processes: the result of reading does not depend on how the
//! bytes are split, all frames read survive a round trip, and memory use is bounded. [`check`] is called by the
//! property tests and the fuzz target, and panics if a property is violated.

use std::io::{self, Read};

use brunt_measure::Nanos;
use brunt_plan::Bundle;
use brunt_record::RunEvent;

use super::*;
use crate::Assignment;
use crate::collector::{Collector, HELD};

/// Number of workers of the run for which the bytes are read.
const WORKERS: usize = 3;

/// Checks both directions of a link against these bytes.
pub fn check(bytes: &[u8]) {
    check_frames(bytes);
    check_orders(bytes);
    let _ = read_hello(&mut &*bytes);
}

/// A reader that returns one byte at a time.
struct ByteReader<'a>(&'a [u8]);

impl Read for ByteReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(&mut into[..1])
    }
}

/// Checks the frames of a process as read by the coordinator.
fn check_frames(bytes: &[u8]) {
    let (mut from, mut slowly) = (bytes, ByteReader(bytes));
    let mut held = 0;
    let name = |code: u32| code.to_string();
    let mut sink = |event| {
        if let RunEvent::Second(second) = &event {
            assert!(
                second.status.len() <= brunt_record::MAX_CODES + 1 && second.named.len() <= crate::name_rows::ROWS,
                "{second:?}"
            );
        }
    };
    let mut collector = Collector::new(WORKERS, true, &name, &mut sink);
    while let Ok(frame) = read(&mut from) {
        let again = read(&mut slowly).expect("read at once, it was a frame");
        let Some(frame) = frame else { return collector.end(Nanos::ZERO) };
        let (Some(ProcessFrame::Worker(_, again)), ProcessFrame::Worker(worker, message)) = (again, frame) else {
            continue;
        };
        assert_eq!(format!("{again:?}"), format!("{message:?}"));
        let mut written = Vec::new();
        write(&mut written, worker, &message).expect("what was read can be written");
        let Ok(Some(ProcessFrame::Worker(who, what))) = read(&mut &*written) else { panic!("{message:?} is no frame") };
        assert_eq!((who, format!("{what:?}")), (worker, format!("{message:?}")));
        match &message {
            WorkerMessage::Early(early) => assert!(early.classes.len() <= early_failures::MAX_CLASSES),
            WorkerMessage::Example(example) => {
                let longest = example.sent.len().max(example.received.len());
                assert!(longest <= SHOWN && cause_bytes(example.why.as_ref()).len() <= 2 * CAUSE);
            }
            WorkerMessage::Broken(why) => assert!(why.len() <= 3 * REASON),
            WorkerMessage::Snapshot(_) | WorkerMessage::Over { .. } | WorkerMessage::Lost { .. } => {}
        }
        collector.receive(worker as usize % WORKERS, message);
        held = collector.held().max(held);
    }
    assert!(held <= 2 * HELD + 1, "{held} seconds are held");
    collector.end(Nanos::ZERO);
}

/// Checks the frames of the coordinator as read by a process.
fn check_orders(bytes: &[u8]) {
    let (mut from, mut slowly) = (bytes, ByteReader(bytes));
    while let Ok(Some(order)) = Order::read(&mut from) {
        assert_eq!(Order::read(&mut slowly).ok().flatten().as_ref(), Some(&order));
        let mut written = Vec::new();
        order.write(&mut written).expect("what was read can be written");
        assert_eq!(Order::read(&mut &*written).ok().flatten(), Some(order));
    }
    let mut all = Vec::new();
    write_hello(&mut all).expect("into memory");
    all.extend(bytes);
    if let Ok(mut assignment) = Assignment::accept(io::Cursor::new(all), io::sink()) {
        let bundle = assignment.take_bundle();
        assert_eq!(bundle.check(), Ok(()));
        assert!(bundle.bytes() <= Bundle::BOUND);
    }
}
