//! What is sent to one endpoint in one go.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;

use latchkey_base::{Error, Result, Time};
use latchkey_db::{Numbered, Statement, Tx};
use latchkey_kernel::events::Event;
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::{instances, outbox};
use latchkey_outbound::reach::Reach;
use tokio::time::Instant;

use super::senders::{Chain, Item, Late, Outcome, Round};
use super::{Courier, LeasedEndpoint, Stop, rules};
use crate::feed;
use crate::webhooks::deliveries::model::{Delivery, DeliveryStatus};
use crate::webhooks::model::Endpoint;
use crate::webhooks::sending::WebhookTarget;
use crate::webhooks::store::{EndpointProgress, Lease};
use crate::webhooks::{self, deliveries, endpoints};

/// Why an event is not sent: it was deleted before it arrived.
const GONE: &str = "The event is no longer kept.";
/// Why a delivery that waited for its next attempt is given up: its endpoint was taken back and comes to the event again,
/// but meanwhile it was changed and wants no events of this kind any more.
const UNWANTED: &str = "The endpoint no longer gets events of this kind.";

/// Events for one endpoint.
pub(super) struct Batch {
    endpoint: Endpoint,
    reach: Reach,
    /// What is to be sent.
    chains: Vec<Chain>,
    /// What is noted without being sent.
    noted: Vec<Delivery>,
    /// The subjects of what was due: others may wait behind it.
    due_subjects: HashSet<String>,
    /// Whether it is nothing but new events, at an endpoint that takes them: then so is the next one, unless
    /// something goes wrong.
    is_plain: bool,
    /// Where the table has the endpoint's cursor. It is further back for a batch that was read ahead.
    stored_seq: i64,
    /// The last event that was read.
    cursor_seq: i64,
}

/// A batch that was sent and waits for being noted.
pub(super) struct Sent {
    batch: Batch,
    outcome: Outcome,
}

impl Batch {
    /// Reads what is due and what is new; nothing when there is neither, or the endpoint wants no more.
    /// What is late is still under way: nothing else about its subject is sent meanwhile.
    pub(super) async fn read(
        courier: &Courier,
        turn: &LeasedEndpoint,
        late: &Late,
    ) -> Result<Option<Batch>, Stop> {
        let now = courier.parts.clock.now();
        let mut tx = courier.parts.db.read().await.map_err(Error::from)?;
        if !webhooks::store::is_leased(&mut tx, &turn.endpoint, &turn.lease).await? {
            return Err(Stop::Lost);
        }
        let Some((endpoint, reach)) = find(&mut tx, &turn.endpoint).await? else { return Ok(None) };
        let mut batch = Batch::of(endpoint, reach);
        // Before the events: whatever has a number up to this one can be seen from now on.
        let head = feed::store::head(&mut tx, &batch.endpoint.instance).await?;
        let at_once = courier.parts.events_at_once;
        let overlong = deliveries::store::overlong(&mut tx, &batch.endpoint, now, at_once).await?;
        if !overlong.is_empty() {
            batch.noted.extend(overlong.into_iter().map(|delivery| rules::left(delivery, now)));
            return Ok(Some(batch));
        }
        let due = deliveries::store::due(&mut tx, &batch.endpoint, now, at_once).await?;
        let is_full = due.len() as i64 >= at_once;
        let (due, again): (Vec<Delivery>, Vec<Delivery>) =
            due.into_iter().partition(|delivery| delivery.seq <= batch.cursor_seq);
        // There may be very many of these, and each batch would look through them: they wait for the cursor, with a time that
        // never comes.
        let are_many = is_full && !again.is_empty();
        if are_many {
            batch.noted.extend(again.into_iter().map(|delivery| rules::held(delivery, now)));
        }
        let due = batch.read_due(&mut tx, due, now, at_once, late).await?;
        if are_many {
            return Ok(Some(batch));
        }
        let new = batch.read_new(&mut tx, at_once - due, now, late).await?;
        if new == 0 && due < at_once {
            // All that was left was deleted meanwhile; otherwise there would always be something to do.
            batch.skip_to(&mut tx, head, at_once, now).await?;
        }
        batch.is_plain = due == 0 && batch.noted.is_empty() && batch.endpoint.failing_since.is_none();
        let is_moved = batch.cursor_seq > batch.endpoint.cursor_seq;
        Ok((due > 0 || is_moved).then_some(batch))
    }

