//! Variants of a template for the languages of its readers. Ours: the published API has no such thing.

use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::TEMPLATE_LOCALES;
use latchkey_kernel::outbox::ChangeOrigin;
use latchkey_kernel::wire::ListView;
use latchkey_letters::model::System;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

use super::input::PutTemplateLocale;
use super::model::{Changes, StoredTemplate};
use super::rules::{self, Draft};
use super::view::{self, DeletedLocaleView, LocaleObject, LocaleView};
use super::{events, guard, store};

pub fn routes(api: &mut Api<AppState>) {
    api.get("/templates/{template_type}/{slug}/locales", "ListTemplateLocales", list)
        .summary("List the variants of a template for locales (Latchkey only)")
        .returns::<ListView<LocaleView>>();
    api.get("/templates/{template_type}/{slug}/locales/{locale}", "GetTemplateLocale", get)
        .summary("Retrieve the variant of a template for a locale (Latchkey only)")
        .returns::<LocaleView>()
        .errors(&[422]);
    api.put("/templates/{template_type}/{slug}/locales/{locale}", "PutTemplateLocale", put)
        .summary("Write the variant of a template for a locale (Latchkey only)")
        .returns::<LocaleView>()
        .errors(&[403, 423]);
    api.delete("/templates/{template_type}/{slug}/locales/{locale}", "DeleteTemplateLocale", delete)
        .summary("Delete the variant of a template for a locale (Latchkey only)")
        .returns::<DeletedLocaleView>()
        .errors(&[422]);
}

async fn list(cx: Cx, key: SecretKey, Path(path): Path<Vec<String>>) -> Reply {
    let system = rules::named(&path)?;
    let all = store::all_of(&mut cx.app.db.read().await?, &key.instance, system).await?;
    let data: Vec<_> = all.iter().filter(|stored| !stored.locale.is_empty()).map(view::locale).collect();
    cx.reply(&ListView { total_count: data.len() as i64, data })
}

async fn get(cx: Cx, key: SecretKey, Path(path): Path<Vec<String>>) -> Reply {
    let (system, locale) = (rules::named(&path)?, rules::locale(&path)?);
    let stored = store::find(&mut cx.app.db.read().await?, &key.instance, system, &locale).await?;
    cx.reply(&view::locale(&stored.ok_or_else(|| unknown(&locale))?))
}

async fn put(
    cx: Cx,
    key: SecretKey,
    Path(path): Path<Vec<String>>,
    Input(input): Input<PutTemplateLocale>,
) -> Reply {
    let (system, locale) = (rules::named(&path)?, rules::locale(&path)?);
    guard::admit(&cx, &key).await?;
    guard::watched(&cx, &key, rules::check(system, &Draft::of_locale(&input))).await?;
    let PutTemplateLocale { body, subject, body_plain } = input;
    let changes = Changes { subject, body: Some(body), body_plain, ..Changes::default() };
    let act = cx.act(&key);
    let written =
        cx.write(move |tx| Box::pin(async move { put_in(tx, &act, system, &locale, changes).await }));
    cx.reply(&view::locale(&written.await?))
}

async fn put_in(
    tx: &mut Tx,
    act: &Act,
    system: &'static System,
    locale: &str,
    changes: Changes,
) -> Result<StoredTemplate> {
    let before = store::lock(tx, &act.instance, system, locale).await?;
    let count = store::count_locales(tx, &act.instance, system).await?;
    if before.is_none() && count >= TEMPLATE_LOCALES {
        return Err(
            Error::new(Code::FormParamArraySizeExceeded).saying("This template has too many variants.")
        );
    }
    let new = StoredTemplate::new(act.instance.clone(), system, locale, act.now);
    let stored = rules::stored(before, changes, new, act.now);
    store::save(tx, &stored).await?;
    events::emit(tx, &act.into(), Event::MessageTemplateUpdated, system, locale)?;
    Ok(stored)
}

async fn delete(cx: Cx, key: SecretKey, Path(path): Path<Vec<String>>) -> Reply {
    let (system, locale) = (rules::named(&path)?, rules::locale(&path)?);
    let (origin, wanted) = (cx.change_origin(&key), locale.clone());
    cx.write(move |tx| Box::pin(async move { delete_in(tx, &origin, system, &wanted).await })).await?;
    cx.reply(&DeletedLocaleView { object: LocaleObject::It, locale, deleted: true })
}

async fn delete_in(tx: &mut Tx, origin: &ChangeOrigin, system: &'static System, locale: &str) -> Result<()> {
    if !store::delete(tx, &origin.instance, system, locale).await? {
        return Err(unknown(locale));
    }
    events::emit(tx, origin, Event::MessageTemplateUpdated, system, locale)
}

fn unknown(locale: &str) -> Error {
    Error::new(Code::ResourceNotFound).saying(format!("The template has no variant for {locale}."))
}
