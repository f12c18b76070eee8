//! How tickets are written and read, and what becomes of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::id::{Id, Kind};
use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_jose::digest::{constant_time_eq, sha256};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::keyring::Signer;
use latchkey_kernel::settings::{Settings, TicketSettings};
use serde::{Deserialize, Serialize};

use super::model::{Grant, Ticket, TicketSource, TicketStatus};

const SIGN_IN_TOKEN: &str = "sign_in_token";
const ACTOR_TOKEN: &str = "actor_token";
const INVITATION: &str = "invitation";
const ORGANIZATION_INVITATION: &str = "organization_invitation";
/// Far longer than any ticket.
const LONGEST: usize = 4096;

/// What a ticket says.
#[derive(Serialize, Deserialize)]
struct Claims<'a> {
    /// Seconds it is good for.
    eis: i64,
    /// When it is no longer good, in seconds.
    exp: i64,
    /// The instance.
    iid: &'a str,
    /// What it is from.
    sid: &'a str,
    /// What kind of thing that is.
    st: &'a str,
}

/// The codes of what can be wrong with one kind of ticket.
pub struct Codes {
    /// It was used before.
    pub used: Code,
    /// It was taken back.
    pub revoked: Code,
    /// It cannot be taken back any more.
    pub not_revocable: Code,
}

/// Rejects actor tokens where the instance has them switched off.
pub fn check_actor_tokens(settings: &Settings) -> Result<()> {
    if settings.actor_tokens.enabled {
        return Ok(());
    }
    Err(Error::new(Code::FeatureNotEnabled).saying("Actor tokens are switched off."))
}

/// Returns for how many seconds a new token is good: as requested, or as `default` says. The instance bounds both.
pub fn lifetime_seconds(requested: Option<i64>, default: i64, settings: &TicketSettings) -> Result<i64> {
    let most = settings.max_lifetime_seconds;
    match requested {
        Some(seconds) if seconds > most => Err(Problem::of(Code::FormParamValueTooLarge, "expires_in_seconds")
            .saying(format!(
                "`expires_in_seconds` must be at most {most}, which is the setting `tickets.max_lifetime_seconds`."
            ))
            .into()),
        Some(seconds) => Ok(seconds),
        None => Ok(default.min(most)),
    }
}

/// Signs the ticket of a source, and makes the grant that will know it again.
pub fn issue(
    signer: &Signer,
    key: &SecretKey,
    source: &TicketSource,
    user: UserId,
    lifetime_seconds: i64,
    now: Time,
) -> Result<(Grant, String)> {
    let (ticket, expire_at) = sign(signer, &key.instance, source, lifetime_seconds, now)?;
    let grant = Grant {
        instance: key.instance.clone(),
        user,
        key: key.id.clone(),
        status: TicketStatus::Pending,
        digest: sha256(ticket.as_bytes()).to_vec(),
        expire_at,
        created_at: now,
        updated_at: now,
    };
    Ok((grant, ticket))
}

/// Signs the ticket of a source. Says until when it is good.
pub fn sign(
    signer: &Signer,
    instance: &InstanceId,
    source: &TicketSource,
    lifetime_seconds: i64,
    now: Time,
) -> Result<(String, Time)> {
    let (sid, st) = match source {
        TicketSource::SignInToken(id) => (id.as_str(), SIGN_IN_TOKEN),
        TicketSource::ActorToken(id) => (id.as_str(), ACTOR_TOKEN),
        TicketSource::Invitation(id) => (id.as_str(), INVITATION),
        TicketSource::OrganizationInvitation(id) => (id.as_str(), ORGANIZATION_INVITATION),
    };
    let expire_at = now.plus_ms(lifetime_seconds.saturating_mul(1000));
    let claims = Claims { eis: lifetime_seconds, exp: expire_at.seconds(), iid: instance.as_str(), sid, st };
    Ok((signer.sign_plain(&claims)?, expire_at))
}

/// Where a person goes with a ticket. It consists of letters that URLs may have.
pub fn url(frontend_url: &str, ticket: &str) -> String {
    format!("{frontend_url}/v1/tickets/accept?ticket={ticket}")
}

/// Reads a ticket that came back. Whether it is genuine shows when it is looked up.
pub fn read(text: &str) -> Result<Ticket> {
    parse(text).ok_or_else(invalid)
}

/// A ticket of an instance that is not what it seems.
pub fn invalid() -> Error {
    Error::param(Code::TicketInvalid, "ticket")
}

/// Refuses a ticket that cannot be used, or not any more.
pub fn check(grant: &Grant, ticket: &Ticket, codes: &Codes, now: Time) -> Result<()> {
    if !constant_time_eq(&grant.digest, &ticket.digest) {
        return Err(invalid());
    }
    let refusal = |code: Code| Err(Error::param(code, "ticket"));
    match grant.status {
        TicketStatus::Accepted => refusal(codes.used),
        TicketStatus::Revoked => refusal(codes.revoked),
        TicketStatus::Pending if grant.expire_at <= now => refusal(Code::TicketExpired),
        TicketStatus::Pending => Ok(()),
    }
}

/// Uses a ticket up.
pub fn accept(grant: Grant, ticket: &Ticket, codes: &Codes, now: Time) -> Result<Grant> {
    check(&grant, ticket, codes, now)?;
    Ok(Grant { status: TicketStatus::Accepted, updated_at: now, ..grant })
}

/// Takes a ticket back. Only one that nobody has used can be.
pub fn revoke(grant: Grant, codes: &Codes, now: Time) -> Result<Grant> {
    match grant.status {
        TicketStatus::Pending => Ok(Grant { status: TicketStatus::Revoked, updated_at: now, ..grant }),
        TicketStatus::Accepted | TicketStatus::Revoked => Err(Error::new(codes.not_revocable)
            .saying(format!("It is {} already; only a pending one can be revoked.", grant.status.name()))),
    }
}

