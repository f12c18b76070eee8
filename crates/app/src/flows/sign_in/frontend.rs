//! Routes and handlers of the Frontend API about signing in.

use axum::response::Response;
use latchkey_base::kinds::SignInId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;

use super::attempt::{self, Attempt, Stage};
use super::input::{
    AttemptFirstFactor, AttemptSecondFactor, CreateSignIn, PrepareFirstFactor, PrepareSecondFactor,
    ResetPassword,
};
use super::steps::{self, Wish};
use super::{create as creating, password, rules, ticket};
use crate::AppState;
use crate::cx::Cx;
use crate::flows::factors::evidence::{Shown, examine};
use crate::frontend::client::lens;
use crate::frontend::reply::Envelope;
use crate::frontend::visitor::Visitor;
use crate::resources::sign_ins::view::{self, SignInView};
use crate::resources::users::model::Strategy;

type Wrapped<'a> = Envelope<'a, SignInView>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ins");
    api.post("/v1/client/sign_ins", "createSignIn", create)
        .summary("Begin to sign in")
        .form::<CreateSignIn>()
        .returns::<Wrapped<'_>>()
        .errors(&[403, 409]);
    api.get("/v1/client/sign_ins/{sign_in_id}", "getSignIn", get)
        .summary("Get an attempt to sign in")
        .returns::<Wrapped<'_>>();
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/prepare_first_factor",
        "prepareSignInFactorOne",
        prepare_first,
    )
    .summary("Send the code or link of a first factor")
    .form::<PrepareFirstFactor>()
    .returns::<Wrapped<'_>>()
    .errors(&[403]);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/attempt_first_factor",
        "attemptSignInFactorOne",
        attempt_first,
    )
    .summary("Prove a first factor")
    .form::<AttemptFirstFactor>()
    .returns::<Wrapped<'_>>()
    .errors(&[403, 409]);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/prepare_second_factor",
        "prepareSignInFactorTwo",
        prepare_second,
    )
    .summary("Send the code or link of a second factor")
    .form::<PrepareSecondFactor>()
    .returns::<Wrapped<'_>>()
    .errors(&[403]);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/attempt_second_factor",
        "attemptSignInFactorTwo",
        attempt_second,
    )
    .summary("Prove a second factor")
    .form::<AttemptSecondFactor>()
    .returns::<Wrapped<'_>>()
    .errors(&[403, 409]);
    api.post("/v1/client/sign_ins/{sign_in_id}/reset_password", "resetPassword", reset_password)
        .summary("Choose a new password")
        .form::<ResetPassword>()
        .returns::<Wrapped<'_>>()
        .errors(&[403, 409]);
}

async fn create(cx: Cx, visitor: Visitor, Form(input): Form<CreateSignIn>) -> Response {
    let outcome = creating::begin(&cx, &visitor, input).await;
    attempt::answer(&cx, visitor, outcome).await
}

async fn get(cx: Cx, visitor: Visitor, Path(id): Path<SignInId>) -> Response {
    let found = attempt::find(&cx, &visitor, &id).await;
    let shown =
        found.map(|(sign_in, user)| view::sign_in(&sign_in, user.as_ref(), lens(&visitor.site, cx.now)));
    cx.answer(&visitor, shown).await
}

async fn prepare_first(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    Form(input): Form<PrepareFirstFactor>,
) -> Response {
    let stage = Stage::new(&cx, &visitor);
    let outcome = async {
        let strategy = rules::first_strategy(&input.strategy)?;
        let recipient = input.email_address_id.or(input.phone_number_id);
        let wish = Wish { strategy: Some(strategy), recipient, redirect_url: input.redirect_url };
        cx.write(move |tx| Box::pin(steps::prepare_first(tx, stage, id, wish))).await
    };
    attempt::answer(&cx, visitor, outcome.await).await
}

async fn attempt_first(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    Form(input): Form<AttemptFirstFactor>,
) -> Response {
    let outcome = try_first(&cx, &visitor, id, input).await;
    attempt::answer(&cx, visitor, outcome).await
}

