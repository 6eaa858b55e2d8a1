//! Answers every request with "Hello World\n" on 127.0.0.1 and the port given as first argument.
//!
//! It uses only what every hyper from 1.0.1 on offers, and an adapter of its own between hyper and tokio, so that
//! nothing but hyper differs from one build to the next.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

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
            let _ = http1::Builder::new()
                .serve_connection(Socket(stream), service_fn(hello))
                .await;
        });
    }
}

/// The one answer.
async fn hello(_: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let mut response = Response::new(String::from("Hello World\n"));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// A tokio socket as hyper wants it.
struct Socket(TcpStream);

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: `ReadBuf` only ever initialises bytes of the slice, it never makes one uninitialised.
        let mut buffer = ReadBuf::uninit(unsafe { cursor.as_mut() });
        let read = match Pin::new(&mut self.0).poll_read(context, &mut buffer) {
            Poll::Ready(Ok(())) => buffer.filled().len(),
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        };
        // SAFETY: the first `read` bytes of the slice are filled, and so initialised.
        unsafe { cursor.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }
}
