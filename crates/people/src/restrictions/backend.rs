//! Routes and handlers of the backend API.

use latchkey_base::id::Id;
use latchkey_base::kinds::{
    AllowlistIdentifierId, AllowlistIdentifierKind, BlocklistIdentifierId, BlocklistIdentifierKind,
};
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::BLOCKLIST_SHOWN;
use latchkey_kernel::outbox::emit_change;
use latchkey_kernel::wire::{DeletedView, ListView, MaybePaginated, PageQuery, deleted};
use latchkey_kernel::{AppState, auth::SecretKey};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{CreateAllowlistIdentifier, CreateBlocklistIdentifier};
use super::model::{ListedDetails, ListedIdentifier, ListedKind, ReadIdentifier};
use super::view::{self, AllowlistIdentifierView, BlocklistIdentifierView};
use super::{rules, store};
use crate::invitations::change::{self, DraftApplicationInvitation};
use crate::invitations::rules as invitations;
use crate::users::model::ContactKind;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Allow-list / Block-list");
    api.get("/allowlist_identifiers", "ListAllowlistIdentifiers", list_allowed)
        .summary("List what may enter")
        .returns::<MaybePaginated<AllowlistIdentifierView<'_>>>();
    api.post("/allowlist_identifiers", "CreateAllowlistIdentifier", allow)
        .summary("Put an identifier on the allow-list")
        .returns::<AllowlistIdentifierView<'_>>();
    api.delete("/allowlist_identifiers/{identifier_id}", "DeleteAllowlistIdentifier", disallow)
        .summary("Take an identifier off the allow-list")
        .returns::<DeletedView>();
    api.get("/blocklist_identifiers", "ListBlocklistIdentifiers", list_blocked)
        .summary("List what may not enter")
        .returns::<ListView<BlocklistIdentifierView<'_>>>();
    api.post("/blocklist_identifiers", "CreateBlocklistIdentifier", block)
        .summary("Put an identifier on the block-list")
        .returns::<BlocklistIdentifierView<'_>>();
    api.delete("/blocklist_identifiers/{identifier_id}", "DeleteBlocklistIdentifier", unblock)
        .summary("Take an identifier off the block-list")
        .returns::<DeletedView>();
}

