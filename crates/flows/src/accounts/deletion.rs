//! Deleting a user. What belongs to them goes by the foreign keys, in one transaction; of what there may be any number most
//! goes before, step by step: nobody else could write meanwhile.

use std::ops::ControlFlow::{self, Break, Continue};

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::{Db, Tx};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox;
use latchkey_kernel::steps::{self, AT_ONCE};
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_organizations::removals;
use latchkey_people::tickets::{actor_tokens, sign_in_tokens};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::store;
use latchkey_presence::sessions::store as sessions;

use super::sessions::Sessions;

/// Deletes a user with all that belongs to them.
pub async fn delete(cx: &Cx, act: Act, id: UserId) -> Result<()> {
    if !is_heavy(&mut cx.app.db.read().await?, &act.instance, &id).await? {
        return cx.write(move |tx| Box::pin(async move { delete_in(tx, &act, id).await })).await;
    }
    let (app, instance) = (cx.app.clone(), act.instance.clone());
    let work = async move {
        make_light(&app.db, &act.instance, &id, act.now).await?;
        let (instance, clock) = (act.instance.clone(), app.clock.clone());
        let gone = app.db.write_numbered(move |tx| {
            // The steps may have taken longer than any request, and times of events are in the order of their numbers.
            Box::pin(async move { delete_in(tx, &Act { now: clock.now(), ..act }, id).await })
        });
        let ((), seq) = gone.await?;
        app.bell.ring(&instance);
        Ok(seq)
    };
    cx.caused(steps::to_the_end(&instance, work).await?);
    Ok(())
}

async fn delete_in(tx: &mut Tx, act: &Act, id: UserId) -> Result<()> {
    let mut settling = Sessions::End.lock(tx, act, &[&id]).await?;
    let user = UserTarget::User(id).lock(tx, act).await?;
    removals::delete_user(tx, act, &user).await?;
    settling.settle(tx, act, &user.id).await?;
    store::delete(tx, &act.instance, &user.id).await?;
    let event = DeletedView { external_id: user.external_id, ..deleted("user", &user.id) };
    outbox::emit(tx, act, Event::UserDeleted, user.id.as_str(), &event)
}

/// Whether a user has more than one transaction should delete.
async fn is_heavy(tx: &mut Tx, instance: &InstanceId, user: &UserId) -> Result<bool> {
    Ok(sessions::has_more(tx, instance, user, AT_ONCE).await?
        || sign_in_tokens::store::has_more(tx, instance, user, AT_ONCE).await?
        || actor_tokens::store::has_more(tx, instance, user, AT_ONCE).await?)
}

/// Deletes the sessions of a user that are over, and what would let somebody in as them. How many sessions go on is bounded.
async fn make_light(db: &Db, instance: &InstanceId, user: &UserId, now: Time) -> Result<()> {
    let step = |()| async {
        let (instance, user) = (instance.clone(), user.clone());
        db.write(move |tx| Box::pin(async move { make_lighter(tx, &instance, &user, now).await })).await
    };
    steps::all((), step).await
}

/// One step of it. What there is less of is left alone: if nothing more comes of the deletion, the user still has it.
async fn make_lighter(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    now: Time,
) -> Result<ControlFlow<()>> {
    // Two who delete a user at once would find the same rows, and one of them would delete none of those.
    if store::lock(tx, instance, user).await?.is_none() {
        return Ok(Break(()));
    }
    let mut deleted = 0;
    if sessions::has_more(tx, instance, user, AT_ONCE).await? {
        deleted += sessions::delete_some_over(tx, instance, user, now, AT_ONCE).await?;
    }
    if sign_in_tokens::store::has_more(tx, instance, user, AT_ONCE).await? {
        deleted += sign_in_tokens::store::delete_some(tx, instance, user, AT_ONCE).await?;
    }
    if actor_tokens::store::has_more(tx, instance, user, AT_ONCE).await? {
        deleted += actor_tokens::store::delete_some(tx, instance, user, AT_ONCE).await?;
    }
    // What is left then is few, or sessions that go on.
    Ok(if deleted > 0 { Continue(()) } else { Break(()) })
}
