//! Routes and handlers of the Frontend API.

use axum::response::Response;
use latchkey_base::kinds::{ClientId, SignUpId};
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;

use super::input::{AttemptVerification, PrepareVerification, SignUpForm};
use super::rules;
use super::step::{Stage, Step, Wanted, twice};
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::client::lens;
use crate::frontend::redirects;
use crate::frontend::reply::Envelope;
use crate::frontend::visitor::Visitor;
use crate::resources::sign_ups::model::{Password, SignUp};
use crate::resources::sign_ups::view::{self, FrontendSignUpView};
use crate::resources::sign_ups::{rules as attempts, store};
use crate::resources::users::credentials::{self, Credentials, Given};
use crate::resources::users::model::Strategy;

type Wrapped<'a> = Envelope<'a, FrontendSignUpView<'a>>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ups");
    api.post("/v1/client/sign_ups", "createSignUps", create)
        .summary("Start to sign up")
        .form::<SignUpForm>()
        .returns::<Wrapped<'_>>()
        .errors(&[403, 409])
        .public();
    api.get("/v1/client/sign_ups/{sign_up_id}", "getSignUps", get)
        .summary("Get a sign-up")
        .returns::<Wrapped<'_>>();
    api.patch("/v1/client/sign_ups/{sign_up_id}", "updateSignUps", update)
        .summary("Update a sign-up")
        .form::<SignUpForm>()
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.post("/v1/client/sign_ups/{sign_up_id}/prepare_verification", "prepareSignUpsVerification", prepare)
        .summary("Send a code or link to the address or number of a sign-up")
        .form::<PrepareVerification>()
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.post("/v1/client/sign_ups/{sign_up_id}/attempt_verification", "attemptSignUpsVerification", attempt)
        .summary("Try the code that was sent")
        .form::<AttemptVerification>()
        .returns::<Wrapped<'_>>()
        .errors(&[403, 410]);
}

async fn create(cx: Cx, mut visitor: Visitor, Form(form): Form<SignUpForm>) -> Response {
    let step = begin(&cx, &visitor, form).await;
    answer(&cx, &mut visitor, step).await
}

async fn begin(cx: &Cx, visitor: &Visitor, form: SignUpForm) -> Result<Step> {
    // Hashing is dear; those who may not sign up at all are turned away before it.
    let has_ticket = form.ticket.as_ref().is_some_and(|ticket| !ticket.is_empty());
    rules::admit(&visitor.site.settings, has_ticket)?;
    let blank = SignUp::new(&visitor.site.instance, &ClientId::unset(), cx.now, &*cx.app.rng);
    let (stage, wanted) = (stage(cx, visitor), wanted(cx, visitor, blank, form).await?);
    twice(cx, move |tx| Box::pin(stage.create(tx, wanted))).await
}

async fn get(cx: Cx, visitor: Visitor, Path(id): Path<SignUpId>) -> Response {
    match find(&cx, &visitor, &id).await {
        Ok(sign_up) => cx.answer(&visitor, Ok(view::frontend(&sign_up, lens(&visitor.site, cx.now)))).await,
        Err(error) => cx.answer::<()>(&visitor, Err(error)).await,
    }
}

async fn update(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SignUpId>,
    Form(form): Form<SignUpForm>,
) -> Response {
    let step = change(&cx, &visitor, id, form).await;
    answer(&cx, &mut visitor, step).await
}

