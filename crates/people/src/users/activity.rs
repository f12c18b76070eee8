//! When a user was last active. Sessions know it to the minute; the user, whom lists are ordered and filtered
//! by, to the hour, because noting it writes the whole user.

use latchkey_base::Time;
use latchkey_kernel::cx::Cx;

use super::model::User;
use super::store;

/// How often it is noted.
const EVERY_MS: i64 = 3_600_000;

/// Notes that a user is active. A transaction of its own: those who change a user take the user first and
/// sessions after, whoever uses a session has that already. What the request was for is done, so it does not
/// fail by this.
pub async fn note(cx: &Cx, user: &User) {
    if !is_due(user, cx.now) {
        return;
    }
    let (instance, id, now) = (user.instance.clone(), user.id.clone(), cx.now);
    let noted = cx.app.db.write(move |tx| {
        Box::pin(async move {
            let Some(before) = store::lock(tx, &instance, &id).await?.filter(|it| is_due(it, now)) else {
                return Ok(());
            };
            let after = User { last_active_at: Some(now), ..before.clone() };
            store::save(tx, &before, &after).await
        })
    });
    if let Err(error) = noted.await {
        tracing::warn!(?error, user.id = %user.id, "when {} was active could not be noted", user.id);
    }
}

fn is_due(user: &User, now: Time) -> bool {
    user.last_active_at.is_none_or(|at| (now.ms() - at.ms()).abs() >= EVERY_MS)
}
