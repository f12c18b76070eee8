//! Handshakes: cookies on their way from the Frontend API to an app's backend, fetched by a nonce.

pub mod store;
