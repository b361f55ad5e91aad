//! The HTML page: its content, decoded as a browser would.

use std::io::Read as _;

use base64::Engine as _;
use brunt_measure::{Histogram, Nanos};
use brunt_record::{CounterValue, HostCounters, RunEvent, RunPart};
use brunt_report::{Lang, RecordedSeconds, Style, Summary};
use serde_json::{Value, json};

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

/// Returns the lines of a page.
pub fn lines(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("id=\"lines\">").expect("the page has its data");
    let (text, _) = rest.split_once("</script>").expect("the data ends");
    assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)), "nothing in it is markup");
    let packed = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
    let mut all = String::new();
    flate2::read::ZlibDecoder::new(&*packed).read_to_string(&mut all).expect("deflate");
    all.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn page(run: &RunBuilder, lang: Lang) -> String {
    run.written("html", lang)
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().map_or_else(Vec::new, |all| all.iter().filter_map(Value::as_u64).collect())
}

fn mixed() -> RunBuilder {
    let mut before = second(-1).within(RunPart::Warmup);
    before.warmup = 1000;
    let mut run = open(1000.0, 6).second(before).objectives(&["p99<50ms"]);
    for n in 0..6 {
        let s = second(n).answered(700, Nanos::from_micros(900)).answered(250 + n as u64, ms(2)).answered(45, ms(15));
        run = run.second(if n == 2 { s.failing(6, "wrong_status", "transfer", None) } else { s });
    }
    run.second(second(6).unfinished(3, ms(5_000)).within(RunPart::Drain))
}

#[test]
fn a_page_holds_the_report_and_every_second() {
    let run = mixed();
    let all = lines(&page(&run, Lang::En));
    let json: Value = serde_json::from_str(&run.written("json", Lang::En)).unwrap();
    let head = &all[0];
    assert_eq!((&head["run"], &head["report"]["requests"]), (&1.into(), &json["requests"]));
    assert_eq!(head["report"]["latency"], json["latency"], "with its histograms");
    assert_eq!(head["words"]["zh"]["verdict"], "谨慎使用");
    let seconds: Vec<&Value> = all.iter().filter(|line| line["s"].is_array()).collect();
    assert_eq!(seconds.len(), json["seconds"].as_array().unwrap().len());
    for (line, told) in seconds.iter().zip(json["seconds"].as_array().unwrap()) {
        let column = |at: usize| line["s"][at].as_f64().unwrap();
        assert_eq!(column(0) / 1000.0, told["from_s"].as_f64().unwrap());
        assert_eq!(column(3), told["scheduled"].as_f64().unwrap());
        assert_eq!(column(5), told["succeeded"].as_f64().unwrap());
        let counted: u64 = numbers(&line["h"]).get(3..).unwrap_or_default().chunks(2).map(|pair| pair[1]).sum();
        let latency = &told["latency"]["response"];
        assert_eq!(counted + latency["unanswered"].as_u64().unwrap(), latency["count"].as_u64().unwrap());
        let p50 = latency["p50_us"].as_f64().map_or(0.0, |us| us * 1000.0);
        assert!((line["q"][0].as_f64().unwrap() - p50).abs() < 1.0, "{line} {latency}");
    }
    assert_eq!(seconds[3]["f"], json!([["wrong_status", "transfer", null, 6]]));
}

