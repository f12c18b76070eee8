//! How actor tokens look on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{ActorTokenId, UserId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::ActorToken;
use crate::tickets::sign_in_tokens::view::{StatusView, status};

object!(ActorTokenObject, "actor_token");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ActorToken")]
pub struct ActorTokenView<'a> {
    object: ActorTokenObject,
    id: &'a ActorTokenId,
    status: StatusView,
    user_id: &'a UserId,
    actor: &'a Map<String, Value>,
    /// Shown once, when it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    url: Option<String>,
    created_at: Time,
    updated_at: Time,
}

/// A token; with its ticket and where to go with it, if it was made just now.
pub fn actor_token<'a>(
    token: &'a ActorToken,
    ticket: Option<&'a str>,
    url: Option<String>,
) -> ActorTokenView<'a> {
    ActorTokenView {
        object: ActorTokenObject::It,
        id: &token.id,
        status: status(token.grant.status),
        user_id: &token.grant.user,
        actor: &token.actor,
        token: ticket,
        url,
        created_at: token.grant.created_at,
        updated_at: token.grant.updated_at,
    }
}
