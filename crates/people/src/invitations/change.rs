//! Making, following and revoking invitations to the application, each inside the caller's transaction.

use std::sync::Arc;

use latchkey_base::kinds::InvitationId;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::document;
use latchkey_kernel::instances::store as instances;
use latchkey_kernel::limits::INVITATION_DAYS;
use latchkey_letters::model::Channel;
use latchkey_messaging::messages::model::{Message, Recipient};
use latchkey_messaging::messages::{rules as messages, sending, store as message_store};
use serde_json::value::RawValue;
use serde_json::{Map, json};

use super::ending::checked_by_key;
use super::input::{CreateApplicationInvitation, InvitationTemplate};
use super::model::{ApplicationInvitation, ApplicationInvitationDetails};
use super::{rules, store};
use crate::identifications::rules::checked;
use crate::recipients::account;
use crate::tickets::destinations::redirect_problem;
use crate::tickets::model::{Ticket, TicketSource, TicketStatus};
use crate::tickets::rules as tickets;
use crate::users::metadata::stored;
use crate::users::model::{ContactKind, User};
use crate::users::store as users;
use crate::waitlist::{completion, store as waitlist};

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// An invitation that is to be made, checked as far as that is possible without looking at who is there.
pub struct DraftApplicationInvitation {
    pub id: InvitationId,
    pub email_address: String,
    redirect_url: Option<String>,
    public_metadata: Box<RawValue>,
    days: i64,
    expire_at: Time,
    ticket: String,
    /// Where the ticket is used.
    url: String,
    template: InvitationTemplate,
    /// Whether an e-mail is sent.
    is_told: bool,
    /// Whether it may stand beside another one of the same address.
    is_beside_others: bool,
    /// Whether somebody may have the address already.
    may_have_account: bool,
}

impl DraftApplicationInvitation {
    /// The same where nobody may have the address.
    pub fn for_newcomers(self) -> DraftApplicationInvitation {
        DraftApplicationInvitation { may_have_account: false, ..self }
    }
}

/// Checks what is asked for, and signs the ticket.
pub async fn draft(
    cx: &Cx,
    key: &SecretKey,
    act: &Act,
    input: CreateApplicationInvitation,
) -> Result<DraftApplicationInvitation> {
    if !act.settings.attributes.email_address.enabled {
        return Err(Error::new(Code::InvitationsNotSupported));
    }
    let mut problems = Vec::new();
    let email_address = checked(ContactKind::Email, &input.email_address).unwrap_or_else(|problem| {
        problems.push(problem);
        String::new()
    });
    let redirect_url = input.redirect_url.filter(|url| !url.is_empty());
    problems.extend(redirect_url.as_deref().and_then(redirect_problem));
    let public_metadata =
        stored("public_metadata", input.public_metadata.unwrap_or_default(), &mut problems)?;
    Error::collect(problems)?;
    let id = InvitationId::new(act.now, &*act.rng);
    let days = input.expires_in_days.unwrap_or(INVITATION_DAYS);
    let signer = cx.app.signer(&mut cx.app.db.read().await?, &key.instance, cx.now).await?;
    let source = TicketSource::Invitation(id.clone());
    let (ticket, expire_at) =
        tickets::sign(&signer, &act.instance, &source, days.saturating_mul(DAY_SECONDS), act.now)?;
    let is_existing_ignored = input.ignore_existing == Some(true);
    Ok(DraftApplicationInvitation {
        id,
        email_address,
        redirect_url,
        public_metadata,
        days,
        expire_at,
        url: tickets::url(&frontend_url(cx, key).await?, &ticket),
        ticket,
        template: input.template_slug.unwrap_or(InvitationTemplate::Invitation),
        is_told: input.notify.unwrap_or(true),
        is_beside_others: is_existing_ignored,
        may_have_account: is_existing_ignored,
    })
}

/// The base URL at which browsers reach the instance.
pub async fn frontend_url(cx: &Cx, key: &SecretKey) -> Result<Arc<str>> {
    let host = instances::frontend_api(&mut cx.app.db.read().await?, &key.instance).await?;
    Ok(cx.app.primary_url(&host.unwrap_or_default(), &key.settings).into())
}

/// Makes an invitation, and sends the e-mail unless told otherwise.
pub async fn invite(
    tx: &mut Tx,
    act: &Act,
    draft: DraftApplicationInvitation,
) -> Result<ApplicationInvitation> {
    let address = &draft.email_address;
    let holder = users::find_by_identifier(tx, &act.instance, ContactKind::Email.name(), address).await?;
    if holder.is_some() && !draft.may_have_account {
        return Err(Error::param(Code::FormIdentifierExists, ContactKind::Email.name()).saying(
            "Somebody has an account with this e-mail address. To invite them all the same, set `ignore_existing`: the \
             link signs them in.",
        ));
    }
    if !draft.is_beside_others && store::has_pending(tx, &act.instance, address, act.now).await? {
        return Err(duplicate(std::slice::from_ref(address)));
    }
    let invitation = ApplicationInvitation {
        instance: act.instance.clone(),
        is_beside_others: draft.is_beside_others,
        status: TicketStatus::Pending,
        details: ApplicationInvitationDetails {
            ticket: rules::seal(&act.master, &draft.id, &draft.ticket)?,
            email_address: draft.email_address,
            redirect_url: draft.redirect_url,
            public_metadata: draft.public_metadata,
            accepted_by: None,
            updated_at: act.now,
        },
        key: act.key.clone(),
        id: draft.id,
        created_at: act.now,
        expire_at: draft.expire_at,
    };
    store::insert(tx, &invitation).await?;
    if draft.is_told {
        tell(tx, act, &invitation, holder.as_ref(), draft.template, (&draft.url, draft.days)).await?;
    }
    Ok(invitation)
}

