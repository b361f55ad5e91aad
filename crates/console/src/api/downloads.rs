//! Responses that are files, read while they are sent and not held in memory. A client may be slow, so a chunk is read
//! on a blocking thread only once there is room for it, and no thread waits for a socket.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

use crate::App;
use crate::access::Role;
use crate::problem::Problem;
use crate::runs::{new_id, private_file};

/// Size of a chunk in bytes.
const PIECE: u64 = 256 << 10;

/// Acquires a download slot of this token.
///
/// # Errors
/// Returns an error if all slots are in use; a slot whose client reads nothing becomes free soon
/// ([`crate::listen`]).
pub fn acquire_slot(app: &App, role: Option<Role>) -> Result<OwnedSemaphorePermit, Problem> {
    let places = &app.downloads[usize::from(role == Some(Role::Control))];
    let sentence = "too many downloads with this token; wait until some are done";
    let all_taken = |_| Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_downloads", sentence);
    std::sync::Arc::clone(places).try_acquire_owned().map_err(all_taken)
}

/// Creates a body from the output of `fill`, which is first written completely to an unlinked file,
/// so that it does not wait for the client.
///
/// # Errors
/// Returns an error if the file cannot be created or written.
pub fn body_from_writer(
    app: &App,
    place: OwnedSemaphorePermit,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Body, Problem> {
    let path = app.library.incoming(&new_id()?);
    // Reopened for reading as well.
    private_file(&path)?;
    let file = File::options().read(true).write(true).open(&path);
    std::fs::remove_file(&path)?;
    let mut out = io::BufWriter::with_capacity(PIECE as usize, file?);
    fill(&mut out)?;
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(body(file, place))
}

/// Creates a body from a file. The client notices if the response ends early.
pub fn body(file: File, place: OwnedSemaphorePermit) -> Body {
    let next = |(file, place): (File, OwnedSemaphorePermit)| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::new();
            (&file).take(PIECE).read_to_end(&mut piece).map(|_| (piece, file))
        });
        let (piece, file) = read.await.map_err(io::Error::other)??;
        let rest = (!piece.is_empty()).then_some((Bytes::from(piece), (file, place)));
        Ok::<_, io::Error>(rest)
    };
    Body::from_stream(stream::try_unfold((file, place), next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn files_that_nobody_reads_hold_no_thread_and_each_is_whole() {
        let text: Vec<u8> = (0..3 * PIECE + 7).map(|at| (at % 251) as u8).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        std::fs::write(&path, &text).unwrap();
        let runtime =
            tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_time().build().unwrap();
        runtime.block_on(async {
            let places = Arc::new(tokio::sync::Semaphore::new(3));
            let one = || body(File::open(&path).unwrap(), Arc::clone(&places).try_acquire_owned().unwrap());
            let left = [one(), one()];
            let read = tokio::time::timeout(Duration::from_secs(60), to_bytes(one(), usize::MAX)).await;
            assert!(read.unwrap().unwrap() == text);
            assert_eq!(places.available_permits(), 1, "its place is free again");
            drop(left);
            assert_eq!(places.available_permits(), 3);
        });
    }
}
