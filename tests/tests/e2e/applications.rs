//! Tests of flows against third-party applications, whose databases verify our counts.

use std::process::Command;

use brunt_tests::external::{BuildOnce, ExternalServer, packages, sources};
use brunt_tests::report::{TestReport, report};

/// Starts a server script from this folder with its packages. Returns `None` if Python or pip is missing.
fn python(fetched: &'static BuildOnce, folder: &str, script: &str) -> Option<ExternalServer> {
    let packages = packages(fetched, folder)?;
    Some(ExternalServer::start(Command::new("python3").arg(sources(folder).join(script)).env("PYTHONPATH", packages)))
}

/// Packages shared by two servers.
static DJANGO: BuildOnce = BuildOnce::new();

/// Runs the plan of an example against a server, with the data file of the example, if it has one.
fn example(name: &str, file: &str, server: &ExternalServer) -> TestReport {
    let example = sources("../../docs/examples").join(name);
    let text = std::fs::read_to_string(example.join("plan.yaml")).expect("the example");
    let own = example.join(file).display().to_string();
    let port = format!(":{}", server.port);
    let text = text.replace(":8000", &port).replace(":9000", &port);
    let text = if file.is_empty() { text } else { text.replace(&format!("{file}."), &format!("{own}.")) };
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("plan.yaml");
    std::fs::write(&plan, text).expect("written");
    report(&[&plan.display().to_string()])
}

/// Returns the numbers of started and succeeded iterations.
fn iterations(report: &TestReport) -> [u64; 2] {
    ["started", "succeeded"].map(|what| report.json["iterations"][0][what].as_u64().expect("a count"))
}

/// Returns the number of requests with this name that succeeded.
fn succeeded(report: &TestReport, name: &str) -> u64 {
    let rows = report.json["by_name"].as_array().expect("names");
    let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {report}"));
    row["succeeded"].as_u64().expect("a count")
}

#[test]
fn users_of_django_log_in_once_with_an_account_each_and_add_what_its_database_holds() {
    let Some(server) = python(&DJANGO, "django-admin", "server.py") else { return };
    let report = example("django-admin", "accounts.csv", &server);
    assert_eq!(iterations(&report), [20, 20], "{report}");
    assert_eq!(report.requests(), [120, 120, 0, 0], "{report}");
    let counted: serde_json::Value = serde_json::from_str(&server.counts()).expect("counts");
    for (what, count) in [("groups", 20), ("names", 20), ("users", 20), ("sessions", 20)] {
        assert_eq!(counted[what], count, "{what}: {counted}");
    }
}

#[test]
fn users_of_trac_read_its_wiki_and_write_the_tickets_and_comments_that_its_database_holds() {
    static TRAC: BuildOnce = BuildOnce::new();
    let Some(server) = python(&TRAC, "trac", "server.py") else { return };
    let report = example("trac", "accounts.csv", &server);
    assert_eq!(iterations(&report), [10, 10], "{report}");
    assert_eq!((report.requests(), report.count("requests.hops")), ([70, 70, 0, 0], 10), "{report}");
    let counted: serde_json::Value = serde_json::from_str(&server.counts()).expect("counts");
    for what in ["tickets", "summaries", "reporters", "comments", "logins"] {
        assert_eq!(counted[what], 10, "{what}: {counted}");
    }
}

/// Uses tokens that live one second, and iterations that take longer.
#[test]
fn clients_get_another_token_when_theirs_has_expired_as_often_as_the_server_refused_it() {
    let Some(server) = python(&DJANGO, "django-admin", "oauth.py") else { return };
    let report = example("oauth2", "clients.csv", &server);
    assert_eq!(iterations(&report), [20, 20], "{report}");
    let [first, asked, again] = ["token", "orders", "new token"].map(|name| succeeded(&report, name));
    assert_eq!((first, asked, succeeded(&report, "orders again")), (20, 300, again), "{report}");
    assert!(again >= 10, "{report}");
    let counted: serde_json::Value = serde_json::from_str(&server.counts()).expect("counts");
    for (what, count) in [("tokens", first + again), ("clients", 20), ("refused", again), ("given", asked)] {
        assert_eq!(counted[what], count, "{what}: {counted}");
    }
}

#[test]
fn people_who_talk_over_a_websocket_are_heard_as_often_as_they_spoke() {
    static PEER: BuildOnce = BuildOnce::new();
    let Some(server) = ExternalServer::node(&PEER, "peer-node", "server.js") else { return };
    let report = example("chat", "", &server);
    assert_eq!(iterations(&report), [50, 50], "{report}");
    assert_eq!(report.requests(), [350, 350, 0, 0], "{report}");
    let counted: serde_json::Value = serde_json::from_str(&server.counts()).expect("counts");
    for (what, count) in [("connections", 50), ("users", 50), ("messages", 250), ("gone", 50)] {
        assert_eq!(counted[what], count, "{what}: {counted}");
    }
}