async fn tell(
    tx: &mut Tx,
    act: &Act,
    invitation: &ApplicationInvitation,
    holder: Option<&User>,
    template: InvitationTemplate,
    (url, days): (&str, i64),
) -> Result<()> {
    let details = &invitation.details;
    let metadata = document::value(&details.public_metadata);
    let data = Map::from_iter([
        ("action_url".to_owned(), json!(url)),
        ("inviter_name".to_owned(), json!("")),
        ("inviter".to_owned(), json!({ "name": "" })),
        ("invitation".to_owned(), json!({ "expires_in_days": days, "public_metadata": metadata })),
    ]);
    let to = Recipient {
        account: holder.map(account),
        channel: Channel::Email,
        to: &details.email_address,
        identification: None,
        locale: None,
    };
    let notice = messages::notice(to, template.slug(), data);
    sending::send(tx, act, Message { expire_at: Some(invitation.expire_at), ..notice }).await
}

/// The refusal of addresses that are invited already.
pub fn duplicate(email_addresses: &[String]) -> Error {
    let said = Problem::of(Code::DuplicateRecord, "email_address").saying(
        "There is a pending invitation for this address already. Revoke it first, or set `ignore_existing`.",
    );
    match email_addresses.is_empty() {
        true => said.into(),
        false => said.with("email_addresses", email_addresses.to_vec()).into(),
    }
}

/// Uses an invitation up for somebody who signs up or in by it: of many at once one succeeds. Whoever follows it is
/// locked, or new. If they were on the waitlist, they wait no more; whoever is invited from there has the entry locked
/// before the invitation, and so it is here.
pub async fn accept(tx: &mut Tx, act: &Act, user: &User, id: &InvitationId) -> Result<ApplicationInvitation> {
    let known = store::find(tx, &act.instance, id).await?.ok_or_else(tickets::invalid)?;
    let entry = waitlist::lock_by_address(tx, &act.instance, &known.details.email_address).await?;
    let found = store::lock(tx, &act.instance, id).await?.ok_or_else(tickets::invalid)?;
    let invitation = rules::accept(checked_by_key(tx, found).await?, user, act.now)?;
    store::save(tx, &invitation).await?;
    if let Some(entry) = entry {
        completion::complete(tx, act, entry, &invitation).await?;
    }
    Ok(invitation)
}

/// Revokes an invitation.
pub async fn revoke(tx: &mut Tx, act: &Act, id: &InvitationId) -> Result<ApplicationInvitation> {
    let found = store::lock(tx, &act.instance, id).await?;
    let invitation = rules::revoke(found.ok_or_else(|| Error::not_found("invitation", id))?, act.now)?;
    store::save(tx, &invitation).await?;
    Ok(invitation)
}

/// Deletes an invitation and the stored copies of its e-mail. They are those that were written to its address in the same
/// transaction, which has one time.
pub async fn delete(tx: &mut Tx, act: &Act, id: &InvitationId) -> Result<()> {
    let invitation = store::lock(tx, &act.instance, id).await?;
    let invitation = invitation.ok_or_else(|| Error::not_found("invitation", id))?;
    let address = &invitation.details.email_address;
    for template in InvitationTemplate::ALL {
        let written_at = invitation.created_at;
        message_store::delete_written(tx, &act.instance, (address, template.slug()), written_at).await?;
    }
    store::delete(tx, &act.instance, id).await?;
    Ok(())
}

/// Revokes an invitation, unless somebody followed or revoked it before.
pub async fn revoke_pending(tx: &mut Tx, act: &Act, id: &InvitationId) -> Result<()> {
    match store::lock(tx, &act.instance, id).await? {
        Some(found) if found.status == TicketStatus::Pending => {
            store::save(tx, &rules::revoke(found, act.now)?).await
        }
        _ => Ok(()),
    }
}

/// The invitation a ticket is of, whatever became of it. `None` if the ticket is one of something else.
pub async fn find_by_ticket(tx: &mut Tx, act: &Act, text: &str) -> Result<Option<ApplicationInvitation>> {
    let shown: Ticket = tickets::read(text)?;
    let TicketSource::Invitation(id) = &shown.source else { return Ok(None) };
    let invitation = store::find(tx, &act.instance, id).await?.ok_or_else(tickets::invalid)?;
    rules::check_ticket(&act.master, &invitation, &shown)?;
    Ok(Some(checked_by_key(tx, invitation).await?))
}
