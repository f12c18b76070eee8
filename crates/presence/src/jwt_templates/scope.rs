//! What shortcodes can refer to: a user, a session, and the organization the user works for.
//!
//! Private metadata is not among it: tokens are read by browsers.

use std::borrow::Cow;
use std::sync::OnceLock;

use latchkey_base::kinds::SessionId;
use latchkey_people::users::model::{Contacts, User};
use latchkey_people::users::view::image_url;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What shortcodes are looked up in. What is absent is null.
#[derive(Default)]
pub struct ShortcodeScope<'a> {
    user: Option<(&'a User, &'a str)>,
    session: Option<TokenSession<'a>>,
    organization: Option<TokenOrganization<'a>>,
    /// Roles by the ids of the organizations the user is a member of.
    organizations: Map<String, Value>,
    public_metadata: OnceLock<Value>,
    unsafe_metadata: OnceLock<Value>,
}

/// The session a token is made for.
pub struct TokenSession<'a> {
    pub id: &'a SessionId,
    /// Who acts as the user, if it is somebody else.
    pub actor: Option<&'a Map<String, Value>>,
    /// The proving of factors anew that is under way.
    pub reverification_id: Option<&'a str>,
}

/// The organization the user works for at the moment, and the user's membership in it.
pub struct TokenOrganization<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub slug: Option<&'a str>,
    /// Where its picture is.
    pub image_url: String,
    /// Whether the picture was uploaded.
    pub has_image: bool,
    pub public_metadata: Value,
    /// The user's role, such as `org:admin`; none if it was deleted just now.
    pub role: Option<&'a str>,
    /// What the role may do.
    pub permissions: Vec<&'a str>,
    pub membership_public_metadata: Value,
}

impl<'a> ShortcodeScope<'a> {
    /// A scope of a user. Pictures are served below `api_url`.
    pub fn of(user: &'a User, api_url: &'a str) -> ShortcodeScope<'a> {
        ShortcodeScope { user: Some((user, api_url)), ..ShortcodeScope::default() }
    }

    /// A scope in which everything is null.
    pub fn of_nobody() -> ShortcodeScope<'a> {
        ShortcodeScope::default()
    }

    /// The same with a session.
    pub fn with_session(self, session: TokenSession<'a>) -> ShortcodeScope<'a> {
        ShortcodeScope { session: Some(session), ..self }
    }

    /// The same with the organization the user works for.
    pub fn with_organization(self, organization: TokenOrganization<'a>) -> ShortcodeScope<'a> {
        ShortcodeScope { organization: Some(organization), ..self }
    }

    /// The same with the roles the user has, by the id of the organization.
    pub fn with_organizations(self, organizations: Map<String, Value>) -> ShortcodeScope<'a> {
        ShortcodeScope { organizations, ..self }
    }

    /// The value at a path such as `user.public_metadata.plan`; null when there is none.
    pub fn look_up(&self, path: &str) -> Cow<'_, Value> {
        let mut parts = path.split('.');
        let (root, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let start = match root {
            "user" => self.user(name),
            "org" => self.organization(name),
            "org_membership" => self.membership(name),
            "session" => self.session(name),
            _ => null(),
        };
        parts.fold(start, inner)
    }

    fn user(&self, name: &str) -> Cow<'_, Value> {
        let Some((user, api_url)) = self.user else { return null() };
        let value = match name {
            "id" => json!(user.id),
            "external_id" => json!(user.external_id),
            "first_name" => json!(user.first_name),
            "last_name" => json!(user.last_name),
            "full_name" => json!(full_name(user)),
            "username" => json!(user.username.as_ref().map(|username| &username.value)),
            "image_url" => json!(image_url(user, api_url)),
            "has_image" => json!(user.image.is_some()),
            "primary_email_address" => primary(&user.email_addresses),
            // The documentation of Clerk once calls it an address.
            "primary_phone_number" | "primary_phone_address" => primary(&user.phone_numbers),
            "primary_web3_wallet" => primary(&user.web3_wallets),
            "email_verified" => is_verified(&user.email_addresses),
            "phone_number_verified" => is_verified(&user.phone_numbers),
            "two_factor_enabled" => json!(user.has_second_factor()),
            // In seconds, as all times in tokens are; OpenID Connect has an `updated_at` that must be.
            "created_at" => json!(user.created_at.seconds()),
            "updated_at" => json!(user.updated_at.seconds()),
            "last_sign_in_at" => json!(user.last_sign_in_at.map(|at| at.seconds())),
            "public_metadata" => return parsed(&self.public_metadata, &user.public_metadata),
            "unsafe_metadata" => return parsed(&self.unsafe_metadata, &user.unsafe_metadata),
            "organizations" => json!(self.organizations),
            _ => Value::Null,
        };
        Cow::Owned(value)
    }

    fn organization(&self, name: &str) -> Cow<'_, Value> {
        let Some(organization) = &self.organization else { return null() };
        let value = match name {
            "id" => json!(organization.id),
            "name" => json!(organization.name),
            "slug" => json!(organization.slug),
            "role" => json!(organization.role),
            "image_url" => json!(organization.image_url),
            "has_image" => json!(organization.has_image),
            "public_metadata" => return Cow::Borrowed(&organization.public_metadata),
            _ => Value::Null,
        };
        Cow::Owned(value)
    }

    fn membership(&self, name: &str) -> Cow<'_, Value> {
        let Some(organization) = &self.organization else { return null() };
        match name {
            "role" => Cow::Owned(json!(organization.role)),
            "permissions" => Cow::Owned(json!(organization.permissions)),
            "public_metadata" => Cow::Borrowed(&organization.membership_public_metadata),
            _ => null(),
        }
    }

    fn session(&self, name: &str) -> Cow<'_, Value> {
        let Some(session) = &self.session else { return null() };
        Cow::Owned(match name {
            "id" => json!(session.id),
            "actor" => json!(session.actor),
            "reverification_id" => json!(session.reverification_id),
            _ => Value::Null,
        })
    }
}

fn null<'a>() -> Cow<'a, Value> {
    Cow::Owned(Value::Null)
}

/// What an object has under `key`.
fn inner<'a>(value: Cow<'a, Value>, key: &str) -> Cow<'a, Value> {
    match value {
        Cow::Borrowed(value) => value.get(key).map_or_else(null, Cow::Borrowed),
        Cow::Owned(Value::Object(mut fields)) => fields.remove(key).map_or_else(null, Cow::Owned),
        Cow::Owned(_) => null(),
    }
}

/// Metadata as JSON. A template may refer to it many times, so it is parsed once.
fn parsed<'a>(parsed: &'a OnceLock<Value>, raw: &RawValue) -> Cow<'a, Value> {
    Cow::Borrowed(parsed.get_or_init(|| serde_json::from_str(raw.get()).unwrap_or_default()))
}

fn full_name(user: &User) -> Option<String> {
    let names: Vec<&str> =
        [&user.first_name, &user.last_name].into_iter().filter_map(|name| name.as_deref()).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

fn primary(contacts: &Contacts) -> Value {
    json!(contacts.primary().map(|contact| &contact.value))
}

fn is_verified(contacts: &Contacts) -> Value {
    json!(contacts.primary().is_some_and(|contact| contact.is_verified()))
}
