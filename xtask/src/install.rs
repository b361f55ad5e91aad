//! Programs other than Rust that tests and benchmarks need, and their sources.
//!
//! As root, Debian packages are installed without asking; otherwise a message says how to install
//! them. Peers without a package are built into the build output, never into the user's home
//! directory.

use std::env;
use std::process::Command;

use crate::{places, shell};

/// A program and the Debian package that contains it.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The executable.
    pub program: &'static str,
    /// The package to install.
    pub package: &'static str,
}

/// Requirements of `cargo xtask test`.
pub const FOR_TESTS: &[Tool] = &[
    Tool { program: "nginx", package: "nginx" },
    Tool { program: "curl", package: "curl" },
    Tool { program: "nghttpd", package: "nghttp2-server" },
    Tool { program: "node", package: "nodejs" },
    Tool { program: "zstd", package: "zstd" },
    Tool { program: "go", package: "golang-go" },
    Tool { program: "pip3", package: "python3-pip" },
    Tool { program: "npm", package: "npm" },
    Tool { program: "mariadbd", package: "mariadb-server" },
    Tool { program: "redis-server", package: "redis-server" },
    // The server itself is not on any search path.
    Tool { program: "pg_ctlcluster", package: "postgresql" },
    Tool { program: "memcached", package: "memcached" },
    Tool { program: "mosquitto", package: "mosquitto" },
    Tool { program: "dnsmasq", package: "dnsmasq-base" },
    Tool { program: "freeradius", package: "freeradius" },
    Tool { program: "python3", package: "python3" },
    Tool { program: "sshd", package: "openssh-server" },
];

/// Requirements of `cargo xtask test web`.
pub const FOR_WEB: &[Tool] = &[
    Tool { program: "node", package: "nodejs" },
    Tool { program: "npm", package: "npm" },
    Tool { program: "chromium", package: "chromium" },
];

/// Requirements of `cargo xtask lab`.
pub const FOR_LAB: &[Tool] = &[
    Tool { program: "python3", package: "python3" },
    Tool { program: "nginx", package: "nginx" },
    Tool { program: "redis-server", package: "redis-server" },
    Tool { program: "mariadbd", package: "mariadb-server" },
    Tool { program: "pg_ctlcluster", package: "postgresql" },
    Tool { program: "apache2", package: "apache2" },
    Tool { program: "php", package: "php-fpm" },
    Tool { program: "ip", package: "iproute2" },
    Tool { program: "nft", package: "nftables" },
];

/// Debian packages of `cargo xtask bench`.
pub const FOR_BENCH: &[Tool] = &[
    Tool { program: "nginx", package: "nginx" },
    Tool { program: "wrk", package: "wrk" },
    Tool { program: "h2load", package: "nghttp2-client" },
    Tool { program: "redis-server", package: "redis-server" },
    Tool { program: "redis-benchmark", package: "redis-tools" },
    Tool { program: "memcached", package: "memcached" },
    Tool { program: "mariadb-install-db", package: "mariadb-server" },
    Tool { program: "sysbench", package: "sysbench" },
];

/// Returns `true` if no step may be skipped (continuous integration).
pub fn nothing_may_be_skipped() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Installs missing programs if possible; returns those that are still missing.
pub fn from_debian(tools: &[Tool]) -> Vec<&'static str> {
    let mut packages: Vec<_> =
        tools.iter().filter(|tool| places::find(tool.program).is_none()).map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    if !packages.is_empty() {
        if can_install() {
            if let Err(complaint) = apt_install(&packages) {
                eprintln!("xtask: {complaint}");
            }
        } else {
            eprintln!(
                "xtask: to run everything, install the missing packages: sudo apt-get install {}",
                packages.join(" ")
            );
        }
    }
    missing(tools)
}

/// Returns the programs that are not installed.
pub fn missing(tools: &[Tool]) -> Vec<&'static str> {
    tools.iter().map(|tool| tool.program).filter(|program| places::find(program).is_none()).collect()
}

/// Builds oha, hey, vegeta, ghz and k6 if they are missing; reports and skips those that cannot be built.
pub fn from_registries() {
    let root = places::peers();
    if places::find("oha").is_none() {
        println!("building oha into {} (takes some minutes, once)", root.display());
        // Without the variable, cargo builds in a temporary directory; the shared one would mix the
        // profiles.
        let mut build = shell::cargo(&["install", "oha", "--locked", "--root"]);
        build.arg(&root).env_remove("CARGO_TARGET_DIR");
        report_failure(shell::run(&mut build));
    }
    for (program, module) in [
        ("hey", "github.com/rakyll/hey@latest"),
        ("vegeta", "github.com/tsenart/vegeta/v12@latest"),
        ("ghz", "github.com/bojand/ghz/cmd/ghz@latest"),
        ("k6", "go.k6.io/k6@latest"),
    ] {
        if places::find(program).is_some() {
            continue;
        }
        let Some(go) = places::find("go") else {
            eprintln!(
                "xtask: skipping {program}: it is built with Go, which is not installed (apt-get install golang-go)"
            );
            continue;
        };
        println!("building {program} into {}", root.display());
        report_failure(shell::run(Command::new(go).args(["install", module]).env("GOBIN", root.join("bin"))));
    }
}

fn report_failure(outcome: Result<(), String>) {
    if let Err(complaint) = outcome {
        eprintln!("xtask: {complaint}; skipped");
    }
}

/// Returns `true` if this process runs as the superuser.
pub fn is_root() -> bool {
    // SAFETY: geteuid has no conditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn can_install() -> bool {
    is_root() && places::find("apt-get").is_some()
}

/// Installs packages, refreshing the lists only when the first try fails: on a fresh machine they are empty or stale.
fn apt_install(packages: &[&str]) -> Result<(), String> {
    println!("installing {}", packages.join(" "));
    let install = || {
        let mut command = Command::new("apt-get");
        command.args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages);
        shell::quietly(command.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    if install().is_ok() {
        return Ok(());
    }
    shell::quietly(Command::new("apt-get").args(["update", "-qq"]))?;
    install()
}
