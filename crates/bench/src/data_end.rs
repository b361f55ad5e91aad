//! The end of a run when its data is used up: rows that are used only once limit the number of requests, or of
//! iterations of a flow or a scenario.

use brunt_cause::complaint;
use brunt_contract::{Protocol, ProtocolConfig, UsageError};
use brunt_engine::PreparedRun;
use brunt_plan::{Plan, ScenarioPlan};
use brunt_record::{Notice, Subject};
use brunt_report::numbers;

/// Returns the number of requests (in a flow: iterations) after which the run ends, limited by its data. Scenarios end
/// individually.
///
/// # Errors
/// Returns an error if the plan has a warm-up, which would use up rows.
pub fn requests(plan: &Plan, prepared: &PreparedRun) -> Result<Option<u64>, UsageError> {
    let Some(rows) = prepared.requests_at_most() else { return Ok(plan.requests) };
    if plan.warmup > brunt_measure::Nanos::ZERO {
        let trouble = complaint!(
            "needs rows from a data file that gives each row only once; leave it out, or let the file recycle",
            "需要数据文件的行，而该文件每行只给一次；请去掉，或让文件循环使用"
        );
        return Err(UsageError::new("--warmup", trouble));
    }
    match plan.scenarios.is_empty() {
        true => Ok(Some(plan.requests.map_or(rows, |requests| requests.min(rows)))),
        false => Ok(plan.requests),
    }
}

/// Returns for each scenario the number of iterations for which the rows of its requests suffice; empty if no data
/// limits the run.
///
/// # Errors
/// Returns an error if the requests of a scenario cannot be prepared.
pub fn iterations(
    plan: &Plan,
    protocol: &dyn Protocol,
    config: &ProtocolConfig,
    prepared: &PreparedRun,
) -> Result<Vec<Option<u64>>, UsageError> {
    if prepared.requests_at_most().is_none() {
        return Ok(Vec::new());
    }
    let rows = |scenario: &ScenarioPlan| {
        let asked = options_for_urls(config, &scenario.flow.urls());
        // A scenario that only pauses has nothing to prepare.
        let prepared = if asked.urls.is_empty() { None } else { Some(PreparedRun::of(protocol, &asked)?) };
        Ok(prepared.and_then(|prepared| prepared.requests_at_most()))
    };
    plan.scenarios.iter().map(rows).collect()
}

/// Returns the same options for only these URLs.
fn options_for_urls(config: &ProtocolConfig, urls: &[u32]) -> ProtocolConfig {
    let mut kept: Vec<usize> = urls.iter().map(|url| *url as usize).filter(|url| *url < config.urls.len()).collect();
    kept.sort_unstable();
    kept.dedup();
    ProtocolConfig {
        urls: kept.iter().map(|url| config.urls[*url].clone()).collect(),
        names: kept.iter().map(|url| config.names.get(*url).cloned().flatten()).collect(),
        url_scenarios: Vec::new(),
        url_options: kept.iter().map(|url| config.url_options.get(*url).cloned().unwrap_or_default()).collect(),
        ..config.clone()
    }
}

/// Limits each scenario to the iterations for which its data suffices.
pub fn limit_iterations(plan: &mut Plan, rows: &[Option<u64>]) {
    for (scenario, rows) in plan.scenarios.iter_mut().zip(rows) {
        let users = scenario.load.peak().round() as u64;
        let all = scenario.iterations_per_user.map(|each| users.saturating_mul(u64::from(each)));
        let fewer = rows.filter(|rows| all.is_none_or(|all| *rows < all));
        scenario.iterations = match (scenario.iterations, fewer) {
            (Some(iterations), Some(rows)) => Some(iterations.min(rows)),
            (iterations, rows) => iterations.or(rows),
        };
    }
}

/// Returns the notices, shown before the run, that its data limits it. `rows` is the result of [`iterations`].
pub fn notices(plan: &Plan, prepared: &PreparedRun, rows: &[Option<u64>]) -> Vec<Notice> {
    let alone = prepared.requests_at_most().filter(|rows| plan.requests == Some(*rows)).map(|rows| match plan.flow {
        Some(_) => Notice::new(Subject::DataEndIterations, [("iterations", numbers::count(rows))]),
        None => Notice::new(Subject::DataEnd, [("requests", numbers::count(rows))]),
    });
    let ended =
        plan.scenarios.iter().zip(rows).filter(|(scenario, rows)| rows.is_some() && scenario.iterations == **rows);
    // A report keeps one notice per code.
    let ended: Vec<String> = ended
        .map(|(scenario, rows)| format!("{} ({})", scenario.name, numbers::count(rows.unwrap_or_default())))
        .collect();
    let of_scenarios =
        (!ended.is_empty()).then(|| Notice::new(Subject::DataEndScenario, [("scenarios", ended.join(", "))]));
    alone.into_iter().chain(of_scenarios).collect()
}

#[cfg(test)]
mod tests {
    use brunt_config::{Command, Defaults, read};

    use super::*;

    #[test]
    fn what_is_asked_of_some_urls_is_theirs() {
        let urls = ["a", "b", "c"].map(|url| brunt_contract::RequestedUrl { url: url.into(), weight: 1.0 }).to_vec();
        let names = vec![None, Some("second".to_owned()), None];
        let asked = options_for_urls(&ProtocolConfig { urls, names, ..ProtocolConfig::default() }, &[2, 1, 2]);
        let found: Vec<&str> = asked.urls.iter().map(|url| &*url.url).collect();
        assert_eq!((found, asked.name(0), asked.name(1)), (vec!["b", "c"], Some("second"), None));
    }

    #[test]
    fn a_scenario_ends_with_its_rows_unless_it_ends_sooner() {
        let (folder, protocols) = (tempfile::tempdir().expect("a folder"), brunt_protocols::all());
        let file = folder.path().join("p.yaml").display().to_string();
        let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
        for (load, iterations) in [
            ("users: 2, duration: 1s", Some(30)),
            ("rate: 5/s, duration: 1s", Some(30)),
            ("users: 2, duration: 1s, iterations: 7", Some(7)),
            ("users: 2, duration: 1s, iterations: 70", Some(30)),
            ("users: 2, duration: 1s, iterations-per-user: 15", None),
            ("users: 2, duration: 1s, iterations-per-user: 16", Some(30)),
        ] {
            let text = format!(
                "scenarios:\n  a: {{{load}, flow: [{{url: 'http://h/'}}]}}\n  b: {{users: 1, duration: 1s, flow: [{{url: 'http://h/'}}]}}\n"
            );
            std::fs::write(&file, text).expect("written");
            let Ok(Command::Run(intent)) = read(std::slice::from_ref(&file), &protocols, &defaults) else {
                panic!("{load}")
            };
            let mut plan = intent.plan;
            limit_iterations(&mut plan, &[Some(30), None]);
            assert_eq!((plan.scenarios[0].iterations, plan.scenarios[1].iterations), (iterations, None), "{load}");
        }
    }
}
