//! Values used in a failed request, reported with its example.

use brunt_contract::ServerRequest;
use brunt_measure::Nanos;
use brunt_plan::WeightedUrl;
use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_sim::SimReply;

use super::harness::{MS, SECOND, SimPlan};

fn url(path: &str, options: &[(&str, &str)]) -> WeightedUrl {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]));
    WeightedUrl { options: options.collect(), ..WeightedUrl::plain(format!("http://test{path}")) }
}

#[test]
fn an_example_has_the_values_that_its_request_was_made_of_and_no_others() {
    let scene = SimPlan::closed(2, SECOND).with(|plan| {
        plan.urls = vec![
            url("/login", &[("capture", "id json $.id")]),
            url("/page/{id}?{later}", &[("header", "X-Long: {long | url}"), ("capture", "later status")]),
        ]
        .into();
        plan.urls.make_mut()[0].options.get_mut("capture").expect("captures").push("long json $.long".into());
        plan.urls.make_mut()[0].options.get_mut("capture").expect("captures").push("other status".into());
        let send = |url| Step::Request { url, on_failure: OnFailure::NextIteration };
        let variables = ["id", "long", "other", "later"].map(str::to_owned).to_vec();
        plan.flow = Some(Flow { steps: vec![send(0), send(1)], variables, ..Flow::default() });
        (plan.requests, plan.duration) = (Some(10), None);
    });
    let long = "x".repeat(300);
    let body = format!(r#"{{"id": 7, "long": "{long}"}}"#);
    let played = scene.play(|| {
        let body = body.clone();
        move |now: Nanos, ask: &ServerRequest<'_>| match ask.path {
            "/login" => (now + MS, SimReply::new(200, body.as_bytes())),
            _ => (now + MS, SimReply::new(500, b"")),
        }
    });
    assert_eq!((played.sum.due, played.sum.failed), (20, 10), "{:?}", played.sum.failures);
    let values = &played.examples[0].values;
    let told: Vec<_> = values.iter().map(|used| (used.name.as_str(), used.value.as_deref())).collect();
    let cut = format!("{}…", &long[..256]);
    assert_eq!(told, [("id", Some("7")), ("long", Some(cut.as_str())), ("later", None)]);
    assert!(played.examples[0].sent.contains("/page/7?"), "{}", played.examples[0].sent);
}
