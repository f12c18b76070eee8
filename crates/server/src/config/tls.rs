//! The certificates of a listener: which files, and that they come in pairs.
//!
//! What is in the files is not read here but where the server starts (`tls.rs`): the other commands have no use
//! for it, and may be run by somebody who cannot read private keys.

use std::path::PathBuf;

use super::layers::Source;
use super::{Problem, Reader, parse};

/// A certificate and its private key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// The file with the certificate and those that lead to its authority.
    pub(crate) certificate: PathBuf,
    /// The file with the private key.
    pub(crate) key: PathBuf,
}

/// The one or the other file of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    Certificate,
    Key,
}

/// The certificates of a listener, at least one.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    /// In the order in which they are tried.
    pub(crate) pairs: Vec<Pair>,
    /// The settings that name them, and where their values came from.
    certificate: (&'static str, Source),
    key: (&'static str, Source),
}

impl TlsFiles {
    /// A problem with one part of a pair.
    pub(crate) fn problem(&self, part: Part, wrong: String, right: String) -> Problem {
        let (setting, source) = match part {
            Part::Certificate => &self.certificate,
            Part::Key => &self.key,
        };
        Problem::new(setting, source, wrong, right)
    }

    /// Pairs as if a file named them.
    #[cfg(test)]
    pub(crate) fn of(pairs: Vec<Pair>) -> TlsFiles {
        let source = Source::File("test.toml".to_owned());
        TlsFiles { pairs, certificate: ("tls_certificate", source.clone()), key: ("tls_key", source) }
    }
}

impl Reader {
    /// The files that two settings name; nothing in them when the listener speaks plain HTTP.
    pub(super) fn tls_files(
        &mut self,
        certificate: &'static str,
        key: &'static str,
    ) -> Option<Option<TlsFiles>> {
        let certificates = self.take(certificate, parse::files);
        let keys = self.take(key, parse::files);
        let (certificates, keys) = (certificates?, keys?);
        let (from, key_from) = (self.layers.get(certificate).1, self.layers.get(key).1);
        let problem = match (certificates.len(), keys.len()) {
            (0, 0) => return Some(None),
            (count, key_count) if count == key_count => {
                let pairs = certificates.into_iter().zip(keys);
                let pairs = pairs.map(|(certificate, key)| Pair { certificate, key }).collect();
                return Some(Some(TlsFiles {
                    pairs,
                    certificate: (certificate, from),
                    key: (key, key_from),
                }));
            }
            (_, 0) => Problem::new(
                key,
                &key_from,
                format!("It is empty, while `{certificate}` is set."),
                "Name the file with the private key of the certificate.",
            ),
            (0, _) => Problem::new(
                certificate,
                &from,
                format!("It is empty, while `{key}` is set."),
                "Name the file with the certificate (and its chain) that the private key belongs to.",
            ),
            (count, key_count) => Problem::new(
                key,
                &key_from,
                format!("Certificates in `{certificate}`: {count}; keys here: {key_count}."),
                "Name one private key for each certificate, in the same order.",
            ),
        };
        self.problems.push(problem);
        None
    }
}
