//! Hello world on tiny_http: `tiny-http-hello PORT`. One thread answers; the library reads with a pool of its own.

fn main() {
    let port = std::env::args().nth(1).expect("usage: tiny-http-hello PORT");
    let address = format!("127.0.0.1:{port}");
    let server = tiny_http::Server::http(address.as_str()).expect("the port is free");
    for request in server.incoming_requests() {
        // A client that has gone away is no reason to end.
        let _ = request.respond(tiny_http::Response::from_string("Hello World\n"));
    }
}
