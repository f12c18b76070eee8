//! How a connected account looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{ExternalAccountId, IdentificationId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::ExternalAccount;
use crate::challenges::model::Challenge;
use crate::challenges::view::{ChallengeView, verification};

object!(ExternalAccountObject, "external_account");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ExternalAccount")]
pub struct ExternalAccountView<'a> {
    object: ExternalAccountObject,
    id: &'a ExternalAccountId,
    provider: &'a str,
    identification_id: &'a IdentificationId,
    provider_user_id: &'a str,
    approved_scopes: &'a str,
    email_address: &'a str,
    email_address_verified: Option<bool>,
    first_name: &'a str,
    last_name: &'a str,
    avatar_url: &'a str,
    image_url: Option<&'a str>,
    username: Option<&'a str>,
    phone_number: Option<&'a str>,
    public_metadata: Map<String, Value>,
    label: Option<&'a str>,
    created_at: Time,
    updated_at: Time,
    verification: Option<ChallengeView>,
}

/// An account as part of its user. Where the browser has to go for a proof is left out: that URL is a secret of whoever began,
/// and others could bring an account of theirs by it.
pub fn external_account(held: &ExternalAccount, now: Time) -> ExternalAccountView<'_> {
    view(held, Map::new(), now)
}

/// An account as the answer to a request that begins to prove it shows it: with where the browser has to go.
pub fn external_account_begun(held: &ExternalAccount, now: Time) -> ExternalAccountView<'_> {
    let details = held.challenge.as_ref().map(|asked| asked.details.clone());
    view(held, details.unwrap_or_default(), now)
}

fn view(held: &ExternalAccount, details: Map<String, Value>, now: Time) -> ExternalAccountView<'_> {
    let account = &held.account;
    ExternalAccountView {
        object: ExternalAccountObject::It,
        id: &held.id,
        provider: &account.provider,
        identification_id: &held.identification,
        provider_user_id: &account.provider_user_id,
        approved_scopes: &account.approved_scopes,
        email_address: account.email_address.as_deref().unwrap_or_default(),
        email_address_verified: account.email_address_verified,
        first_name: account.first_name.as_deref().unwrap_or_default(),
        last_name: account.last_name.as_deref().unwrap_or_default(),
        avatar_url: account.image_url.as_deref().unwrap_or_default(),
        image_url: account.image_url.as_deref(),
        username: account.username.as_deref(),
        phone_number: account.phone_number.as_deref(),
        public_metadata: Map::new(),
        label: account.label.as_deref(),
        created_at: held.created_at,
        updated_at: held.updated_at,
        // Whoever is asked to approve of more, or does not, has the account all the same.
        verification: held.challenge.as_ref().map(|asked| {
            let verified_at = asked.verified_at.or(held.verified_at);
            verification(&Challenge { verified_at, details, ..asked.clone() }, now)
        }),
    }
}
