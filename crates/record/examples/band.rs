//! Prints the bands of the headline latency of a record as JSON, in nanoseconds: `band FILE`. `cargo xtask truth bands`
//! compares them with the server's own log.

use std::process::ExitCode;

use brunt_measure::Histogram;
use brunt_record::{Latency, ReadFault, RecordReader, RunEvent};

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("band: name a record, as in `band run.brunt`");
        return ExitCode::from(64);
    };
    match band(file.as_ref()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("band: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn band(file: &std::path::Path) -> Result<serde_json::Value, ReadFault> {
    let (mut latency, mut resolution_ns, mut away_ns) = (Latency::default(), 0, 0);
    for event in RecordReader::open(file)? {
        if let RunEvent::Second(second) = event? {
            latency.merge(&second.latency);
            resolution_ns = resolution_ns.max(second.generator.resolution_ns);
            away_ns += second.away_ns;
        }
    }
    let l = &latency;
    let (most, delayed, undelayed) = match l.response.count() {
        0 => (&l.service, &l.service_delayed, &l.service_undelayed),
        _ => (&l.response, &l.response_delayed, &l.response_undelayed),
    };
    let least = most.with_replaced(delayed, undelayed);
    let at = |histogram: &Histogram, q: f64| {
        let rank = (q * histogram.count() as f64).ceil().max(1.0) as u64;
        histogram.at_rank(rank).unwrap_or_default().0
    };
    let bands = [0.5, 0.99, 0.999].map(|q| [at(&least, q), at(most, q)]);
    Ok(serde_json::json!({
        "count": most.count(),
        "resolution": resolution_ns,
        "away": away_ns,
        "bands": bands,
    }))
}
