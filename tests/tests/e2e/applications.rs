//! Flows against applications that are not ours, whose databases count what was done.

use std::process::Command;

use e2e::foreign::{Foreign, Made, or_left_out, sources};
use e2e::report::report;

/// The administration of Django; none where Python or pip is missing.
fn django() -> Option<Foreign> {
    static FETCHED: Made = Made::new();
    let packages = or_left_out(FETCHED.get_or_init(|| e2e::python::fetch("django-admin")))?;
    let script = sources("django-admin").join("server.py");
    Some(Foreign::start(Command::new("python3").arg(script).env("PYTHONPATH", packages)))
}

#[test]
fn users_of_django_log_in_once_with_an_account_each_and_add_what_its_database_holds() {
    let Some(server) = django() else { return };
    let example = sources("../../docs/examples/django-admin");
    let text = std::fs::read_to_string(example.join("plan.yaml")).expect("the example");
    let accounts = example.join("accounts.csv").display().to_string();
    let text = text.replace(":8000/", &format!(":{}/", server.port)).replace("accounts.csv.", &format!("{accounts}."));
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.yaml");
    std::fs::write(&plan, text).expect("written");
    let report = report(&[&plan.display().to_string()]);
    let iterations = &report.json["iterations"][0];
    assert_eq!((&iterations["started"], &iterations["succeeded"]), (&20.into(), &20.into()), "{report}");
    assert_eq!(report.requests(), [120, 120, 0, 0], "{report}");
    let counted: serde_json::Value = serde_json::from_str(&server.counts()).expect("counts");
    for (what, count) in [("groups", 20), ("names", 20), ("users", 20), ("sessions", 20)] {
        assert_eq!(counted[what], count, "{what}: {counted}");
    }
}
