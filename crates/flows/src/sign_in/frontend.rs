//! Routes and handlers of the Frontend API about signing in.

use std::sync::Arc;

use axum::response::Response;
use latchkey_base::kinds::SignInId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_door::client::view_context;
use latchkey_door::reply::Envelope;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::{AppState, limits};
use latchkey_presence::sign_ins::view::{self, SignInView};
use latchkey_web::api::{Api, Entrance};
use latchkey_web::form::{Form, OpenForm};
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use serde_json::{Map, Value};

use super::attempt::{self, SignInAttempt, SignInContext};
use super::input::ReturnedApp;
use super::input::{
    AttemptFirstFactor, AttemptSecondFactor, CreateSignIn, PrepareFirstFactor, PrepareSecondFactor,
    ResetPassword,
};
use super::steps::{self, FactorRequest};
use super::{create as creating, password, registered, rules, ticket};
use crate::factors::evidence::{Shown, SubmittedEvidence, examine, examine_evenly, examine_registered};
use crate::strategies::{self, FirstFactor, NamedSecondFactor, ProofPurpose, ProofRequest};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ins");
    api.post("/v1/client/sign_ins", "createSignIn", create)
        .summary("Begin to sign in")
        .returns::<Envelope<'_, SignInView>>()
        .errors(&[403, 409])
        .public()
        .entrance(Entrance::Attempt)
        .limited(limits::SIGN_INS);
    api.get("/v1/client/sign_ins/{sign_in_id}", "getSignIn", get)
        .summary("Get an attempt to sign in")
        .returns::<Envelope<'_, SignInView>>()
        .errors(&[403]);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/prepare_first_factor",
        "prepareSignInFactorOne",
        prepare_first,
    )
    .summary("Send the code or link of a first factor")
    .returns::<Envelope<'_, SignInView>>()
    .errors(&[403])
    .entrance(Entrance::Attempt)
    .limited(limits::SENDINGS);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/attempt_first_factor",
        "attemptSignInFactorOne",
        attempt_first,
    )
    .summary("Prove a first factor")
    .returns::<Envelope<'_, SignInView>>()
    .errors(&[403, 409])
    .entrance(Entrance::Attempt)
    .limited(limits::SIGN_IN_ATTEMPTS);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/prepare_second_factor",
        "prepareSignInFactorTwo",
        prepare_second,
    )
    .summary("Send the code or link of a second factor")
    .returns::<Envelope<'_, SignInView>>()
    .errors(&[403])
    .entrance(Entrance::Attempt)
    .limited(limits::SENDINGS);
    api.post(
        "/v1/client/sign_ins/{sign_in_id}/attempt_second_factor",
        "attemptSignInFactorTwo",
        attempt_second,
    )
    .summary("Prove a second factor")
    .returns::<Envelope<'_, SignInView>>()
    .errors(&[403, 409])
    .entrance(Entrance::Attempt)
    .limited(limits::SIGN_IN_ATTEMPTS);
    api.post("/v1/client/sign_ins/{sign_in_id}/reset_password", "resetPassword", reset_password)
        .summary("Choose a new password")
        .returns::<Envelope<'_, SignInView>>()
        .errors(&[403, 409])
        .entrance(Entrance::Attempt);
}

async fn create(cx: Cx, visitor: Visitor, OpenForm(input, fields): OpenForm<CreateSignIn>) -> Response {
    let outcome = creating::begin(&cx, &visitor, input, &fields).await;
    attempt::answer(&cx, visitor, outcome).await
}

async fn get(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    Query(query): Query<ReturnedApp>,
) -> Response {
    if let Some(nonce) = query.rotating_token_nonce.filter(|nonce| !nonce.is_empty()) {
        let outcome = take_return(&cx, &visitor, id, nonce).await;
        return attempt::answer(&cx, visitor, outcome).await;
    }
    let found = attempt::find(&cx, &visitor, &id).await;
    let (context, audience) = (view_context(&visitor.site, cx.now), visitor.factor_audience(&cx));
    let shown = found.map(|(sign_in, user)| view::sign_in(&sign_in, user.as_ref(), context, audience));
    visitor.answer(&cx, shown).await
}

/// Goes on for an app that shows what it was told when somebody came back from another site.
async fn take_return(cx: &Cx, visitor: &Visitor, id: SignInId, nonce: String) -> Result<SignInAttempt> {
    let (sign_in, _) = attempt::find(cx, visitor, &id).await?;
    let asked = sign_in.first_factor.as_ref().map(|asked| asked.strategy);
    let asked = asked.ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let found = strategies::find(&cx.app.product.registry, asked.name(), &visitor.site.settings);
    let factor = found.ok_or_else(|| Error::new(Code::ClientStateInvalid))?;
    let fields = Map::from_iter([(strategies::RETURN_NONCE.to_owned(), Value::String(nonce))]);
    try_registered(cx, visitor, id, factor, None, &fields).await
}

