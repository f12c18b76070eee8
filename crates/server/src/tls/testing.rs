//! Certificates for tests, in files and in the hands of clients.

use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use crate::config::{Pair, TlsFiles};

/// A certificate that nobody but its holder has signed.
pub(crate) struct Issued {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) pem: String,
    pub(crate) key_pem: String,
}

/// Makes a certificate for these names; `year` is its last.
pub(crate) fn issue(names: &[&str], year: i32) -> Issued {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 12, 31);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Issued { pem: certificate.pem(), key_pem: key.serialize_pem(), certificate: certificate.into() }
}

impl Issued {
    /// Writes both files to a directory.
    pub(crate) fn write(&self, directory: &Path, name: &str) -> Pair {
        let pair = Pair {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        };
        std::fs::write(&pair.certificate, &self.pem).unwrap();
        std::fs::write(&pair.key, &self.key_pem).unwrap();
        pair
    }
}

/// What a listener with these certificates accepts connections with.
pub(crate) fn acceptor(issued: &[&Issued]) -> tokio_rustls::TlsAcceptor {
    let directory = tempfile::tempdir().unwrap();
    let pairs =
        issued.iter().enumerate().map(|(number, one)| one.write(directory.path(), &number.to_string()));
    let files = TlsFiles::of(pairs.collect());
    super::Tls::open("Test API", &files, latchkey_base::Time::from_ms(0)).map(|tls| tls.acceptor).unwrap()
}

/// A client that trusts these certificates.
pub(crate) fn client(
    issued: &[&Issued],
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for one in issued {
        roots.add(one.certificate.clone()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}
