//! A tiny file server on the loopback interface: behind it cargo and npm find a registry of the test's own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use flate2::{Compression, write::GzEncoder};

/// What is served, by path.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Serves files until the test's process ends. Returns the address, which `make` needs to write it into the files.
pub(crate) fn serve(make: impl FnOnce(&str) -> Files) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let files = Arc::new(make(&address));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let files = Arc::clone(&files);
            // A client that goes away in the middle of an answer has what it wants.
            std::thread::spawn(move || drop(answer(&stream, &files)));
        }
    });
    address
}

/// Answers the requests of one connection, one after the other.
fn answer(stream: &TcpStream, files: &Files) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while let Some(request) = lines.next() {
        let request = request?;
        for header in lines.by_ref() {
            if header?.is_empty() {
                break;
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        let (status, body) = match files.get(path.trim_start_matches('/')) {
            Some(body) => ("200 OK", body.as_slice()),
            None => ("404 Not Found", &b"{}"[..]),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
    }
    Ok(())
}

/// Packs files into an archive below one folder.
pub(crate) fn archive(folder: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        let path = format!("{folder}/{name}");
        builder
            .append_data(&mut header, path, text.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}