async fn prepare_first(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    OpenForm(input, fields): OpenForm<PrepareFirstFactor>,
) -> Response {
    let outcome = prepare(&cx, &visitor, id, input, &fields).await;
    attempt::answer(&cx, visitor, outcome).await
}

async fn prepare(
    cx: &Cx,
    visitor: &Visitor,
    id: SignInId,
    input: PrepareFirstFactor,
    fields: &Map<String, Value>,
) -> Result<SignInAttempt> {
    let name = input.strategy.as_str();
    if let Some((strategy, factor)) = strategies::find(&cx.app.product.registry, name, &visitor.site.settings)
    {
        let redirect_url = input.redirect_url.as_deref();
        let attempt = id.to_string();
        let asked = ProofRequest {
            visitor,
            strategy,
            purpose: ProofPurpose::SignIn,
            attempt: &attempt,
            user: None,
            identifier: None,
            redirect_url,
            fields,
        };
        return registered::prepare(cx, id, &*factor, asked).await;
    }
    let context = SignInContext::new(cx, visitor);
    let strategy = rules::first_strategy(&input.strategy)?;
    let recipient = input.email_address_id.or(input.phone_number_id).or(input.web3_wallet_id);
    let request = FactorRequest { strategy: Some(strategy), recipient, redirect_url: input.redirect_url };
    cx.write(move |tx| Box::pin(steps::prepare_first(tx, context, id, request))).await
}

async fn attempt_first(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    OpenForm(input, fields): OpenForm<AttemptFirstFactor>,
) -> Response {
    let outcome = try_first(&cx, &visitor, id, input, &fields).await;
    attempt::answer(&cx, visitor, outcome).await
}

/// A new password that comes with the code is looked at once the code has proven who it is: its answers
/// would tell things about an account to those who have none.
async fn try_first(
    cx: &Cx,
    visitor: &Visitor,
    id: SignInId,
    input: AttemptFirstFactor,
    fields: &Map<String, Value>,
) -> Result<SignInAttempt> {
    if input.strategy == Strategy::Ticket.name() {
        let shown = input.ticket.filter(|ticket| !ticket.expose().is_empty());
        let shown = shown.ok_or_else(|| Error::param(Code::FormParamMissing, "ticket"))?;
        let context = SignInContext::new(cx, visitor);
        return cx.write(move |tx| Box::pin(ticket::attempt_first(tx, context, id, shown))).await;
    }
    let registry = &cx.app.product.registry;
    if let Some((strategy, factor)) = strategies::find(registry, &input.strategy, &visitor.site.settings) {
        let mut fields = fields.clone();
        // A field of ours, and of other groups as well.
        fields.extend(input.signature.map(|signature| ("signature".to_owned(), Value::String(signature))));
        return try_registered(cx, visitor, id, (strategy, factor), input.code, &fields).await;
    }
    let strategy = rules::first_strategy(&input.strategy)?;
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    let chosen = input.password.clone().filter(|_| rules::is_reset(strategy));
    if let Some(chosen) = chosen.as_ref().filter(|_| rules::expects_new_password(&sign_in).is_ok()) {
        // The code was right the last time, but the password too weak.
        return choose_password(cx, visitor, id, chosen, false).await;
    }
    rules::expects_first_factor(&sign_in, cx.now)?;
    let (code, password, signature) = (input.code, input.password, input.signature);
    let shown = Shown { strategy, code, password, signature };
    let evidence = examine_evenly(cx, &visitor.site, user.as_ref(), shown).await?;
    let (context, tried) = (SignInContext::new(cx, visitor), id.clone());
    let work = cx.write(move |tx| Box::pin(steps::attempt_first(tx, context, tried, strategy, evidence)));
    let attempt = work.await?;
    match chosen.filter(|_| attempt.refusal.is_none()) {
        Some(chosen) => choose_password(cx, visitor, id, &chosen, false).await,
        None => Ok(attempt),
    }
}

