//! Routes and handlers of the backend API.

use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox::ChangeOrigin;
use latchkey_kernel::wire::{ListView, MaybePaginated, PageQuery};
use latchkey_letters::model::System;
use latchkey_letters::{catalogue, samples, writing};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::input::{PreviewTemplate, ToggleTemplateDelivery, UpsertTemplate};
use super::model::{Changes, StoredTemplate, Template};
use super::rules::{self, Draft};
use super::view::{PreviewView, TemplateView};
use crate::messages::data;
use crate::templates::{events, guard, locales, store, view};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Email & SMS Templates");
    api.get("/templates/{template_type}", "GetTemplateList", list)
        .summary("List all templates")
        .deprecated()
        .returns::<MaybePaginated<TemplateView>>();
    api.get("/templates/{template_type}/{slug}", "GetTemplate", get)
        .summary("Retrieve a template")
        .deprecated()
        .returns::<TemplateView>();
    api.put("/templates/{template_type}/{slug}", "UpsertTemplate", update)
        .summary("Update a template")
        .deprecated()
        .returns::<TemplateView>()
        .errors(&[403, 423]);
    api.post("/templates/{template_type}/{slug}/revert", "RevertTemplate", revert)
        .summary("Revert a template to its default")
        .deprecated()
        .returns::<TemplateView>();
    api.post("/templates/{template_type}/{slug}/preview", "PreviewTemplate", preview)
        .summary("Preview changes to a template")
        .deprecated()
        .returns::<PreviewView>()
        .errors(&[403, 423])
        .instead(&[(403, 422), (423, 422)]);
    api.post("/templates/{template_type}/{slug}/toggle_delivery", "ToggleTemplateDelivery", toggle)
        .summary("Say whether this server delivers the messages of a template")
        .deprecated()
        .returns::<TemplateView>()
        .errors(&[423])
        .instead(&[(422, 400)]);
    locales::routes(api);
}

async fn list(cx: Cx, key: SecretKey, Path(kind): Path<String>, Query(page): Query<PageQuery>) -> Reply {
    let channel = rules::channel(&kind)?;
    let stored = store::list(&mut cx.app.db.read().await?, &key.instance, channel).await?;
    let template = |system: &'static System| {
        let stored = stored.iter().find(|stored| stored.slug == system.slug);
        view::template(
            &key.instance,
            &Template { system, stored, sender: key.settings.messages.email.sender() },
        )
    };
    let (skip, take) = (to_count(page.paging.offset), to_count(page.paging.limit));
    let data: Vec<_> = catalogue::of(channel).skip(skip).take(take).map(template).collect();
    cx.reply(&match page.paginated {
        true => {
            let total_count = catalogue::of(channel).count() as i64;
            MaybePaginated::Paginated(ListView { data, total_count })
        }
        false => MaybePaginated::Bare(data),
    })
}

fn to_count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

async fn get(cx: Cx, key: SecretKey, Path(path): Path<Vec<String>>) -> Reply {
    let system = rules::named(&path)?;
    let stored = store::find(&mut cx.app.db.read().await?, &key.instance, system, "").await?;
    shown(&cx, &key, system, stored.as_ref())
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(path): Path<Vec<String>>,
    Input(input): Input<UpsertTemplate>,
) -> Reply {
    let system = rules::named(&path)?;
    guard::admit(&cx, &key).await?;
    guard::watched(&cx, &key, rules::check(system, &Draft::of_change(&input))).await?;
    let stored = changed(&cx, &key, system, move |before| rules::update(system, before, input)).await?;
    shown(&cx, &key, system, stored.as_ref())
}

async fn toggle(
    cx: Cx,
    key: SecretKey,
    Path(path): Path<Vec<String>>,
    Input(input): Input<ToggleTemplateDelivery>,
) -> Reply {
    let system = rules::named(&path)?;
    let delivered_by_service = Some(rules::toggled(&input)?);
    guard::admit(&cx, &key).await?;
    let rule = move |before| Ok(Changes { delivered_by_service, ..before });
    let stored = changed(&cx, &key, system, rule).await?;
    shown(&cx, &key, system, stored.as_ref())
}