/// A new password that comes with the code is looked at once the code has proven who it is: its answers
/// would tell things about an account to those who have none.
async fn try_first(cx: &Cx, visitor: &Visitor, id: SignInId, input: AttemptFirstFactor) -> Result<Attempt> {
    if input.strategy == Strategy::Ticket.name() {
        let shown = input.ticket.filter(|ticket| !ticket.expose().is_empty());
        let shown = shown.ok_or_else(|| Error::param(Code::FormParamMissing, "ticket"))?;
        let stage = Stage::new(cx, visitor);
        return cx.write(move |tx| Box::pin(ticket::attempt_first(tx, stage, id, shown))).await;
    }
    let strategy = rules::first_strategy(&input.strategy)?;
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    let chosen = input.password.clone().filter(|_| rules::is_reset(strategy));
    if let Some(chosen) = chosen.as_ref().filter(|_| rules::expects_new_password(&sign_in).is_ok()) {
        // The code was right the last time, but the password too weak.
        return choose_password(cx, visitor, id, chosen, false).await;
    }
    rules::expects_first_factor(&sign_in, cx.now)?;
    let shown = Shown { strategy, code: input.code, password: input.password };
    let evidence = examine(cx, user.as_ref(), shown).await?;
    let (stage, tried) = (Stage::new(cx, visitor), id.clone());
    let work = cx.write(move |tx| Box::pin(steps::attempt_first(tx, stage, tried, strategy, evidence)));
    let attempt = work.await?;
    match chosen.filter(|_| attempt.refusal.is_none()) {
        Some(chosen) => choose_password(cx, visitor, id, &chosen, false).await,
        None => Ok(attempt),
    }
}

async fn prepare_second(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    Form(input): Form<PrepareSecondFactor>,
) -> Response {
    let stage = Stage::new(&cx, &visitor);
    let outcome = async {
        let strategy = input.strategy.as_deref().map(rules::second_strategy).transpose()?;
        let recipient = input.email_address_id.or(input.phone_number_id);
        let wish = Wish { strategy, recipient, redirect_url: input.redirect_url };
        cx.write(move |tx| Box::pin(steps::prepare_second(tx, stage, id, wish))).await
    };
    attempt::answer(&cx, visitor, outcome.await).await
}

async fn attempt_second(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    Form(input): Form<AttemptSecondFactor>,
) -> Response {
    let outcome = async {
        let strategy = rules::second_strategy(&input.strategy)?;
        let (sign_in, user) = attempt::find(&cx, &visitor, &id).await?;
        rules::expects_second_factor(&sign_in, cx.now)?;
        let shown = Shown { strategy, code: input.code, password: None };
        let evidence = examine(&cx, user.as_ref(), shown).await?;
        let stage = Stage::new(&cx, &visitor);
        cx.write(move |tx| Box::pin(steps::attempt_second(tx, stage, id, strategy, evidence))).await
    };
    let outcome = outcome.await;
    attempt::answer(&cx, visitor, outcome).await
}

async fn reset_password(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    Form(input): Form<ResetPassword>,
) -> Response {
    let is_sign_out = input.sign_out_of_other_sessions == Some(true);
    let outcome = choose_password(&cx, &visitor, id, &input.password, is_sign_out).await;
    attempt::answer(&cx, visitor, outcome).await
}

/// Gives the user of an attempt that waits for it a new password.
async fn choose_password(
    cx: &Cx,
    visitor: &Visitor,
    id: SignInId,
    chosen: &Secret,
    is_sign_out: bool,
) -> Result<Attempt> {
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    rules::expects_new_password(&sign_in)?;
    let user = user.ok_or_else(|| Error::new(Code::SignInIdentificationOrUserDeleted))?;
    let change = password::choose(cx, visitor, &user, chosen).await?;
    let (stage, sign_out) = (Stage::new(cx, visitor), is_sign_out.then_some(user.id));
    cx.write(move |tx| Box::pin(password::reset(tx, stage, id, change, sign_out))).await
}
