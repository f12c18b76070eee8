//! How a template looks on the wire.

use std::borrow::Cow;

use latchkey_base::Time;
use latchkey_base::kinds::InstanceId;
use latchkey_jose::digest::sha256;
use latchkey_kernel::object;
use latchkey_letters::model::{Channel, System};
use latchkey_letters::{catalogue, layout, variables};
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{StoredTemplate, Template};

/// When the defaults were written.
const DEFAULTS_SINCE: Time = Time::from_ms(1_767_225_600_000);
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Template")]
pub struct TemplateView<'a> {
    object: TemplateObject,
    id: String,
    instance_id: &'a InstanceId,
    resource_type: &'static str,
    template_type: &'static str,
    name: &'a str,
    slug: &'static str,
    position: usize,
    can_revert: bool,
    can_delete: bool,
    can_edit_body: bool,
    can_toggle: bool,
    subject: Option<&'a str>,
    markup: &'a str,
    body: Cow<'a, str>,
    available_variables: Vec<&'static str>,
    required_variables: &'static [&'static str],
    from_email_name: &'a str,
    reply_to_email_name: &'a str,
    /// Whether this server delivers the messages.
    delivered_by_service: bool,
    /// The same as `delivered_by_service`.
    delivered_by_clerk: bool,
    enabled: bool,
    flagged_as_suspicious: bool,
    created_at: Time,
    updated_at: Time,
}

object!(TemplateObject, "template");

pub fn template<'a>(instance: &'a InstanceId, template: &Template<'a>) -> TemplateView<'a> {
    let Template { system, stored, .. } = template;
    let is_delivered = template.delivered_by_service();
    TemplateView {
        object: TemplateObject::It,
        id: id(instance, system),
        instance_id: instance,
        resource_type: if stored.is_some() { "user" } else { "system" },
        template_type: system.channel.name(),
        name: template.name(),
        slug: system.slug,
        position: catalogue::position(system),
        can_revert: stored.is_some(),
        can_delete: false,
        can_edit_body: true,
        can_toggle: system.channel == Channel::Sms && system.is_notice,
        subject: Some(template.subject()).filter(|_| system.channel == Channel::Email),
        markup: template.markup(),
        body: template.own_body().map_or_else(|| layout::body(system).into(), Cow::from),
        available_variables: variables::available(system),
        required_variables: system.required,
        from_email_name: template.from_email_name(),
        reply_to_email_name: template.reply_to_email_name(),
        delivered_by_service: is_delivered,
        delivered_by_clerk: is_delivered,
        enabled: true,
        flagged_as_suspicious: false,
        created_at: stored.map_or(DEFAULTS_SINCE, |stored| stored.created_at),
        updated_at: stored.map_or(DEFAULTS_SINCE, |stored| stored.updated_at),
    }
}

/// The id of a template of an instance. It follows from both, so that one nobody changed has an id too.
/// The id of a template, which every instance has under another one.
pub fn id(instance: &InstanceId, system: &System) -> String {
    let digest = sha256(format!("{instance}/{}/{}", system.channel.name(), system.slug).as_bytes());
    let digits = digest.iter().take(27).map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()]));
    format!("tmpl_{}", digits.collect::<String>())
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TemplatePreview")]
pub struct PreviewView {
    /// The subject line; null for text messages.
    pub subject: Option<String>,
    /// The page, or the text message.
    pub body: String,
    /// The page as text; null for text messages.
    pub body_plain: Option<String>,
    /// The sender: what stands before the `@`.
    pub from_email_name: String,
    /// Where answers go: what stands before the `@`; empty for nowhere.
    pub reply_to_email_name: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TemplateLocale")]
pub struct LocaleView<'a> {
    object: LocaleObject,
    template_type: &'static str,
    slug: &'a str,
    locale: &'a str,
    subject: Option<&'a str>,
    body: &'a str,
    body_plain: Option<&'a str>,
    created_at: Time,
    updated_at: Time,
}

object!(LocaleObject, "template_locale");

pub fn locale(stored: &StoredTemplate) -> LocaleView<'_> {
    LocaleView {
        object: LocaleObject::It,
        template_type: stored.channel.name(),
        slug: &stored.slug,
        locale: &stored.locale,
        subject: stored.changes.subject.as_deref(),
        body: stored.changes.body.as_deref().unwrap_or_default(),
        body_plain: stored.changes.body_plain.as_deref(),
        created_at: stored.created_at,
        updated_at: stored.updated_at,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeletedTemplateLocale")]
pub struct DeletedLocaleView {
    pub object: LocaleObject,
    pub locale: String,
    pub deleted: bool,
}
