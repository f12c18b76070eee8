//! Beginning to sign in.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::attempt::{Attempt, Stage};
use super::input::CreateSignIn;
use super::plan::{Identify, Plan, Way, locale, plan};
use super::steps::{self, Wish};
use super::{finish, rules, ticket};
use crate::cx::Cx;
use crate::flows::factors::evidence::{Evidence, Shown, examine};
use crate::frontend::visitor::{Held, Visitor};
use crate::resources::clients::store as clients;
use crate::resources::sessions::model::Session;
use crate::resources::sign_ins::model::{Claim, Named, SignIn, Step};
use crate::resources::sign_ins::store;
use crate::resources::users::model::{Strategy, User};
use crate::resources::users::store as users;

/// Begins an attempt, as far as the input goes.
pub async fn begin(cx: &Cx, visitor: &Visitor, input: CreateSignIn) -> Result<Attempt> {
    let stage = Stage::new(cx, visitor);
    let locale = locale(input.locale.as_deref());
    let plan = plan(input, stage.settings())?;
    let evidence = match &plan {
        Plan::Identify(Identify { identifier, named_by, way: Way::Password(password), .. }) => {
            let user = find(cx, visitor, *named_by, identifier).await?;
            let shown = Shown { strategy: Strategy::Password, code: None, password: Some(password.clone()) };
            match user.is_some() || stage.is_guarded() {
                true => Some(examine(cx, user.as_ref(), shown).await?),
                false => None,
            }
        }
        _ => None,
    };
    cx.write(move |tx| Box::pin(create(tx, stage, plan, locale, evidence))).await
}

async fn find(cx: &Cx, visitor: &Visitor, named_by: Named, identifier: &str) -> Result<Option<User>> {
    let mut tx = cx.app.db.read().await?;
    users::find_by_identifier(&mut tx, &visitor.site.instance, index_name(named_by), identifier).await
}

async fn create(
    tx: &mut Tx,
    stage: Stage,
    plan: Plan,
    locale: Option<String>,
    evidence: Option<Evidence>,
) -> Result<Attempt> {
    let act = &stage.act;
    let Held { client, secret } = stage.hold.lock(tx, act).await?;
    let earlier = client.sign_in.clone();
    let sign_in = SignIn::new(&act.instance, &client.id, locale, act.now, &*act.rng);
    let attempt = Attempt { client, secret, sign_in, user: None, refusal: None, is_elsewhere: false };
    let present = finish::present(tx, &stage, &attempt.client).await?;
    let mut attempt = match plan {
        Plan::Begin => {
            rules::check_free(&present, None, stage.settings())?;
            attempt
        }
        Plan::Transfer => return Err(Error::new(Code::AccountTransferInvalid)),
        Plan::Ticket(shown) => ticket::redeem(tx, &stage, attempt, &shown, &present).await?,
        Plan::Identify(who) => {
            let attempt = identify(tx, &stage, attempt, &who, &present).await?;
            go_on(tx, &stage, attempt, who.way, evidence).await?
        }
    };
    if let Some(earlier) = earlier {
        store::delete(tx, &act.instance, &earlier).await?;
    }
    store::insert(tx, &attempt.sign_in).await?;
    if attempt.sign_in.step != Step::Complete {
        attempt.client.sign_in = Some(attempt.sign_in.id.clone());
        clients::save(tx, &attempt.client, act.now).await?;
    }
    Ok(attempt)
}

/// Finds out who somebody says they are.
async fn identify(
    tx: &mut Tx,
    stage: &Stage,
    mut attempt: Attempt,
    who: &Identify,
    present: &[Session],
) -> Result<Attempt> {
    let (act, settings) = (&stage.act, stage.settings());
    rules::check_free(present, None, settings)?;
    let kind = index_name(who.named_by);
    let found = users::lock_by_identifier(tx, &act.instance, kind, &who.identifier).await?;
    if found.is_none() && !stage.is_guarded() && !who.may_sign_up {
        return Err(Error::param(Code::FormIdentifierNotFound, "identifier"));
    }
    attempt.sign_in.step = Step::NeedsFirstFactor;
    attempt.sign_in.claim = Some(Claim {
        identifier: who.identifier.clone(),
        named_by: who.named_by,
        user: found.as_ref().map(|user| user.id.clone()),
        identification: found.as_ref().and_then(|user| held(user, who.named_by, &who.identifier)),
        may_sign_up: who.may_sign_up,
        is_known: found.as_ref().is_some_and(|user| attempt.client.known_users.contains(&user.id)),
    });
    attempt.user = match found {
        Some(user) => rules::admitted(user, attempt.sign_in.step, settings, act.now)?,
        None => None,
    };
    rules::check_free(present, attempt.user.as_ref().map(|user| &user.id), settings)?;
    Ok(attempt)
}

/// Goes on to proving who somebody is, if they want to at once.
async fn go_on(
    tx: &mut Tx,
    stage: &Stage,
    mut attempt: Attempt,
    way: Way,
    evidence: Option<Evidence>,
) -> Result<Attempt> {
    match way {
        Way::Later => Ok(attempt),
        Way::Password(_) => {
            // Without evidence the user came to be in this very moment; the next try will find them.
            let not_found = || Error::param(Code::FormIdentifierNotFound, "identifier");
            let evidence = evidence.ok_or_else(not_found)?;
            steps::try_first(tx, stage, attempt, Strategy::Password, evidence).await
        }
        Way::Sent { strategy, redirect_url } => {
            let wish = Wish { strategy: Some(strategy), recipient: None, redirect_url };
            let sent = steps::send_first(tx, stage, &attempt, strategy, wish).await?;
            attempt.sign_in.links.note(&sent);
            attempt.sign_in.first_factor = Some(sent);
            Ok(attempt)
        }
    }
}

/// What an identifier is called in the index.
fn index_name(named_by: Named) -> &'static str {
    match named_by {
        Named::EmailAddress => "email_address",
        Named::PhoneNumber => "phone_number",
        Named::Username | Named::Ticket => "username",
    }
}

/// Which of a user's identifications an identifier is.
fn held(user: &User, named_by: Named, identifier: &str) -> Option<IdentificationId> {
    let Some(kind) = named_by.kind() else {
        return user.username.as_ref().map(|username| username.id.clone());
    };
    let is_it = |value: &str| fold(value) == fold(identifier);
    let mut exclusive = user.contacts(kind).all.iter().filter(|contact| contact.is_exclusive());
    exclusive.find(|contact| is_it(&contact.value)).map(|contact| contact.id.clone())
}
