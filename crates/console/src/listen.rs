//! Connections: accepted, with TLS if configured. Their number is limited, and so are the time in which a request must
//! arrive and the time for which a client may stop reading.

mod write_timeout;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower::ServiceExt as _;

use write_timeout::WriteTimeout;

/// Maximum number of connections.
const CONNECTIONS: usize = 512;
/// Timeout of a request's head and of a TLS handshake.
const HEAD: Duration = Duration::from_secs(10);
/// Maximum time without progress while a response is sent: a client that reads nothing is dropped.
const TAKEN: Duration = Duration::from_secs(10);
/// Maximum size of a request's head.
const LARGEST_HEAD: usize = 32 << 10;

/// Serves connections for as long as the runtime lives.
pub async fn serve(listener: std::net::TcpListener, tls: Option<Arc<ServerConfig>>, router: Router) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let (room, acceptor) = (Arc::new(Semaphore::new(CONNECTIONS)), tls.map(TlsAcceptor::from));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            // Out of descriptors: one may be free soon.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let socket = WriteTimeout::new(socket, TAKEN);
        let (router, acceptor) = (router.clone(), acceptor.clone());
        tokio::spawn(async move {
            match acceptor {
                None => serve_connection(socket, router, place).await,
                Some(acceptor) => {
                    if let Ok(Ok(sealed)) = tokio::time::timeout(HEAD, acceptor.accept(socket)).await {
                        serve_connection(sealed, router, place).await;
                    }
                }
            }
        });
    }
}

/// Serves one connection until it ends.
async fn serve_connection(io: impl AsyncRead + AsyncWrite + Unpin, router: Router, _place: OwnedSemaphorePermit) {
    let answer = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move {
            let answer: Result<_, Infallible> = router.oneshot(request.map(Body::new)).await;
            answer
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(LARGEST_HEAD).half_close(false);
    // Errors of a connection that the peer aborts are ignored.
    let _ = http.serve_connection(TokioIo::new(io), answer).await;
}