#[test]
fn parts_of_requests_and_codes_are_told_of_every_request_once() {
    let run = mixed();
    let all = lines(&page(&run, Lang::En));
    let json: Value = serde_json::from_str(&run.written("json", Lang::En)).unwrap();
    let counted = |part: &str| -> u64 {
        let blocks = all.iter().filter(|line| line["p"].is_i64()).map(|line| numbers(&line["r"][part]));
        blocks.flat_map(|of| of.get(3..).unwrap_or_default().chunks(2).map(|pair| pair[1]).collect::<Vec<_>>()).sum()
    };
    let blocks = all.iter().filter(|line| line["p"].is_i64()).count();
    assert_eq!(blocks, 7, "a block a second where there is room");
    for part in ["first_byte", "transfer", "connect"] {
        assert_eq!(counted(part), json["phases"][part]["count"].as_u64().unwrap(), "{part}");
    }
    let service = &json["latency"]["service"];
    let (counted, bounds) = (counted("service"), counted("service_at_least"));
    assert!(counted > 0 && bounds > 0);
    assert_eq!(
        (counted + bounds, bounds),
        (service["count"].as_u64().unwrap(), service["unanswered"].as_u64().unwrap())
    );
    let codes: u64 =
        all.iter().filter_map(|line| line["k"].as_object()).flatten().filter_map(|(_, n)| n.as_u64()).sum();
    assert_eq!(codes, json["status"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>());
}

#[test]
fn texts_of_servers_are_never_markup() {
    const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}";
    let mut run = closed(1, 1).second(second(0).failing(3, "wrong_status", "transfer", None));
    run = run.example("wrong_status", "transfer", None, (EVIL, EVIL));
    run.plan.urls = vec![brunt_plan::WeightedUrl::plain(format!("http://127.0.0.1:1/{EVIL}"))].into();
    for lang in [Lang::En, Lang::Zh] {
        let page = page(&run, lang);
        assert!(!page.contains("alert(1)") || page.contains("&lt;script&gt;alert(1)"), "only as text of the title");
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x") && !page.contains('\u{202e}'));
        let all = lines(&page);
        let example = &all[0]["report"]["failures"][0]["example"]["received"];
        assert!(example.as_str().unwrap().contains("<script>alert(1)"), "as data it is whole");
        assert!(example.as_str().unwrap().ends_with("\\u{202e}"), "and acts on no line");
    }
}

#[test]
fn a_page_of_ten_minutes_is_small_and_counts_every_request() {
    let mut run = open(2000.0, 600);
    let mut busy = second(0);
    for n in 0..2000_u64 {
        busy = busy.answered(1, Nanos(1_000_000 + n * n * 40));
    }
    for n in 0..600 {
        let mut s = busy.clone();
        (s.from_ns, s.to_ns) = (n * 1_000_000_000, (n + 1) * 1_000_000_000);
        run = run.second(s);
    }
    let page = page(&run, Lang::En);
    assert!(page.len() < 700_000, "{} bytes", page.len());
    let all = lines(&page);
    assert!(all[0]["grain"]["buckets"].as_u64().unwrap() < 8, "parts are told coarser");
    let counted: u64 = numbers(&all[400]["h"])[3..].chunks(2).map(|pair| pair[1]).sum();
    assert_eq!(counted, 2000, "and no request is lost");
}

#[test]
fn counters_are_told_as_often_as_there_is_room_and_end_where_they_ended() {
    let mut run = closed(1, 900);
    for n in 0..900_u64 {
        let values = [("Tcp.RetransSegs", n), ("Tcp.InSegs", n * 10), ("Ip.DefaultTTL", 64)];
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), CounterValue::Whole(value))).collect();
        let sample =
            HostCounters { at_ns: n as i64 * 1_000_000_000, host: "h".into(), values, ..HostCounters::default() };
        run.events.push(RunEvent::Counters(sample));
        run = run.second(second(n as i64).answered(1, ms(1)));
    }
    let record = Summary::from_events(run.events());
    assert_eq!(record.totals.finished, 900);
    let all = lines(&page_of_events(&run));
    let told = |group: &str, name: &str| -> Vec<u64> {
        all.iter().filter(|line| line["c"] == "h").filter_map(|line| line[group][name].as_u64()).collect()
    };
    let (telling, others) = (told("v", "Tcp.RetransSegs"), told("o", "Tcp.InSegs"));
    assert!((400..=600).contains(&telling.len()), "{}", telling.len());
    assert!((70..=85).contains(&others.len()), "{}", others.len());
    assert_eq!((telling.last(), others.last()), (Some(&899), Some(&8990)), "the last reading has all of them");
    assert_eq!(told("o", "Ip.DefaultTTL").len(), 0, "what stands still is empty");
}

