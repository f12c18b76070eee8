//! Decisions about link tokens of admin portals. Pure: values in, values or problems out.

use latchkey_base::kinds::OrganizationId;
use latchkey_base::rng::{Rng, bytes};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Id, Problem, Result, Time};
use latchkey_jose::digest::sha256;
use latchkey_kernel::cx::Act;
use latchkey_kernel::derived::derived;
use latchkey_kernel::limits::{PORTAL_LINK_SECONDS, PORTAL_LINK_TEXT_CHARS};

use super::input::CreatePortalLinkToken;
use super::model::{PortalLinkDetails, PortalLinkToken, PortalLinkTokenId, Revocation};

/// Characters of the random part of a token; 32 of 62 make 190 bits.
const TOKEN_LENGTH: usize = 32;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The organization a new token is for, if it is for one.
pub fn organization(input: &CreatePortalLinkToken) -> Result<Option<OrganizationId>> {
    match &input.organization_id {
        Some(text) => Id::parse(text).map(Some).ok_or_else(unknown_organization),
        None => Ok(None),
    }
}

/// The refusal of a token for an organization that is not there. A 404 is not published here.
pub fn unknown_organization() -> Error {
    Error::param(Code::FormResourceNotFound, "organization_id").saying("There is no such organization.")
}

/// A new token, and what is shown of it once.
pub fn create(
    input: CreatePortalLinkToken,
    organization: Option<OrganizationId>,
    act: &Act,
) -> Result<(PortalLinkToken, Secret)> {
    let mut problems = Vec::new();
    check_text("it_contact_id", input.it_contact_id.as_deref(), &mut problems);
    for scope in input.scopes.iter().flatten() {
        check_text("scopes", Some(scope), &mut problems);
    }
    problems.truncate(1);
    Error::collect(problems)?;
    let secret = secret(&*act.rng);
    let seconds = input.seconds_until_expiration.unwrap_or(PORTAL_LINK_SECONDS);
    let subject = organization.as_ref().map_or("", |id| id.as_str());
    let token = PortalLinkToken {
        instance: act.instance.clone(),
        id: PortalLinkTokenId::new(&*act.rng),
        link: derived(&act.instance, &format!("admin_portal/{subject}")),
        organization,
        key: act.key.clone(),
        digest: digest(&secret),
        details: PortalLinkDetails {
            it_contact: input.it_contact_id,
            scopes: input.scopes,
            revocation: None,
            updated_at: act.now,
        },
        expire_at: act.now.plus_ms(seconds * 1000),
        created_at: act.now,
    };
    Ok((token, secret))
}

/// Makes a token good for nothing. The first reason stays.
pub fn revoke(token: PortalLinkToken, reason: Option<String>, now: Time) -> Result<PortalLinkToken> {
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > PORTAL_LINK_TEXT_CHARS) {
        return Err(too_long("revocation_reason").into());
    }
    match token.details.revocation {
        Some(_) => Ok(token),
        None => {
            let revocation = Some(Revocation { reason });
            let details = PortalLinkDetails { revocation, updated_at: now, ..token.details };
            Ok(PortalLinkToken { details, ..token })
        }
    }
}

/// What is kept of a token.
pub fn digest(token: &Secret) -> Vec<u8> {
    sha256(token.expose().as_bytes()).to_vec()
}

fn secret(rng: &dyn Rng) -> Secret {
    let mut text = "aplt_".to_owned();
    let length = text.len() + TOKEN_LENGTH;
    while text.len() < length {
        // Bytes past the last whole multiple of 62 would favour some characters.
        let [byte] = bytes::<1>(rng);
        if byte < 248 {
            text.push(char::from(ALPHABET[usize::from(byte % 62)]));
        }
    }
    Secret::new(text)
}

fn check_text(param: &str, text: Option<&str>, problems: &mut Vec<Problem>) {
    match text {
        Some("") => problems.push(
            Problem::of(Code::FormParamNil, param).saying(format!("`{param}` must not be an empty text.")),
        ),
        Some(text) if text.chars().count() > PORTAL_LINK_TEXT_CHARS => problems.push(too_long(param)),
        _ => (),
    }
}

fn too_long(param: &str) -> Problem {
    Problem::of(Code::FormParamMaxLengthExceeded, param)
        .saying(format!("`{param}` has at most {PORTAL_LINK_TEXT_CHARS} characters."))
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn tokens_and_ids_have_the_published_forms() {
        let rng = SeededRng::new(3);
        let (token, other) = (secret(&rng), secret(&rng));
        assert!(token.expose().starts_with("aplt_") && token.expose().len() == 37);
        assert_ne!(token.expose(), other.expose());
        let id = PortalLinkTokenId::new(&rng);
        assert_eq!(PortalLinkTokenId::parse(&id.as_str().to_uppercase().replace("APLT_", "aplt_")), Some(id));
        for bad in ["", "aplt_", "aplt_12", "apl_0123456789abcdef0123456789abcdef"] {
            assert_eq!(PortalLinkTokenId::parse(bad), None, "{bad}");
        }
        assert_eq!(PortalLinkTokenId::parse(&format!("aplt_{}", "g".repeat(32))), None);
    }
}