    /// Reads the batch behind this one before this one has arrived. Nothing unless all is as it should be; and
    /// it is good only if all of this one arrives and the endpoint stays as it is.
    pub(super) async fn read_ahead(&self, courier: &Courier) -> Option<Batch> {
        if !self.is_plain {
            return None;
        }
        let ahead = self.behind(courier).await;
        // It can be read again later; what is on its way now must not suffer.
        ahead.inspect_err(|error| tracing::warn!(?error, "events could not be read ahead")).ok().flatten()
    }

    async fn behind(&self, courier: &Courier) -> Result<Option<Batch>> {
        let mut tx = courier.parts.db.read().await?;
        let Some((endpoint, reach)) = find(&mut tx, &self.endpoint).await? else { return Ok(None) };
        let Endpoint { instance: id, id: endpoint_id, cursor_seq, .. } = &endpoint;
        let any_waits = deliveries::store::any_waits(&mut tx, id, endpoint_id).await?;
        if any_waits || *cursor_seq != self.endpoint.cursor_seq {
            return Ok(None);
        }
        let stored_seq = *cursor_seq;
        let endpoint = Endpoint { cursor_seq: self.cursor_seq, ..endpoint };
        let mut batch = Batch { is_plain: true, stored_seq, ..Batch::of(endpoint, reach) };
        let new = batch
            .read_new(&mut tx, courier.parts.events_at_once, courier.parts.clock.now(), &Late::default())
            .await?;
        Ok((new > 0).then_some(batch))
    }

    /// Whether the endpoint is still what it was when this was read.
    pub(super) async fn is_current(&self, courier: &Courier) -> Result<bool> {
        let mut tx = courier.parts.db.read().await?;
        let expected = Endpoint { cursor_seq: self.stored_seq, ..self.endpoint.clone() };
        Ok(webhooks::store::find(&mut tx, &expected.instance, &expected.id).await? == Some(expected))
    }

    /// An empty batch that begins behind the endpoint's cursor.
    fn of(endpoint: Endpoint, reach: Reach) -> Batch {
        Batch {
            cursor_seq: endpoint.cursor_seq,
            stored_seq: endpoint.cursor_seq,
            reach,
            chains: Vec::new(),
            noted: Vec::new(),
            due_subjects: HashSet::new(),
            is_plain: false,
            endpoint,
        }
    }

    /// What is to be tried again, with what has become due behind it. Tells how many deliveries that is.
    async fn read_due(
        &mut self,
        tx: &mut Tx,
        mut due: Vec<Delivery>,
        now: Time,
        room: i64,
        late: &Late,
    ) -> Result<i64> {
        // Several are about one subject where the first does not hold up the others any more.
        due.sort_by_key(|delivery| delivery.seq);
        let mut count = 0;
        for first in due {
            if count >= room
                || late.contains_key(&first.subject)
                || !self.due_subjects.insert(first.subject.clone())
            {
                continue;
            }
            let left = room - count - 1;
            let behind =
                deliveries::store::due_behind(tx, &first, self.endpoint.cursor_seq, now, left).await?;
            count += 1 + i64::try_from(behind.len()).map_err(Error::internal)?;
            let mut chain = Chain::new();
            for delivery in std::iter::once(first).chain(behind) {
                match feed::store::find(tx, &delivery.instance, delivery.seq).await? {
                    Some(event) => chain.push(Item { event, delivery }),
                    None => self.noted.push(rules::lost(delivery, GONE, now)),
                }
            }
            self.chains.push(chain);
        }
        Ok(count)
    }