async fn revert(cx: Cx, key: SecretKey, Path(path): Path<Vec<String>>) -> Reply {
    let system = rules::named(&path)?;
    let origin = cx.change_origin(&key);
    cx.write(move |tx| Box::pin(async move { revert_in(tx, &origin, system).await })).await?;
    shown(&cx, &key, system, None)
}

async fn revert_in(tx: &mut Tx, origin: &ChangeOrigin, system: &'static System) -> Result<()> {
    if !store::delete(tx, &origin.instance, system, "").await? {
        return Err(Error::new(Code::TemplateRevertError));
    }
    events::emit(tx, origin, Event::MessageTemplateReverted, system, "")
}

async fn preview(
    cx: Cx,
    key: SecretKey,
    Path(path): Path<Vec<String>>,
    Input(input): Input<PreviewTemplate>,
) -> Reply {
    let system = rules::named(&path)?;
    guard::admit(&cx, &key).await?;
    guard::watched(&cx, &key, rules::check(system, &Draft::of_preview(&input))).await?;
    let stored = store::find(&mut cx.app.db.read().await?, &key.instance, system, "").await?;
    let template = Template { system, stored: stored.as_ref(), sender: key.settings.messages.email.sender() };
    let subject = match &input.subject {
        Patch::Value(subject) => subject.as_str(),
        Patch::Absent | Patch::Null => template.subject(),
    };
    let words =
        writing::Words { subject, body: input.body.as_deref().or(template.own_body()), body_plain: None };
    let sample = samples::data(&data::app(&key.settings));
    let written = writing::write(system, &words, &sample)?;
    let or = |given: Option<String>, own: &str| {
        given.filter(|name| !name.is_empty()).unwrap_or_else(|| own.to_owned())
    };
    cx.reply(&PreviewView {
        subject: written.subject,
        body: written.body,
        body_plain: written.body_plain,
        from_email_name: or(input.from_email_name, template.from_email_name()),
        reply_to_email_name: or(input.reply_to_email_name, template.reply_to_email_name()),
    })
}

/// Saves a change. A template that looks the same afterwards stays as it is: one nobody changed is not the
/// instance's own by that.
async fn changed<R>(
    cx: &Cx,
    key: &SecretKey,
    system: &'static System,
    rule: R,
) -> Result<Option<StoredTemplate>>
where
    R: FnOnce(Changes) -> Result<Changes> + Send + 'static,
{
    let act = cx.act(key);
    cx.write(move |tx| Box::pin(async move { changed_in(tx, &act, system, rule).await })).await
}

async fn changed_in<R>(
    tx: &mut Tx,
    act: &Act,
    system: &'static System,
    rule: R,
) -> Result<Option<StoredTemplate>>
where
    R: FnOnce(Changes) -> Result<Changes> + Send + 'static,
{
    let before = store::lock(tx, &act.instance, system, "").await?;
    let own = before.as_ref().map(|stored| stored.changes.clone()).unwrap_or_default();
    let changes = rule(own.clone())?;
    if rules::is_same(system, act.settings.messages.email.sender(), &own, &changes) {
        return Ok(before);
    }
    let new = StoredTemplate::new(act.instance.clone(), system, "", act.now);
    let stored = rules::stored(before, changes, new, act.now);
    store::save(tx, &stored).await?;
    events::emit(tx, &act.into(), Event::MessageTemplateUpdated, system, "")?;
    Ok(Some(stored))
}

fn shown(cx: &Cx, key: &SecretKey, system: &'static System, stored: Option<&StoredTemplate>) -> Reply {
    cx.reply(&view::template(
        &key.instance,
        &Template { system, stored, sender: key.settings.messages.email.sender() },
    ))
}
