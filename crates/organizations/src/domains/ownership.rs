//! The proof that an organization controls a zone: a TXT record that says what it was asked to say.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use latchkey_base::{Code, Error, Result, Time, rng};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::cx::Act;
use latchkey_kernel::limits::TXT_CHALLENGE_MS;
use latchkey_kernel::registry::Registry;
use latchkey_outbound::dns;

use super::model::{OrganizationDomain, Ownership};

/// What values are sealed for.
const SEALED_FOR: &str = "organization domain";
/// How the name of the record begins.
const LABEL: &str = "_latchkey-challenge";
/// How its value begins.
const PREFIX: &str = "latchkey-verification=";

/// The record that is to be published.
pub struct TxtRecord {
    pub name: String,
    /// Only for those who may manage domains.
    pub value: Option<String>,
}

/// Finds TXT records. The system's name servers are asked, unless a group above registers another source.
pub trait TxtSource: Send + Sync {
    /// The texts of the records of a name. `id` is for the question on the wire; a failure tells nothing.
    fn texts<'a>(&'a self, name: &'a str, id: u16) -> BoxFuture<'a, Option<Vec<String>>>;
}

/// A source that was registered; the last one counts.
pub struct RegisteredTxtSource(pub Arc<dyn TxtSource>);

impl TxtSource for dns::NameServers {
    fn texts<'a>(&'a self, name: &'a str, id: u16) -> BoxFuture<'a, Option<Vec<String>>> {
        Box::pin(async move {
            let found = self.txt(name, id).await;
            if let Err(error) = &found {
                tracing::warn!(%error, "the TXT records of a domain could not be looked up");
            }
            found.ok()
        })
    }
}

/// Registers the system's name servers.
pub fn register(registry: &mut Registry) {
    registry.add(RegisteredTxtSource(Arc::new(dns::NameServers::of_system())));
}

/// A domain for which a record is asked for. One that is proven stays so.
pub fn asked(mut domain: OrganizationDomain, act: &Act) -> Result<OrganizationDomain> {
    if domain.ownership.as_ref().is_some_and(Ownership::is_verified) {
        return Ok(domain);
    }
    let value = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(rng::bytes::<24>(&*act.rng)));
    let sealed = act.master.seal(SEALED_FOR, value.as_bytes()).map_err(Error::internal)?;
    domain.ownership = Some(Ownership::Asked {
        value: URL_SAFE_NO_PAD.encode(sealed),
        attempts: 0,
        expire_at: act.now.plus_ms(TXT_CHALLENGE_MS),
    });
    Ok(domain)
}

/// The record that a domain waits for, with its value. None if it waits for nothing, or not any more.
pub fn record(domain: &OrganizationDomain, master: &MasterKey, now: Time) -> Result<Option<TxtRecord>> {
    match &domain.ownership {
        Some(Ownership::Asked { value, expire_at, .. }) if *expire_at > now => {
            let sealed = URL_SAFE_NO_PAD.decode(value).map_err(Error::internal)?;
            let value = master.open(SEALED_FOR, &sealed).map_err(Error::internal)?;
            let value = String::from_utf8(value).map_err(Error::internal)?;
            Ok(Some(TxtRecord { name: format!("{LABEL}.{}", domain.name), value: Some(value) }))
        }
        _ => Ok(None),
    }
}

/// Whether a record was asked for that can still be looked for. Refuses if not; a domain that is proven needs none.
pub fn check_open(domain: &OrganizationDomain, now: Time) -> Result<()> {
    match &domain.ownership {
        None => Err(Error::new(Code::VerificationMissing)
            .saying("Ask for a TXT record with `prepare_ownership_verification` first.")),
        Some(Ownership::Asked { expire_at, .. }) if *expire_at <= now => {
            Err(Error::new(Code::VerificationExpired))
        }
        Some(_) => Ok(()),
    }
}

/// Whether the record that a domain waits for is published. `None` if it waits for none.
pub async fn is_published(
    registry: &Registry,
    domain: &OrganizationDomain,
    act: &Act,
) -> Result<Option<bool>> {
    let Some(TxtRecord { name, value: Some(value) }) = record(domain, &act.master, act.now)? else {
        return Ok(None);
    };
    let Some(RegisteredTxtSource(source)) = registry.all::<RegisteredTxtSource>().last() else {
        return Ok(Some(false));
    };
    let id = u16::from_le_bytes(rng::bytes(&*act.rng));
    let texts = source.texts(&name, id).await.unwrap_or_default();
    Ok(Some(texts.contains(&value)))
}

/// A domain after its record was looked for. `looked_at` is the domain as it was then: a record that was asked for since
/// is another one.
pub fn attempted(
    mut domain: OrganizationDomain,
    looked_at: &OrganizationDomain,
    is_published: bool,
    now: Time,
) -> OrganizationDomain {
    let is_same = match (&domain.ownership, &looked_at.ownership) {
        (Some(Ownership::Asked { value, .. }), Some(Ownership::Asked { value: seen, .. })) => value == seen,
        _ => false,
    };
    if let (true, Some(Ownership::Asked { value, attempts, expire_at })) = (is_same, domain.ownership.clone())
    {
        let attempts = attempts + 1;
        domain.ownership = Some(match is_published {
            true => Ownership::Proven { attempts, expire_at, verified_at: now },
            false => Ownership::Asked { value, attempts, expire_at },
        });
    }
    domain
}
