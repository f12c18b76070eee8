//! Routes and handlers of the backend API.

use axum::http::HeaderValue;
use latchkey_base::kinds::JwtTemplateId;
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Tx, unique_violation};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::JWT_USERS_MEASURED;
use latchkey_kernel::outbox::{ChangeOrigin, emit_change};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::wire::{DeletedView, ListView, MaybePaginated, PageQuery, deleted};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{CreateJwtTemplate, UpdateJwtTemplate};
use super::model::JwtTemplate;
use super::sizes::{self, Measure};
use super::view::{self, JwtTemplateView};
use super::{own_keys, rules, store};

/// How many bytes the signatures of the instance's key have.
const INSTANCE_SIGNATURE_BYTES: usize = 256;
/// Says how large the largest token gets; the published answer has no place for it.
const TOKEN_BYTES_HEADER: &str = "latchkey-token-bytes";

pub fn routes(api: &mut Api<AppState>) {
    api.group("JWT Templates");
    api.get("/jwt_templates", "ListJWTTemplates", list)
        .summary("List JWT templates")
        .returns::<MaybePaginated<JwtTemplateView>>();
    api.post("/jwt_templates", "CreateJWTTemplate", create)
        .summary("Create a JWT template")
        .returns::<JwtTemplateView>();
    api.get("/jwt_templates/{template_id}", "GetJWTTemplate", get)
        .summary("Get a JWT template")
        .returns::<JwtTemplateView>();
    api.patch("/jwt_templates/{template_id}", "UpdateJWTTemplate", update)
        .summary("Update a JWT template")
        .returns::<JwtTemplateView>();
    api.delete("/jwt_templates/{template_id}", "DeleteJWTTemplate", delete)
        .summary("Delete a JWT template")
        .returns::<DeletedView>();
}

async fn list(cx: Cx, key: SecretKey, Query(page): Query<PageQuery>) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).page(page.paging).await?;
    let templates = store::list(&mut tx, &key.instance, page.paging).await?;
    let data: Vec<_> = templates.iter().map(view::jwt_template).collect();
    cx.reply(&match page.paginated {
        true => {
            let total_count = store::count(&mut tx, &key.instance).await?;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateJwtTemplate>) -> Reply {
    let (owner, has_key) = (WorkOwner::backend(&key.instance), input.signing_key.is_some());
    let checked = own_keys::check(&cx.app, &owner, has_key, move || rules::check_new(input)).await?;
    let template = rules::create(&checked, &key.instance, &cx.app.master, cx.now, &*cx.app.rng)?;
    let token_bytes = measured(&cx, &template).await?;
    let (origin, inserted) = (cx.change_origin(&key), template.clone());
    cx.write(move |tx| Box::pin(async move { create_in(tx, &origin, &inserted).await }))
        .await
        .map_err(explained)?;
    shown(&cx, &template, Some(token_bytes))
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<JwtTemplateId>) -> Reply {
    cx.reply(&view::jwt_template(&find(&cx, &key, &id).await?))
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<JwtTemplateId>,
    Input(input): Input<UpdateJwtTemplate>,
) -> Reply {
    let (owner, has_key) = (WorkOwner::backend(&key.instance), matches!(input.signing_key, Patch::Value(_)));
    let checked = own_keys::check(&cx.app, &owner, has_key, move || rules::check_change(input)).await?;
    let known = find(&cx, &key, &id).await?;
    let trial = rules::update(known.clone(), &checked, &cx.app.master, cx.now)?;
    // Users who have grown since must not keep anybody from renaming a template or changing its key.
    let token_bytes = match trial.claims == known.claims {
        true => None,
        false => Some(measured(&cx, &trial).await?),
    };
    let act = cx.act(&key);
    let template = cx
        .write(move |tx| Box::pin(async move { update_in(tx, &act, &id, &checked).await }))
        .await
        .map_err(explained)?;
    shown(&cx, &template, token_bytes)
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<JwtTemplateId>) -> Reply {
    let (origin, gone) = (cx.change_origin(&key), deleted("jwt_template", &id));
    cx.write(move |tx| Box::pin(async move { delete_in(tx, &origin, &id).await })).await?;
    cx.reply(&gone)
}

async fn create_in(tx: &mut Tx, origin: &ChangeOrigin, template: &JwtTemplate) -> Result<()> {
    store::insert(tx, template).await?;
    emit_change(tx, origin, Event::JwtTemplateCreated, template.id.as_str(), &[])
}

async fn update_in(
    tx: &mut Tx,
    act: &Act,
    id: &JwtTemplateId,
    checked: &rules::Checked,
) -> Result<JwtTemplate> {
    let before = store::lock(tx, &act.instance, id).await?.ok_or_else(|| not_found(id))?;
    let after = rules::update(before.clone(), checked, &act.master, act.now)?;
    store::save(tx, &after).await?;
    if after != before {
        emit_change(tx, &act.into(), Event::JwtTemplateUpdated, id.as_str(), &[])?;
    }
    Ok(after)
}

async fn delete_in(tx: &mut Tx, origin: &ChangeOrigin, id: &JwtTemplateId) -> Result<()> {
    if !store::delete(tx, &origin.instance, id).await? {
        return Err(not_found(id));
    }
    emit_change(tx, origin, Event::JwtTemplateDeleted, id.as_str(), &[])
}

async fn find(cx: &Cx, key: &SecretKey, id: &JwtTemplateId) -> Result<JwtTemplate> {
    let mut tx = cx.app.db.read().await?;
    store::find(&mut tx, &key.instance, id).await?.ok_or_else(|| not_found(id))
}

/// How large the tokens of a template get, or that they get too large. Before the transaction: comparing
/// the lengths of all documents takes a while where there are many.
async fn measured(cx: &Cx, template: &JwtTemplate) -> Result<usize> {
    let mut tx = cx.backend_reads(&template.instance).long().await?;
    let users = store::largest_users(&mut tx, &template.instance, JWT_USERS_MEASURED).await?;
    drop(tx);
    let owner = WorkOwner::backend(&template.instance);
    let signature_bytes = match template.signing.is_custom() {
        true => own_keys::signature_bytes(&cx.app, &owner, template.clone()).await?,
        false => INSTANCE_SIGNATURE_BYTES,
    };
    sizes::check(template, &users, Measure { now: cx.now, api_url: &cx.app.api_url, signature_bytes })
}

fn shown(cx: &Cx, template: &JwtTemplate, token_bytes: Option<usize>) -> Reply {
    let mut response = cx.reply(&view::jwt_template(template))?;
    if let Some(bytes) = token_bytes {
        response.headers_mut().insert(TOKEN_BYTES_HEADER, HeaderValue::from(bytes));
    }
    Ok(response)
}

fn not_found(id: &JwtTemplateId) -> Error {
    Error::not_found("JWT template", id)
}

/// Says that the name is taken, when that is why a template could not be written.
fn explained(error: Error) -> Error {
    match unique_violation(&error) {
        Some("jwt_templates.name") => Error::param(Code::FormAlreadyExists, "name")
            .saying("Another JWT template of this instance has that name."),
        _ => error,
    }
}
