//! The proof that a domain is an organization's: a code that was sent to an address of it.

use axum::response::Response;
use latchkey_base::kinds::{OrganizationDomainId, OrganizationId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::ATTEMPT_MS;
use latchkey_kernel::strategy::Strategy;
use latchkey_letters::model::Channel;
use latchkey_messaging::messages::model::{Asker, Recipient};
use latchkey_messaging::messages::{rules as messages, sending as outgoing};
use latchkey_organizations::domains::model::{
    Affiliation, AffiliationTries, DomainParts, OrganizationDomain,
};
use latchkey_organizations::domains::{change, rules, store};
use latchkey_organizations::orgs::model::Organization;
use latchkey_organizations::orgs::view::image_url;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::challenges::rules as challenges;
use latchkey_people::users::model::ContactKind;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::domains::{managed, show};
use super::member::Member;

/// Body of `prepareOrganizationDomainVerification`.
#[derive(Deserialize, JsonSchema)]
pub struct PrepareAffiliation {
    /// An address of the domain. The code is sent there.
    affiliation_email_address: String,
}

/// Body of `attemptOrganizationDomainVerification`.
#[derive(Deserialize, JsonSchema)]
pub struct AttemptAffiliation {
    /// The code.
    code: Secret,
}

pub async fn prepare(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
    Form(input): Form<PrepareAffiliation>,
) -> Response {
    let locale = person.user.locale.clone();
    let prepared = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move {
            prepared(tx, act, member, &domain, &input.affiliation_email_address, locale.as_deref()).await
        })
    });
    let prepared = prepared.await;
    show(&cx, &person, prepared).await
}

async fn prepared(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    domain: &OrganizationDomainId,
    address: &str,
    locale: Option<&str>,
) -> Result<DomainParts> {
    let before = change::found(tx, act, &member.organization.id, domain).await?;
    if before.is_verified() {
        return Err(Error::new(Code::VerificationAlreadyVerified));
    }
    change::check_free(tx, &before).await?;
    let address = rules::affiliation_address(&before, address)?;
    let affiliation_tries = Some(rules::tries_with_sending(&before, act.now)?);
    let challenge = send(tx, act, &member.organization, &before, &address, locale).await?;
    let affiliation = Some(Affiliation { email_address: Some(address), challenge });
    let after = OrganizationDomain { affiliation, affiliation_tries, ..before.clone() };
    change::save(tx, act, (&member.access, &member.organization), (&before, after)).await
}

async fn send(
    tx: &mut Tx,
    act: &Act,
    organization: &Organization,
    domain: &OrganizationDomain,
    address: &str,
    locale: Option<&str>,
) -> Result<Challenge> {
    let target =
        challenges::ChallengeTarget { kind: ContactKind::Email, value: address, identification: None };
    // What was sent is counted for a day, as for the addresses of users.
    let last = domain.affiliation.as_ref().map(|affiliation| &affiliation.challenge);
    let previous = last.filter(|last| (0..ATTEMPT_MS).contains(&(act.now.ms() - last.sent_at.ms())));
    let prepared = challenges::code(act, Strategy::EmailCode, &target, previous)?;
    if prepared.is_sent {
        // Whose the address is nobody knows yet; it need not be the one who asks.
        let to =
            Recipient { account: None, channel: Channel::Email, to: address, identification: None, locale };
        let logo = image_url(organization, &act.api_url);
        let message = messages::affiliation_code(act, to, &prepared.secret, (&organization.name, &logo));
        outgoing::send_asked(tx, act, Asker::Stranger, message).await?;
    }
    Ok(prepared.challenge)
}

pub async fn attempt(
    cx: Cx,
    person: Person,
    Path((id, domain)): Path<(OrganizationId, OrganizationDomainId)>,
    Form(input): Form<AttemptAffiliation>,
) -> Response {
    let tried = managed(&cx, &person, id, move |tx, act, member| {
        Box::pin(async move { tried(tx, act, member, &domain, &input.code).await })
    });
    let tried = tried.await;
    show(&cx, &person, tried.and_then(|outcome| outcome)).await
}

/// Tries a code. A wrong one counts, so it is saved although the answer is a refusal.
async fn tried(
    tx: &mut Tx,
    act: &Act,
    member: &Member,
    id: &OrganizationDomainId,
    code: &Secret,
) -> Result<Result<DomainParts>> {
    let before = change::found(tx, act, &member.organization.id, id).await?;
    if before.is_verified() {
        return Err(Error::new(Code::VerificationAlreadyVerified));
    }
    let Some(asked) = before.affiliation.clone() else {
        return Err(Error::new(Code::VerificationNotSent));
    };
    let (earlier, tries) = (asked.challenge.attempts, rules::tries(&before, act.now)?);
    let outcome = challenges::attempt_code(&act.master, asked.challenge, code, act.now)?;
    // One that is over tells nothing about the code, so trying it is no guess.
    let guesses = outcome.challenge.attempts - earlier;
    let affiliation = Some(Affiliation { challenge: outcome.challenge, ..asked });
    let after = OrganizationDomain { affiliation, ..before.clone() };
    match outcome.refusal {
        Some(refusal) => {
            let affiliation_tries = Some(AffiliationTries { wrong: tries.wrong + guesses, ..tries });
            store::save(tx, &OrganizationDomain { affiliation_tries, ..after }).await?;
            Ok(Err(refusal))
        }
        None => {
            let to = (&member.access, &member.organization);
            change::save(tx, act, to, (&before, after)).await.map(Ok)
        }
    }
}
