//! What is kept out: the engines of the link from the program that measures, and from the engines what loses messages.
//!
//! The trees are those of `cargo tree`, so that a dependency of a dependency is seen, too.

use crate::shell;

/// Packages that must not be in brunt's tree, by the beginning of their names.
const ENGINES: [&str; 2] = ["zenoh", "async-nats"];
/// Features that must not be enabled in the link's tree, each with the reason.
const FEATURES: [(&str, &str); 2] = [
    ("transport_tls", "TLS over TCP loses links (a race)"),
    ("transport_compression", "figures are compressed already, and it would cost the coordinator CPU"),
];

/// Checks both trees.
pub fn check() -> Result<(), String> {
    let tree = |package: &str| {
        let words = ["tree", "-p", package, "-e", "normal,build", "--prefix", "none", "-f", "{p}|{f}"];
        shell::capture(&mut shell::cargo(&words))
    };
    let wrong = [judge_program(&tree("brunt-cli")?), judge_link(&tree("brunt-link")?)].concat();
    if wrong.is_empty() {
        println!("brunt holds no engine of the link, and Zenoh has neither {} nor {}", FEATURES[0].0, FEATURES[1].0);
        return Ok(());
    }
    Err(wrong.join("\n  "))
}

/// Returns the packages of a tree, once each, with their features.
fn packages(tree: &str) -> Vec<(&str, &str)> {
    let lines = tree.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|'));
    let mut packages: Vec<(&str, &str)> =
        lines.map(|(package, features)| (package.split(' ').next().unwrap_or_default(), features)).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn is_of(package: &str, engine: &str) -> bool {
    package.strip_prefix(engine).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn judge_program(tree: &str) -> Vec<String> {
    let packages = packages(tree);
    if packages.is_empty() {
        return vec!["cargo tree shows nothing of brunt-cli".into()];
    }
    let held = packages.iter().filter(|(package, _)| ENGINES.iter().any(|engine| is_of(package, engine)));
    held.map(|(package, _)| format!("brunt-cli uses {package}, which only brunt-link may hold")).collect()
}

fn judge_link(tree: &str) -> Vec<String> {
    let packages = packages(tree);
    if packages.iter().all(|(package, _)| *package != "zenoh") {
        return vec!["cargo tree shows no zenoh in brunt-link".into()];
    }
    let mut wrong = Vec::new();
    for (package, features) in packages.iter().filter(|(package, _)| is_of(package, "zenoh")) {
        let enabled = FEATURES.iter().filter(|(feature, _)| features.split(',').any(|enabled| enabled == *feature));
        wrong.extend(enabled.map(|(feature, why)| format!("{package} has {feature}, but {why}")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_engine_in_brunt_however_it_came() {
        let right = "brunt-cli v0.1.0 (/r/crates/cli)|\nserde v1.0.1|default,derive\nzenohish v1.0.0|\n";
        assert_eq!(judge_program(right), Vec::<String>::new());
        let wrong = judge_program(&format!(
            "{right}zenoh-link-quic v1.10.2|\nzenoh-link-quic v1.10.2| (*)\nasync-nats v0.51.0|jetstream\n"
        ));
        let of = |package| format!("brunt-cli uses {package}, which only brunt-link may hold");
        assert_eq!(wrong, [of("async-nats"), of("zenoh-link-quic")]);
        assert_eq!(judge_program(""), ["cargo tree shows nothing of brunt-cli"]);
    }

    #[test]
    fn finds_what_loses_messages_in_the_link() {
        let right = "brunt-link v0.1.0 (/r/crates/link)|\nzenoh v1.10.2|transport_quic\nrustls v0.23.0|transport_tls\n";
        assert_eq!(judge_link(right), Vec::<String>::new());
        let wrong = judge_link(&format!(
            "{right}zenoh-link v1.10.2|transport_quic,transport_tls\nzenoh-transport v1.10.2|transport_compression (*)\n"
        ));
        assert!(wrong.len() == 2 && wrong[0].starts_with("zenoh-link has transport_tls, but TLS"), "{wrong:?}");
        assert_eq!(judge_link("brunt-link v0.1.0|\n"), ["cargo tree shows no zenoh in brunt-link"]);
    }
}
