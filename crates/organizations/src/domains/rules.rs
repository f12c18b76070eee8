//! Decisions about domains of organizations. Pure: values in, values or problems out.

use latchkey_base::kinds::OrganizationDomainId;
use latchkey_base::text::{domain, domain_of, email};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::cx::Act;
use latchkey_kernel::hosts::registrable;
use latchkey_kernel::limits::{
    AFFILIATION_GUESSES, AFFILIATION_SENDINGS, AFFILIATION_TRIES_MS, DOMAINS_OF_ORGANIZATION,
};
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::providers::{Provider, provider_of};

use super::model::{Affiliation, AffiliationTries, DomainMode, OrganizationDomain, Ownership};
use crate::orgs::model::Organization;

/// Refuses everything about domains while they are off.
pub fn check_enabled(settings: &Settings) -> Result<()> {
    match settings.organizations.domains {
        true => Ok(()),
        false => Err(Error::new(Code::OrganizationDomainsNotEnabled).saying(
            "Domains of organizations are not enabled for this instance. Enable them with `latchkey settings set organizations.domains=true`.",
        )),
    }
}

/// How people join by themselves who have an address of a domain, if they do: it is verified, and the settings allow
/// its mode.
pub fn enrols(domain: &OrganizationDomain, settings: &Settings) -> Option<EnrollmentMode> {
    let on = &settings.organizations;
    domain.enrols().filter(|mode| on.enabled && on.domains && on.domain_enrollment_modes.contains(mode))
}

/// A name that an organization can have, as DNS knows it.
pub fn name(text: &str) -> Result<String> {
    let name = domain(text.trim()).filter(|name| registrable(name).is_some()).ok_or_else(|| {
        Error::param(Code::FormParamFormatInvalid, "name")
            .saying("It must be the name of a domain, such as `example.com`.")
    })?;
    match provider_of(&name) {
        None => Ok(name),
        Some(Provider::Common) => Err(Error::param(Code::OrganizationDomainCommon, "name").saying(format!(
            "Anybody can have an address at {name}. Name a domain that only the organization uses."
        ))),
        Some(Provider::Disposable) => Err(Error::param(Code::OrganizationDomainBlocked, "name").saying(
            format!("{name} gives out addresses for a short time. Name a domain that the organization owns."),
        )),
    }
}

/// The mode of a name, if the settings allow it.
pub fn mode(text: &str, settings: &Settings) -> Result<DomainMode> {
    let mode = DomainMode::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(unknown_mode)?;
    match mode.setting() {
        Some(needed) if !settings.organizations.domain_enrollment_modes.contains(&needed) => {
            Err(Error::param(Code::OrganizationDomainEnrollmentModeNotEnabled, "enrollment_mode").saying(
                format!(
                    "The mode `{}` is not enabled for this instance. Add it to the setting `organizations.domain_enrollment_modes`.",
                    mode.name()
                ),
            ))
        }
        _ => Ok(mode),
    }
}

/// The same where none may be given: then people are invited by hand.
pub fn mode_or_default(text: Option<&str>, settings: &Settings) -> Result<DomainMode> {
    text.map_or(Ok(DomainMode::ManualInvitation), |text| mode(text, settings))
}

/// The refusal of a mode that there is not.
pub fn unknown_mode() -> Error {
    let names: Vec<&str> = DomainMode::ALL.iter().map(|mode| mode.name()).collect();
    Error::param(Code::FormParamValueInvalid, "enrollment_mode")
        .saying(format!("`enrollment_mode` must be one of: {}.", names.join(", ")))
}

/// A new domain.
pub fn create(
    organization: &Organization,
    name: String,
    enrollment_mode: DomainMode,
    is_verified: bool,
    act: &Act,
) -> OrganizationDomain {
    OrganizationDomain {
        instance: organization.instance.clone(),
        id: OrganizationDomainId::new(act.now, &*act.rng),
        organization: organization.id.clone(),
        name,
        enrollment_mode,
        affiliation: is_verified.then(|| confirmed(act.now)),
        affiliation_tries: None,
        ownership: None,
        created_at: act.now,
        updated_at: act.now,
    }
}

/// Refuses a domain that an organization has already, or one more than it may have.
pub fn check_new(held: &[OrganizationDomain], name: &str) -> Result<()> {
    if held.iter().any(|domain| domain.name == name) {
        return Err(Error::param(Code::OrganizationDomainAlreadyExistsSameOrganization, "name"));
    }
    match held.len() >= DOMAINS_OF_ORGANIZATION {
        true => Err(Error::new(Code::OrganizationDomainQuotaExceeded).saying(format!(
            "An organization may have at most {DOMAINS_OF_ORGANIZATION} domains. Delete one first."
        ))),
        false => Ok(()),
    }
}

