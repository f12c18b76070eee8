//! The authority itself: its files, and the certificates it signs.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use latchkey_base::Time;
use latchkey_jose::digest::sha256;
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints, PublicKeyData,
};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_cert::der::Decode;

use crate::failure::Failure;
use crate::files::write_beside;

const CERTIFICATE: &str = "local-ca.pem";
const KEY: &str = "local-ca.key";
/// As long as anybody keeps a development machine: nobody renews an authority of their own. What it can sign is for
/// this machine's names only, and its key is in the data directory, beside keys that matter more.
const AUTHORITY_DAYS: i64 = 3650;
/// A certificate of the server lasts a week; a new one is made in the middle of it.
const LEAF_DAYS: i64 = 7;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// An authority with its key.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate of the server, and when to make the next one.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) key: Arc<CertifiedKey>,
    made_at: Time,
}

impl Leaf {
    /// Whether it need not be made again yet. One of the future was made by a clock that was wrong.
    pub(crate) fn is_fresh(&self, now: Time) -> bool {
        (self.made_at..self.made_at.plus_ms(LEAF_DAYS * DAY_MS / 2)).contains(&now)
    }
}

/// The certificate of an authority: all that stores need to know.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuthorityCertificate {
    /// Its file.
    pub(crate) path: PathBuf,
    /// What people see in their stores; no two authorities have the same.
    pub(crate) name: String,
}

/// Where the certificate of a data directory's authority lies.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join(CERTIFICATE)
}

/// The certificate of the authority in a data directory, if there is one that can be read.
pub(crate) fn find_certificate(dir: &Path) -> Option<AuthorityCertificate> {
    let path = path(dir);
    let der = CertificateDer::from_pem_slice(&fs::read(&path).ok()?).ok()?;
    let name = name_of(public_key(&der)?.as_slice());
    Some(AuthorityCertificate { path, name })
}

/// Deletes the key of a data directory's authority, so that it signs nothing more.
pub(crate) fn remove_key(dir: &Path) -> io::Result<()> {
    remove(&dir.join(KEY))
}

/// Deletes the certificate of a data directory's authority, without which no store can be told what to take out.
pub(crate) fn remove_certificate(dir: &Path) -> io::Result<()> {
    remove(&path(dir))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether there is an authority that was not taken back, even in part.
pub(crate) fn is_whole(dir: &Path) -> bool {
    find_certificate(dir).is_some() && dir.join(KEY).exists()
}

impl Authority {
    /// The authority of a data directory; an error when its files do not belong together.
    pub(crate) fn find(dir: &Path) -> Result<Option<Authority>, Failure> {
        let Some(certificate) = find_certificate(dir) else { return Ok(None) };
        let text = zeroize::Zeroizing::new(fs::read_to_string(dir.join(KEY)).map_err(|error| {
            damaged(dir, &format!("its key {} cannot be read: {error}", dir.join(KEY).display()))
        })?);
        let key = KeyPair::from_pem(&text)
            .map_err(|_| damaged(dir, &format!("{} is no private key", dir.join(KEY).display())))?;
        match name_of(&key.subject_public_key_info()) == certificate.name {
            true => Ok(Some(Authority { issuer: Issuer::new(params(&certificate.name), key) })),
            false => Err(damaged(dir, "the key does not belong to the certificate")),
        }
    }

    /// Makes an authority in a data directory.
    pub(crate) fn make(dir: &Path, now: Time) -> Result<Authority, Failure> {
        let cannot = |what: String| {
            Failure::new(
                format!("A local certificate authority cannot be made: {what}."),
                "Make the data directory writable, or name another one with --data-dir.",
            )
        };
        let key = KeyPair::generate().map_err(|error| cannot(error.to_string()))?;
        let mut params = params(&name_of(&key.subject_public_key_info()));
        set_days(&mut params, now, AUTHORITY_DAYS);
        let certificate = params.self_signed(&key).map_err(|error| cannot(error.to_string()))?;
        // The certificate last: without it there is no authority, and a key alone is replaced.
        write(&dir.join(KEY), &zeroize::Zeroizing::new(key.serialize_pem()))
            .and_then(|()| write(&path(dir), &certificate.pem()))
            .map_err(|error| cannot(error.to_string()))?;
        Ok(Authority { issuer: Issuer::new(params, key) })
    }

    /// A certificate for a name of this machine, and for its addresses.
    pub(crate) fn issue(&self, name: &str, now: Time) -> Result<Leaf, String> {
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let mut names = vec![name.to_owned()];
        names.extend(
            ["localhost", "127.0.0.1", "::1"].into_iter().filter(|own| *own != name).map(str::to_owned),
        );
        let mut params = CertificateParams::new(names).map_err(|error| error.to_string())?;
        params.distinguished_name.push(DnType::CommonName, name);
        set_days(&mut params, now, LEAF_DAYS);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer).map_err(|error| error.to_string())?;
        let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(str::to_owned)?;
        let chain = vec![certificate.der().clone()];
        let key = CertifiedKey::from_der(chain, private, &default_provider());
        let key = Arc::new(key.map_err(|error| error.to_string())?);
        Ok(Leaf { key, made_at: now })
    }
}

