//! The texts of `--help` that are not the help of one flag.

/// The commands, above the flags.
pub const COMMANDS: &str = "\
Commands:
  run        load-test a URL (the word may be left out)
  demo       load-test the built-in target: needs nothing else
  plan       show or check a plan file
  doctor     what this machine can do, and which limits a run would hit
  calibrate  measure what brunt itself costs on this machine
  explain    what can limit a run: brunt explain N2
  help       help by topic: brunt help, brunt help http
  report     show a past run again
  target     the built-in server, with faults on request
  probe      the counters of this host, for runs on other machines
  ui         the console in the browser: browse, start and steer runs";

/// `-h`: what most runs need, on one screen.
pub const SCREEN: &str = "\
Load-test a server, and learn whether the results can be trusted.

Usage: brunt [OPTIONS] URL... | PLAN.yaml
       brunt demo | report | plan | doctor | calibrate | explain |
       target | probe | ui | help | completions | man

Load
  -c, --users N           concurrent users, each sending back to back [10]
  -r, --rate RATE         this rate, whatever the server does: 500/s, 300/min
  -d, --duration TIME     how long [10s]
  -n, --requests N        how many requests
      --stage TIME:LEVEL  30s:100/s..2000/s, 1m:50 (users); repeatable
      --warmup TIME       warm up for TIME, excluded from results
Request (http)
  -X METHOD   -H 'NAME: VALUE'   --user NAME:PASSWORD   --bearer TOKEN
  --json JSON   --data TEXT   --data-file FILE   --form NAME=VALUE
  --cookie NAME=VALUE   -L (follow redirects)   --http 2   --no-keepalive
  --expect-status LIST   --expect-body TEXT   --expect-json RULE
  -t, --timeout TIME      fail a request after TIME [10s]
  -k, --insecure          accept any certificate
      --curl COMMAND      send what this curl command would send
Output
      --objective RULE    'p99<50ms', 'failed<0.1%'; exit 10 if missed
  -o, --output FILE       write a report: .html, .json, .csv, .md, .xml
      --record FILE       keep the run, for brunt report FILE
      --debug             send one request, show it and the response, exit
      --lang zh           中文

Example: brunt -c 50 -d 30s http://localhost:8080/
More: brunt help load | http | websocket | grpc | redis | mysql | postgres
      brunt help flow | raw | connection | tls | output | counters | all";

/// `brunt help flow`.
pub const FLOW: &str = "\
Flows: what users do, step by step, in a plan file: brunt PLAN.yaml

  users: 20                    # or rate: 5/s, of iterations
  duration: 1m
  cookie-jar: true
  flow:
    - url: http://localhost:8080/login
      data: user=ann&password=secret
      capture: {token: json $.token}
      on-failure: stop-user    # next-iteration, go-on, stop-run
    - pause: 1s..3s
    - group: browse
      steps:
        - url: http://localhost:8080/items
          header: 'Authorization: Bearer {token}'
          expect-status: 200

Steps
  url                a request; with name, the options of its protocol,
                     capture, on-failure
  pause, pace        a time, 1s..3s, normal 2s 500ms, exponential 2s;
                     pace: from the start of one iteration to the next
  group              a name and steps timed together
  batch              requests sent in parallel, 6 at once
  repeat, while, for-each, if, choose, once
                     loops and branches over captured values
  call               the steps of another flow, with values
Beside flow
  setup, teardown    once per run       start, end    once per user
  flows              what call goes to  objectives    p95{login}<300ms
  scenarios          several loads, each with a flow of its own

Try it:   brunt PLAN.yaml --debug    one user goes through it once
          brunt plan --check PLAN.yaml
Examples: brunt plan --example flow | scenarios | smoke | stress | spike | soak";

/// Under `--help`, and `brunt help all`.
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

/// Under `brunt calibrate --help`.
pub const CALIBRATE: &str = "\
Starts `brunt target` in a second process and loads it at full speed, then with a single user. It saves the CPU time of a \
request, from which follows the most that a core can send, and the lowest latency that can be measured on this machine. \
Runs of HTTP/1.1 without TLS then show their headroom. Run it on a quiet machine, and again after a change of version, \
kernel or number of cores.";

/// Under `brunt ui --help`.
pub const UI: &str = "\
Prints a link with a token and opens it: whoever has it may start and steer runs. The second link is
view only. Runs are processes of their own, and the library keeps every run of this machine that the console has seen.

Example: brunt ui --listen :8089 --password-file pw.txt --cert chain.pem --key key.pem --name load.example";

/// Under `brunt demo --help`.
pub const DEMO: &str = "\
Starts `brunt target` in a second process and loads it for ten seconds with 1000 requests a second, each of which takes it \
10 ms: results that can be trusted, also on a busy laptop. Exits with 0 when it worked, whatever the verdict.";
