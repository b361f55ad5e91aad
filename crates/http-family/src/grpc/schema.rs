//! The known services and methods: from `.proto` files, read without protoc, or from descriptors received from a
//! server.

use brunt_cause::{Complaint, complaint};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use brunt_contract::UsageError;
use prost_reflect::prost::encoding::encode_varint;
use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use super::editions;
use super::sources::{MissingImports, ProtoFiles};
use super::suggestion::nearest;
use brunt_values::file;

/// The services and methods that can be called.
#[derive(Clone, Debug)]
pub struct Schema {
    pool: DescriptorPool,
    /// The origin of the descriptors, used as the place in errors.
    source: &'static str,
}

/// The built-in files.
#[derive(Debug)]
struct BuiltinFiles;

impl FileResolver for BuiltinFiles {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let source = match name {
            "health.proto" => include_str!("proto/health.proto"),
            "reflection.proto" => include_str!("proto/reflection.proto"),
            "target.proto" => include_str!("proto/target.proto"),
            _ => return Err(protox::Error::file_not_found(name)),
        };
        File::from_source(name, source)
    }
}

impl Schema {
    /// Returns the built-in schema: health checking, reflection and the built-in target.
    ///
    /// # Errors
    /// Never fails: the files are part of the program, and a test reads them.
    pub fn built() -> Result<Schema, UsageError> {
        static BUILT: OnceLock<Result<DescriptorPool, UsageError>> = OnceLock::new();
        let compiled = || {
            let mut compiler = Compiler::with_file_resolver(BuiltinFiles);
            for name in ["health.proto", "reflection.proto", "target.proto"] {
                compiler.open_file(name).map_err(|error| UsageError::new(name, error.to_string()))?;
            }
            Ok(compiler.descriptor_pool())
        };
        BUILT.get_or_init(compiled).clone().map(|pool| Schema { pool, source: "URL" })
    }

    /// Returns the pool of all descriptors.
    pub fn pool(&self) -> &DescriptorPool {
        &self.pool
    }

    /// Reads `.proto` files with their imports: from `--import-path`, the files' own directories and the current one.
    ///
    /// # Errors
    /// Fails with the file, the line and a description.
    pub fn of_files(files: &[String], imports: &[String]) -> Result<Schema, UsageError> {
        let mut roots: Vec<PathBuf> = imports.iter().map(PathBuf::from).collect();
        if let Some(missing) = roots.iter().find(|root| !file::is_directory(root)) {
            let trouble = complaint!(
                "{} is not a directory; write the directory that imports start from",
                "{} 不是目录；请写 import 所在的根目录",
                missing.display()
            );
            return Err(UsageError::new("--import-path", trouble));
        }
        let own = files.iter().map(|file| match Path::new(file).parent() {
            Some(parent) if parent != Path::new("") => parent.to_path_buf(),
            _ => PathBuf::from("."),
        });
        roots.extend(own);
        roots.push(PathBuf::from("."));
        let mut seen = Vec::new();
        roots.retain(|root| {
            !seen.contains(root) && {
                seen.push(root.clone());
                true
            }
        });
        let (mut resolver, missing) = (ChainFileResolver::new(), MissingImports::default());
        // The library needs its own `descriptor.proto`, whichever one the import path has.
        resolver.add(GoogleFileResolver::new());
        for root in roots {
            resolver.add(ProtoFiles::new(root));
        }
        resolver.add(missing.clone());
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true);
        for path in files {
            file::text("--proto", path)?;
            compiler.open_file(path).map_err(|error| not_compiled(path, &error, &missing.names()))?;
        }
        Ok(Schema { pool: compiler.descriptor_pool(), source: "--proto" })
    }

    /// Creates the schema from encoded file descriptors, in any order.
    ///
    /// # Errors
    /// Fails if a file is invalid or refers to one that is missing.
    pub fn of_descriptors<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Result<Schema, Complaint> {
        // FileDescriptorSet: repeated FileDescriptorProto file = 1.
        let mut set = Vec::new();
        for file in files {
            let lowered = editions::lower_to_proto2(file)?;
            let file = lowered.as_deref().unwrap_or(file);
            set.push(0x0a);
            encode_varint(file.len() as u64, &mut set);
            set.extend_from_slice(file);
        }
        let pool = DescriptorPool::decode(&set[..]).map_err(|error| error.to_string())?;
        Ok(Schema { pool, source: "URL" })
    }

    /// Returns a method of a service.
    ///
    /// # Errors
    /// Fails with a suggestion if the service or the method does not exist.
    pub fn method(&self, service: &str, method: &str) -> Result<MethodDescriptor, UsageError> {
        let Some(known) = self.pool.get_service_by_name(service) else {
            if let Some(alone) = self.pool.get_service_by_name(&format!("{service}.{method}")) {
                return Err(UsageError::new("URL", no_method(&alone)));
            }
            let services: Vec<String> = self.pool.services().map(|s| s.full_name().to_owned()).collect();
            return Err(UsageError::new(self.source, unknown(["service", "服务"], service, &services)));
        };
        let found = known.methods().find(|m| m.name() == method);
        found.ok_or_else(|| {
            let methods: Vec<String> = known.methods().map(|m| m.name().to_owned()).collect();
            UsageError::new(
                "URL",
                unknown([&format!("method of {service}"), &format!("{service} 的方法")], method, &methods),
            )
        })
    }

    /// Returns `true` if the service is known.
    pub fn has(&self, service: &str) -> bool {
        self.pool.get_service_by_name(service).is_some()
    }

    /// Lists every method as written in a URL, with its kind of streaming.
    pub fn listing(&self) -> Vec<String> {
        let line = |m: MethodDescriptor| format!("{}/{} ({})", m.parent_service().full_name(), m.name(), shape(&m)[0]);
        self.pool.services().flat_map(|s: ServiceDescriptor| s.methods().map(line).collect::<Vec<_>>()).collect()
    }
}

