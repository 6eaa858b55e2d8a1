//! A hello server on Rocket: `rocket-hello PORT`.

#[macro_use]
extern crate rocket;

#[get("/")]
fn hello() -> &'static str {
    "Hello World"
}

#[launch]
fn server() -> _ {
    let port: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("usage: rocket-hello PORT");
    let figment = rocket::Config::figment()
        .merge(("port", port))
        .merge(("log_level", "off"))
        .merge(("workers", 1));
    rocket::custom(figment).mount("/", routes![hello])
}