fn parse(text: &str) -> Option<Ticket> {
    let mut parts = text.split('.');
    let (_, claims, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let json = URL_SAFE_NO_PAD.decode(claims).ok().filter(|_| text.len() <= LONGEST)?;
    let claims: Claims<'_> = serde_json::from_slice(&json).ok()?;
    let source = match claims.st {
        SIGN_IN_TOKEN => TicketSource::SignInToken(id(claims.sid)?),
        ACTOR_TOKEN => TicketSource::ActorToken(id(claims.sid)?),
        INVITATION => TicketSource::Invitation(id(claims.sid)?),
        ORGANIZATION_INVITATION => TicketSource::OrganizationInvitation(id(claims.sid)?),
        _ => return None,
    };
    Some(Ticket { source, digest: sha256(text.as_bytes()) })
}

fn id<K: Kind>(text: &str) -> Option<Id<K>> {
    Id::parse(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use latchkey_base::kinds::{ActorTokenId, SecretKeyId, SignInTokenId};
    use latchkey_base::rng::SeededRng;
    use latchkey_jose::rsa::SigningKey;
    use latchkey_kernel::environment::Environment;

    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);
    const CODES: Codes = Codes {
        used: Code::SignInTokenAlreadyUsed,
        revoked: Code::SignInTokenRevoked,
        not_revocable: Code::SignInTokenCannotBeRevoked,
    };

    fn issued(source: &TicketSource) -> (Grant, String) {
        let rng = SeededRng::new(1);
        let signer = Signer { kid: "ins_1".into(), key: Arc::new(SigningKey::generate().unwrap()) };
        let (instance, user) = (InstanceId::new(NOW, &rng), UserId::new(NOW, &rng));
        let (environment, settings) = (Environment::Development, Arc::default());
        let key = SecretKey { instance, id: Some(SecretKeyId::new(NOW, &rng)), environment, settings };
        let issued = issue(&signer, &key, source, user, 60, NOW).unwrap();
        assert_eq!(issued.0.key, key.id, "a ticket names the key that made it");
        issued
    }

    #[test]
    fn lifetime_is_bounded_by_the_instance() {
        let lifetime = |requested, most| {
            lifetime_seconds(requested, 3600, &TicketSettings { max_lifetime_seconds: most })
                .map_err(|error| error.code())
        };
        assert_eq!((lifetime(None, 7200), lifetime(None, 60)), (Ok(3600), Ok(60)));
        assert_eq!((lifetime(Some(7200), 7200), lifetime(Some(1), 60)), (Ok(7200), Ok(1)));
        assert_eq!(lifetime(Some(7201), 7200), Err(Code::FormParamValueTooLarge));
    }

    fn sign_in() -> TicketSource {
        TicketSource::SignInToken(SignInTokenId::new(NOW, &SeededRng::new(2)))
    }

    fn refusal(outcome: Result<Grant>) -> Code {
        outcome.unwrap_err().code()
    }

    #[test]
    fn a_ticket_is_used_once() {
        let (grant, text) = issued(&sign_in());
        let ticket = read(&text).unwrap();
        assert_eq!(ticket.source, sign_in());
        let used = accept(grant, &ticket, &CODES, NOW).unwrap();
        assert_eq!(used.status, TicketStatus::Accepted);
        assert_eq!(refusal(accept(used.clone(), &ticket, &CODES, NOW)), Code::SignInTokenAlreadyUsed);
        assert_eq!(refusal(revoke(used, &CODES, NOW)), Code::SignInTokenCannotBeRevoked);
    }

    #[test]
    fn a_ticket_ends_by_time_and_by_being_taken_back() {
        let (grant, text) = issued(&sign_in());
        let ticket = read(&text).unwrap();
        let last = NOW.plus_ms(59_999);
        assert!(accept(grant.clone(), &ticket, &CODES, last).is_ok());
        assert_eq!(refusal(accept(grant.clone(), &ticket, &CODES, last.plus_ms(1))), Code::TicketExpired);
        let revoked = revoke(grant, &CODES, NOW).unwrap();
        assert_eq!(refusal(accept(revoked.clone(), &ticket, &CODES, NOW)), Code::SignInTokenRevoked);
        assert_eq!(refusal(revoke(revoked, &CODES, NOW)), Code::SignInTokenCannotBeRevoked);
    }

    #[test]
    fn a_ticket_with_other_bytes_is_none() {
        let (grant, text) = issued(&sign_in());
        let parts: Vec<&str> = text.split('.').collect();
        for forged in [format!("{}.{}.", parts[0], parts[1]), format!("e30.{}.{}", parts[1], parts[2])] {
            assert_eq!(
                refusal(accept(grant.clone(), &read(&forged).unwrap(), &CODES, NOW)),
                Code::TicketInvalid
            );
        }
        for garbage in ["", "..", "a.b.c", "e30.e30.e30", &format!("{text}.x"), &"x".repeat(10_000)] {
            assert_eq!(read(garbage).unwrap_err().code(), Code::TicketInvalid);
        }
    }

    #[test]
    fn a_ticket_says_what_it_is_from() {
        let actor = TicketSource::ActorToken(ActorTokenId::new(NOW, &SeededRng::new(2)));
        assert_eq!(read(&issued(&actor).1).unwrap().source, actor);
        // The id of one kind under the name of another.
        let rng = SeededRng::new(3);
        let user = UserId::new(NOW, &rng);
        let claims = Claims { eis: 1, exp: 1, iid: "ins_1", sid: user.as_str(), st: SIGN_IN_TOKEN };
        let text = format!("e30.{}.", URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).unwrap()));
        assert!(read(&text).is_err());
    }
}
