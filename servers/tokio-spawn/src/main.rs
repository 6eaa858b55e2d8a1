//! Answers every request with "Hello World\n" on 127.0.0.1 and the port given as first argument.
//!
//! Each answer is made by a task of its own and waited for through a channel, on a runtime with two threads: so tasks
//! are woken and stolen for every request, which a plain hello on one thread never sees.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args()
        .nth(1)
        .ok_or("usage: tokio-spawn PORT")?
        .parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .build()?;
    runtime.block_on(serve(port))
}

/// Accepts connections until the process is ended.
async fn serve(port: u16) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // A client that goes away in the middle of a request is no concern of this server.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(hello))
                .await;
        });
    }
}

/// The one answer, made elsewhere.
async fn hello(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        // Nobody waits any more when the client has gone away.
        let _ = sender.send(String::from("Hello World\n"));
    });
    // The task ends by sending and by nothing else.
    let mut response = Response::new(receiver.await.unwrap_or_default());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