    /// What the endpoint has not come to yet. Tells how many events, or deliveries whose events are gone, that is.
    async fn read_new(&mut self, tx: &mut Tx, room: i64, now: Time, late: &Late) -> Result<i64> {
        let new = feed::store::page(tx, &self.endpoint.instance, self.cursor_seq, room).await?;
        let count = i64::try_from(new.len()).map_err(Error::internal)?;
        let (Some(first), Some(last)) = (new.first(), new.last()) else { return Ok(0) };
        // The oldest events are deleted first, and any number of deliveries may wait for those: they end before anything new
        // is sent.
        if first.seq > self.cursor_seq + 1 {
            self.skip_to(tx, first.seq - 1, room, now).await?;
            if self.cursor_seq < first.seq - 1 {
                return Ok(room);
            }
        }
        let after = std::mem::replace(&mut self.cursor_seq, last.seq);
        let Endpoint { instance, id, .. } = &self.endpoint;
        // Somebody may have moved the cursor back.
        let before = deliveries::store::between(tx, instance, id, after, last.seq).await?;
        let mut before: HashMap<i64, Delivery> = before.into_iter().map(|it| (it.seq, it)).collect();
        let any_waits = deliveries::store::any_waits(tx, instance, id).await?;
        let mut chains: HashMap<String, (bool, Vec<Item>)> = HashMap::new();
        for event in new {
            let known = before.remove(&event.seq);
            if !self.endpoint.wants(&event.kind) {
                self.noted.extend(known.filter(is_waiting).map(|known| rules::lost(known, UNWANTED, now)));
                continue;
            }
            // One that waits goes out in its place.
            let delivery = match known {
                Some(known) => Delivery { attempts: 0, ..known },
                None => rules::new(&self.endpoint, &event, now),
            };
            if !chains.contains_key(&event.subject) {
                let is_held = late.contains_key(&event.subject)
                    || any_waits && deliveries::store::is_held(tx, &self.endpoint, &event.subject).await?;
                chains.insert(event.subject.clone(), (is_held, Vec::new()));
            }
            if let Some((_, chain)) = chains.get_mut(&event.subject) {
                chain.push(Item { event, delivery });
            }
        }
        let lost = before.into_values().filter(is_waiting);
        self.noted.extend(lost.map(|delivery| rules::lost(delivery, GONE, now)));
        for (is_held, chain) in chains.into_values() {
            match is_held {
                true => self.noted.extend(chain.into_iter().map(|item| rules::held(item.delivery, now))),
                false => self.chains.push(chain),
            }
        }
        Ok(count)
    }

    /// Passes over events that were deleted, up to a number. What waits for one of them ends; if that is more than there is
    /// room for, it passes over fewer.
    async fn skip_to(&mut self, tx: &mut Tx, up_to: i64, room: i64, now: Time) -> Result<()> {
        let lost = deliveries::store::waiting_between(tx, &self.endpoint, up_to, room).await?;
        let last = lost.last().map(|delivery| delivery.seq).filter(|_| lost.len() as i64 >= room);
        self.cursor_seq = self.cursor_seq.max(last.unwrap_or(up_to));
        self.noted.extend(lost.into_iter().map(|delivery| rules::lost(delivery, GONE, now)));
        Ok(())
    }

    /// Takes out what is to be sent. What is left at the end of the turn waits for the next one.
    pub(super) fn round(&mut self, courier: &Courier, end: Instant) -> Result<Round> {
        let target = WebhookTarget::of(&self.endpoint, self.reach, &courier.parts.master)?;
        Ok(Round::new(courier, target, end, std::mem::take(&mut self.chains)))
    }

    /// What is to be noted now that it was sent, with what came late of batches before.
    pub(super) fn became(mut self, mut outcome: Outcome, late: Outcome) -> Sent {
        self.due_subjects.extend(late.deliveries.iter().map(|delivery| delivery.subject.clone()));
        outcome.add(late);
        Sent { batch: self, outcome }
    }
}

fn is_waiting(delivery: &Delivery) -> bool {
    delivery.status == DeliveryStatus::Pending
}

/// The endpoint as it is now and how far its requests may go, unless it is gone or wants no more.
async fn find(tx: &mut Tx, endpoint: &Endpoint) -> Result<Option<(Endpoint, Reach)>> {
    let found = webhooks::store::find(tx, &endpoint.instance, &endpoint.id).await?;
    let Some(endpoint) = found.filter(|endpoint| !endpoint.is_disabled) else { return Ok(None) };
    let instance = instances::store::find(tx, &endpoint.instance).await?;
    let reach = |Instance { settings, environment, .. }: Instance| settings.events.reach(environment);
    Ok(instance.map(|instance| (endpoint, reach(instance))))
}

impl Sent {
    /// What came late, to be noted alone.
    pub(super) async fn late(courier: &Courier, endpoint: &Endpoint, late: Outcome) -> Result<Sent, Stop> {
        let mut tx = courier.parts.db.read().await.map_err(Error::from)?;
        let found = webhooks::store::find(&mut tx, &endpoint.instance, &endpoint.id).await?;
        let batch = Batch::of(found.ok_or(Stop::Lost)?, Reach::Public);
        Ok(batch.became(Outcome::default(), late))
    }