/// Writes a page from events, as from a record, because a run built from seconds alone has no counters.
fn page_of_events(run: &RunBuilder) -> String {
    struct RecordLines(Vec<u8>);
    impl brunt_record::ReplaySource for RecordLines {
        fn replay(&self) -> Result<brunt_record::RecordReader<'_>, brunt_record::ReadFault> {
            brunt_record::RecordReader::from_source(&*self.0)
        }
    }
    let text: String = run.events().iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
    let record = RecordLines(text.into_bytes());
    let mut out = Vec::new();
    let summary = Summary::from_past(&record).unwrap();
    brunt_report::format("html")
        .unwrap()
        .write(&summary, &RecordedSeconds(Some(&record)), Style::default(), &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_page_that_shows_a_run_while_it_goes_on_hears_the_same_of_it() {
    use brunt_report::formats::html::LiveLines;
    let mut run = mixed();
    for n in 0..3000_u64 {
        let values = [
            ("Tcp.RetransSegs".to_owned(), CounterValue::Whole(n)),
            ("Tcp.InSegs".to_owned(), CounterValue::Whole(n * 10)),
        ];
        let sample =
            HostCounters { at_ns: n as i64, host: "h".into(), values: values.into(), ..HostCounters::default() };
        run.events.push(RunEvent::Counters(sample));
    }
    let events = run.events();
    let mut live = LiveLines::of(&Summary::from_events(events.iter().take(1).cloned()));
    let mut told: Vec<Value> = events.iter().flat_map(|event| live.see(event)).collect();
    told.extend(live.flush());
    let seconds = |all: &[Value]| all.iter().filter(|line| line["s"].is_array()).cloned().collect::<Vec<_>>();
    assert_eq!(seconds(&told), seconds(&lines(&page(&run, Lang::En))));
    let blocks = |all: &[Value]| all.iter().filter(|line| line["p"].is_i64()).cloned().collect::<Vec<_>>();
    assert_eq!(blocks(&told), blocks(&lines(&page(&run, Lang::En))));
    let readings: Vec<&Value> = told.iter().filter(|line| line["c"] == "h").collect();
    assert!((2000..=2200).contains(&readings.len()), "fewer and fewer: {}", readings.len());
    assert_eq!(readings[0]["v"]["Tcp.RetransSegs"], 0, "what tells most is told at once");
    assert_eq!(
        (&readings[4]["o"], &readings[5]["o"]["Tcp.InSegs"]),
        (&json!({}), &json!(50)),
        "the rest every fifth time"
    );
    let head = live.head(&Summary::from_events(events.iter().cloned()));
    assert_eq!((&head["live"], &head["grain"]["coarse"]), (&json!(true), &json!(5)));
}

#[test]
fn a_histogram_of_the_report_is_the_sum_of_its_seconds() {
    let all = lines(&page(&mixed(), Lang::En));
    let mut sums = std::collections::BTreeMap::new();
    for line in all.iter().filter(|line| line["s"].is_array()) {
        let mut bucket = 0;
        for pair in numbers(&line["h"]).get(3..).unwrap_or_default().chunks(2) {
            bucket += pair[0];
            *sums.entry(bucket).or_insert(0) += pair[1];
        }
    }
    let whole: Histogram =
        serde_json::from_value(all[0]["report"]["latency"]["response"]["histogram"].clone()).expect("a histogram");
    let buckets: Vec<u64> = whole.buckets().map(|(_, n)| n).collect();
    assert_eq!(sums.into_values().collect::<Vec<u64>>(), buckets);
}

#[test]
fn a_run_is_told_in_one_sentence() {
    let gist = |run: &RunBuilder, lang| {
        let code = if lang == Lang::En { "en" } else { "zh" };
        lines(&page(run, lang))[0]["words"][code]["gist"].as_str().expect("a sentence").to_owned()
    };
    let said = gist(&mixed(), Lang::En);
    assert!(said.starts_with("998/s succeeded for 6.00 s; ") && said.contains("1 of 1 objective"), "{said}");
    let mut run = closed(10, 4);
    for n in 0..4 {
        let s = second(n).answered(if n == 2 { 0 } else { 100 }, ms(2));
        run = run.second(s.failing(u64::from(n == 2) * 3, "reset", "transfer", None));
    }
    let said = gist(&run, Lang::En);
    assert!(
        said.starts_with(
            "75.0/s succeeded for 4.00 s; 3 of 303 requests failed (0.99 %): connection reset receiving the response"
        ),
        "{said}"
    );
    assert!(gist(&run, Lang::Zh).contains("303 个请求中有 3 个失败"));
}

#[test]
fn limits_of_latency_are_told_with_their_percentile_and_name() {
    let run = mixed().objectives(&["p99<50ms", "p95{login}<0.3s", "failed<1%", "max<2s"]);
    let told = run.json();
    let of = |at: usize| &told["objectives"][at];
    assert_eq!(
        (&of(0)["limit_us"], &of(0)["quantile"], &of(0)["name"]),
        (&json!(50_000.0), &json!(0.99), &Value::Null)
    );
    assert_eq!((&of(1)["limit_us"], &of(1)["name"]), (&json!(300_000.0), &json!("login")));
    assert_eq!((&of(2)["limit_us"], &of(3)["limit_us"]), (&Value::Null, &json!(2_000_000.0)));
}
