//! Routes and handlers of the backend API.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use latchkey_base::kinds::WebhookEndpointId;
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::WEBHOOK_TIMEOUT;
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{App, AppState, signing_secrets};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{CreateWebhookEndpoint, RotateWebhookSecret, TestWebhookEndpoint, UpdateWebhookEndpoint};
use super::manager::Manager;
use super::model::Endpoint;
use super::sending::{WebhookSender, WebhookTarget};
use super::tokens::{self, Pass};
use super::view::{self, EndpointView, EventTypeView, NewEndpointView, SecretsView, SvixUrlView, TestView};
use super::{endpoints, not_found, rules, samples, secrets, store};
use crate::feed;

/// Adds the operations: three as published, the others ours.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Webhooks");
    api.post("/webhooks/svix", "CreateSvixApp", begin)
        .summary("Begin to manage webhooks, and get a link to the page for it")
        .returns::<SvixUrlView>();
    api.delete("/webhooks/svix", "DeleteSvixApp", end)
        .summary("Delete all webhook endpoints, and make links to the page for them worthless")
        .returns_nothing();
    api.post("/webhooks/svix_url", "GenerateSvixAuthURL", link)
        .summary("Get another link to the page where webhooks are managed")
        .returns::<SvixUrlView>();
    api.group("Webhook Endpoints");
    api.get("/webhooks/event_types", "ListWebhookEventTypes", list_event_types)
        .summary("List the kinds of events")
        .returns::<ListView<EventTypeView>>();
    api.get("/webhooks/endpoints", "ListWebhookEndpoints", list)
        .summary("List webhook endpoints, newest first")
        .returns::<ListView<EndpointView>>();
    api.post("/webhooks/endpoints", "CreateWebhookEndpoint", create)
        .summary("Create a webhook endpoint, and get its secret")
        .returns::<NewEndpointView>();
    routes_of_one(api);
}

fn routes_of_one(api: &mut Api<AppState>) {
    api.get("/webhooks/endpoints/{endpoint_id}", "GetWebhookEndpoint", get)
        .summary("Get a webhook endpoint")
        .returns::<EndpointView>();
    api.patch("/webhooks/endpoints/{endpoint_id}", "UpdateWebhookEndpoint", update)
        .summary("Change, disable or enable a webhook endpoint")
        .wants_body()
        .returns::<EndpointView>();
    api.delete("/webhooks/endpoints/{endpoint_id}", "DeleteWebhookEndpoint", delete)
        .summary("Delete a webhook endpoint and its deliveries")
        .returns::<DeletedView>();
    api.get("/webhooks/endpoints/{endpoint_id}/secret", "GetWebhookSecret", get_secret)
        .summary("Get the secrets that events are signed with")
        .returns::<SecretsView>();
    api.post("/webhooks/endpoints/{endpoint_id}/secret/rotate", "RotateWebhookSecret", rotate)
        .summary("Sign with a new secret, beside which the old one signs for a while")
        .returns::<SecretsView>();
    api.post("/webhooks/endpoints/{endpoint_id}/test", "TestWebhookEndpoint", test)
        .summary("Send a made-up event, and see what the endpoint answers")
        .returns::<TestView>();
}

async fn begin(cx: Cx, key: SecretKey) -> Reply {
    let (instance, now) = (key.instance.clone(), cx.now);
    let is_new = cx.write(move |tx| Box::pin(async move { store::insert_app(tx, &instance, now).await }));
    match is_new.await? {
        true => linked(&cx, key, cx.now),
        false => Err(Error::new(Code::SvixAppExists).into()),
    }
}

