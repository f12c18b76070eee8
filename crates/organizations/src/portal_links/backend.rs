//! Routes and handlers of the backend API.

use axum::http::StatusCode;
use latchkey_base::Error;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

use super::input::{CreatePortalLinkToken, RevokePortalLinkToken};
use super::model::PortalLinkTokenId;
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
    let written = cx.write(move |tx| {
        Box::pin(async move {
            if let Some(id) = &token.organization {
                // Nobody deletes it meanwhile, so that no token outlives it.
                let found = organizations::lock(tx, &act.instance, id).await?;
                found.ok_or_else(rules::unknown_organization)?;
            }
            store::insert(tx, &token).await?;
            Ok(token)
        })
    });
    let mut response = cx.reply(&view::created(&written.await?, secret.expose(), cx.now))?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

async fn revoke(
    cx: Cx,
    OrganizationsKey(key): OrganizationsKey,
    Path(id): Path<String>,
    Input(input): Input<RevokePortalLinkToken>,
) -> Reply {
    let id = PortalLinkTokenId::parse(&id).ok_or_else(|| Error::not_found("link token", &id))?;
    let act = cx.act(&key);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let found = store::lock(tx, &act.instance, &id).await?;
            let before = found.ok_or_else(|| Error::not_found("link token", &id))?;
            let after = rules::revoke(before.clone(), input.revocation_reason, act.now)?;
            if after != before {
                store::save(tx, &after).await?;
            }
            Ok(after)
        })
    });
    cx.reply(&view::token(&written.await?, cx.now))
}
