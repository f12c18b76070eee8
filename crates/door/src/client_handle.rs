//! The client of a request inside of a transaction: locked, created, and given a new secret.

use latchkey_base::kinds::{ClientId, DevBrowserId, InstanceId, SessionId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_kernel::cx::Act;
use latchkey_presence::clients::earlier::EarlierClient;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::clients::{store, token};
use latchkey_presence::sessions::model::Session;
use latchkey_presence::sessions::store as sessions;

/// The way from a transaction to the client of the request: its id, and the developer's browser that is linked to
/// it. It owns its parts, so that it can move into the transaction.
#[derive(Clone)]
pub struct ClientHandle {
    pub(super) instance: InstanceId,
    pub(super) client: Option<ClientId>,
    pub(super) token_digest: Option<Vec<u8>>,
    pub(super) earlier: Option<(ClientId, Vec<u8>)>,
    pub(super) dev_browser: Option<[u8; 32]>,
}

/// A client that is locked for one of its sessions.
pub struct ClientOfSession {
    pub client: Client,
    /// Whether the request showed the newest token. An earlier token may change its sessions, and not the client.
    pub is_newest: bool,
}

/// The sessions that a sign-out of the whole client ends.
pub struct ClientSessions {
    pub client: Client,
    pub live: Vec<Session>,
    /// Whether the request showed the newest token, so that these are all sessions of the client.
    pub is_newest: bool,
}

/// The client of a request, locked in the transaction; and its secret, if the client was created there.
pub struct LockedClient {
    pub client: Client,
    /// What proves a new client.
    pub secret: Option<ClientProof>,
}

/// Whether a client's secret is the one that the request showed. What came without one was found in another way.
pub(super) fn is_same(shown: Option<&[u8]>, digest: &[u8]) -> bool {
    shown.is_none_or(|shown| shown == digest)
}

impl ClientHandle {
    /// The id of the client, if the request showed one.
    pub fn id(&self) -> Option<&ClientId> {
        self.client.as_ref()
    }

    /// Locks the client of the request, or creates one. The token of a developer's browser is looked at again: it may
    /// have ended since, and another request may have given it a client.
    pub async fn lock_or_create(&self, tx: &mut Tx, act: &Act) -> Result<LockedClient> {
        if let Some(client) = self.find_locked(tx).await? {
            return Ok(LockedClient { client, secret: None });
        }
        if let Some(digest) = &self.dev_browser {
            let found = store::lock_dev_browser(tx, &self.instance, digest).await?;
            let browser = found.ok_or_else(|| Error::new(Code::DevBrowserUnauthenticated))?;
            let given = browser.client.filter(|(id, _)| Some(id) != self.client.as_ref());
            if let Some((id, shown)) = given
                && let Some((client, digest)) = store::lock_with_digest(tx, &self.instance, &id).await?
                && shown == digest
            {
                return Ok(LockedClient { client, secret: None });
            }
        }
        // A client of its own also for an earlier token: an attacker may hold it, and the client of the token may have a newer
        // user. The sessions of the token stay on their client, where its owner can end them.
        let (client, secret) = (Client::new(&self.instance, act.now, &*act.rng), token::secret(&*act.rng));
        let client_digest = token::digest(&secret);
        store::insert(tx, &client, &client_digest).await?;
        if let Some(digest) = &self.dev_browser {
            let proof = Some((&client.id, &client_digest[..]));
            store::save_dev_browser(tx, &self.instance, digest, proof, act.now).await?;
        }
        Ok(LockedClient { client, secret: Some(secret.into()) })
    }

    /// Locks the client of the request for one of its sessions. Without a client, or with an earlier token that does not
    /// show the session, the request is rejected.
    pub async fn lock_of(&self, tx: &mut Tx, session: &SessionId) -> Result<ClientOfSession> {
        if let Some(client) = self.find_locked(tx).await? {
            return Ok(ClientOfSession { client, is_newest: true });
        }
        let (client, shown) =
            self.find_earlier_locked(tx).await?.ok_or_else(|| Error::new(Code::SignedOut))?;
        if !shown.shows(session) {
            return Err(Error::not_found("session", session));
        }
        Ok(ClientOfSession { client, is_newest: false })
    }

    /// Locks the client of the request and the live sessions that its token shows.
    pub async fn lock_sessions(&self, tx: &mut Tx, act: &Act) -> Result<ClientSessions> {
        if let Some(client) = self.find_locked(tx).await? {
            let live = sessions::lock_live_of_client(tx, &client, &act.settings, act.now).await?;
            return Ok(ClientSessions { client, live, is_newest: true });
        }
        let (client, shown) =
            self.find_earlier_locked(tx).await?.ok_or_else(|| Error::new(Code::SignedOut))?;
        let mut live = sessions::lock_live_of_client(tx, &client, &act.settings, act.now).await?;
        live.retain(|session| shown.shows(&session.id));
        Ok(ClientSessions { client, live, is_newest: false })
    }

    async fn find_earlier_locked(&self, tx: &mut Tx) -> Result<Option<(Client, EarlierClient)>> {
        let Some((id, digest)) = &self.earlier else { return Ok(None) };
        let client = store::lock(tx, &self.instance, id).await?;
        Ok(client.and_then(|client| {
            let shown = client.as_shown_before(digest)?;
            Some((client, shown))
        }))
    }

    /// Locks the client of the request. Without one, or when it was deleted or got another secret since, the request
    /// is refused as signed out.
    pub async fn lock(&self, tx: &mut Tx) -> Result<Client> {
        self.find_locked(tx).await?.ok_or_else(|| Error::new(Code::SignedOut))
    }

    async fn find_locked(&self, tx: &mut Tx) -> Result<Option<Client>> {
        let Some(id) = &self.client else { return Ok(None) };
        let found = store::lock_with_digest(tx, &self.instance, id).await?;
        Ok(found
            .filter(|(_, digest)| is_same(self.token_digest.as_deref(), digest))
            .map(|(client, _)| client))
    }

    /// Replaces the secret of a client on which a user signed in, and the token of a developer's browser: an attacker may
    /// have made the one before and planted it. The one before stays good for the sessions that the client had `before`,
    /// because other tabs of the browser hold it, and because the response with the new one can be lost. The tokens of
    /// developers' browsers stay known: a script whose token is unknown would begin anew and overwrite the new one in the
    /// cookie that all tabs share.
    pub async fn rotate(
        &self,
        tx: &mut Tx,
        before: &Client,
        (client, session): (Client, &SessionId),
        act: &Act,
    ) -> Result<(Client, ClientProof)> {
        let client = keep_token(tx, before, (client, session), act).await?;
        let secret = token::secret(&*act.rng);
        let client_digest = token::digest(&secret);
        store::rotate(tx, &client, &client_digest).await?;
        let dev_browser = match &self.dev_browser {
            Some(old) => {
                store::unlink_dev_browser(tx, &client, old).await?;
                let new = Secret::new(DevBrowserId::new(act.now, &*act.rng).as_str().to_owned());
                let digest = sha256(new.expose().as_bytes());
                let proof = Some((&client.id, &client_digest[..]));
                store::save_dev_browser(tx, &self.instance, &digest, proof, act.now).await?;
                Some(new)
            }
            None => None,
        };
        Ok((client, ClientProof { secret, dev_browser }))
    }

    /// Replaces the secret of a client that was signed out by one that nobody has.
    pub async fn forget(&self, tx: &mut Tx, client: &Client, act: &Act) -> Result<()> {
        store::rotate(tx, client, &token::digest(&token::secret(&*act.rng))).await
    }
}

/// Notes on a client that the token it has is an earlier one from now on, if it has live sessions but the new one.
async fn keep_token(
    tx: &mut Tx,
    before: &Client,
    (client, session): (Client, &SessionId),
    act: &Act,
) -> Result<Client> {
    let limit = act.settings.session.most_on_client();
    if limit == 1 {
        return Ok(client);
    }
    let live = sessions::lock_live_of_client(tx, &client, &act.settings, act.now).await?;
    let live: Vec<SessionId> = live.into_iter().map(|it| it.id).filter(|id| id != session).collect();
    let found = store::lock_with_digest(tx, &client.instance, &client.id).await?;
    let Some((_, digest)) = found.filter(|_| !live.is_empty()) else { return Ok(client) };
    let client = client.with_earlier_token(&digest, before, &live, limit);
    store::save(tx, &client, act.now).await?;
    Ok(client)
}
