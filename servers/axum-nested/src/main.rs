//! Answers `/1/2/3/4/5/hello` with "Hello World\n" on 127.0.0.1 and the port given as first argument, behind five
//! routers, each nested in the one before.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};

use axum::routing::get;
use axum::{Router, Server};

/// How deep the answer lies.
const DEPTH: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args()
        .nth(1)
        .ok_or("usage: axum-nested PORT")?
        .parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(port))
}

/// Accepts connections until the process is ended.
async fn serve(port: u16) -> Result<(), Box<dyn Error>> {
    let leaf = Router::new().route("/hello", get(|| async { "Hello World\n" }));
    let nested = (1..=DEPTH)
        .rev()
        .fold(leaf, |inner, level| Router::new().nest(&format!("/{level}"), inner));
    Server::bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .tcp_nodelay(true)
        .serve(nested.into_make_service())
        .await?;
    Ok(())
}
