//! Checks of a plan before anything is sent, and the options passed to its protocol.

use brunt_cause::complaint;
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;

use brunt_contract::{Protocol, ProtocolConfig, RequestedUrl, UsageError};
use brunt_engine::PreparedRun;
use brunt_net::tls::{RustlsSecurity, TlsSettings, Versions};
use brunt_plan::{Load, Plan, Urls, address};
use brunt_report::numbers;

use crate::{data_end, host, objective_names, proxy_route};
use brunt_config::Intent;

/// Returns the options that a plan passes to its protocol, with its URLs. `urls` is copied if it is
/// shared.
///
/// # Errors
/// Returns an error if a proxy of the plan is invalid.
pub(crate) fn protocol_options(plan: &Plan, urls: Urls) -> Result<ProtocolConfig, UsageError> {
    let own = urls.iter().any(|url| !url.options.is_empty());
    let named = urls.iter().any(|url| url.name.is_some());
    let variables = plan.variables().into();
    let url_scenarios = if plan.scenarios.is_empty() { Vec::new() } else { url_scenarios(plan, urls.len()) };
    Ok(ProtocolConfig {
        names: if named { urls.iter().map(|url| url.name.clone()).collect() } else { Vec::new() },
        url_options: if own { urls.iter().map(|url| url.options.clone()).collect() } else { Vec::new() },
        urls: urls.into_vec().into_iter().map(|url| RequestedUrl { url: url.url, weight: url.weight }).collect(),
        url_scenarios,
        options: plan.options.clone(),
        unix_socket: plan.unix_socket.clone(),
        proxies: Arc::new(proxy_route::proxies(plan)?),
        seed: plan.seed,
        inquiry_responses: Vec::new(),
        variables,
        is_composite_flow: plan.protocol == brunt_protocols::composite::NAME,
        composes_requests: false,
        returns_content: false,
    })
}

/// Returns the scenarios that request each URL. A URL that only `setup` or `teardown` requests belongs to none.
fn url_scenarios(plan: &Plan, urls: usize) -> Vec<Vec<u16>> {
    let mut all = vec![Vec::new(); urls];
    for (number, scenario) in (0..).zip(&plan.scenarios) {
        scenario.flow.urls().into_iter().for_each(|url| all[url as usize].push(number));
    }
    all
}

/// Checks everything that can be checked without the target; returns the number of workers of the
/// run. If there are very many URLs, only the first ones stay in the intent.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn check(intent: &mut Intent, protocol: &dyn Protocol) -> Result<u32, UsageError> {
    intent.shown = intent.shown.clone().listed();
    let urls = intent.plan.take_urls();
    let asked = protocol_options(&intent.plan, urls)?;
    crate::resolver::SystemResolver::new(&intent.plan).map_err(|t| UsageError::new("--connect-to", t))?;
    security(&intent.plan)?;
    sources(&intent.plan)?;
    heartbeats(&intent.plan, protocol, &asked)?;
    match PreparedRun::inquiry(protocol, &asked)? {
        Some(_) => Ok(brunt_engine::worker_count(&intent.plan)),
        None => {
            let prepared = PreparedRun::of(protocol, &asked)?;
            data_end::requests(&intent.plan, &prepared)?;
            data_end::iterations(&intent.plan, protocol, &asked, &prepared)?;
            check_messages(&intent.plan, &prepared)?;
            reference(&intent.plan, &prepared)?;
            proxy_route::check(&intent.plan, prepared.origins())?;
            objective_names::check_objectives(&intent.plan, &prepared)?;
            Ok(prepared.workers(&intent.plan))
        }
    }
}

/// Rejects a run that sends no messages but has a number of requests or a rate.
pub(crate) fn check_messages(plan: &Plan, prepared: &PreparedRun) -> Result<(), UsageError> {
    let open = matches!(plan.load, Load::Open { .. }).then_some("-r");
    let trouble = complaint!(
        "needs messages to send; use --data TEXT, or leave it out and hold the connections with --hold",
        "需要发送消息；请用 --data TEXT，或去掉它并用 --hold 保持连接"
    );
    match plan.requests.map(|_| "-n").or(open) {
        Some(option) if prepared.silent() => Err(UsageError::new(option, trouble)),
        _ => Ok(()),
    }
}

