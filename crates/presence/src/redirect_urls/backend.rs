//! Routes and handlers of the backend API.

use latchkey_base::kinds::RedirectUrlId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox::{ChangeOrigin, emit_change};
use latchkey_kernel::wire::{DeletedView, ListView, MaybePaginated, PageQuery, deleted};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::CreateRedirectUrl;
use super::model::RedirectUrl;
use super::view::{self, RedirectUrlView};
use super::{rules, store};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Redirect URLs");
    api.get("/redirect_urls", "ListRedirectURLs", list)
        .summary("List redirect URLs")
        .returns::<MaybePaginated<RedirectUrlView>>();
    api.post("/redirect_urls", "CreateRedirectURL", create)
        .summary("Create a redirect URL")
        .returns::<RedirectUrlView>();
    api.get("/redirect_urls/{id}", "GetRedirectURL", get)
        .summary("Get a redirect URL")
        .returns::<RedirectUrlView>();
    api.delete("/redirect_urls/{id}", "DeleteRedirectURL", delete)
        .summary("Delete a redirect URL")
        .returns::<DeletedView>();
}

async fn list(cx: Cx, key: SecretKey, Query(page): Query<PageQuery>) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).page(page.paging).await?;
    let listed = store::list(&mut tx, &key.instance, page.paging).await?;
    let data: Vec<_> = listed.iter().map(view::redirect_url).collect();
    cx.reply(&match page.paginated {
        true => {
            let total_count = store::count(&mut tx, &key.instance).await?;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateRedirectUrl>) -> Reply {
    let redirect_url = rules::create(input.url, &key.instance, cx.now, &*cx.app.rng)?;
    let (origin, inserted) = (cx.change_origin(&key), redirect_url.clone());
    cx.write(move |tx| Box::pin(async move { create_in(tx, &origin, &inserted).await }))
        .await
        .map_err(explained)?;
    cx.reply(&view::redirect_url(&redirect_url))
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<RedirectUrlId>) -> Reply {
    let found = store::find(&mut cx.app.db.read().await?, &key.instance, &id).await?;
    cx.reply(&view::redirect_url(&found.ok_or_else(|| not_found(&id))?))
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<RedirectUrlId>) -> Reply {
    let (origin, gone) = (cx.change_origin(&key), deleted("redirect_url", &id));
    cx.write(move |tx| Box::pin(async move { delete_in(tx, &origin, &id).await })).await?;
    cx.reply(&gone)
}

async fn create_in(tx: &mut Tx, origin: &ChangeOrigin, redirect_url: &RedirectUrl) -> Result<()> {
    store::insert(tx, redirect_url).await?;
    emit_change(tx, origin, Event::RedirectUrlCreated, redirect_url.id.as_str(), &[])
}

async fn delete_in(tx: &mut Tx, origin: &ChangeOrigin, id: &RedirectUrlId) -> Result<()> {
    if !store::delete(tx, &origin.instance, id).await? {
        return Err(not_found(id));
    }
    emit_change(tx, origin, Event::RedirectUrlDeleted, id.as_str(), &[])
}

fn not_found(id: &RedirectUrlId) -> Error {
    Error::not_found("redirect URL", id)
}

/// Says that the URL is listed already, when that is why it could not be written.
fn explained(error: Error) -> Error {
    match unique_violation(&error) {
        Some("redirect_urls.url") => {
            Error::param(Code::DuplicateRecord, "url").saying("This redirect URL is listed already.")
        }
        _ => error,
    }
}
