//! Answers every request with "Hello World\n" on 127.0.0.1 and the port given as first argument.
//!
//! The same server as `hyper-hello`, for the interface that hyper had before 1.0: it took tokio's sockets as they are.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;

use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::server::conn::Http;
use hyper::service::service_fn;
use hyper::{Body, Request, Response};
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args()
        .nth(1)
        .ok_or("usage: hyper-hello PORT")?
        .parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
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
            let _ = Http::new()
                .serve_connection(stream, service_fn(hello))
                .await;
        });
    }
}

/// The one answer.
async fn hello(_: Request<Body>) -> Result<Response<String>, Infallible> {
    let mut response = Response::new(String::from("Hello World\n"));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
