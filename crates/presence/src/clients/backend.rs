//! Routes and handlers of the backend API.

use latchkey_base::kinds::ClientId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_jose::digest::constant_time_eq;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::signing::Reading;
use latchkey_kernel::wire::{ListView, MaybePaginated, PageQuery};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;
use schemars::JsonSchema;
use serde::Deserialize;

use super::model::Client;
use super::view::{self, BackendClientView, HandshakePayloadView};
use super::{store, token};
use crate::handshakes;
use crate::sessions::model::Session;
use crate::sessions::store as sessions;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Clients");
    api.get("/clients", "GetClientList", list)
        .summary("List clients")
        .deprecated()
        .returns::<MaybePaginated<BackendClientView>>();
    api.post("/clients/verify", "VerifyClient", verify)
        .summary("Get the client that a token proves")
        .returns::<BackendClientView>()
        .errors(&[404])
        .instead(&[(422, 400)]);
    api.get("/clients/handshake_payload", "GetHandshakePayload", handshake_payload)
        .summary("Fetch, once, what a handshake left for this backend")
        .returns::<HandshakePayloadView>()
        .errors(&[404]);
    api.get("/clients/{client_id}", "GetClient", get).summary("Get a client").returns::<BackendClientView>();
}

/// Body of `VerifyClient`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerifyClient {
    /// What the client keeps in its cookie.
    token: Secret,
}

/// Query of `GetHandshakePayload`.
#[derive(Deserialize, JsonSchema)]
struct HandshakeQuery {
    /// What the browser brought back.
    #[serde(default)]
    nonce: String,
}

async fn list(cx: Cx, key: SecretKey, Query(page): Query<PageQuery>) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).long().await?;
    let clients = store::list(&mut tx, &key.instance, page.paging).await?;
    let sessions = sessions_of(&cx, &mut tx, &key, &clients).await?;
    let data: Vec<_> = clients.iter().map(|client| view::client(client, &sessions, cx.now)).collect();
    cx.reply(&match page.paginated {
        true => {
            let total_count = store::count(&mut tx, &key.instance).await?;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<ClientId>) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &key.instance, &id).await?;
    let client = found.ok_or_else(|| Error::not_found("client", &id))?;
    shown(&cx, &mut tx, &key, client).await
}

/// Of a token from before the last sign-in the secret no longer fits, whatever its signature says.
async fn verify(cx: Cx, key: SecretKey, Input(input): Input<VerifyClient>) -> Reply {
    let invalid = || Error::param(Code::CookieInvalid, "token");
    let mut tx = cx.app.db.read().await?;
    if !cx.app.is_signed(Reading::In(&mut tx), &key.instance, input.token.expose()).await? {
        return Err(invalid().into());
    }
    let (id, secret) = token::read(input.token.expose()).ok_or_else(invalid)?;
    let found = store::find_with_digest(&mut tx, &key.instance, &id).await?;
    let (client, digest) = found.ok_or_else(|| Error::not_found("client", &id))?;
    match constant_time_eq(&digest, &token::digest(&secret)) {
        true => shown(&cx, &mut tx, &key, client).await,
        false => Err(invalid().into()),
    }
}

async fn handshake_payload(cx: Cx, key: SecretKey, Query(query): Query<HandshakeQuery>) -> Reply {
    if query.nonce.is_empty() {
        return Err(Error::param(Code::MissingQueryParameter, "nonce").into());
    }
    let act = cx.act(&key);
    let taken = cx
        .write(move |tx| {
            Box::pin(
                async move { handshakes::fetch(tx, &act.instance, &query.nonce, act.now, &act.master).await },
            )
        })
        .await?;
    let gone =
        || Error::new(Code::ResourceNotFound).saying("This nonce was used, has expired, or never was.");
    cx.reply(&HandshakePayloadView { directives: taken.ok_or_else(gone)? })
}

async fn shown(cx: &Cx, tx: &mut Tx, key: &SecretKey, client: Client) -> Reply {
    let sessions = sessions_of(cx, tx, key, std::slice::from_ref(&client)).await?;
    cx.reply(&view::client(&client, &sessions, cx.now))
}

/// The sessions shown with clients: those that count, and where a client may hold several also those that
/// were revoked, whose users have to sign in again.
async fn sessions_of(cx: &Cx, tx: &mut Tx, key: &SecretKey, clients: &[Client]) -> Result<Vec<Session>> {
    let ids: Vec<&ClientId> = clients.iter().map(|client| &client.id).collect();
    let with_revoked = !key.settings.session.single_session;
    sessions::of_clients(tx, &key.instance, &ids, with_revoked, &key.settings, cx.now).await
}
