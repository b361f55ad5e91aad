//! The texts of `--help` that are not the help of one flag.

/// The commands, above the flags.
pub const COMMANDS: &str = "\
Commands:
  run      load-test a URL (the word may be left out)
  demo     load-test the built-in target: needs nothing else
  plan     show or check a plan file
  report   show a past run again
  target   the built-in server, with faults on request";

/// Under `-h`.
pub const SHORT_EXAMPLES: &str = "\
Example: brunt -c 50 -d 30s http://localhost:8080/
More: brunt --help, brunt demo -h, brunt report -h, brunt target -h";

/// Under `--help`.
pub const EXAMPLES: &str = "\
Examples:
  brunt http://localhost:8080/
      ten users for ten seconds, each sending requests back to back
  brunt -r 500/s -d 1m http://localhost:8080/
      500 independent visitors a second: latency includes queueing
  brunt -c 50 -n 10k -H 'Accept: application/json' http://localhost:8080/items http://localhost:8080/users
      ten thousand requests over two URLs by fifty users
  brunt --stage 30s:100/s..2000/s --stage 1m:2000/s --warmup 5s --objective 'p99<50ms' --format junit -o load.xml URL
      a ramp for CI: exit 10 if the objective is missed
  brunt report --format json -o run.json
      the last run again, as JSON

Times carry a unit (10s, 500ms, 1m30s).
Exit codes: 0 objectives met, 10 objective missed, 20 not trusted,
21 interrupted or output not written, 30 target unreachable, 64 usage, 70 a bug in brunt.";

/// Under `brunt demo --help`.
pub const DEMO: &str = "\
Starts `brunt target` in a second process, looks for one second what the pair reaches, and then loads it for ten
seconds at half of that: a figure that can be trusted, on your own machine.";