async fn try_registered(
    cx: &Cx,
    visitor: &Visitor,
    id: SignInId,
    (strategy, factor): (Strategy, Arc<dyn FirstFactor>),
    code: Option<Secret>,
    fields: &Map<String, Value>,
) -> Result<SignInAttempt> {
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    rules::expects_identity(&sign_in, cx.now)?;
    let challenge = registered::open(&sign_in, strategy, cx.now)?;
    let code = code.as_ref().map(Secret::expose);
    let shown = strategies::ShownProof {
        visitor,
        strategy,
        user: user.as_ref(),
        purpose: ProofPurpose::SignIn,
        challenge,
        code,
        fields,
    };
    let verdict = factor.examine(cx, shown).await?;
    let (context, examined) = (SignInContext::new(cx, visitor), (strategy, challenge.cloned()));
    cx.write(move |tx| Box::pin(registered::judge(tx, context, id, factor, examined, verdict))).await
}

async fn prepare_second(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    OpenForm(input, fields): OpenForm<PrepareSecondFactor>,
) -> Response {
    let name = input.strategy.as_deref().unwrap_or_default();
    let outcome = match registered_second(&cx, &visitor, name) {
        Some(factor) => prepare_registered_second(&cx, &visitor, id, factor, &fields).await,
        None => {
            let context = SignInContext::new(&cx, &visitor);
            let prepared = async {
                let strategy = input.strategy.as_deref().map(rules::second_strategy).transpose()?;
                let recipient = input.email_address_id.or(input.phone_number_id);
                let request = FactorRequest { strategy, recipient, redirect_url: input.redirect_url };
                cx.write(move |tx| Box::pin(steps::prepare_second(tx, context, id, request))).await
            };
            prepared.await
        }
    };
    attempt::answer(&cx, visitor, outcome).await
}

/// Finds the second factor of a group above by this name.
fn registered_second(cx: &Cx, visitor: &Visitor, name: &str) -> Option<NamedSecondFactor> {
    strategies::find_second(&cx.app.product.registry, name, &visitor.site.settings)
}

async fn prepare_registered_second(
    cx: &Cx,
    visitor: &Visitor,
    id: SignInId,
    (strategy, factor): NamedSecondFactor,
    fields: &Map<String, Value>,
) -> Result<SignInAttempt> {
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    rules::expects_second_factor(&sign_in, cx.now)?;
    let request = ProofRequest {
        visitor,
        strategy,
        purpose: ProofPurpose::SecondFactor,
        attempt: id.as_str(),
        user: user.as_ref(),
        identifier: None,
        redirect_url: None,
        fields,
    };
    let challenge = factor.prepare(cx, request).await?;
    let (context, prepared) = (SignInContext::new(cx, visitor), id.clone());
    cx.write(move |tx| Box::pin(steps::store_second(tx, context, prepared, challenge))).await
}

async fn attempt_second(
    cx: Cx,
    visitor: Visitor,
    Path(id): Path<SignInId>,
    OpenForm(input, fields): OpenForm<AttemptSecondFactor>,
) -> Response {
    let outcome = async {
        let registered = registered_second(&cx, &visitor, &input.strategy);
        let strategy = match &registered {
            Some((strategy, _)) => *strategy,
            None => rules::second_strategy(&input.strategy)?,
        };
        let (sign_in, user) = attempt::find(&cx, &visitor, &id).await?;
        rules::expects_second_factor(&sign_in, cx.now)?;
        let evidence = match (registered, user.as_ref()) {
            (Some(factor), Some(user)) => {
                let challenge = sign_in.second_factor.as_ref();
                let (visitor, code, fields) = (&visitor, input.code, &fields);
                let submitted = SubmittedEvidence { visitor, user, challenge, code, fields };
                examine_registered(&cx, factor, submitted).await?
            }
            (_, user) => {
                let shown = Shown { strategy, code: input.code, password: None, signature: None };
                examine(&cx, &cx.by_network(&visitor.site.instance), user, shown).await?
            }
        };
        let context = SignInContext::new(&cx, &visitor);
        let ends_sessions = sign_in.new_password.is_some_and(|chosen| chosen.ends_sessions);
        let sign_out = user.filter(|_| ends_sessions).map(|user| user.id);
        let shown = (strategy, evidence);
        cx.write(move |tx| Box::pin(steps::attempt_second(tx, context, id, shown, sign_out))).await
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
) -> Result<SignInAttempt> {
    let (sign_in, user) = attempt::find(cx, visitor, &id).await?;
    rules::expects_new_password(&sign_in)?;
    let user = user.ok_or_else(|| Error::new(Code::SignInIdentificationOrUserDeleted))?;
    let change = password::choose(cx, visitor, &user, chosen).await?;
    let (context, sign_out) = (SignInContext::new(cx, visitor), is_sign_out.then_some(user.id));
    cx.write(move |tx| Box::pin(password::reset(tx, context, id, change, sign_out))).await
}
