//! Who may read the metrics, and where.

use std::net::SocketAddr;

use super::answer;
use crate::free_port;
use crate::support::{Home, status};

const TOKEN: &str = "0123456789abcdef";

fn ask(address: SocketAddr, path: &str, token: &str) -> String {
    let credential = match token {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    };
    answer(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n{credential}Connection: close\r\n\r\n"))
}

#[test]
fn metrics_with_a_listener_of_their_own_are_nowhere_else() {
    let home = Home::new();
    let free = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let server = home.serve_with(&["--metrics-listen", &free.to_string()]);
    let metrics = ask(free, "/metrics", "");
    assert_eq!(status(&metrics), 200);
    assert_eq!(status(&ask(server.address, "/metrics", "")), 404);
    assert!(
        ask(free, "/metrics", "").contains("latchkey_http_requests_total{operation=\"other\""),
        "{metrics}"
    );
    assert_eq!(status(&ask(free, "/v1/users", "")), 404, "nothing else is there");
    server.stop();
}

#[test]
fn metrics_with_a_token_are_for_those_who_show_it() {
    let home = Home::new();
    std::fs::write(home.path("latchkey.toml"), format!("metrics_token = '{TOKEN}'")).unwrap();
    let server = home.serve();
    for (token, expected) in [("", 401), ("0123456789abcdeg", 401), ("0123456789abcdef0", 401), (TOKEN, 200)]
    {
        assert_eq!(status(&ask(server.address, "/metrics", token)), expected, "{token}");
    }
    assert!(ask(server.address, "/metrics", "").contains("metrics_token"), "it says what to send");
    let free = SocketAddr::from(([127, 0, 0, 1], free_port()));
    drop(server);
    let _server = home.serve_with(&["--metrics-listen", &free.to_string()]);
    assert_eq!((status(&ask(free, "/metrics", "")), status(&ask(free, "/metrics", TOKEN))), (401, 200));
}
