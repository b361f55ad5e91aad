//! The texts of `--help`, except the help of single flags.

/// The list of commands above the flags.
pub const COMMANDS: &str = include_str!("help/commands.txt").trim_ascii_end();

/// The text of `-h`: the most common options, on one screen.
pub const SCREEN: &str = include_str!("help/screen.txt").trim_ascii_end();

/// The text of `brunt help flow`.
pub const FLOW: &str = include_str!("help/flow.txt").trim_ascii_end();

/// The examples below `--help` and `brunt help all`.
pub const EXAMPLES: &str = include_str!("help/examples.txt").trim_ascii_end();

/// The text below `brunt calibrate --help`.
pub const CALIBRATE: &str = "\
Starts `brunt target` in a second process and loads it at full speed, then with a single user. It saves the CPU time of a \
request, which gives the most that a core can send, and the lowest latency that can be measured on this machine. \
Runs of HTTP/1.1 without TLS then show their headroom. Run it on a quiet machine, and again after a change of version, \
kernel or number of cores.";

/// The text below `brunt ui --help`.
pub const UI: &str = "\
Prints a link with a token and opens it: anyone who has it can start and control runs. The second link is
view only. Each run is a process of its own, and the library keeps every run of this machine that the console has seen.

Example: brunt ui --listen :8089 --password-file pw.txt --cert chain.pem --key key.pem --name load.example";

/// The text below `brunt demo --help`.
pub const DEMO: &str = "\
Starts `brunt target` in a second process and loads it for ten seconds with 1000 requests a second, each of which takes it \
10 ms: results that can be trusted, even on a busy laptop. Exits with 0 when it worked, whatever the verdict.";
