//! Routes and handlers of the backend API.

use latchkey_base::kinds::InvitationId;
use latchkey_base::{Error, Result};
use latchkey_db::unique_violation;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::{self, INVITATIONS_IN_BULK};
use latchkey_kernel::wire::{DeletedView, ListView, MaybePaginated, deleted};
use latchkey_kernel::{AppState, auth::SecretKey};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Inputs, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::change::{self, DraftApplicationInvitation, frontend_url};
use super::input::{
    CreateApplicationInvitation, CreateBulkApplicationInvitation, ListApplicationInvitations,
};
use super::list;
use super::model::{ApplicationInvitation, folded};
use super::view::{self, ApplicationInvitationContext, ApplicationInvitationView};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Invitations");
    api.post("/invitations", "CreateInvitation", create)
        .summary("Invite an address to the application")
        .returns::<ApplicationInvitationView<'_>>()
        .limited(limits::INVITATIONS);
    api.get("/invitations", "ListInvitations", list)
        .summary("List invitations to the application")
        .returns::<MaybePaginated<ApplicationInvitationView<'_>>>();
    api.post("/invitations/bulk", "CreateBulkInvitations", create_bulk)
        .summary("Invite several addresses to the application, all or none")
        .wants_body()
        .returns::<Vec<ApplicationInvitationView<'_>>>()
        .limited(limits::BULK_INVITATIONS);
    api.post("/invitations/{invitation_id}/revoke", "RevokeInvitation", revoke)
        .summary("Revoke an invitation that nobody has followed")
        .returns::<ApplicationInvitationView<'_>>();
    api.delete("/invitations/{invitation_id}", "DeleteInvitation", delete)
        .summary("Delete an invitation of any status, with the stored copies of its e-mail")
        .returns::<DeletedView>();
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateApplicationInvitation>) -> Reply {
    let draft = change::draft(&cx, &key, &cx.act(&key), input).await?;
    let made = create_all(&cx, &key, vec![draft]).await?;
    let made = made.first().ok_or_else(|| Error::internal("no invitation was made"))?;
    let url = frontend_url(&cx, &key).await?;
    cx.reply(&view::invitation(made, context(&cx, &url)))
}

async fn create_bulk(
    cx: Cx,
    key: SecretKey,
    Inputs(inputs): Inputs<CreateBulkApplicationInvitation, INVITATIONS_IN_BULK>,
) -> Reply {
    let act = cx.act(&key);
    let mut drafts = Vec::with_capacity(inputs.len());
    for input in inputs {
        drafts.push(change::draft(&cx, &key, &act, input.into()).await?.for_newcomers());
    }
    let made = create_all(&cx, &key, drafts).await?;
    let url = frontend_url(&cx, &key).await?;
    let shown: Vec<_> = made.iter().map(|made| view::invitation(made, context(&cx, &url))).collect();
    cx.reply(&shown)
}

/// Makes invitations, all or none, and returns them in the order in which they are given.
async fn create_all(
    cx: &Cx,
    key: &SecretKey,
    drafts: Vec<DraftApplicationInvitation>,
) -> Result<Vec<ApplicationInvitation>> {
    let act = cx.act(key);
    // Two calls with the same addresses in another order must not wait for each other in a circle.
    let mut drafts: Vec<_> = drafts.into_iter().enumerate().collect();
    drafts.sort_by_cached_key(|(_, draft)| folded(&draft.email_address));
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let mut made = Vec::with_capacity(drafts.len());
            for (place, draft) in drafts {
                made.push((place, change::invite(tx, &act, draft).await?));
            }
            Ok(made)
        })
    });
    let mut made = written.await.map_err(|error| match unique_violation(&error) {
        Some(column) if column.starts_with("invitations.") => change::duplicate(&[]),
        _ => error,
    })?;
    made.sort_by_key(|(place, _)| *place);
    Ok(made.into_iter().map(|(_, invitation)| invitation).collect())
}

async fn list(cx: Cx, key: SecretKey, Query(query): Query<ListApplicationInvitations>) -> Reply {
    let (page, count) = list::fetch(&cx.backend_reads(&key.instance), &key.instance, &query, cx.now).await?;
    let url = frontend_url(&cx, &key).await?;
    let data: Vec<_> = page.iter().map(|one| view::invitation(one, context(&cx, &url))).collect();
    cx.reply(&match count {
        Some(total_count) => MaybePaginated::Paginated(ListView { data, total_count }),
        None => MaybePaginated::Bare(data),
    })
}

async fn revoke(cx: Cx, key: SecretKey, Path(id): Path<InvitationId>) -> Reply {
    let act = cx.act(&key);
    let written = cx.write(move |tx| Box::pin(async move { change::revoke(tx, &act, &id).await }));
    let revoked = written.await?;
    let url = frontend_url(&cx, &key).await?;
    cx.reply(&view::invitation(&revoked, context(&cx, &url)))
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<InvitationId>) -> Reply {
    let (act, view) = (cx.act(&key), deleted("invitation", &id));
    cx.write(move |tx| Box::pin(async move { change::delete(tx, &act, &id).await })).await?;
    cx.reply(&view)
}

fn context<'a>(cx: &'a Cx, frontend_url: &'a str) -> ApplicationInvitationContext<'a> {
    ApplicationInvitationContext { now: cx.now, master: &cx.app.master, frontend_url }
}