async fn list_allowed(cx: Cx, key: SecretKey, Query(page): Query<PageQuery>) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).page(page.paging).await?;
    let listed = store::list::<AllowlistIdentifierKind>(&mut tx, &key.instance, page.paging).await?;
    let data: Vec<_> = listed.iter().map(view::allowed).collect();
    cx.reply(&match page.paginated {
        true => {
            let total_count = store::count::<AllowlistIdentifierKind>(&mut tx, &key.instance).await?;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

async fn list_blocked(cx: Cx, key: SecretKey) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).long().await?;
    let page = Paging { limit: BLOCKLIST_SHOWN, offset: 0 };
    let listed = store::list::<BlocklistIdentifierKind>(&mut tx, &key.instance, page).await?;
    let total_count = store::count::<BlocklistIdentifierKind>(&mut tx, &key.instance).await?;
    let data: Vec<_> = listed.iter().map(view::blocked).collect();
    cx.reply(&ListView { data, total_count })
}

async fn allow(cx: Cx, key: SecretKey, Input(input): Input<CreateAllowlistIdentifier>) -> Reply {
    let act = cx.act(&key);
    let read = rules::read(&input.identifier, AllowlistIdentifierKind::LIST)?;
    let invitation = match input.notify {
        true => Some(invitation(&cx, &key, &act, &read).await?),
        false => None,
    };
    let listed = new(&act, read, invitation.as_ref());
    let written = put(&cx, act, listed, invitation).await?;
    cx.reply(&view::allowed(&written))
}

async fn block(cx: Cx, key: SecretKey, Input(input): Input<CreateBlocklistIdentifier>) -> Reply {
    let act = cx.act(&key);
    let read = rules::read(&input.identifier, BlocklistIdentifierKind::LIST)?;
    let listed = new(&act, read, None);
    let written = put(&cx, act, listed, None).await?;
    cx.reply(&view::blocked(&written))
}

async fn disallow(cx: Cx, key: SecretKey, Path(id): Path<AllowlistIdentifierId>) -> Reply {
    take_off(&cx, &key, id).await
}

async fn unblock(cx: Cx, key: SecretKey, Path(id): Path<BlocklistIdentifierId>) -> Reply {
    take_off(&cx, &key, id).await
}

/// The invitation that goes out with an address on the allow-list.
async fn invitation(
    cx: &Cx,
    key: &SecretKey,
    act: &Act,
    read: &ReadIdentifier,
) -> Result<DraftApplicationInvitation> {
    if read.kind != ContactKind::Email || read.is_wildcard {
        return Err(Problem::of(Code::FormParamValueInvalid, "notify")
            .saying(
                "Invitations go out by e-mail: only a single address can be notified. Leave `notify` out.",
            )
            .into());
    }
    let input = invitations::plain(read.identifier.clone());
    change::draft(cx, key, act, input).await
}

fn new<K: ListedKind>(
    act: &Act,
    read: ReadIdentifier,
    invitation: Option<&DraftApplicationInvitation>,
) -> ListedIdentifier<K> {
    ListedIdentifier {
        instance: act.instance.clone(),
        id: Id::new(act.now, &*act.rng),
        details: ListedDetails {
            identifier_type: read.kind.name().to_owned(),
            identifier: read.identifier,
            invitation: invitation.map(|draft| draft.id.clone()),
        },
        created_at: act.now,
    }
}

/// Writes something that is to stand on a list, and sends its invitation.
async fn put<K: ListedKind>(
    cx: &Cx,
    act: Act,
    listed: ListedIdentifier<K>,
    invitation: Option<DraftApplicationInvitation>,
) -> Result<ListedIdentifier<K>> {
    let written = cx.write(move |tx| Box::pin(async move { put_in(tx, &act, listed, invitation).await }));
    written.await.map_err(|error| match unique_violation(&error) {
        Some(column) if column.starts_with("listed_identifiers.") => twice(),
        Some(column) if column.starts_with("invitations.") => change::duplicate(&[]),
        _ => error,
    })
}

async fn put_in<K: ListedKind>(
    tx: &mut Tx,
    act: &Act,
    listed: ListedIdentifier<K>,
    invitation: Option<DraftApplicationInvitation>,
) -> Result<ListedIdentifier<K>> {
    if store::is_listed(tx, &act.instance, K::LIST, &listed.details.identifier).await? {
        return Err(twice());
    }
    store::insert(tx, &listed).await?;
    emit_change(tx, &act.into(), K::CREATED, listed.id.as_str(), &[])?;
    if let Some(draft) = invitation {
        change::invite(tx, act, draft).await?;
    }
    Ok(listed)
}

fn twice() -> Error {
    Error::param(Code::DuplicateRecord, "identifier").saying("The identifier is on the list already.")
}

/// Takes something off a list, and back the invitation that went out with it: it would let its owner in all the same.
async fn take_off<K: ListedKind>(cx: &Cx, key: &SecretKey, id: Id<K>) -> Reply {
    let (act, gone) = (cx.act(key), deleted(K::OBJECT, &id));
    cx.write(move |tx| Box::pin(async move { take_off_in(tx, &act, &id).await })).await?;
    cx.reply(&gone)
}

async fn take_off_in<K: ListedKind>(tx: &mut Tx, act: &Act, id: &Id<K>) -> Result<()> {
    let listed = store::lock(tx, &act.instance, id).await?;
    let listed = listed.ok_or_else(|| Error::not_found(K::NOUN, id))?;
    store::delete(tx, &act.instance, id).await?;
    emit_change(tx, &act.into(), K::DELETED, id.as_str(), &[])?;
    match &listed.details.invitation {
        Some(invitation) => change::revoke_pending(tx, act, invitation).await,
        None => Ok(()),
    }
}
