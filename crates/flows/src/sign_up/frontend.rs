//! Routes and handlers of the Frontend API.

use axum::response::Response;
use latchkey_base::kinds::{ClientId, SignUpId};
use latchkey_base::{Code, Error, Result};
use latchkey_door::client::view_context;
use latchkey_door::redirects;
use latchkey_door::reply::Envelope;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::{AppState, limits};
use latchkey_people::users::credentials::{self, CredentialFields, Credentials};
use latchkey_presence::sign_ups::model::{Password, SignUp};
use latchkey_presence::sign_ups::view::{self, FrontendSignUpView};
use latchkey_presence::sign_ups::{rules as attempts, store};
use latchkey_web::api::{Api, Entrance};
use latchkey_web::form::{Form, OpenForm};
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use serde_json::{Map, Value};

use super::input::{AttemptSignUpVerification, PrepareVerification, SignUpForm};
use super::step::{CheckedForm, ShownToProve, SignUpContext, StepOutcome, write_retrying_once};
use super::{accounts, rules};
use crate::sign_in::input::ReturnedApp;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ups");
    api.post("/v1/client/sign_ups", "createSignUps", create)
        .summary("Start to sign up")
        .returns::<Envelope<'_, FrontendSignUpView<'_>>>()
        .errors(&[403, 409])
        .public()
        .entrance(Entrance::Attempt)
        .limited(limits::SIGN_UPS);
    api.get("/v1/client/sign_ups/{sign_up_id}", "getSignUps", get)
        .summary("Get a sign-up")
        .returns::<Envelope<'_, FrontendSignUpView<'_>>>()
        .errors(&[403]);
    api.patch("/v1/client/sign_ups/{sign_up_id}", "updateSignUps", update)
        .summary("Update a sign-up")
        .returns::<Envelope<'_, FrontendSignUpView<'_>>>()
        .errors(&[403])
        .entrance(Entrance::Attempt)
        .limited(limits::SENDINGS);
    api.post("/v1/client/sign_ups/{sign_up_id}/prepare_verification", "prepareSignUpsVerification", prepare)
        .summary(
            "Send a code or link to the address or number of a sign-up, or get the text a wallet is to sign",
        )
        .returns::<Envelope<'_, FrontendSignUpView<'_>>>()
        .errors(&[403])
        .entrance(Entrance::Attempt)
        .limited(limits::SENDINGS);
    api.post("/v1/client/sign_ups/{sign_up_id}/attempt_verification", "attemptSignUpsVerification", attempt)
        .summary("Try the code that was sent, or the signature of a wallet")
        .returns::<Envelope<'_, FrontendSignUpView<'_>>>()
        .errors(&[403, 410])
        .entrance(Entrance::Attempt)
        .limited(limits::SIGN_UP_ATTEMPTS);
}

async fn create(cx: Cx, mut visitor: Visitor, OpenForm(form, fields): OpenForm<SignUpForm>) -> Response {
    let step = begin(&cx, &visitor, form, &fields).await;
    answer(&cx, &mut visitor, step).await
}

async fn begin(
    cx: &Cx,
    visitor: &Visitor,
    form: SignUpForm,
    fields: &Map<String, Value>,
) -> Result<StepOutcome> {
    // Hashing is dear; those who may not sign up at all are turned away before it.
    let has_ticket = form.ticket.as_ref().is_some_and(|ticket| !ticket.is_empty());
    rules::admit(&visitor.site.settings, has_ticket)?;
    let blank = SignUp::new(&visitor.site.instance, &ClientId::unset(), cx.now, &*cx.app.rng);
    let (context, id) = (context(cx, visitor), blank.id.clone());
    let wanted = wanted(cx, visitor, blank, form, fields).await?;
    write_retrying_once(cx, move |tx| Box::pin(context.create(tx, id, wanted))).await
}