async fn change(cx: &Cx, visitor: &Visitor, id: SignUpId, form: SignUpForm) -> Result<Step> {
    let known = attempts::open(find(cx, visitor, &id).await?, cx.now)?;
    let (stage, wanted) = (stage(cx, visitor), wanted(cx, visitor, known, form).await?);
    twice(cx, move |tx| Box::pin(stage.update(tx, id, wanted))).await
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

async fn send(cx: &Cx, visitor: &Visitor, id: SignUpId, form: PrepareVerification) -> Result<Step> {
    let strategy = rules::named(form.strategy.as_deref())?;
    let redirect_url = destination(visitor, Some(strategy), form.redirect_url.as_deref())?;
    let stage = stage(cx, visitor);
    cx.write(move |tx| Box::pin(stage.prepare(tx, id, strategy, redirect_url))).await
}

async fn attempt(
    cx: Cx,
    mut visitor: Visitor,
    Path(id): Path<SignUpId>,
    Form(form): Form<AttemptVerification>,
) -> Response {
    let step = try_code(&cx, &visitor, id, form).await;
    answer(&cx, &mut visitor, step).await
}

async fn try_code(cx: &Cx, visitor: &Visitor, id: SignUpId, form: AttemptVerification) -> Result<Step> {
    let strategy = rules::coded(form.strategy.as_deref())?;
    let code = form.code.filter(|code| !code.expose().is_empty());
    let code = code.ok_or_else(|| Error::param(Code::FormParamMissing, "code"))?;
    let stage = stage(cx, visitor);
    twice(cx, move |tx| Box::pin(stage.attempt(tx, id, strategy, code))).await
}

/// Answers with the attempt, or with the refusal; the client is shown as it is after the step.
async fn answer(cx: &Cx, visitor: &mut Visitor, step: Result<Step>) -> Response {
    let sign_up = step.and_then(|step| {
        visitor.becomes(step.client, step.secret);
        step.refusal.map_or(Ok(step.sign_up), Err)
    });
    match sign_up {
        Ok(sign_up) => cx.answer(visitor, Ok(view::frontend(&sign_up, lens(&visitor.site, cx.now)))).await,
        Err(error) => cx.answer::<()>(visitor, Err(error)).await,
    }
}

fn stage(cx: &Cx, visitor: &Visitor) -> Stage {
    Stage { act: visitor.act(cx), hold: visitor.hold() }
}

/// The attempt of the client that asks; one of another client is not there.
async fn find(cx: &Cx, visitor: &Visitor, id: &SignUpId) -> Result<SignUp> {
    let client = visitor.known()?;
    let found = store::find(&mut cx.app.db.read().await?, &visitor.site.instance, id).await?;
    let mine = found.filter(|sign_up| sign_up.client == client.id);
    mine.ok_or_else(|| Error::not_found("sign-up", id))
}

/// Checks a form against what is known of the person, and hashes the password in it.
async fn wanted(cx: &Cx, visitor: &Visitor, known: SignUp, mut form: SignUpForm) -> Result<Wanted> {
    let (site, mut problems) = (&*visitor.site, Vec::new());
    let strategy = rules::strategy(&form)?;
    let redirect_url = destination(visitor, strategy, form.redirect_url.as_deref())?;
    let filled = rules::fill(known, &form, &site.settings, site.test_mode(), cx.now, &mut problems)?;
    let password = form.password.take().filter(|password| !password.expose().is_empty());
    let given = Given { password: password.as_ref(), ..Given::default() };
    let change = credentials::read(given, &site.settings.attributes, &mut problems);
    let policy = site.settings.password.policy();
    let change = change.hashed(&cx.app.slow, policy, filled.identifiers(), &*cx.app.rng, problems).await?;
    let stored = change.apply(Credentials::default()).password;
    let password = stored.map(|stored| Password::Kept { digest: stored.digest, hasher: stored.hasher });
    Ok(Wanted { form, password, strategy, redirect_url })
}

/// Where a link leads in the end; codes lead nowhere.
fn destination(visitor: &Visitor, strategy: Option<Strategy>, url: Option<&str>) -> Result<Option<String>> {
    match strategy {
        Some(Strategy::EmailLink) => {
            let url = redirects::checked(&visitor.site, url.filter(|url| !url.is_empty()))?;
            Ok(Some(url.as_str().to_owned()))
        }
        _ => Ok(None),
    }
}
