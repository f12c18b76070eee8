//! HTTPS on the developer's own machine: a certificate authority that exists in one data directory, is good for this
//! machine's names only, and is put into the stores in which browsers and programs look for authorities.
//!
//! Some SDKs know of the Frontend API only what the publishable key says, and ask `https://` and the host in it. With
//! the authority in the data directory the listener of the Frontend API speaks TLS beside plain HTTP, and the
//! development instance is also reached at a host below `.localhost`, which every browser takes for its own machine.

mod authority;
mod stores;

use latchkey_kernel::hosts;

use crate::config::Config;

pub(crate) use authority::{
    Authority, AuthorityCertificate, Leaf, find_certificate, path, remove_certificate, remove_key,
};
pub(crate) use stores::{Outcome, Store, all, typed};

/// The name that the first development instance has on this machine beside its own.
pub(crate) const NAME: &str = "latchkey.localhost";

/// Whether a certificate of the local authority can be for this name.
pub(crate) fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// The host at which browsers reach an instance over HTTPS where the local authority is trusted: its own if that is
/// below `.localhost`. Only the first development instance has another one.
pub(crate) fn host_of(frontend_api: &str, port: Option<u16>) -> String {
    match (is_local_name(hosts::name(frontend_api)), port) {
        (true, _) => frontend_api.to_owned(),
        (false, Some(port)) if port != 443 => format!("{NAME}:{port}"),
        (false, _) => NAME.to_owned(),
    }
}

/// Whether the local authority is what the Frontend API has certificates from: it was made, and no files are
/// configured instead.
pub(crate) fn is_used(config: &Config) -> bool {
    config.frontend_tls.is_none() && authority::is_whole(&config.data_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_keeps_a_host_that_certificates_can_be_for() {
        assert_eq!(host_of("127.0.0.1:3401", Some(3401)), "latchkey.localhost:3401");
        assert_eq!(host_of("127.0.0.1", Some(443)), "latchkey.localhost");
        assert_eq!(host_of("clerk.example.com", None), "latchkey.localhost");
        assert_eq!(host_of("a1b2c3d4.localhost:3401", Some(3401)), "a1b2c3d4.localhost:3401");
        assert!(!is_local_name("notlocalhost") && !is_local_name("localhost.example.com"));
    }
}
