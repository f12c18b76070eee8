//! Routes and handlers of the backend API.

use latchkey_base::kinds::{EventId, WebhookEndpointId};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::wire::ListView;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;
use latchkey_web::throttle::Rate;

use super::input::{ListWebhookDeliveries, ReplayWebhookEvents};
use super::view::{self, DeliveryView, DetailsView, ReplayView};
use super::{replay, rules, store};
use crate::webhooks::manager::Manager;
use crate::{feed, webhooks};

/// Each may change as many deliveries as are kept.
const REPLAYS: Rate = Rate::per_instance("replays", 20, 60_000);

pub fn routes(api: &mut Api<AppState>) {
    api.group("Webhook Endpoints");
    api.get("/webhooks/endpoints/{endpoint_id}/deliveries", "ListWebhookDeliveries", list)
        .summary("List what became of events at an endpoint, newest first")
        .returns::<ListView<DeliveryView>>();
    api.get("/webhooks/endpoints/{endpoint_id}/deliveries/{event_id}", "GetWebhookDelivery", get)
        .summary("Get a delivery with all attempts and what is sent")
        .returns::<DetailsView>();
    let path = "/webhooks/endpoints/{endpoint_id}/deliveries/{event_id}/replay";
    api.post(path, "ReplayWebhookDelivery", replay_one)
        .summary("Send an event to an endpoint again")
        .returns::<DeliveryView>();
    api.post("/webhooks/endpoints/{endpoint_id}/replay", "ReplayWebhookEvents", replay_since)
        .summary("Send an endpoint everything since a time again, or what failed since then")
        .limited(REPLAYS)
        .returns::<ReplayView>();
}

async fn list(
    cx: Cx,
    Manager(key): Manager,
    Path(endpoint): Path<WebhookEndpointId>,
    Query(query): Query<ListWebhookDeliveries>,
) -> Reply {
    let filter = rules::filter(&query)?;
    let mut tx = cx.backend_reads(&key.instance).long().await?;
    let known = webhooks::store::find(&mut tx, &key.instance, &endpoint).await?;
    known.ok_or_else(|| webhooks::not_found(&endpoint))?;
    let found = store::list(&mut tx, &key.instance, &endpoint, &filter, query.paging).await?;
    let total_count = store::count(&mut tx, &key.instance, &endpoint, &filter).await?;
    cx.reply(&ListView { data: found.iter().map(view::delivery).collect(), total_count })
}

async fn get(
    cx: Cx,
    Manager(key): Manager,
    Path((endpoint, event)): Path<(WebhookEndpointId, EventId)>,
) -> Reply {
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &key.instance, &endpoint, &event).await?;
    let found = found.ok_or_else(|| replay::not_found(&event))?;
    let event = feed::store::find(&mut tx, &key.instance, found.seq).await?;
    let payload = event.as_ref().and_then(|it| feed::view::payload_if_readable(it, &cx.app.master));
    cx.reply(&view::details(&found, payload))
}

async fn replay_one(
    cx: Cx,
    Manager(key): Manager,
    Path((endpoint, event)): Path<(WebhookEndpointId, EventId)>,
) -> Reply {
    let act = cx.act(&key);
    let work = cx.write(move |tx| {
        Box::pin(async move { replay::one(tx, &act.instance, &endpoint, &event, act.now).await })
    });
    let delivery = work.await?;
    cx.app.bell.ring_workers();
    cx.reply(&view::delivery(&delivery))
}

async fn replay_since(
    cx: Cx,
    Manager(key): Manager,
    Path(endpoint): Path<WebhookEndpointId>,
    Input(input): Input<ReplayWebhookEvents>,
) -> Reply {
    let (instance, since) = (key.instance, rules::since(input.since)?);
    let events = match input.only_failed {
        true => replay::failed(&cx.app.db, cx.app.clock.clone(), &instance, &endpoint, since).await?,
        false => {
            let all = cx.write(move |tx| {
                Box::pin(async move { replay::everything(tx, &instance, &endpoint, since).await })
            });
            all.await?
        }
    };
    cx.app.bell.ring_workers();
    cx.reply(&view::replay(events))
}
