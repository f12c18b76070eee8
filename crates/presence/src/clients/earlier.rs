//! Tokens of a client from before its last sign-in.
//!
//! Every sign-in gives the client a new token, because an attacker may have planted the one before. Other tabs of the
//! browser still hold the one before, and so does a browser that never received the response. That token stays good for
//! the sessions that the client had before the sign-in, and shows nothing that is newer.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::Time;
use latchkey_base::kinds::SessionId;
use serde::{Deserialize, Serialize};

use super::model::Client;

/// A token that proved the client until the next sign-in.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct EarlierToken {
    /// The digest of its secret, as base64url.
    digest: String,
    /// The live sessions that it shows and that the earlier token before it does not show.
    sessions: Vec<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_active_session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_authentication_strategy: Option<String>,
    updated_at: Time,
}

/// A client as one of its earlier tokens shows it. It is for reading only: saving it would delete what is newer.
#[derive(Clone, Debug)]
pub struct EarlierClient {
    client: Client,
    sessions: HashSet<SessionId>,
}

impl EarlierClient {
    /// The client without anything that is newer than the token.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the token shows a session.
    pub fn shows(&self, session: &SessionId) -> bool {
        self.sessions.contains(session)
    }
}

impl Client {
    /// Returns the client as the earlier token with this digest shows it.
    pub fn as_shown_before(&self, digest: &[u8]) -> Option<EarlierClient> {
        let digest = URL_SAFE_NO_PAD.encode(digest);
        let at = self.earlier_tokens.iter().position(|token| token.digest == digest)?;
        let token = &self.earlier_tokens[at];
        let shown = self.earlier_tokens[..=at].iter().flat_map(|token| &token.sessions);
        let client = Client {
            last_active_session: token.last_active_session.clone(),
            last_authentication_strategy: token.last_authentication_strategy.clone(),
            sign_in: None,
            sign_up: None,
            known_users: Vec::new(),
            updated_at: token.updated_at,
            earlier_tokens: Vec::new(),
            ..self.clone()
        };
        Some(EarlierClient { client, sessions: shown.cloned().collect() })
    }

    /// Adds the token that a sign-in replaces. `before` is the client before the sign-in, and `live` are the sessions that
    /// it still has of those. At most `limit` tokens stay, and those without a live session go.
    #[must_use]
    pub fn with_earlier_token(
        mut self,
        digest: &[u8],
        before: &Client,
        live: &[SessionId],
        limit: usize,
    ) -> Client {
        let mut new: HashSet<&SessionId> = live.iter().collect();
        for token in &mut self.earlier_tokens {
            token.sessions.retain(|session| new.remove(session));
        }
        self.earlier_tokens.push(EarlierToken {
            digest: URL_SAFE_NO_PAD.encode(digest),
            sessions: live.iter().filter(|&session| new.contains(session)).cloned().collect(),
            last_active_session: before.last_active_session.clone(),
            last_authentication_strategy: before.last_authentication_strategy.clone(),
            updated_at: before.updated_at,
        });
        let first_with_session = self.earlier_tokens.iter().position(|token| !token.sessions.is_empty());
        self.earlier_tokens.drain(..first_with_session.unwrap_or(self.earlier_tokens.len()));
        while self.earlier_tokens.len() > limit.max(1) {
            // The tokens after it show its sessions too.
            let oldest = self.earlier_tokens.remove(0);
            self.earlier_tokens[0].sessions.extend(oldest.sessions);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::kinds::InstanceId;
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn client_and_sessions() -> (Client, Vec<SessionId>) {
        let rng = SeededRng::new(1);
        let client = Client::new(&InstanceId::new(NOW, &rng), NOW, &rng);
        (client, (0..4).map(|_| SessionId::new(NOW, &rng)).collect())
    }

    /// The sessions that a token shows, as indices.
    fn shown(client: &Client, digest: &[u8], all: &[SessionId]) -> Option<Vec<usize>> {
        let earlier = client.as_shown_before(digest)?;
        Some((0..all.len()).filter(|&at| earlier.shows(&all[at])).collect())
    }

    fn signed_in(client: Client, digest: &[u8], live: &[SessionId], limit: usize) -> Client {
        let before = client.clone();
        client.with_earlier_token(digest, &before, live, limit)
    }

    #[test]
    fn earlier_token_shows_what_the_client_had_then() {
        let (client, all) = client_and_sessions();
        let client = signed_in(client, b"one", &all[..1], 9);
        let client = signed_in(client, b"two", &all[..3], 9);
        assert_eq!(shown(&client, b"one", &all), Some(vec![0]));
        assert_eq!(shown(&client, b"two", &all), Some(vec![0, 1, 2]));
        assert_eq!(shown(&client, b"three", &all), None);
    }

    #[test]
    fn earlier_token_goes_when_its_sessions_have_ended() {
        let (client, all) = client_and_sessions();
        assert!(signed_in(client.clone(), b"none", &[], 9).earlier_tokens.is_empty());
        let client = signed_in(client, b"one", &all[..1], 9);
        let client = signed_in(client, b"two", &all[1..2], 9);
        assert_eq!(shown(&client, b"one", &all), None);
        assert_eq!(shown(&client, b"two", &all), Some(vec![1]));
    }

    #[test]
    fn later_token_shows_a_session_longer_than_the_session_that_came_with_it() {
        let (client, all) = client_and_sessions();
        let client = signed_in(client, b"one", &all[..1], 9);
        let client = signed_in(client, b"two", &all[..2], 9);
        // The second session has ended.
        let live = [all[0].clone(), all[2].clone()];
        let client = signed_in(client, b"three", &live, 9);
        assert_eq!(shown(&client, b"two", &all), Some(vec![0]));
        assert_eq!(shown(&client, b"three", &all), Some(vec![0, 2]));
    }

    #[test]
    fn earlier_tokens_are_at_most_as_many_as_sessions_may_be() {
        let (mut client, all) = client_and_sessions();
        for digest in 0..20_u8 {
            client = signed_in(client, &[digest], &all[..2], 3);
        }
        assert_eq!(client.earlier_tokens.len(), 3);
        assert_eq!(shown(&client, &[16], &all), None);
        for digest in 17..20 {
            assert_eq!(shown(&client, &[digest], &all), Some(vec![0, 1]));
        }
    }

    #[test]
    fn earlier_client_has_nothing_of_the_later_user() {
        let (mut client, all) = client_and_sessions();
        client.last_active_session = Some(all[0].clone());
        client.last_authentication_strategy = Some("password".to_owned());
        let before = client.clone();
        client.last_active_session = Some(all[1].clone());
        client.last_authentication_strategy = Some("passkey".to_owned());
        client.updated_at = NOW.plus_ms(5);
        let client = client.with_earlier_token(b"one", &before, &all[..1], 9);
        let earlier = client.as_shown_before(b"one").unwrap();
        assert_eq!(earlier.client().last_active_session, Some(all[0].clone()));
        assert_eq!(earlier.client().last_authentication_strategy.as_deref(), Some("password"));
        assert_eq!(earlier.client().updated_at, NOW);
        assert!(earlier.client().earlier_tokens.is_empty());
    }
}
