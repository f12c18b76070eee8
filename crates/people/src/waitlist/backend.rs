//! Routes and handlers of the backend API.

use latchkey_base::kinds::WaitlistEntryId;
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::{BULK_WAITLIST_ENTRIES, WAITLIST_IN_BULK};
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{AppState, auth::SecretKey};
use latchkey_messaging::messages::sending;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Inputs, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{CreateBulkWaitlistEntry, CreateWaitlistEntry, InviteWaitlistEntry, ListWaitlistEntries};
use super::invite::ShownEntry;
use super::model::WaitlistEntry;
use super::view::{self, WaitlistEntryView};
use super::{change, invite as inviting, list, rules};
use crate::identifications::rules::checked;
use crate::invitations::change::frontend_url;
use crate::invitations::model::folded;
use crate::invitations::view::ApplicationInvitationContext;
use crate::users::model::ContactKind;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Waitlist Entries");
    api.get("/waitlist_entries", "ListWaitlistEntries", list)
        .summary("List who is on the waitlist")
        .returns::<ListView<WaitlistEntryView<'_>>>();
    api.post("/waitlist_entries", "CreateWaitlistEntry", create)
        .summary("Put an address on the waitlist")
        .returns::<WaitlistEntryView<'_>>();
    api.post("/waitlist_entries/bulk", "CreateBulkWaitlistEntries", create_bulk)
        .summary("Put several addresses on the waitlist, all or none")
        .returns::<Vec<WaitlistEntryView<'_>>>()
        .limited(BULK_WAITLIST_ENTRIES);
    api.delete("/waitlist_entries/{waitlist_entry_id}", "DeleteWaitlistEntry", delete)
        .summary("Delete a pending entry of the waitlist")
        .returns::<DeletedView>()
        .errors(&[409]);
    api.post("/waitlist_entries/{waitlist_entry_id}/invite", "InviteWaitlistEntry", invite)
        .summary("Invite somebody who is on the waitlist")
        .returns::<WaitlistEntryView<'_>>()
        .errors(&[409]);
    api.post("/waitlist_entries/{waitlist_entry_id}/reject", "RejectWaitlistEntry", reject)
        .summary("Reject somebody who is on the waitlist")
        .returns::<WaitlistEntryView<'_>>()
        .errors(&[409]);
}

async fn list(cx: Cx, key: SecretKey, Query(query): Query<ListWaitlistEntries>) -> Reply {
    let (page, total_count) = list::fetch(&cx.backend_reads(&key.instance), &key.instance, &query).await?;
    let url = frontend_url(&cx, &key).await?;
    let data: Vec<_> = page.iter().map(|shown| shown_entry(&cx, shown, &url)).collect();
    cx.reply(&ListView { data, total_count })
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateWaitlistEntry>) -> Reply {
    let made = create_all(&cx, &key, vec![input]).await?;
    let made = made.first().ok_or_else(|| Error::internal("no entry of the waitlist was made"))?;
    let url = frontend_url(&cx, &key).await?;
    cx.reply(&shown_entry(&cx, made, &url))
}

async fn create_bulk(
    cx: Cx,
    key: SecretKey,
    Inputs(inputs): Inputs<CreateBulkWaitlistEntry, WAITLIST_IN_BULK>,
) -> Reply {
    let made = create_all(&cx, &key, inputs.into_iter().map(Into::into).collect()).await?;
    let url = frontend_url(&cx, &key).await?;
    let shown: Vec<_> = made.iter().map(|made| shown_entry(&cx, made, &url)).collect();
    cx.reply(&shown)
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<WaitlistEntryId>) -> Reply {
    let (act, gone) = (cx.act(&key), deleted("waitlist_entry", &id));
    cx.write(move |tx| Box::pin(async move { change::delete(tx, &act, &id).await })).await?;
    cx.reply(&gone)
}

async fn invite(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<WaitlistEntryId>,
    Input(input): Input<InviteWaitlistEntry>,
) -> Reply {
    let invited = inviting::invite(&cx, &key, id, input.ignore_existing == Some(true)).await?;
    let url = frontend_url(&cx, &key).await?;
    cx.reply(&shown_entry(&cx, &invited, &url))
}

async fn reject(cx: Cx, key: SecretKey, Path(id): Path<WaitlistEntryId>) -> Reply {
    let act = cx.act(&key);
    let written = cx.write(move |tx| Box::pin(async move { change::reject(tx, &act, &id).await }));
    cx.reply(&shown_entry(&cx, &(written.await?, None), ""))
}

/// Puts addresses on the waitlist, all or none, and shows them in the order in which they are given.
async fn create_all(cx: &Cx, key: &SecretKey, inputs: Vec<CreateWaitlistEntry>) -> Result<Vec<ShownEntry>> {
    let (mut wanted, mut problems) = (Vec::with_capacity(inputs.len()), Vec::new());
    for input in inputs {
        match checked(ContactKind::Email, &input.email_address) {
            Ok(address) => wanted.push((address, input.notify.unwrap_or(true))),
            Err(problem) => problems.push(problem),
        }
    }
    Error::collect(problems)?;
    let order: Vec<String> = wanted.iter().map(|(address, _)| address.clone()).collect();
    rules::check_distinct(&order)?;
    // Two calls with the same addresses in another order must not wait for each other in a circle.
    wanted.sort_by_cached_key(|(address, _)| folded(address));
    let act = cx.act(key);
    let written = cx.write(move |tx| Box::pin(async move { put_all(tx, &act, wanted).await }));
    let mut made = written.await?;
    let place = |entry: &WaitlistEntry| {
        let address = folded(&entry.details.email_address);
        order.iter().position(|given| folded(given) == address)
    };
    made.sort_by_cached_key(place);
    list::with_invitations(&mut cx.app.db.read().await?, &key.instance, made).await
}

async fn put_all(tx: &mut Tx, act: &Act, wanted: Vec<(String, bool)>) -> Result<Vec<WaitlistEntry>> {
    let mut made = Vec::with_capacity(wanted.len());
    for (address, is_told) in wanted {
        let (entry, is_new) = change::put(tx, act, address).await?;
        if is_new && is_told {
            sending::send(tx, act, change::confirmation(&entry)).await?;
        }
        made.push(entry);
    }
    Ok(made)
}

fn shown_entry<'a>(
    cx: &Cx,
    (entry, invitation): &'a ShownEntry,
    frontend_url: &str,
) -> WaitlistEntryView<'a> {
    let context = ApplicationInvitationContext { now: cx.now, master: &cx.app.master, frontend_url };
    view::entry(entry, invitation.as_ref(), context)
}
