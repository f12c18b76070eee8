//! What requests with a secret key caused, for the operator who revokes the key.

use std::collections::BTreeMap;

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_db::Db;
use latchkey_kernel::events::Event;

use super::model::StoredEvent;
use super::store;

/// How many numbers one statement looks at. Events have no index by key: every request of a backend would pay for it,
/// and keys are revoked rarely.
const RANGE: i64 = 5000;

/// Kinds that endpoints receive too, and that change what members of organizations may do.
const GRANTS: [&str; 2] = ["role.", "permission."];

/// The events that a secret key caused and that are still kept.
#[derive(Default)]
pub struct KeyEvents {
    /// Changes of the configuration, oldest first.
    pub changes: Vec<StoredEvent>,
    /// How many events of each other kind there are.
    pub others: BTreeMap<String, u64>,
}

/// Finds the events that a secret key caused.
pub async fn find(db: &Db, instance: &InstanceId, key: &SecretKeyId) -> Result<KeyEvents> {
    let mut tx = db.read().await?;
    let head = store::head(&mut tx, instance).await?;
    let mut last = store::first(&mut tx, instance).await? - 1;
    drop(tx);
    let mut found = KeyEvents::default();
    while last < head {
        // Each range has a transaction of its own, so that none holds a snapshot for long.
        let mut tx = db.read().await?;
        let next = (last + RANGE).min(head);
        for (seq, kind) in store::of_key(&mut tx, instance, key, last, next).await? {
            let is_change = Event::is_feed_only(&kind) || GRANTS.iter().any(|noun| kind.starts_with(noun));
            if !is_change {
                *found.others.entry(kind).or_default() += 1;
                continue;
            }
            found.changes.extend(store::find(&mut tx, instance, seq).await?);
        }
        last = next;
    }
    Ok(found)
}
