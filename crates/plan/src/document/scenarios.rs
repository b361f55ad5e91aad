//! Output of scenarios in the syntax of plan files.

use brunt_measure::Nanos;

use super::{YamlPage, flow, levels, quoted, time};
use crate::flow::NamedFlow;
use crate::{Plan, ScenarioPlan};

/// Writes all scenarios as a map below `scenarios`.
pub(super) fn write_scenarios(page: &mut YamlPage, plan: &Plan) {
    page.head("scenarios");
    page.indent += 2;
    for scenario in &plan.scenarios {
        page.head(&quoted(&scenario.name));
        page.indent += 2;
        write_scenario(page, plan, scenario);
        page.indent -= 2;
    }
    page.indent -= 2;
    let mut called: Vec<&NamedFlow> = Vec::new();
    for flow in plan.common.iter().chain(plan.scenarios.iter().map(|scenario| &scenario.flow)) {
        called.extend(
            flow.flows.iter().filter(|one| !called.iter().any(|known| known.name == one.name)).collect::<Vec<_>>(),
        );
    }
    plan.common.iter().for_each(|common| flow::write_run_sections(page, plan, common));
    flow::write_named_flows(page, plan, called);
}

fn write_scenario(page: &mut YamlPage, plan: &Plan, scenario: &ScenarioPlan) {
    levels(page, &scenario.load, scenario.duration);
    page.maybe("start-time", Some(scenario.start).filter(|start| *start > Nanos::ZERO).map(time));
    page.maybe("iterations", scenario.iterations);
    page.maybe("iterations-per-user", scenario.iterations_per_user);
    page.one("graceful-stop", &time(scenario.graceful_stop));
    page.maybe("spawn-rate", scenario.spawn_rate.map(|rate| format!("{rate}/s")));
    page.maybe("max-users", scenario.max_users);
    page.maybe("max-connections", Some(scenario.max_connections).filter(|_| scenario.load.is_open()));
    if scenario.flow.clear_cookies {
        page.one("clear-cookies", "true");
    }
    page.head("flow");
    flow::write_steps(page, plan, &scenario.flow.steps);
    flow::write_user_sections(page, plan, &scenario.flow);
}