async fn end(cx: Cx, key: SecretKey) -> Reply {
    // The link is worth nothing from now on, however long the rest takes.
    let instance = key.instance.clone();
    let had_app = cx.write(move |tx| Box::pin(async move { store::delete_app(tx, &instance).await })).await?;
    // Endpoints are also made without managing them on the page.
    let ids = store::ids(&mut cx.app.db.read().await?, &key.instance).await?;
    if !had_app && ids.is_empty() {
        return Err(Error::new(Code::SvixAppMissing).into());
    }
    endpoints::delete(&cx.app.db, &cx.change_origin(&key), ids).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn link(cx: Cx, key: SecretKey) -> Reply {
    let found = store::find_app(&mut cx.app.db.read().await?, &key.instance).await?;
    let app_created_at = found.ok_or_else(|| Error::new(Code::SvixAppMissing))?;
    linked(&cx, key, app_created_at)
}

fn linked(cx: &Cx, key: SecretKey, app_created_at: Time) -> Reply {
    let SecretKey { instance, id, .. } = key;
    let id = id.ok_or_else(|| Error::internal("a link to the webhooks page without a secret key"))?;
    let pass = Pass { instance, app_created_at, key: id };
    let token = tokens::issue(&pass, &cx.app.master, cx.now)?;
    cx.reply(&SvixUrlView { svix_url: tokens::url(&cx.app.api_url, &token) })
}

async fn list_event_types(cx: Cx, _: Manager) -> Reply {
    let data: Vec<EventTypeView> = Event::ALL.iter().map(|event| view::event_type(*event)).collect();
    cx.reply(&ListView { total_count: data.len() as i64, data })
}

async fn list(cx: Cx, Manager(key): Manager, Query(paging): Query<Paging>) -> Reply {
    let mut tx = cx.backend_reads(&key.instance).page(paging).await?;
    let mut found = Vec::new();
    for endpoint in store::list(&mut tx, &key.instance, paging).await? {
        let health = endpoints::health(&mut tx, &endpoint).await?;
        found.push((endpoint, health));
    }
    let total_count = store::count(&mut tx, &key.instance).await?;
    let data = found.iter().map(|(endpoint, health)| view::endpoint(endpoint, health)).collect();
    cx.reply(&ListView { data, total_count })
}

async fn create(cx: Cx, Manager(key): Manager, Input(input): Input<CreateWebhookEndpoint>) -> Reply {
    rules::check_new(&input, key.settings.events.reach(key.environment))?;
    let (origin, master) = (cx.change_origin(&key), cx.app.master.clone());
    let work =
        cx.write(move |tx| Box::pin(async move { endpoints::create(tx, &origin, input, &master).await }));
    let endpoint = work.await?;
    let health = endpoints::health(&mut cx.backend_reads(&key.instance).short().await?, &endpoint).await?;
    cx.reply(&view::new_endpoint(&endpoint, &health, &secrets::open(&endpoint, &cx.app.master)?))
}

async fn get(cx: Cx, Manager(key): Manager, Path(id): Path<WebhookEndpointId>) -> Reply {
    let endpoint = find(&cx, &key, &id).await?;
    shown(&cx, &endpoint).await
}

async fn update(
    cx: Cx,
    Manager(key): Manager,
    Path(id): Path<WebhookEndpointId>,
    Input(input): Input<UpdateWebhookEndpoint>,
) -> Reply {
    rules::check_change(&input, key.settings.events.reach(key.environment))?;
    let endpoint = endpoints::update(&cx.app.db, &cx.change_origin(&key), &id, input).await?;
    cx.app.bell.ring_workers();
    shown(&cx, &endpoint).await
}

async fn delete(cx: Cx, Manager(key): Manager, Path(id): Path<WebhookEndpointId>) -> Reply {
    let gone = deleted("webhook_endpoint", &id);
    find(&cx, &key, &id).await?;
    match endpoints::delete(&cx.app.db, &cx.change_origin(&key), vec![id.clone()]).await? {
        0 => Err(not_found(&id).into()),
        _ => cx.reply(&gone),
    }
}

async fn get_secret(cx: Cx, Manager(key): Manager, Path(id): Path<WebhookEndpointId>) -> Reply {
    let endpoint = find(&cx, &key, &id).await?;
    cx.reply(&view::secrets(&secrets::open(&endpoint, &cx.app.master)?, cx.now))
}

async fn rotate(
    cx: Cx,
    Manager(key): Manager,
    Path(id): Path<WebhookEndpointId>,
    Input(input): Input<RotateWebhookSecret>,
) -> Reply {
    rules::check_rotation(&input)?;
    let (origin, master) = (cx.change_origin(&key), cx.app.master.clone());
    let secret = input.secret.unwrap_or_else(|| signing_secrets::generate(&*origin.rng));
    let overlap = input.expire_old_in_seconds;
    let work = cx.write(move |tx| {
        Box::pin(async move { endpoints::rotate(tx, &origin, &id, secret, overlap, &master).await })
    });
    let endpoint = work.await?;
    cx.reply(&view::secrets(&secrets::open(&endpoint, &cx.app.master)?, cx.now))
}

async fn test(
    cx: Cx,
    Manager(key): Manager,
    Path(id): Path<WebhookEndpointId>,
    Input(input): Input<TestWebhookEndpoint>,
) -> Reply {
    let endpoint = find(&cx, &key, &id).await?;
    let kind = rules::kind(&input.kind, "type")?;
    let event = samples::event(kind, &key.instance, cx.now, &*cx.app.rng)?;
    let App { outbound, master, clock, .. } = &*cx.app;
    let sender = WebhookSender { client: outbound, master, clock: &**clock, timeout: WEBHOOK_TIMEOUT };
    let target = WebhookTarget::of(&endpoint, key.settings.events.reach(key.environment), master)?;
    let attempt = sender
        .send(&target, &event)
        .await?
        .ok_or_else(|| Error::internal("a made-up event cannot be opened"))?;
    cx.reply(&view::test(feed::view::payload(&event, &cx.app.master)?, &attempt))
}

async fn find(cx: &Cx, key: &SecretKey, id: &WebhookEndpointId) -> Result<Endpoint> {
    let mut tx = cx.app.db.read().await?;
    store::find(&mut tx, &key.instance, id).await?.ok_or_else(|| not_found(id))
}

async fn shown(cx: &Cx, endpoint: &Endpoint) -> Reply {
    let reads = cx.backend_reads(&endpoint.instance);
    let health = endpoints::health(&mut reads.short().await?, endpoint).await?;
    cx.reply(&view::endpoint(endpoint, &health))
}
