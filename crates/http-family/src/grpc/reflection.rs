//! Server reflection (grpc.reflection.v1, or v1alpha if the server does not know it).
//!
//! There is no I/O here: [`next`] examines the responses received so far and returns the next questions, until the
//! descriptors of the wanted services are complete. One call asks several questions at once; if a server returns a file
//! without its imports, they are requested by name.

use std::collections::BTreeMap;

use brunt_cause::complaint;
use brunt_contract::UsageError;
use prost_reflect::prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, Value};

use super::framing;
use super::request::CapturedResponse;
use super::schema::{Schema, unknown};
use super::status;

/// Maximum number of services and files requested from one server.
const MOST: usize = 2000;
/// The reflection services, in the order they are tried.
pub const SERVICES: [&str; 2] = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];
/// The method of both services.
pub const METHOD: &str = "ServerReflectionInfo";

/// The next step, given the responses so far.
#[derive(Debug)]
pub enum ReflectionStep {
    /// Ask this service, with these messages in one call.
    Ask(&'static str, Vec<Vec<u8>>),
    /// All descriptors are known.
    Done(Schema),
}

/// A question to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReflectionQuestion {
    Services,
    File(String),
    Symbol(String),
}

/// The content of the responses so far.
#[derive(Debug, Default)]
struct ReflectionAnswers {
    services: Option<Vec<String>>,
    files: BTreeMap<String, Vec<u8>>,
    /// Symbols and files that the server did not return, with its reasons.
    refused: Vec<String>,
}

/// Examines the responses received so far. `wanted` are the services of the run; empty means all of the server's.
///
/// # Errors
/// Fails if the server offers no reflection, or lacks a service.
pub fn next(wanted: &[String], answers: &[CapturedResponse]) -> Result<ReflectionStep, UsageError> {
    let kinds = ReflectionTypes::built()?;
    let mut version = 0;
    let mut told = ReflectionAnswers::default();
    for answer in answers {
        if answer.status == Some(status::UNIMPLEMENTED) && told.services.is_none() && version + 1 < SERVICES.len() {
            version += 1;
            continue;
        }
        if answer.status != Some(status::OK) {
            return Err(refused(answer));
        }
        kinds.decode(&answer.body, &mut told);
    }
    let Some(services) = &told.services else {
        let mut questions = vec![ReflectionQuestion::Services];
        questions.extend(wanted.iter().cloned().map(ReflectionQuestion::Symbol));
        return Ok(ReflectionStep::Ask(SERVICES[version], kinds.encode(&questions)));
    };
    let wanted: Vec<String> = if wanted.is_empty() { services.clone() } else { wanted.to_vec() };
    let unheard = |service: &&String| !told.defines(service);
    if let Some(missing) = wanted.iter().find(|s| unheard(s) && !services.contains(s)) {
        return Err(UsageError::new("URL", unknown(["service", "服务"], missing, services)));
    }
    let mut questions: Vec<ReflectionQuestion> =
        wanted.iter().filter(unheard).cloned().map(ReflectionQuestion::Symbol).collect();
    questions.extend(told.missing().into_iter().map(ReflectionQuestion::File));
    if questions.is_empty() {
        let files = told.files.values().map(Vec::as_slice);
        let trouble = |why| {
            UsageError::new(
                "URL",
                complaint!(
                    "the server's descriptors do not fit together ({why}); give --proto FILE",
                    "服务器的描述符不一致（{why}）；请给出 --proto FILE"
                ),
            )
        };
        return Schema::of_descriptors(files).map(ReflectionStep::Done).map_err(trouble);
    }
    // A question that was refused would be refused again.
    let in_vain = answers.len() > version + 1 && !told.refused.is_empty();
    if in_vain || told.files.len() + questions.len() > MOST {
        let why = told
            .refused
            .first()
            .map_or_else(|| complaint!("there are too many", "数量过多"), |why| why.as_str().into());
        let zh = why.zh();
        let trouble = complaint!(
            "the server does not return all of its descriptors ({why}); give --proto FILE",
            "服务器没有返回全部描述符（{zh}）；请给出 --proto FILE"
        );
        return Err(UsageError::new("URL", trouble));
    }
    Ok(ReflectionStep::Ask(SERVICES[version], kinds.encode(&questions)))
}

