//! The step that brings addresses stored by older servers into the form in which they are compared now: with their
//! domains as DNS knows them. Older servers kept `ada@bücher.example` and `ada@xn--bcher-kva.example` apart.
//!
//! Where two users hold what is one mailbox, nobody can tell whose it is: whoever holds it in its present form, or
//! else the older user, keeps it; the other keeps theirs as it is written, and cannot be found by it. Both are
//! reported, and so are addresses that DNS cannot know, which older servers took.

use std::fmt;

use latchkey_base::Result;
use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::text::email;
use latchkey_db::{Db, Tx};

use super::model::{ContactKind, User};
use super::store;

/// The name of the step among those of the schema.
pub const STEP: &str = "data_email_domains";

/// An address that could not take its present form, because that is held already, or because it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressCollision {
    /// The tenant.
    pub instance: InstanceId,
    /// Who keeps the address as it was.
    pub user: UserId,
    /// The address.
    pub address: String,
    /// Who holds the mailbox; the same user if they hold it twice. Nobody where the address is none any more.
    pub holder: Option<UserId>,
}

impl fmt::Display for AddressCollision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddressCollision { instance, user, holder, .. } = self;
        match holder {
            Some(holder) => write!(
                formatter,
                "user {user} of {instance} has an e-mail address whose mailbox user {holder} holds in another spelling; \
                 nobody signs in by it as {user} until one of the two is deleted"
            ),
            None => write!(
                formatter,
                "user {user} of {instance} has an e-mail address whose domain cannot exist; nobody signs in by it, and \
                 nothing is sent to it; give the user another one"
            ),
        }
    }
}

/// Brings all addresses into their present form, once. What collides stays and is returned.
pub async fn normalise(db: &Db) -> Result<Option<Vec<AddressCollision>>> {
    db.once(STEP, |tx| Box::pin(normalise_all(tx))).await
}

/// The addresses that could not take their present form and still stand as they were.
pub async fn collisions(db: &Db) -> Result<Vec<AddressCollision>> {
    let mut tx = db.read_long().await?;
    let mut found = Vec::new();
    for (instance, id) in store::international(&mut tx).await? {
        if let Some(user) = store::find(&mut tx, &instance, &id).await? {
            found.extend(present_form(&mut tx, &user).await?.1);
        }
    }
    Ok(found)
}

async fn normalise_all(tx: &mut Tx) -> Result<Vec<AddressCollision>> {
    let mut collisions = Vec::new();
    for (instance, id) in store::international(tx).await? {
        let Some(before) = store::lock(tx, &instance, &id).await? else { continue };
        let (after, colliding) = present_form(tx, &before).await?;
        store::save(tx, &before, &after).await?;
        collisions.extend(colliding);
    }
    Ok(collisions)
}

/// The user with all addresses in their present form, but for those that collide.
async fn present_form(tx: &mut Tx, user: &User) -> Result<(User, Vec<AddressCollision>)> {
    let (mut changed, mut collisions) = (user.clone(), Vec::new());
    for contact in &user.email_addresses.all {
        let collision = |holder| AddressCollision {
            instance: user.instance.clone(),
            user: user.id.clone(),
            address: contact.value.clone(),
            holder,
        };
        let Some(address) = email(&contact.value) else {
            collisions.push(collision(None));
            continue;
        };
        if address == contact.value {
            continue;
        }
        let has_it = changed.email_addresses.all.iter().any(|other| other.value == address);
        let holder = match has_it {
            true => Some(user.id.clone()),
            false if !contact.is_exclusive() => None,
            false => holder(tx, &user.instance, &address).await?,
        };
        match (holder, changed.email_addresses.find_mut(&contact.id)) {
            (Some(holder), _) => collisions.push(collision(Some(holder))),
            (None, Some(contact)) => contact.value = address,
            (None, None) => (),
        }
    }
    Ok((changed, collisions))
}

async fn holder(tx: &mut Tx, instance: &InstanceId, address: &str) -> Result<Option<UserId>> {
    let holder = store::find_by_identifier(tx, instance, ContactKind::Email.name(), address).await?;
    Ok(holder.map(|user| user.id))
}
