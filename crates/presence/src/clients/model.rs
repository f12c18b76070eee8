//! What a client is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, InstanceId, SessionId, SignInId, SignUpId, UserId};
use latchkey_base::rng::Rng;
use serde::{Deserialize, Serialize};

use super::earlier::EarlierToken;

/// People a client remembers; a household computer has fewer.
const KNOWN_USERS: usize = 20;

/// A browser or a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub id: ClientId,
    /// The session used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_active_session: Option<SessionId>,
    /// How somebody last signed in here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_authentication_strategy: Option<String>,
    /// The attempt to sign in that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignInId>,
    /// The attempt to sign up that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_up: Option<SignUpId>,
    /// Who signed in here before, latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_users: Vec<UserId>,
    /// When it was first seen.
    pub created_at: Time,
    /// When sessions of it came, went or changed. Apps compare tokens with it, so nothing else moves it.
    pub updated_at: Time,
    /// The tokens before the newest one that are still good for sessions, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_tokens: Vec<EarlierToken>,
}

impl Client {
    /// When it last changed, and never later than now: tokens are made now, and backends refuse those that are older
    /// than the last change. Only a clock that was set back makes a difference.
    pub fn changed_at(&self, now: Time) -> Time {
        self.updated_at.min(now)
    }

    /// A client nobody has signed in on.
    pub fn new(instance: &InstanceId, now: Time, rng: &dyn Rng) -> Client {
        Client {
            instance: instance.clone(),
            id: ClientId::new(now, rng),
            last_active_session: None,
            last_authentication_strategy: None,
            sign_in: None,
            sign_up: None,
            known_users: Vec::new(),
            created_at: now,
            updated_at: now,
            earlier_tokens: Vec::new(),
        }
    }

    /// Remembers that somebody signed in here.
    pub fn knows(mut self, user: &UserId) -> Client {
        self.known_users.retain(|known| known != user);
        self.known_users.push(user.clone());
        let excess = self.known_users.len().saturating_sub(KNOWN_USERS);
        self.known_users.drain(..excess);
        self
    }

    /// Notes that a session of it is over.
    pub fn without(mut self, session: &SessionId, now: Time) -> Client {
        self.last_active_session.take_if(|last| last == session);
        self.updated_at = now;
        self
    }
}
