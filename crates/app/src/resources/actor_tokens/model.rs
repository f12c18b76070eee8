//! What an actor token is.

use latchkey_base::kinds::ActorTokenId;
use serde_json::{Map, Value};

use crate::resources::tickets::model::Grant;

/// A token that lets somebody act as a user once.
#[derive(Clone, Debug, PartialEq)]
pub struct ActorToken {
    /// Its id.
    pub id: ActorTokenId,
    /// As whom, and whether it still does.
    pub grant: Grant,
    /// Who acts: `sub`, and whatever else the backend wants to read in tokens.
    pub actor: Map<String, Value>,
    /// How long the session may last.
    pub session_seconds: i64,
}