/// Checks that a reference client has responses to time.
pub(crate) fn reference(plan: &Plan, prepared: &PreparedRun) -> Result<(), UsageError> {
    let trouble = match plan.reference {
        Some(_) if plan.hold.is_some() => complaint!(
            "times responses, and --hold only holds connections; leave one of them out",
            "用于测量响应，而 --hold 只保持连接；请去掉其中一个"
        ),
        Some(_) if prepared.silent() => complaint!(
            "times responses, and nothing is sent; use --data TEXT, or leave it out",
            "用于测量响应，而没有发送任何内容；请用 --data TEXT，或去掉"
        ),
        Some(_) if prepared.requests_at_most().is_some() => {
            complaint!(
                "needs rows from a data file that gives each row only once; leave it out, or let the file recycle",
                "需要数据文件的行，而该文件每行只给一次；请去掉，或让文件循环使用"
            )
        }
        _ => return Ok(()),
    };
    Err(UsageError::new("--reference", trouble))
}

/// Rejects a plan that needs more connections than there are file descriptors, before any is opened.
pub(crate) fn descriptors(plan: &Plan, prepared: &PreparedRun) -> Result<(), UsageError> {
    let Some((connections, most)) = prepared.too_many(plan) else { return Ok(()) };
    let option = if plan.load.is_open() { "--max-connections" } else { "-c" };
    let (limit, connections, most) = (host::descriptors(), numbers::count(connections), numbers::count(most));
    let trouble = complaint!(
        "{connections} connections are more than a run can hold: {most} with as many threads as it can use and {limit} \
            descriptors each (ulimit -n); raise that limit, or use fewer",
        "{connections} 个连接超出上限：用尽线程且每个进程 {limit} 个描述符（ulimit -n）时最多 {most} 个；请提高该上限，或减少连接"
    );
    Err(UsageError::new(option, trouble))
}

/// Rejects a number of workers, set by the user, that is too small, instead of silently raising it.
pub fn workers(plan: &Plan, prepared: &PreparedRun) -> Result<(), UsageError> {
    let (asked, needed) = (plan.workers, prepared.workers(plan));
    if needed <= asked {
        return Ok(());
    }
    let fewer = if plan.load.is_open() { "--max-connections" } else { "-c" };
    let trouble = complaint!(
        "{asked} cannot hold that many connections with {} descriptors each (ulimit -n), of which {} are for \
            connections; raise that limit, use -w {needed}, use fewer connections ({fewer}), or leave -w out",
        "{asked} 个工作线程容纳不下这么多连接：每个有 {} 个描述符（ulimit -n），其中 {} 个可用于连接；请提高该上限，用 -w {needed}，减少连接（{fewer}），或去掉 -w",
        host::descriptors(),
        brunt_net::tables::capacity()
    );
    Err(UsageError::new("-w", trouble))
}

/// Rejects heartbeats for a protocol without them instead of silently ignoring the option.
pub(crate) fn heartbeats(plan: &Plan, protocol: &dyn Protocol, config: &ProtocolConfig) -> Result<(), UsageError> {
    plan.heartbeat
        .map_or(Ok(()), |_| protocol.check_heartbeats(config).map_err(|trouble| UsageError::new("--ping", trouble)))
}

fn sources(plan: &Plan) -> Result<Vec<IpAddr>, UsageError> {
    let mut all = Vec::new();
    for text in &plan.sources {
        all.extend(address::sources(text).map_err(|trouble| UsageError::new("--source", trouble))?);
    }
    Ok(all)
}

/// Returns the source addresses of the plan, all of which must be addresses of this machine.
///
/// # Errors
/// Returns the first address that is not one of this machine.
pub(crate) fn local_sources(plan: &Plan) -> Result<Vec<IpAddr>, UsageError> {
    let all = sources(plan)?;
    for address in &all {
        let bound = UdpSocket::bind((*address, 0));
        if bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable) {
            let trouble = complaint!(
                "{address} is not an address of this machine; write one that `ip addr` lists",
                "{address} 不是本机的地址；请写 `ip addr` 列出的地址"
            );
            return Err(UsageError::new("--source", trouble));
        }
    }
    Ok(all)
}

/// Creates the TLS settings of a plan from the files that it names.
///
/// # Errors
/// Returns an error that names the wrong option and the reason.
pub(crate) fn security(plan: &Plan) -> Result<RustlsSecurity, UsageError> {
    let content = |name: &str, path: &Option<String>| match path {
        None => Ok(None),
        Some(path) => brunt_protocols::file::body(name, path).map(Some),
    };
    let settings = TlsSettings {
        insecure: plan.tls.insecure,
        cacert: content("--cacert", &plan.tls.cacert)?,
        cert: content("--cert", &plan.tls.cert)?,
        key: content("--key", &plan.tls.key)?,
        resume: plan.tls.resume,
        versions: match plan.tls.version.as_deref() {
            Some("1.2") => Versions::Only12,
            Some("1.3") => Versions::Only13,
            _ => Versions::Both,
        },
    };
    RustlsSecurity::new(&settings)
}
