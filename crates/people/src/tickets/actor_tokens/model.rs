//! What an actor token is.

use latchkey_base::kinds::{ActorTokenId, OrganizationId};
use serde_json::{Map, Value};

use crate::tickets::model::Grant;

/// A token that lets somebody act as a user once.
#[derive(Clone, Debug, PartialEq)]
pub struct ActorToken {
    pub id: ActorTokenId,
    /// As whom, and whether it still does.
    pub grant: Grant,
    /// Who acts: `sub`, and whatever else the backend wants to read in tokens.
    pub actor: Map<String, Value>,
    /// How long the session may last.
    pub session_seconds: i64,
    /// The organization that the session begins with.
    pub organization: Option<OrganizationId>,
}
