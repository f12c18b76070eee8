//! One certificate with its key, read from two files; and what can be wrong with them.

use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use latchkey_base::Time;
use rustls::InconsistentKeys;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use zeroize::Zeroizing;

use crate::config::{Pair, Part};
use crate::show;

/// A certificate that can be shown to clients.
#[derive(Debug)]
pub(super) struct Certificate {
    /// The chain and the key.
    pub(super) key: Arc<CertifiedKey>,
    /// The names it is for, as they stand in it.
    names: Vec<String>,
    valid_from: Time,
    valid_until: Time,
}

/// Why a pair of files cannot be used, and what to do about it.
#[derive(Debug)]
pub(super) struct Fault {
    /// The file it lies in.
    pub(super) part: Part,
    pub(super) what: String,
    pub(super) right: String,
    /// Whether the files may be good, and the system could not read them just now.
    pub(super) is_passing: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what, self.right)
    }
}

impl Certificate {
    /// Reads both files and checks that they belong together.
    pub(super) fn read(pair: &Pair) -> Result<Certificate, Fault> {
        let Pair { certificate, key } = pair;
        let chain = chain(certificate)?;
        let parsed = Facts::read(&chain[0]).ok_or_else(|| {
            let what = format!("The first certificate in {} cannot be read.", certificate.display());
            fault(Part::Certificate, what, "Get it anew from your certificate authority.")
        })?;
        let private = private_key(key)?;
        let key = CertifiedKey::from_der(chain, private, &default_provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => fault(
                Part::Key,
                format!(
                    "The key in {} does not belong to the first certificate in {}.",
                    key.display(),
                    certificate.display()
                ),
                "Name the files that were made together, in the same order; in the certificate's file the server's \
                 own comes first.",
            ),
            // The error tells nothing of the key.
            error => fault(
                Part::Key,
                format!("The key in {} cannot be used: {error}.", key.display()),
                "Use an RSA key of at least 2048 bits, or one of the curves P-256, P-384, P-521 and Ed25519.",
            ),
        })?;
        let Facts { names, valid_from, valid_until } = parsed;
        Ok(Certificate { key: Arc::new(key), names, valid_from, valid_until })
    }

    /// Whether it is for a name, by itself or by a wildcard.
    pub(super) fn is_for(&self, name: &ServerName<'_>) -> bool {
        let parsed = self.key.cert.first().map(ParsedCertificate::try_from);
        parsed.is_some_and(|parsed| {
            parsed.is_ok_and(|parsed| rustls::client::verify_server_name(&parsed, name).is_ok())
        })
    }

    /// The names it is for and its last moment, for people.
    pub(super) fn described(&self) -> String {
        let names = if self.names.is_empty() { "no name".to_owned() } else { self.names.join(", ") };
        format!("{names}, valid until {}", show::rfc3339(self.valid_until))
    }

    /// Why clients will refuse it now. It is shown nevertheless: the server is of more use than without, and
    /// the clock may be wrong.
    pub(super) fn doubt(&self, now: Time) -> Option<String> {
        match now {
            now if now > self.valid_until => {
                Some(format!("has expired at {}", show::rfc3339(self.valid_until)))
            }
            now if now < self.valid_from => {
                Some(format!("is not valid before {}", show::rfc3339(self.valid_from)))
            }
            _ => None,
        }
    }
}

/// What stands in a certificate.
struct Facts {
    names: Vec<String>,
    valid_from: Time,
    valid_until: Time,
}

impl Facts {
    fn read(der: &CertificateDer<'_>) -> Option<Facts> {
        let certificate = x509_cert::Certificate::from_der(der).ok()?.tbs_certificate;
        let names = certificate.get::<SubjectAltName>().ok()?.map(|(_, SubjectAltName(names))| names);
        let text = |name: GeneralName| match name {
            GeneralName::DnsName(name) => Some(name.to_string()),
            _ => None,
        };
        let moment = |time: x509_cert::time::Time| {
            Time::from_ms(i64::try_from(time.to_unix_duration().as_millis()).unwrap_or(i64::MAX))
        };
        Some(Facts {
            names: names.unwrap_or_default().into_iter().filter_map(text).collect(),
            valid_from: moment(certificate.validity.not_before),
            valid_until: moment(certificate.validity.not_after),
        })
    }
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(Part::Certificate, path, &error))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let what = match chain {
        Ok(chain) if !chain.is_empty() => return Ok(chain),
        Ok(_) => format!("There is no certificate in {}.", path.display()),
        Err(_) => format!("{} is not PEM throughout.", path.display()),
    };
    let right = "Name a PEM file: the server's certificate (-----BEGIN CERTIFICATE-----), then those that lead to \
                 its authority.";
    Err(fault(Part::Certificate, what, right))
}

