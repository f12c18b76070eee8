//! Tokens of a session whose claims a template of the application decides.

use latchkey_base::{Code, Error, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::App;
use latchkey_kernel::limits::MEMBERSHIPS_SHOWN;
use latchkey_kernel::slow::WorkOwner;
use latchkey_organizations::access::store as access;
use latchkey_organizations::memberships::model::ActiveMembership;
use latchkey_organizations::memberships::store as memberships;
use latchkey_organizations::orgs::view as organizations;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::model::SessionStatus;
use super::present::PresentSession;
use super::tokens::token_id;
use crate::jwt_templates::scope::{ShortcodeScope, TokenOrganization, TokenSession};
use crate::jwt_templates::{own_keys, rules, store};

/// The shortcode of all organizations of a user, which nothing else needs to be read for.
const ORGANIZATIONS: &str = "user.organizations";

/// Whom a token is for, and who asks.
pub struct TokenRequest<'a> {
    pub now: Time,
    /// Who asks, when it takes long to sign it.
    pub owner: WorkOwner,
    /// Who vouches for it.
    pub issuer: &'a str,
    /// The origin of the page that asked, if one did.
    pub origin: Option<&'a str>,
    /// Where pictures are served.
    pub api_url: &'a str,
    /// How long it is good for, if not as long as the template says.
    pub lifetime_seconds: Option<i64>,
}

/// Mints a token from the template of that name.
pub async fn mint(
    app: &App,
    present: &PresentSession,
    name: &str,
    request: &TokenRequest<'_>,
) -> Result<String> {
    let PresentSession { session, user, .. } = present;
    // Their claims do not tell that something is left to do, so everybody would take them for complete.
    if session.status_at(request.now) == SessionStatus::Pending {
        return Err(
            Error::new(Code::SignedOut).saying("The session has tasks left; it gives no such tokens.")
        );
    }
    let mut tx = app.db.read().await?;
    let found = store::find_by_name(&mut tx, &session.instance, name).await?;
    let mut template = found.ok_or_else(|| {
        Error::new(Code::ResourceNotFound).saying("The instance has no JWT template of that name.")
    })?;
    let signer = app.signer(&mut tx, &session.instance, request.now).await?;
    let roles = match needs_roles(&template.claims) {
        true => roles(&mut tx, present).await?,
        false => Map::new(),
    };
    drop(tx);
    template.lifetime_seconds = request.lifetime_seconds.unwrap_or(template.lifetime_seconds);
    let scope = scope_of(present, roles, request.api_url)?;
    let id = token_id(&*app.rng);
    let claims = rules::claims(&template, &scope, request.now, request.issuer, &user.id, request.origin, id)?;
    match template.signing.is_custom() {
        true => own_keys::sign(app, &request.owner, template, claims).await,
        false => rules::sign(&template, rules::TemplateSigner::Instance(&signer.key, &signer.kid), &claims),
    }
}

/// Whether claims name the organizations of the user.
pub fn needs_roles(claims: &Map<String, Value>) -> bool {
    claims.values().any(|claim| mentions(claim, ORGANIZATIONS))
}

/// The roles of a user, by the id of the organization.
pub async fn roles(tx: &mut Tx, present: &PresentSession) -> Result<Map<String, Value>> {
    let instance = &present.session.instance;
    let all = memberships::roles_of_user(tx, instance, &present.user.id, MEMBERSHIPS_SHOWN + 1).await?;
    check_count(all.len())?;
    let access = access::find(tx, instance).await?;
    let named = all.iter().filter_map(|(organization, role)| {
        let role = access.role(role)?;
        Some((organization.to_string(), json!(role.key)))
    });
    Ok(named.collect())
}

/// Refuses a claim that cannot name all organizations of a user: read as complete, it would hide some of them.
pub fn check_count(organizations: usize) -> Result<()> {
    match organizations <= MEMBERSHIPS_SHOWN as usize {
        true => Ok(()),
        false => Err(Error::param(Code::FormParamExceedsAllowedSize, "claims").saying(format!(
            "`{ORGANIZATIONS}` names at most {MEMBERSHIPS_SHOWN} organizations, and the user is a member of more. Use \
             `org.id` and `org.role` instead."
        ))),
    }
}

/// Whether a text stands anywhere in a value.
fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(held) => held.contains(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What the claims of a session's tokens can refer to.
pub fn scope_of<'a>(
    present: &'a PresentSession,
    roles: Map<String, Value>,
    api_url: &'a str,
) -> Result<ShortcodeScope<'a>> {
    let session = &present.session;
    let scope =
        ShortcodeScope::of(&present.user, api_url).with_organizations(roles).with_session(TokenSession {
            id: &session.id,
            actor: session.actor.as_ref(),
            reverification_id: None,
        });
    Ok(match &present.active {
        Some(active) => scope.with_organization(organization(active, api_url)?),
        None => scope,
    })
}

fn organization<'a>(active: &'a ActiveMembership, api_url: &str) -> Result<TokenOrganization<'a>> {
    let parsed = |metadata: &RawValue| serde_json::from_str(metadata.get()).map_err(Error::internal);
    let organization = &active.organization;
    Ok(TokenOrganization {
        id: organization.id.as_str(),
        name: &organization.name,
        slug: organization.slug.as_deref(),
        image_url: organizations::image_url(organization, api_url),
        has_image: organization.image.is_some(),
        public_metadata: parsed(&organization.public_metadata)?,
        role: active.role().map(|role| role.key.as_str()),
        permissions: active.permissions(),
        membership_public_metadata: parsed(&active.membership.metadata.public_metadata)?,
    })
}
