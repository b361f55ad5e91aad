//! Small outputs of each tool in which everything agrees, for tests that change one thing.

use super::{LintGrade, LintReport, lint};

/// Of ab.
pub const AB: &str = "\
Server Hostname:        localhost
Document Path:          /
Concurrency Level:      10
Time taken for tests:   20.000 seconds
Complete requests:      10000
Failed requests:        0
Keep-Alive requests:    10000
Requests per second:    500.00 [#/sec] (mean)
Time per request:       20.000 [ms] (mean)
Total:          5   20   9.7     18      65
  50%     18
  99%     60
 100%     65 (longest request)
";

/// Of wrk.
pub const WRK: &str = "\
Running 30s test @ http://127.0.0.1:8080/
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    10.00ms    3.00ms  50.00ms   70.00%
    Req/Sec     5.00k   100.00     6.00k    70.00%
  Latency Distribution
     50%    9.50ms
     99%   25.00ms
  300000 requests in 30.00s, 40.00MB read
Requests/sec:  10000.00
";

/// Of hey.
pub const HEY: &str = "\
hey -n 10000 -c 50 http://127.0.0.1:8080/
Summary:
  Total:\t2.0000 secs
  Slowest:\t0.0500 secs
  Fastest:\t0.0010 secs
  Average:\t0.0099 secs
  Requests/sec:\t5000.0000
Latency distribution:
  50% in 0.0095 secs
  99% in 0.0300 secs
Status code distribution:
  [200]\t10000 responses
";

/// Of go-stress-testing.
pub const GO_STRESS: &str = "\
   1s│     10│   1000│      0│ 1000.00│   20.00│    5.00│   10.00│200:1000
   2s│     10│   2000│      0│ 1000.00│   20.00│    5.00│   10.00│200:2000
   3s│     10│   3000│      0│ 1000.00│   20.00│    5.00│   10.00│200:3000
";

/// Of k6.
pub const K6: &str = "\
     http_req_duration..............: avg=17.47ms min=10.93ms med=17.31ms max=65.33ms p(90)=18.91ms p(95)=19.54ms
     http_req_failed................: 0.00%  ✓ 0           ✗ 45765
     http_reqs......................: 45765  4568.791991/s
     iteration_duration.............: avg=17.49ms min=10.94ms med=17.33ms max=70.26ms p(90)=18.92ms p(95)=19.56ms
     iterations.....................: 45765  4568.791991/s
     vus_max........................: 80     min=80        max=80
";

/// Of JMeter.
pub const JMETER: &str = "\
Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput
login,400,120,100,200,250,300,10,400,0.00%,4.0
list,600,60,50,100,125,150,5,200,0.00%,6.0
TOTAL,1000,84,60,170,210,280,5,400,0.00%,10.0
";

/// Of Locust.
pub const LOCUST: &str = "\
Type     Name       # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
GET      /           40000     0(0.00%) |      7       1     106      6 |   99.07        0.00
         Aggregated  40000     0(0.00%) |      7       1     106      6 |   99.07        0.00
Response time percentiles (approximated)
Type     Name          50%    66%    95%    99%  99.9%   100% # reqs
GET      /               6      7     20     50    100    110  40000
         Aggregated      6      7     20     50    100    110  40000
";

/// Of webbench.
pub const WEBBENCH: &str = "\
300 clients, running 60 sec.
Speed=24525 pages/min, 20794612 bytes/sec.
Requests: 24525 susceed, 0 failed.
";

/// Lints a paste that can be.
pub fn report(text: &str) -> LintReport {
    lint(text.as_bytes()).unwrap_or_else(|complaint| panic!("{complaint}\n{text}"))
}

/// Returns the names of the checks with findings that are more than notes.
pub fn found(text: &str) -> Vec<&'static str> {
    let report = report(text);
    let weighty = report.findings.iter().filter(|found| found.grade > LintGrade::Note);
    weighty.map(|found| found.check).collect()
}
