//! What a run says to a database: its scripts by number, with their weights and the URLs they go to.

use wire::{Asked, Complaint, Names, Weighted};

use super::options::{Way, way};
use crate::{before_after, weight};

/// What is asked where nothing is said.
const USUAL: &str = "SELECT 1";

/// One exchange: which script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index into the scripts of the run.
    pub(crate) script: u32,
}

/// The requests of a run.
#[derive(Debug)]
pub struct Said {
    /// Those to choose from.
    pub requests: Vec<Weighted<Request>>,
    /// What they are called in figures: their SQL, unless said otherwise.
    pub names: Names,
    /// Said once before the run.
    pub before: Vec<Request>,
    /// Said once after it.
    pub after: Vec<Request>,
}

/// Has `compile` make a script of each text: of SQL, how it is sent, whether a transaction stands around it, and the
/// option it is from. Requests name scripts by their number, in the order they were made.
///
/// # Errors
/// The first mistake.
pub fn said<S>(
    asked: &Asked,
    scripts: &mut Vec<S>,
    mut compile: impl FnMut(&str, Way, bool, &str) -> Result<S, Complaint>,
) -> Result<Said, Complaint> {
    let mut script = |text: &str, way: Way, around: bool, place: &str| -> Result<Request, Complaint> {
        scripts.push(compile(text, way, around, place)?);
        Ok(Request { script: (scripts.len() - 1) as u32 })
    };
    let (usual, given, way) = ([USUAL.to_owned()], asked.values("sql"), way(asked)?);
    let (mut weights, mut texts) = (Vec::new(), Vec::new());
    for text in if given.is_empty() { &usual[..] } else { given } {
        let (weight, text) = weight::split(text, "--sql")?;
        weights.push((weight, script(text, way, asked.switch("transaction"), "--sql")?));
        texts.push(text);
    }
    // What is said once is not worth preparing, and may make what others need.
    let (before, after) = before_after::compiled(asked, |text, place| script(text, Way::Text, false, place))?;
    let of_url = |(origin, url): (usize, &wire::AskedUrl)| {
        let url_weight = url.weight;
        let weighted =
            move |&(weight, request): &(f64, Request)| Weighted { request, origin, weight: weight * url_weight };
        weights.iter().map(weighted).collect::<Vec<_>>()
    };
    let requests = asked.urls.iter().enumerate().flat_map(of_url).collect();
    let mut names = Names::default();
    for index in 0..asked.urls.len() {
        texts.iter().for_each(|text| names.add(asked.name(index).unwrap_or(text)));
    }
    Ok(Said { requests, names, before, after })
}
