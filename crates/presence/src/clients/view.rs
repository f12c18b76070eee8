//! How clients look to backends.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, SessionId, SignInId, SignUpId};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::Client;
use crate::sessions::model::Session;
use crate::sessions::view as sessions;
use crate::sessions::view::SessionView;

object!(ClientObject, "client");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BackendClient")]
pub struct BackendClientView<'a> {
    object: ClientObject,
    id: &'a ClientId,
    session_ids: Vec<&'a SessionId>,
    sessions: Vec<SessionView<'a>>,
    sign_in_id: Option<&'a SignInId>,
    sign_up_id: Option<&'a SignUpId>,
    last_active_session_id: Option<&'a SessionId>,
    last_authentication_strategy: Option<&'a str>,
    created_at: Time,
    updated_at: Time,
}

/// A client with those of `all` that are its sessions.
pub fn client<'a>(client: &'a Client, all: &'a [Session], now: Time) -> BackendClientView<'a> {
    let own: Vec<&Session> = all.iter().filter(|session| session.client == client.id).collect();
    let is_live = |id: &&SessionId| own.iter().any(|session| session.id == **id && session.is_live(now));
    BackendClientView {
        object: ClientObject::It,
        id: &client.id,
        session_ids: own.iter().map(|session| &session.id).collect(),
        sessions: own.iter().map(|session| sessions::session(session, now)).collect(),
        sign_in_id: client.sign_in.as_ref(),
        sign_up_id: client.sign_up.as_ref(),
        last_active_session_id: client.last_active_session.as_ref().filter(is_live),
        last_authentication_strategy: client.last_authentication_strategy.as_deref(),
        created_at: client.created_at,
        updated_at: client.updated_at,
    }
}

/// What a handshake left for a backend: cookies for the browser, as complete `Set-Cookie` lines.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HandshakePayload")]
pub struct HandshakePayloadView {
    pub directives: Vec<String>,
}