/// What is said of every authority; the same for one that was made and one that was read.
fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Latchkey");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // Nor can it be somebody who signs programs or mail.
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Whoever gets hold of the key can pretend to be a server on this machine, and none elsewhere (RFC 5280, 4.2.1.10).
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![
            GeneralSubtree::DnsName("localhost".to_owned()),
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8)),
            GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix(
                std::net::Ipv6Addr::LOCALHOST.octets(),
                128,
            )),
        ],
        excluded_subtrees: Vec::new(),
    });
    params
}

/// Named after its key, so that it can be told from those of other data directories.
fn name_of(public_key: &[u8]) -> String {
    let digest: String = sha256(public_key).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("Latchkey local CA {digest}")
}

fn public_key(der: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let certificate = x509_cert::Certificate::from_der(der).ok()?;
    x509_cert::der::Encode::to_der(&certificate.tbs_certificate.subject_public_key_info).ok()
}

/// The first and the last day of a certificate that begins now; a day early, for clocks that are late.
fn set_days(params: &mut CertificateParams, now: Time, days: i64) {
    let day = |time: Time| {
        let moment = jiff::Timestamp::from_millisecond(time.ms()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let date = moment.to_zoned(jiff::tz::TimeZone::UTC).date();
        let number = |value: i8| u8::try_from(value).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), number(date.month()), number(date.day()))
    };
    params.not_before = day(now.plus_ms(-DAY_MS));
    params.not_after = day(now.plus_ms(days * DAY_MS));
}

/// Writes a file for its owner only, who is the owner of the directory even when `sudo` writes.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let temporary = write_beside(path, text.as_bytes())?;
    if let Some(owner) = path.parent().and_then(|dir| fs::metadata(dir).ok())
        && fs::metadata(&temporary)?.uid() != owner.uid()
    {
        chown(&temporary, Some(owner.uid()), Some(owner.gid()))?;
    }
    fs::rename(temporary, path)
}

fn damaged(dir: &Path, what: &str) -> Failure {
    Failure::new(
        format!("The local certificate authority in {} cannot be used: {what}.", dir.display()),
        "Take it back with `latchkey trust --remove`, then make another one with `latchkey trust`.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use x509_cert::ext::pkix::ExtendedKeyUsage;

    #[test]
    fn the_authority_is_for_servers_only() {
        let dir = tempfile::tempdir().unwrap();
        Authority::make(dir.path(), Time::from_ms(1_767_225_600_000)).unwrap();
        let der = CertificateDer::from_pem_slice(&fs::read(path(dir.path())).unwrap()).unwrap();
        let certificate = x509_cert::Certificate::from_der(&der).unwrap();
        let (_, usage) = certificate.tbs_certificate.get::<ExtendedKeyUsage>().unwrap().unwrap();
        let usage: Vec<String> = usage.0.iter().map(ToString::to_string).collect();
        assert_eq!(usage, ["1.3.6.1.5.5.7.3.1"]);
    }
}