/// The PEM reader's errors quote lines of the file, so they are not repeated.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Fault> {
    let bytes =
        std::fs::read(path).map(Zeroizing::new).map_err(|error| unreadable(Part::Key, path, &error))?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        let is_locked = bytes.windows(9).any(|word| word == b"ENCRYPTED");
        let path = path.display();
        match is_locked {
            true => fault(
                Part::Key,
                format!("The key in {path} is protected by a passphrase."),
                "Write it to a file without one: openssl pkey -in FILE -out NEW_FILE",
            ),
            false => fault(
                Part::Key,
                format!("There is no private key in {path}."),
                "Name a PEM file with a key in PKCS#8, PKCS#1 or SEC1 (-----BEGIN PRIVATE KEY-----).",
            ),
        }
    })
}

fn unreadable(part: Part, path: &Path, error: &io::Error) -> Fault {
    let right = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "Let the user that runs latchkey read it, and its directories: a group, or a copy that is theirs."
        }
        _ => "Name a file that exists.",
    };
    let is_passing = !matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound);
    Fault { is_passing, ..fault(part, format!("{} cannot be read: {error}.", path.display()), right) }
}

fn fault(part: Part, what: String, right: &str) -> Fault {
    Fault { part, what, right: right.to_owned(), is_passing: false }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};
    use x509_cert::der::asn1::OctetString;
    use x509_cert::der::{Reader, SliceReader};
    use x509_cert::spki::AlgorithmIdentifierOwned;

    use super::*;
    use crate::tls::testing::issue;

    /// The key of the older form that PKCS#8 wraps.
    fn unwrapped(pkcs8: &[u8]) -> Vec<u8> {
        let key = SliceReader::new(pkcs8).unwrap().sequence(|reader| {
            let _version = u8::decode(reader)?;
            let _algorithm = AlgorithmIdentifierOwned::decode(reader)?;
            OctetString::decode(reader)
        });
        key.unwrap().into_bytes()
    }

    #[test]
    fn keys_of_all_three_forms_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let pair = Pair { certificate: directory.path().join("a.pem"), key: directory.path().join("a.key") };
        for (algorithm, label) in
            [(&PKCS_ECDSA_P256_SHA256, "EC PRIVATE KEY"), (&PKCS_RSA_SHA256, "RSA PRIVATE KEY")]
        {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let params = CertificateParams::new(["a.example".to_owned()]).unwrap();
            std::fs::write(&pair.certificate, params.self_signed(&key).unwrap().pem()).unwrap();
            let older = STANDARD.encode(unwrapped(&key.serialize_der()));
            let older = format!("-----BEGIN {label}-----\n{older}\n-----END {label}-----\n");
            for pem in [key.serialize_pem(), older] {
                std::fs::write(&pair.key, pem).unwrap();
                assert!(Certificate::read(&pair).is_ok(), "{label}");
            }
        }
    }

    #[test]
    fn the_time_of_a_certificate_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let pair = issue(&["a.example", "*.a.example"], 2030).write(directory.path(), "a");
        let certificate = Certificate::read(&pair).unwrap();
        assert_eq!(certificate.described(), "a.example, *.a.example, valid until 2030-12-31T00:00:00Z");
        let day = |text: &str| certificate.doubt(Time::parse_rfc3339(text).unwrap());
        assert_eq!(day("2026-01-01T00:00:00Z"), None);
        assert_eq!(day("2031-01-01T00:00:00Z").unwrap(), "has expired at 2030-12-31T00:00:00Z");
        assert!(day("1970-01-01T00:00:00Z").unwrap().starts_with("is not valid before"));
    }
}