/// Returns the kind of streaming of a method, in words: English and Chinese.
pub fn shape(method: &MethodDescriptor) -> [&'static str; 2] {
    match (method.is_client_streaming(), method.is_server_streaming()) {
        (false, false) => ["unary", "一元"],
        (true, false) => ["client streaming", "客户端流"],
        (false, true) => ["server streaming", "服务器流"],
        (true, true) => ["bidirectional streaming", "双向流"],
    }
}

/// Describes the error of a URL that names only a service, listing its methods.
fn no_method(service: &ServiceDescriptor) -> Complaint {
    let name = service.full_name();
    let methods: Vec<String> = service.methods().map(|m| format!("{name}/{} ({})", m.name(), shape(&m)[0])).collect();
    complaint!(
        "names the service {name} but no method; use one of: {}",
        "写了服务 {name}，但没有方法；可用的有 {}",
        methods.join(", ")
    )
}

/// Describes an unknown name, with a suggestion. `what` says in English and in Chinese what has the name.
pub fn unknown([what, zh]: [&str; 2], name: &str, known: &[String]) -> Complaint {
    if let Some(meant) = nearest(name, known.iter().map(String::as_str)) {
        return complaint!("there is no {what} {name}; use {meant}", "没有{zh} {name}；是否要写 {meant}？");
    }
    if known.is_empty() {
        return complaint!("there is no {what} {name}, nor any other", "没有{zh} {name}，也没有其他任何{zh}");
    }
    let (more, more_zh) = if known.len() > 12 { (", ...", " 等") } else { ("", "") };
    let some: Vec<&str> = known.iter().take(12).map(String::as_str).collect();
    let some = some.join(", ");
    complaint!("there is no {what} {name}; use one of {some}{more}", "没有{zh} {name}；可用的有 {some}{more_zh}")
}

/// Describes an error in a `.proto` file in one sentence that names file and line, and the imports that are `missing`.
fn not_compiled(file: &str, error: &protox::Error, missing: &[String]) -> UsageError {
    // The long form begins with `file:line:column: message`, followed by an excerpt of the source.
    let long = format!("{error:?}");
    let first = long.lines().next().unwrap_or_default();
    let said = error.to_string();
    let place = first.strip_suffix(said.as_str()).and_then(|place| place.strip_suffix(": ")).unwrap_or(file);
    // Of many, those of the package of the type that is missing.
    let of_type = |import: &&String| {
        said.split('\'')
            .any(|name| name.rsplit_once('.').is_some_and(|(of, _)| import.starts_with(&of.replace('.', "/"))))
    };
    let close: Vec<&String> = missing.iter().filter(of_type).collect();
    let missing = if close.is_empty() { missing.iter().collect() } else { close };
    let advice = match &missing[..] {
        [] => complaint!("fix the file", "请改正该文件"),
        [import] => complaint!(
            "its import {import} was not found: use --import-path DIR for the directory that imports start from",
            "找不到它的 import {import}：请用 --import-path DIR 给出 import 所在的根目录"
        ),
        _ => complaint!(
            "its imports {} were not found: use --import-path DIR for the directory that imports start from",
            "找不到它的 import {}：请用 --import-path DIR 给出 import 所在的根目录",
            missing.iter().map(|import| import.as_str()).collect::<Vec<_>>().join(", ")
        ),
    };
    let zh = advice.zh();
    UsageError::new("--proto", complaint!("{place}: {said}; {advice}", "{place}：{said}；{zh}"))
}