async fn get(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SignUpId>,
    Query(query): Query<ReturnedApp>,
) -> Response {
    if let Some(nonce) = query.rotating_token_nonce.filter(|nonce| !nonce.is_empty()) {
        let step = accounts::take_return(&cx, &visitor, context(&cx, &visitor), id, nonce).await;
        return answer(&cx, &mut visitor, step).await;
    }
    match find(&cx, &visitor, &id).await {
        Ok(sign_up) => {
            visitor.answer(&cx, Ok(view::frontend(&sign_up, view_context(&visitor.site, cx.now)))).await
        }
        Err(error) => visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn update(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SignUpId>,
    OpenForm(form, fields): OpenForm<SignUpForm>,
) -> Response {
    let step = change(&cx, &visitor, id, form, &fields).await;
    answer(&cx, &mut visitor, step).await
}

async fn change(
    cx: &Cx,
    visitor: &Visitor,
    id: SignUpId,
    form: SignUpForm,
    fields: &Map<String, Value>,
) -> Result<StepOutcome> {
    let known = attempts::open(find(cx, visitor, &id).await?, cx.now)?;
    let (context, wanted) = (context(cx, visitor), wanted(cx, visitor, known, form, fields).await?);
    write_retrying_once(cx, move |tx| Box::pin(context.update(tx, id, wanted))).await
}

async fn prepare(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SignUpId>,
    Form(form): Form<PrepareVerification>,
) -> Response {
    let step = send(&cx, &visitor, id, form).await;
    answer(&cx, &mut visitor, step).await
}

async fn send(cx: &Cx, visitor: &Visitor, id: SignUpId, form: PrepareVerification) -> Result<StepOutcome> {
    let strategy = rules::named(form.strategy.as_deref())?;
    let redirect_url = destination(cx, visitor, Some(strategy), form.redirect_url.as_deref()).await?;
    let context = context(cx, visitor);
    cx.write(move |tx| Box::pin(context.prepare(tx, id, strategy, redirect_url))).await
}

async fn attempt(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SignUpId>,
    Form(form): Form<AttemptSignUpVerification>,
) -> Response {
    let step = try_proof(&cx, &visitor, id, form).await;
    answer(&cx, &mut visitor, step).await
}

async fn try_proof(
    cx: &Cx,
    visitor: &Visitor,
    id: SignUpId,
    form: AttemptSignUpVerification,
) -> Result<StepOutcome> {
    let strategy = rules::given_by_form(form.strategy.as_deref())?;
    let shown = match strategy {
        strategy if strategy.is_wallet() => {
            let signature = form.signature.filter(|signature| !signature.is_empty());
            let missing = || Error::param(Code::FormParamMissing, "signature");
            ShownToProve::Signature(signature.ok_or_else(missing)?)
        }
        _ => {
            let code = form.code.filter(|code| !code.expose().is_empty());
            ShownToProve::Code(code.ok_or_else(|| Error::param(Code::FormParamMissing, "code"))?)
        }
    };
    let context = context(cx, visitor);
    write_retrying_once(cx, move |tx| Box::pin(context.attempt(tx, id, strategy, shown))).await
}

/// Answers with the attempt, or with the refusal; the client is shown as it is after the step.
async fn answer(cx: &Cx, visitor: &mut Visitor, step: Result<StepOutcome>) -> Response {
    let sign_up = step.and_then(|step| {
        visitor.becomes(step.client, step.secret);
        step.refusal.map_or(Ok(step.sign_up), Err)
    });
    match sign_up {
        Ok(sign_up) => {
            visitor.answer(cx, Ok(view::frontend(&sign_up, view_context(&visitor.site, cx.now)))).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}

/// What the steps of a request need.
pub fn context(cx: &Cx, visitor: &Visitor) -> SignUpContext {
    SignUpContext { act: visitor.act(cx), client: visitor.client_handle(), page: visitor.page() }
}

/// The attempt of the client that asks; one of another client is not there.
async fn find(cx: &Cx, visitor: &Visitor, id: &SignUpId) -> Result<SignUp> {
    let client = visitor.require_client()?;
    let found = store::find(&mut cx.app.db.read().await?, &visitor.site.instance, id).await?;
    let mine = found.filter(|sign_up| sign_up.client == client.id);
    mine.ok_or_else(|| Error::not_found("sign-up", id))
}

/// Checks a form against what is known of the person, and hashes the password in it.
async fn wanted(
    cx: &Cx,
    visitor: &Visitor,
    known: SignUp,
    mut form: SignUpForm,
    fields: &Map<String, Value>,
) -> Result<CheckedForm> {
    let (site, mut problems) = (&*visitor.site, Vec::new());
    let account = accounts::asked(cx, visitor, &known.id, &form, fields).await?;
    let strategy = match account {
        Some(_) => None,
        None => rules::strategy(&form)?,
    };
    let redirect_url = destination(cx, visitor, strategy, form.redirect_url.as_deref()).await?;
    let filled = rules::fill(known, &form, &site.settings, site.test_mode(), cx.now, &mut problems)?;
    let password = form.password.take().filter(|password| !password.expose().is_empty());
    let given = CredentialFields { password: password.as_ref(), ..CredentialFields::default() };
    let change = credentials::read(given, &site.settings.attributes, &mut problems);
    let policy = site.settings.password.policy();
    let change =
        change.hashed(cx, &cx.by_network(&site.instance), policy, filled.identifiers(), problems).await?;
    let stored = change.apply(Credentials::default()).password;
    let password = stored.map(|stored| Password::Kept { digest: stored.digest, hasher: stored.hasher });
    Ok(CheckedForm { form, password, strategy, redirect_url, account })
}

/// Where a link leads in the end; codes lead nowhere.
async fn destination(
    cx: &Cx,
    visitor: &Visitor,
    strategy: Option<Strategy>,
    url: Option<&str>,
) -> Result<Option<String>> {
    match strategy {
        Some(Strategy::EmailLink) => {
            let url = url.filter(|url| !url.is_empty());
            let url = redirects::allowed(cx, &visitor.site, url).await?;
            Ok(Some(url.as_str().to_owned()))
        }
        _ => Ok(None),
    }
}