    /// Whether the endpoint took every event, and nothing of it waits.
    pub(super) fn is_all_taken(&self) -> bool {
        self.outcome.deliveries.iter().all(|delivery| delivery.status == DeliveryStatus::Succeeded)
    }

    /// Notes what became of everything and moves the cursor, all at once; nothing if the endpoint is not ours any
    /// more: whoever has it begins where we did.
    pub(super) async fn save(self, courier: &Courier, lease: &Lease) -> Result<(), Stop> {
        let Sent { batch, outcome } = self;
        let now = courier.parts.clock.now();
        let (failing_since, is_too_long) =
            rules::health(batch.endpoint.failing_since, &outcome.attempts, now);
        // What comes late finds that said already.
        let is_given_up = is_too_long && !batch.endpoint.is_disabled;
        let all = outcome.deliveries.iter().chain(&batch.noted);
        let holding: HashSet<&str> =
            all.clone().filter(|it| rules::is_holding(it)).map(|it| &*it.subject).collect();
        let released: Vec<&String> =
            batch.due_subjects.iter().filter(|subject| !holding.contains(subject.as_str())).collect();
        // As many as are sent in one go: what was released and not sent yet must not grow.
        let each = (courier.parts.events_at_once / (released.len() as i64).max(1)).max(1);
        let Endpoint { instance, id, .. } = &batch.endpoint;
        let released: Vec<Statement> = released
            .iter()
            .map(|it| deliveries::store::release(instance, id, batch.cursor_seq, it, now, each))
            .collect();
        let statements = all.map(deliveries::store::save).collect::<Result<Vec<Statement>>>()?;
        let disabled = match is_given_up {
            true => Some(disabled(courier, &batch.endpoint, now).await?),
            false => None,
        };
        let progress = EndpointProgress { cursor_seq: batch.cursor_seq, failing_since, is_given_up };
        let (endpoint, lease) = (batch.endpoint, lease.clone());
        let instance = endpoint.instance.clone();
        let saved = courier.parts.db.write(move |tx| {
            Box::pin(async move {
                save_in(tx, &endpoint, &lease, &progress, disabled, statements, released).await
            })
        });
        if !saved.await? {
            return Err(Stop::Lost);
        }
        courier.counts.add(&outcome);
        if is_given_up {
            courier.parts.bell.ring(&instance);
        }
        Ok(())
    }
}

/// Whether the endpoint is still ours; otherwise nothing is written.
async fn save_in(
    tx: &mut Tx,
    endpoint: &Endpoint,
    lease: &Lease,
    progress: &EndpointProgress,
    disabled: Option<Numbered>,
    statements: Vec<Statement>,
    released: Vec<Statement>,
) -> Result<bool> {
    if !webhooks::store::save_progress(tx, endpoint, lease, progress).await? {
        return Ok(false);
    }
    disabled.into_iter().for_each(|event| tx.append(event));
    tx.run_rows(statements).await?;
    tx.run_many(released).await?;
    Ok(true)
}

/// The event that nothing is sent to the endpoint any more.
async fn disabled(courier: &Courier, endpoint: &Endpoint, now: Time) -> Result<Numbered> {
    let endpoint = Endpoint { is_disabled: true, ..endpoint.clone() };
    let health = endpoints::health(&mut courier.parts.db.read().await?, &endpoint).await?;
    let origin = outbox::Origin::server(&endpoint.instance, now, &*courier.parts.rng);
    let shown = webhooks::view::endpoint(&endpoint, &health);
    outbox::event(origin, Event::WebhookEndpointDisabled, endpoint.id.as_str(), &shown)
}

impl super::DeliveryCounts {
    fn add(&self, outcome: &Outcome) {
        let delivered = outcome.attempts.iter().filter(|is_success| **is_success).count() as u64;
        let given_up =
            outcome.deliveries.iter().filter(|it| it.status == DeliveryStatus::Failed).count() as u64;
        self.delivered.fetch_add(delivered, Relaxed);
        self.refused.fetch_add(outcome.attempts.len() as u64 - delivered, Relaxed);
        self.given_up.fetch_add(given_up, Relaxed);
    }
}
