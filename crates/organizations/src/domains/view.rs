//! How a domain of an organization looks on the wire, in the newest version.

use latchkey_base::Time;
use latchkey_base::kinds::{OrganizationDomainId, OrganizationId};
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::{object, word};
use latchkey_people::challenges::model::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{Affiliation, DomainMode, DomainParts, Ownership};
use super::ownership::TxtRecord;
use crate::orgs::view::{PublicOrganizationView, public};

word!(DomainMode: ManualInvitation, AutomaticInvitation, AutomaticSuggestion, EnterpriseSso);
object!(DomainObject, "organization_domain");

/// A domain; `O` is how its ownership is shown.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomain")]
pub struct DomainViewWith<'a, O> {
    object: DomainObject,
    id: &'a OrganizationDomainId,
    organization_id: &'a OrganizationId,
    name: &'a str,
    enrollment_mode: DomainMode,
    affiliation_email_address: Option<&'a str>,
    affiliation_verification: Option<DomainVerificationView>,
    ownership_verification: Option<O>,
    /// The same as `affiliation_verification`, by its former name.
    verification: Option<DomainVerificationView>,
    total_pending_invitations: i64,
    total_pending_suggestions: i64,
    public_organization_data: PublicOrganizationView<'a>,
    created_at: Time,
    updated_at: Time,
}

/// A domain as backends see it.
pub type DomainView<'a> = DomainViewWith<'a, DomainVerificationView>;
/// A domain as members see it.
pub type FrontendDomainView<'a> = DomainViewWith<'a, OwnershipView>;

/// A proof about a domain.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomainVerification")]
pub struct DomainVerificationView {
    status: DomainVerificationStatus,
    strategy: &'static str,
    attempts: Option<i64>,
    expire_at: Option<Time>,
    verified_at: Option<Time>,
}

/// Where a proof stands.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum DomainVerificationStatus {
    Unverified,
    Verified,
    Failed,
    Expired,
}

/// The proof of ownership with the record that is to be published.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationDomainOwnershipVerification")]
pub struct OwnershipView {
    #[serde(flatten)]
    verification: DomainVerificationView,
    txt_record_name: Option<String>,
    txt_record_value: Option<String>,
}

pub fn domain<'a>(parts: &'a DomainParts, now: Time, api_url: &str) -> DomainView<'a> {
    with(parts, now, api_url, parts.domain.ownership.as_ref().map(|it| ownership(it, now)))
}

/// A domain as a member sees it, with the record of those who may publish it.
pub fn frontend<'a>(
    parts: &'a DomainParts,
    record: Option<TxtRecord>,
    now: Time,
    api_url: &str,
) -> FrontendDomainView<'a> {
    let ownership = parts.domain.ownership.as_ref().map(|it| {
        let (name, value) = record.map_or((None, None), |record| (Some(record.name), record.value));
        OwnershipView { verification: ownership(it, now), txt_record_name: name, txt_record_value: value }
    });
    with(parts, now, api_url, ownership)
}

fn with<'a, O>(
    parts: &'a DomainParts,
    now: Time,
    api_url: &str,
    ownership: Option<O>,
) -> DomainViewWith<'a, O> {
    let domain = &parts.domain;
    let proof = domain.affiliation.as_ref().map(|it| affiliation(it, now));
    DomainViewWith {
        object: DomainObject::It,
        id: &domain.id,
        organization_id: &domain.organization,
        name: &domain.name,
        enrollment_mode: domain.enrollment_mode,
        affiliation_email_address: domain.affiliation.as_ref().and_then(|it| it.email_address.as_deref()),
        affiliation_verification: proof.clone(),
        ownership_verification: ownership,
        verification: proof,
        total_pending_invitations: parts.pending_invitations,
        total_pending_suggestions: parts.pending_suggestions,
        public_organization_data: public(&parts.organization, api_url),
        created_at: domain.created_at,
        updated_at: domain.updated_at,
    }
}

fn affiliation(affiliation: &Affiliation, now: Time) -> DomainVerificationView {
    let challenge = &affiliation.challenge;
    let is_word = challenge.strategy == Strategy::Admin;
    DomainVerificationView {
        status: match challenge.state(now) {
            State::Unverified => DomainVerificationStatus::Unverified,
            State::Verified | State::Transferable => DomainVerificationStatus::Verified,
            State::Failed => DomainVerificationStatus::Failed,
            State::Expired => DomainVerificationStatus::Expired,
        },
        strategy: if is_word { "admin" } else { "affiliation_email_code" },
        attempts: (!is_word).then_some(challenge.attempts),
        expire_at: challenge.expire_at,
        verified_at: None,
    }
}

fn ownership(ownership: &Ownership, now: Time) -> DomainVerificationView {
    match ownership {
        Ownership::Asked { attempts, expire_at, .. } => DomainVerificationView {
            status: match *expire_at <= now {
                true => DomainVerificationStatus::Expired,
                false => DomainVerificationStatus::Unverified,
            },
            strategy: "txt",
            attempts: Some(*attempts),
            expire_at: Some(*expire_at),
            verified_at: None,
        },
        Ownership::Proven { attempts, expire_at, verified_at } => DomainVerificationView {
            status: DomainVerificationStatus::Verified,
            strategy: "txt",
            attempts: Some(*attempts),
            expire_at: Some(*expire_at),
            verified_at: Some(*verified_at),
        },
        Ownership::Overridden { verified_at } => DomainVerificationView {
            status: DomainVerificationStatus::Verified,
            strategy: "manual_override",
            attempts: None,
            expire_at: None,
            verified_at: Some(*verified_at),
        },
    }
}
