//! The operations on actor tokens, which stand here because a token may name an organization.

use latchkey_base::kinds::{ActorTokenId, UserId};
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::limits::ACTOR_TOKEN_SECONDS;
use latchkey_people::tickets::actor_tokens::input::CreateActorToken;
use latchkey_people::tickets::actor_tokens::model::ActorToken;
use latchkey_people::tickets::actor_tokens::view::{self, ActorTokenView};
use latchkey_people::tickets::actor_tokens::{CODES, rules, store};
use latchkey_people::tickets::model::{Grant, TicketSource};
use latchkey_people::tickets::rules as tickets;
use latchkey_people::users::store as users;
use latchkey_presence::sessions::working;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Actor Tokens");
    api.post("/actor_tokens", "CreateActorToken", create)
        .summary("Create an actor token")
        .returns::<ActorTokenView>()
        .errors(&[403]);
    api.post("/actor_tokens/{actor_token_id}/revoke", "RevokeActorToken", revoke)
        .summary("Revoke an actor token that was not used")
        .returns::<ActorTokenView>();
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateActorToken>) -> Reply {
    tickets::check_actor_tokens(&key.settings)?;
    rules::check_actor(&input.actor)?;
    let requested = input.expires_in_seconds;
    let lifetime = tickets::lifetime_seconds(requested, ACTOR_TOKEN_SECONDS, &key.settings.tickets)?;
    let user: UserId = Id::parse(&input.user_id).ok_or_else(unknown_user)?;
    let mut tx = cx.app.db.read().await?;
    let signer = cx.app.signer(&mut tx, &key.instance, cx.now).await?;
    let host = instances::frontend_api(&mut tx, &key.instance).await?.unwrap_or_default();
    drop(tx);
    let id = ActorTokenId::new(cx.now, &*cx.app.rng);
    let source = TicketSource::ActorToken(id.clone());
    let (grant, ticket) = tickets::issue(&signer, &key, &source, user.clone(), lifetime, cx.now)?;
    let act = cx.act(&key);
    let created =
        cx.write(move |tx| Box::pin(async move { create_in(tx, &act, &user, id, grant, input).await }));
    let token = created.await?;
    let url = tickets::url(&cx.app.primary_url(&host, &key.settings), &ticket);
    cx.reply(&view::actor_token(&token, Some(&ticket), Some(url)))
}

async fn create_in(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    id: ActorTokenId,
    grant: Grant,
    input: CreateActorToken,
) -> Result<ActorToken> {
    users::lock(tx, &act.instance, user).await?.ok_or_else(unknown_user)?;
    let organization = match input.org_id.filter(|id| !id.is_empty()) {
        Some(asked) => Some(working::required(tx, act, user, &asked).await.map_err(as_published)?),
        None => None,
    };
    let session_seconds = input.session_max_duration_in_seconds;
    let token = ActorToken { id, grant, actor: input.actor, session_seconds, organization };
    store::insert(tx, &token).await?;
    Ok(token)
}

async fn revoke(cx: Cx, key: SecretKey, Path(id): Path<ActorTokenId>) -> Reply {
    let act = cx.act(&key);
    let token = cx.write(move |tx| Box::pin(async move { revoke_in(tx, &act, &id).await })).await?;
    cx.reply(&view::actor_token(&token, None, None))
}

async fn revoke_in(tx: &mut Tx, act: &Act, id: &ActorTokenId) -> Result<ActorToken> {
    let found = store::lock(tx, &act.instance, id).await?;
    let mut token = found.ok_or_else(|| Error::not_found("actor token", id))?;
    token.grant = tickets::revoke(token.grant, &CODES, act.now)?;
    store::save(tx, &token).await?;
    Ok(token)
}

/// Making one has no published 404.
fn unknown_user() -> Error {
    Error::param(Code::FormResourceNotFound, "user_id").saying("No user has that id.")
}

/// Maps errors about the organization to 422: the published operation lists no 404, and its 403 is for the switch.
fn as_published(error: Error) -> Error {
    match error.code() {
        Code::ResourceNotFound | Code::NotAMemberInOrganization => {
            Error::param(Code::FormResourceNotFound, "org_id")
                .saying("The user is in no organization with that id or slug.")
        }
        _ => error,
    }
}
