//! When a user was last active. Sessions know it to the minute; the user, whom lists are ordered and filtered
//! by, to the hour, because noting it writes the whole user.

use latchkey_base::Result;

use super::model::User;
use super::store;
use crate::cx::Cx;

/// How often it is noted.
const EVERY_MS: i64 = 3_600_000;

/// Notes that a user is active. A transaction of its own: those who change a user take the user first and
/// sessions after, whoever uses a session has that already.
pub async fn note(cx: &Cx, user: &User) -> Result<()> {
    if user.last_active_at.is_some_and(|at| cx.now.ms_since(at) < EVERY_MS) {
        return Ok(());
    }
    let (instance, id, now) = (user.instance.clone(), user.id.clone(), cx.now);
    let noted = cx.app.db.write(move |tx| {
        Box::pin(async move {
            let Some(before) = store::lock(tx, &instance, &id).await? else { return Ok(()) };
            let after = User { last_active_at: before.last_active_at.max(Some(now)), ..before.clone() };
            store::save(tx, &before, &after).await
        })
    });
    noted.await
}
