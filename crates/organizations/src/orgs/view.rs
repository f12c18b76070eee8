//! How an organization looks on the wire, in the newest version.

use latchkey_base::Time;
use latchkey_base::kinds::OrganizationId;
use latchkey_kernel::object;
use latchkey_people::images::drawn_url;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::model::Organization;
use crate::access::model::Access;

/// What the view of an organization shows besides, when it was asked for.
#[derive(Clone, Copy, Default)]
pub struct OrganizationExtras {
    pub members_count: Option<i64>,
    pub missing_member_with_elevated_permissions: Option<bool>,
}

/// An organization as backends see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Organization")]
pub struct OrganizationView<'a> {
    object: OrganizationObject,
    id: &'a OrganizationId,
    name: &'a str,
    slug: &'a str,
    image_url: String,
    has_image: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    members_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    missing_member_with_elevated_permissions: Option<bool>,
    max_allowed_memberships: i64,
    admin_delete_enabled: bool,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    #[schemars(with = "Map<String, Value>")]
    private_metadata: &'a RawValue,
    created_by: &'a str,
    created_at: Time,
    updated_at: Time,
    role_set_key: Option<&'a str>,
}

object!(OrganizationObject, "organization");

pub fn organization<'a>(
    organization: &'a Organization,
    access: &'a Access,
    shown: OrganizationExtras,
    api_url: &str,
) -> OrganizationView<'a> {
    OrganizationView {
        object: OrganizationObject::It,
        id: &organization.id,
        name: &organization.name,
        slug: organization.slug.as_deref().unwrap_or_default(),
        image_url: image_url(organization, api_url),
        has_image: organization.image.is_some(),
        members_count: shown.members_count,
        missing_member_with_elevated_permissions: shown.missing_member_with_elevated_permissions,
        max_allowed_memberships: organization.max_allowed_memberships,
        admin_delete_enabled: organization.admin_delete_enabled,
        public_metadata: &organization.public_metadata,
        private_metadata: &organization.private_metadata,
        created_by: organization.created_by.as_ref().map_or("", |id| id.as_str()),
        created_at: organization.created_at,
        updated_at: organization.updated_at,
        role_set_key: access.role_set(&organization.role_set).map(|set| set.key.as_str()),
    }
}

/// An organization as its members see it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendOrganization")]
pub struct FrontendOrganizationView<'a> {
    object: OrganizationObject,
    id: &'a OrganizationId,
    name: &'a str,
    slug: &'a str,
    image_url: String,
    has_image: bool,
    members_count: i64,
    pending_invitations_count: i64,
    max_allowed_memberships: i64,
    admin_delete_enabled: bool,
    /// Organizations cannot set up single sign-on by themselves.
    self_serve_sso_enabled: bool,
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
    created_at: Time,
    updated_at: Time,
    /// The same as `image_url`, unless that one is drawn.
    logo_url: Option<String>,
}

/// Shows an organization to its members. `pending_invitations` is what `count_pending_invitations` says.
pub fn frontend<'a>(
    organization: &'a Organization,
    pending_invitations: i64,
    api_url: &str,
) -> FrontendOrganizationView<'a> {
    let image_url = image_url(organization, api_url);
    FrontendOrganizationView {
        object: OrganizationObject::It,
        id: &organization.id,
        name: &organization.name,
        slug: organization.slug.as_deref().unwrap_or_default(),
        has_image: organization.image.is_some(),
        logo_url: organization.image.is_some().then(|| image_url.clone()),
        image_url,
        members_count: organization.members_count,
        pending_invitations_count: pending_invitations,
        max_allowed_memberships: organization.max_allowed_memberships,
        admin_delete_enabled: organization.admin_delete_enabled,
        self_serve_sso_enabled: false,
        public_metadata: &organization.public_metadata,
        created_at: organization.created_at,
        updated_at: organization.updated_at,
    }
}

/// An organization with the address of its logo a second time, as uploading one answers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationWithLogo")]
pub struct OrganizationWithLogoView<'a> {
    #[serde(flatten)]
    organization: OrganizationView<'a>,
    logo_url: String,
}

pub fn with_logo(organization: OrganizationView<'_>) -> OrganizationWithLogoView<'_> {
    OrganizationWithLogoView { logo_url: organization.image_url.clone(), organization }
}

/// What people who are no members may know of an organization.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PublicOrganizationData")]
pub struct PublicOrganizationView<'a> {
    id: &'a OrganizationId,
    name: &'a str,
    slug: &'a str,
    image_url: String,
    has_image: bool,
}

pub fn public<'a>(organization: &'a Organization, api_url: &str) -> PublicOrganizationView<'a> {
    PublicOrganizationView {
        id: &organization.id,
        name: &organization.name,
        slug: organization.slug.as_deref().unwrap_or_default(),
        image_url: image_url(organization, api_url),
        has_image: organization.image.is_some(),
    }
}

/// The URL of the logo, or of a drawn one.
pub fn image_url(organization: &Organization, api_url: &str) -> String {
    if let Some(image) = &organization.image {
        return format!("{api_url}/images/{}/{image}", organization.instance);
    }
    drawn_url(api_url, organization.id.as_str(), latchkey_images::initials(Some(&organization.name), None))
}

/// What is left of a deleted organization, for those who heard of it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeletedOrganization")]
pub struct DeletedOrganizationView<'a> {
    object: OrganizationObject,
    id: &'a OrganizationId,
    slug: &'a str,
    deleted: bool,
}

pub fn deleted(organization: &Organization) -> DeletedOrganizationView<'_> {
    DeletedOrganizationView {
        object: OrganizationObject::It,
        id: &organization.id,
        slug: organization.slug.as_deref().unwrap_or_default(),
        deleted: true,
    }
}