fn refused(answer: &CapturedResponse) -> UsageError {
    let said = if answer.message.is_empty() { String::new() } else { format!(": {}", answer.message) };
    let trouble = match answer.status {
        Some(status::UNIMPLEMENTED) => {
            complaint!(
                "is missing, and the server offers no reflection; give the FILE that defines the service",
                "没有给出，而服务器不提供反射；请给出定义该服务的 FILE"
            )
        }
        Some(other) => {
            complaint!(
                "is missing, and reflection failed with {}{said}; give the FILE",
                "没有给出，而反射失败，状态为 {}{said}；请给出 FILE",
                status::name(other)
            )
        }
        None => complaint!(
            "is missing, and the reflection response was not gRPC{said}; give the FILE",
            "没有给出，而反射的响应不是 gRPC{said}；请给出 FILE"
        ),
    };
    UsageError::new("--proto", trouble)
}

impl ReflectionAnswers {
    /// Returns the files that are imported but have not been received.
    fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for file in self.files.values().filter_map(|bytes| FileDescriptorProto::decode(&bytes[..]).ok()) {
            for name in file.dependency {
                if !self.files.contains_key(&name) && !missing.contains(&name) {
                    missing.push(name);
                }
            }
        }
        missing
    }

    fn defines(&self, service: &str) -> bool {
        self.files.values().filter_map(|bytes| FileDescriptorProto::decode(&bytes[..]).ok()).any(|file| {
            let package = file.package.clone().unwrap_or_default();
            let full = |name: &str| if package.is_empty() { name.to_owned() } else { format!("{package}.{name}") };
            file.service.iter().any(|s| full(s.name.as_deref().unwrap_or_default()) == service)
        })
    }

    fn file(&mut self, bytes: &[u8]) {
        if let Ok(file) = FileDescriptorProto::decode(bytes)
            && self.files.len() < MOST
        {
            self.files.insert(file.name.unwrap_or_default(), bytes.to_vec());
        }
    }
}

/// The message types of reflection.
struct ReflectionTypes {
    request: MessageDescriptor,
    response: MessageDescriptor,
}

impl ReflectionTypes {
    fn built() -> Result<ReflectionTypes, UsageError> {
        let method = Schema::built()?.method(SERVICES[0], METHOD)?;
        Ok(ReflectionTypes { request: method.input(), response: method.output() })
    }

    fn encode(&self, questions: &[ReflectionQuestion]) -> Vec<Vec<u8>> {
        let message = |question: &ReflectionQuestion| {
            let (field, text) = match question {
                ReflectionQuestion::Services => ("list_services", ""),
                ReflectionQuestion::File(name) => ("file_by_filename", name.as_str()),
                ReflectionQuestion::Symbol(name) => ("file_containing_symbol", name.as_str()),
            };
            let mut message = DynamicMessage::new(self.request.clone());
            message.set_field_by_name(field, Value::String(text.to_owned()));
            message.encode_to_vec()
        };
        questions.iter().map(message).collect()
    }

    fn decode(&self, body: &[u8], told: &mut ReflectionAnswers) {
        for message in framing::messages(body) {
            let Ok(answer) = DynamicMessage::decode(self.response.clone(), message) else { continue };
            if let Some(list) = part(&answer, "list_services_response") {
                let names = items(&list, "service").filter_map(|s| Some(text(s.as_message()?, "name")));
                told.services.get_or_insert_default().extend(names.take(MOST));
            } else if let Some(files) = part(&answer, "file_descriptor_response") {
                for file in items(&files, "file_descriptor_proto").filter_map(|f| f.as_bytes().cloned()) {
                    told.file(&file);
                }
            } else if let Some(error) = part(&answer, "error_response") {
                let asked =
                    part(&answer, "original_request").unwrap_or_else(|| DynamicMessage::new(self.request.clone()));
                // The well-known files need not be requested: they come with the library.
                let name = text(&asked, "file_by_filename");
                match DescriptorPool::global().get_file_by_name(&name) {
                    Some(known) => told.file(&known.encode_to_vec()),
                    None => told.refused.push(text(&error, "error_message")),
                }
            }
        }
    }
}

/// Returns the message in a field, if it is set.
fn part(message: &DynamicMessage, field: &str) -> Option<DynamicMessage> {
    message.has_field_by_name(field).then(|| message.get_field_by_name(field)?.as_message().cloned()).flatten()
}

fn text(message: &DynamicMessage, field: &str) -> String {
    message.get_field_by_name(field).and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

fn items(message: &DynamicMessage, field: &str) -> impl Iterator<Item = Value> {
    let list = message.get_field_by_name(field).and_then(|value| Some(value.as_list()?.to_vec()));
    list.unwrap_or_default().into_iter()
}
