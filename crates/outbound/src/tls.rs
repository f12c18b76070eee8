//! TLS that trusts what the operating system trusts.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::failure::Failure;

/// Trusts the authorities of the operating system, and those in `extra`, a PEM file.
pub(crate) fn config(extra: Option<&Path>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        // Some systems carry certificates nobody can read; the others still count.
        let _ = roots.add(certificate);
    }
    if let Some(file) = extra {
        for certificate in CertificateDer::pem_file_iter(file).map_err(failed)? {
            roots.add(certificate.map_err(failed)?).map_err(failed)?;
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn failed(error: impl ToString) -> Failure {
    Failure::Tls(error.to_string())
}