/// The refusal of a name that another organization has.
pub fn taken() -> Error {
    Error::param(Code::OrganizationDomainAlreadyExists, "name")
        .saying("Another organization of this instance has verified this domain.")
}

/// A domain of which the application says whether it is the organization's. A proof that there is stays.
pub fn verified(mut domain: OrganizationDomain, is_verified: bool, now: Time) -> OrganizationDomain {
    match (domain.is_verified(), is_verified) {
        (false, true) => domain.affiliation = Some(confirmed(now)),
        (true, false) => domain.affiliation = None,
        _ => (),
    }
    domain
}

/// A domain of which the application says that the organization owns it. A proof that there is stays.
pub fn owned(mut domain: OrganizationDomain, now: Time) -> OrganizationDomain {
    if !domain.ownership.as_ref().is_some_and(Ownership::is_verified) {
        domain.ownership = Some(Ownership::Overridden { verified_at: now });
    }
    domain
}

fn confirmed(now: Time) -> Affiliation {
    Affiliation { email_address: None, challenge: Challenge::proven(Strategy::Admin, now) }
}

/// What was done today to prove the affiliation of a domain. Refuses any more guesses when there were too many: who has
/// one address of the domain after the other written to would have three guesses at each otherwise.
pub fn tries(domain: &OrganizationDomain, now: Time) -> Result<AffiliationTries> {
    let day = 0..AFFILIATION_TRIES_MS;
    let current = domain.affiliation_tries.filter(|tries| day.contains(&(now.ms() - tries.since.ms())));
    let tries = current.unwrap_or(AffiliationTries { since: now, sent: 0, wrong: 0 });
    match tries.wrong < AFFILIATION_GUESSES {
        true => Ok(tries),
        false => Err(too_many_tries(tries, now)),
    }
}

/// The same with one code more that is sent.
pub fn tries_with_sending(domain: &OrganizationDomain, now: Time) -> Result<AffiliationTries> {
    let tries = tries(domain, now)?;
    match tries.sent < AFFILIATION_SENDINGS {
        true => Ok(AffiliationTries { sent: tries.sent + 1, ..tries }),
        false => Err(too_many_tries(tries, now)),
    }
}

fn too_many_tries(tries: AffiliationTries, now: Time) -> Error {
    let wait_seconds = (tries.since.ms() + AFFILIATION_TRIES_MS - now.ms() + 999) / 1000;
    Error::new(Code::VerificationCodeTooManyRequests)
        .saying(format!(
            "For one domain, {AFFILIATION_SENDINGS} codes can be sent in a day and {AFFILIATION_GUESSES} wrong ones be tried. Try again in {} h.",
            (wait_seconds + 3599) / 3600
        ))
        .retry_after(wait_seconds)
}

/// An address that can prove the affiliation of a domain.
pub fn affiliation_address(domain: &OrganizationDomain, text: &str) -> Result<String> {
    const PARAM: &str = "affiliation_email_address";
    let address = email(text.trim()).ok_or_else(|| {
        Error::param(Code::FormParamFormatInvalid, PARAM).saying("It must be an e-mail address.")
    })?;
    match domain_of(&address) == domain.name {
        true => Ok(address),
        false => Err(Error::param(Code::OrganizationDomainMismatch, PARAM)
            .saying(format!("The address must end in `@{}`.", domain.name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_domains_that_somebody_can_own() {
        assert_eq!(name(" Example.COM ").ok().as_deref(), Some("example.com"));
        assert_eq!(name("mail.bücher.example").ok().as_deref(), Some("mail.xn--bcher-kva.example"));
        let long = format!("{}.example.com", "a".repeat(64));
        for bad in [
            "",
            "localhost",
            "co.uk",
            "com",
            "a b.com",
            "http://a.com",
            "x@a.com",
            "10.0.0.1",
            "-a.com",
            &long,
        ] {
            assert_eq!(
                name(bad).err().map(|error| error.code()),
                Some(Code::FormParamFormatInvalid),
                "{bad}"
            );
        }
    }

    #[test]
    fn modes_by_which_people_join_themselves_need_a_setting() {
        let mut settings = Settings::default();
        assert_eq!(mode("manual_invitation", &settings).ok(), Some(DomainMode::ManualInvitation));
        let refused = |text, settings: &Settings| mode(text, settings).err().map(|error| error.code());
        let off = Some(Code::OrganizationDomainEnrollmentModeNotEnabled);
        assert_eq!(refused("automatic_invitation", &settings), off);
        settings.organizations.domain_enrollment_modes = vec![EnrollmentMode::AutomaticInvitation];
        assert_eq!(refused("automatic_invitation", &settings), None);
        assert_eq!(refused("automatic_suggestion", &settings), off);
        assert_eq!(refused("automatic", &settings), Some(Code::FormParamValueInvalid));
    }
}
