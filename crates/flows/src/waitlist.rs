//! Joining the waitlist in a browser.

use axum::response::Response;
use latchkey_base::kinds::WaitlistEntryId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::{AppState, limits};
use latchkey_messaging::messages::model::Asker;
use latchkey_messaging::messages::sending;
use latchkey_people::identifications::rules::checked;
use latchkey_people::restrictions::check::{HeldIdentifier, alias_problem, listed_problems};
use latchkey_people::restrictions::rules::blocked;
use latchkey_people::users::model::ContactKind;
use latchkey_people::waitlist::view::{self, JoinedWaitlistView};
use latchkey_people::waitlist::{change, rules};
use latchkey_web::api::{Api, Entrance};
use latchkey_web::form::Form;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Waitlist");
    api.post("/v1/waitlist", "joinWaitlist", join)
        .summary("Join the waitlist")
        .returns::<JoinedWaitlistView<'_>>()
        .errors(&[403])
        .public()
        .entrance(Entrance::Attempt)
        .limited(limits::WAITLIST_JOINS);
}

/// Body of `joinWaitlist`.
#[derive(Deserialize, JsonSchema)]
struct JoinWaitlist {
    /// The address of whoever joins.
    email_address: String,
}

/// Puts somebody on the waitlist. Whoever is there already is answered in the same way, and gets no other mail.
async fn join(cx: Cx, visitor: Visitor, Form(form): Form<JoinWaitlist>) -> Result<Response, Failure> {
    rules::check_open(&visitor.site.settings)?;
    let address = checked(ContactKind::Email, &form.email_address).map_err(Error::from)?;
    let act = visitor.act(&cx);
    let id = cx.write(move |tx| Box::pin(async move { join_in(tx, &act, address).await })).await?;
    cx.reply_unversioned(&view::joined(&id))
}

async fn join_in(tx: &mut Tx, act: &Act, address: String) -> Result<WaitlistEntryId> {
    let is_quiet = act.settings.attack_protection.enumeration_protection;
    check_accepted(tx, act, &address, is_quiet).await?;
    let (entry, is_new) = change::put(tx, act, address).await?;
    if is_new {
        let sent = sending::send_asked(tx, act, Asker::Stranger, change::confirmation(&entry)).await;
        sent.map_err(|error| match error.code() {
            Code::VerificationCodeTooManyRequests => {
                error.saying("Too many messages were sent there in the last hour. Try again later.")
            }
            _ => error,
        })?;
    }
    // An id tells when it was made. Where nobody is to learn who is known here, everybody gets a new one; browsers have
    // no use for it.
    Ok(match is_quiet && !is_new {
        true => WaitlistEntryId::new(act.now, &*act.rng),
        false => entry.id,
    })
}

/// Refuses an address with which nobody could sign up. That another spelling of it has an account is not told where
/// nobody is to learn who has one.
async fn check_accepted(tx: &mut Tx, act: &Act, address: &str, is_quiet: bool) -> Result<()> {
    let (instance, settings) = (&act.instance, &act.settings);
    let identifier = (ContactKind::Email, address);
    let listed =
        listed_problems(tx, instance, settings, &[HeldIdentifier::as_proven(identifier)], None).await?;
    let listed = listed.into_iter().flatten().next();
    let problem = match listed.or_else(|| blocked(ContactKind::Email, address, settings, act.test_mode)) {
        None if !is_quiet => alias_problem(tx, instance, settings, identifier).await?,
        problem => problem,
    };
    Error::collect(problem.into_iter().collect())
}
