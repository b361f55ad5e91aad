//! The engine without the program: `spin URL users seconds [rate]`, for profiling.
use std::sync::Arc;

use engine::{Resolver, Setup, Stop, runner};
use measure::Nanos;
use plan::{Arrivals, Load, NetKind, Plan, Stage, Tls, WeightedUrl};
use record::RunEvent;
use wire::{Asked, AskedUrl, Origin, Place, SecureChannel, Security};

struct Direct;
impl Resolver for Direct {
    fn resolve(&self, origin: &Origin) -> Result<Vec<Place>, String> {
        Ok(vec![Place::Tcp(format!("{}:{}", origin.host, origin.port).parse().map_err(|_| "not an address")?)])
    }
}
struct Plain;
impl Security for Plain {
    fn client(&self, _: &Origin, _: &[&'static [u8]]) -> Result<Box<dyn SecureChannel>, String> {
        Err("no TLS here".into())
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (users, seconds): (f64, u64) = (args[2].parse().unwrap(), args[3].parse().unwrap());
    let rate: Option<f64> = args.get(4).and_then(|r| r.parse().ok());
    let http = runner(protocols::http1::Http1);
    let mut asked = Asked { urls: vec![AskedUrl { url: args[1].clone(), weight: 1.0 }], ..Asked::default() };
    if args.get(5).is_some_and(|a| a == "short") {
        asked.options.insert("no-keepalive".into(), vec![String::new()]);
    }
    let prepared = http.prepare(&asked).unwrap();
    let lasts = Nanos::from_secs(seconds);
    let stages = |level| vec![Stage { lasts, from: level, to: level }];
    let load = match rate {
        Some(rate) if rate > 0.0 => Load::Open { stages: stages(rate), arrivals: Arrivals::Constant },
        _ => Load::Closed { stages: stages(users), think: None, together: false },
    };
    let plan = Plan {
        protocol: "http".into(),
        urls: vec![WeightedUrl { url: args[1].clone(), weight: 1.0 }],
        options: Default::default(),
        load,
        requests: None,
        duration: Some(lasts),
        warmup: Nanos::ZERO,
        drain: Nanos::from_secs(1),
        timeout: Nanos::from_secs(10),
        connect_timeout: Nanos::from_secs(5),
        max_connections: users as u32,
        workers: 1,
        pin: false,
        slack: Nanos::ZERO,
        net: if std::env::var_os("URING").is_some() { NetKind::Uring } else { NetKind::Epoll },
        sources: vec![],
        connect_to: vec![],
        unix_socket: None,
        tls: Tls::default(),
        objectives: vec![],
        seed: 1,
    };
    let setup = Setup {
        plan: Arc::new(plan.clone()),
        shown: plan,
        command: vec![],
        host: Default::default(),
        resolver: Arc::new(Direct),
        security: Arc::new(Plain),
        sources: vec![],
    };
    let (mut finished, mut sent, mut cpu, mut failed, mut due) = (0, 0, 0, 0, 0);
    let mut sink = |event: RunEvent| match event {
        RunEvent::Second(s) => {
            finished += s.finished;
            sent += s.sent;
            failed += s.failed;
            due += s.due;
            cpu += s.cpu_ns;
            let p =
                |h: &measure::Histogram, q: f64| h.at_rank((h.count() as f64 * q).ceil() as u64).unwrap_or_default();
            println!(
                "{:?} fin {} fail {:?} p50 {} p99 {} late99 {} little {:.4} status {:?}",
                s.part,
                s.finished,
                s.failures,
                p(&s.latency.service, 0.5),
                p(&s.latency.service, 0.99),
                p(&s.latency.gen_late, 0.99),
                s.service_ns as f64 / s.in_flight_ns as f64,
                s.status
            );
        }
        other => println!("{other:?}"),
    };
    prepared.run(&setup, &Stop::default(), &mut sink);
    println!(
        "due {due} sent {sent} finished {finished} failed {failed} cpu/M {:.3}",
        cpu as f64 / finished as f64 / 1e3
    );
}
