//! Routes and handlers of the backend API.

use axum::http::StatusCode;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

use super::input::{CreatePortalLinkToken, RevokePortalLinkToken};
use super::model::{PortalLinkToken, PortalLinkTokenId};
use super::view::{self, CreatedPortalLinkTokenView, PortalLinkTokenView};
use super::{rules, store};
use crate::key::OrganizationsKey;
use crate::orgs::store as organizations;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Admin Portal Link Tokens");
    api.post("/admin_portal_link_tokens", "createAdminPortalLinkToken", create)
        .summary("Create a token for a link to an admin portal")
        .wants_body()
        .returns::<CreatedPortalLinkTokenView>()
        .creates()
        .bad_requests()
        .errors(&[403]);
    api.post(
        "/admin_portal_link_tokens/{adminPortalLinkTokenID}/revoke",
        "revokeAdminPortalLinkToken",
        revoke,
    )
    .summary("Revoke a token for a link to an admin portal")
    .wants_body()
    .returns::<PortalLinkTokenView>()
    .bad_requests()
    .errors(&[403]);
}

async fn create(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Input(input): Input<CreatePortalLinkToken>,
) -> Reply {
    let organization = rules::organization(&input)?;
    let act = cx.act(&key);
    let (token, secret) = rules::create(input, organization, &act)?;
    let created = cx.write(move |tx| Box::pin(async move { create_in(tx, &act, token).await }));
    let mut response = cx.reply(&view::created(&created.await?, secret.expose(), cx.now))?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

async fn create_in(tx: &mut Tx, act: &Act, token: PortalLinkToken) -> Result<PortalLinkToken> {
    if let Some(id) = &token.organization {
        // Nobody deletes it meanwhile, so that no token outlives it.
        let found = organizations::lock(tx, &act.instance, id).await?;
        found.ok_or_else(rules::unknown_organization)?;
    }
    store::insert(tx, &token).await?;
    Ok(token)
}

async fn revoke(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<String>,
    Input(input): Input<RevokePortalLinkToken>,
) -> Reply {
    let id = PortalLinkTokenId::parse(&id).ok_or_else(|| Error::not_found("link token", &id))?;
    let act = cx.act(&key);
    let revoked = cx.write(move |tx| Box::pin(async move { revoke_in(tx, &act, &id, input).await }));
    cx.reply(&view::token(&revoked.await?, cx.now))
}

async fn revoke_in(
    tx: &mut Tx,
    act: &Act,
    id: &PortalLinkTokenId,
    input: RevokePortalLinkToken,
) -> Result<PortalLinkToken> {
    let found = store::lock(tx, &act.instance, id).await?;
    let before = found.ok_or_else(|| Error::not_found("link token", id))?;
    let after = rules::revoke(before.clone(), input.revocation_reason, act.now)?;
    if after != before {
        store::save(tx, &after).await?;
    }
    Ok(after)
}
