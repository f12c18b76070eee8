//! Revokes the invitations that a member sent, when the member may not invite any more: in the transaction that causes it, and
//! the rest by a job.

use latchkey_base::kinds::{InstanceId, OrganizationId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::background::WorkProgress;
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox::{self, Origin};
use latchkey_kernel::settings::Settings;
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;

use super::model::{InvitationParts, InvitationStatus};
use super::{store, view};
use crate::access::model::Access;
use crate::orgs::model::Organization;
use crate::removals::store::{self as removals, Removal, Sender, Subject};

/// Invitations that one transaction revokes.
const BATCH: i64 = 100;

/// Where invitations are revoked, and what the events of it say.
#[derive(Clone, Copy)]
pub struct RevocationContext<'a> {
    pub instance: &'a InstanceId,
    pub origin: Origin<'a>,
    pub access: &'a Access,
    /// The locked organization.
    pub organization: &'a Organization,
    /// The base URL of pictures in events.
    pub api_url: &'a str,
}

/// Revokes the pending invitations that a member sent. A job revokes those beyond the first batch.
pub async fn revoke_sent_by(tx: &mut Tx, context: RevocationContext<'_>, sender: &UserId) -> Result<()> {
    let until = context.origin.now();
    if revoke_batch(tx, context, sender, until).await? == WorkProgress::Done {
        return Ok(());
    }
    let organization = context.organization.id.clone();
    let sender = Sender { organization, user: sender.clone(), until };
    let removal = Removal {
        instance: context.instance.clone(),
        subject: Subject::Sender(sender),
        api_url: context.api_url.to_owned(),
    };
    removals::put(tx, &removal, until).await
}

/// Revokes a batch of the pending invitations that a member sent until then.
pub async fn revoke_batch(
    tx: &mut Tx,
    context: RevocationContext<'_>,
    sender: &UserId,
    until: Time,
) -> Result<WorkProgress> {
    let RevocationContext { instance, origin, access, organization, api_url } = context;
    let place: (&OrganizationId, &UserId) = (&organization.id, sender);
    let pending = store::lock_pending_of_sender(tx, instance, place, (until, origin.now()), BATCH).await?;
    let is_last = (pending.len() as i64) < BATCH;
    let inviter = if pending.is_empty() { None } else { users::find(tx, instance, sender).await? };
    let settings = Settings::default();
    let users = ViewContext { now: origin.now(), settings: &settings, api_url, relying_party: None };
    for mut invitation in pending {
        invitation.status = InvitationStatus::Revoked;
        invitation.details.updated_at = origin.now();
        store::save(tx, &invitation).await?;
        let parts =
            InvitationParts { invitation, organization: organization.clone(), inviter: inviter.clone() };
        let view = view::closed(&parts, access, users);
        let subject = organization.id.as_str();
        tx.append(outbox::event(origin, Event::OrganizationInvitationRevoked, subject, &view)?);
    }
    Ok(if is_last { WorkProgress::Done } else { WorkProgress::More })
}
