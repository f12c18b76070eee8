//! What the operations on templates take. Closed, as published.

use latchkey_base::patch::Patch;
use schemars::JsonSchema;
use serde::Deserialize;

/// Body of `UpsertTemplate`. What is left out stays as it is.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UpsertTemplate {
    /// The name for people; empty restores the default.
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// The subject line, for e-mails; null restores the default.
    pub subject: Patch<String>,
    /// What an editor made the body from; it is kept for the editor.
    pub markup: Patch<String>,
    /// The page, or the text message, with variables such as `{{app.name}}`.
    #[schemars(with = "String")]
    pub body: Option<String>,
    /// Whether this server delivers the messages.
    pub delivered_by_service: Option<bool>,
    /// The same as `delivered_by_service`.
    pub delivered_by_clerk: Option<bool>,
    /// The sender of e-mails: what stands before the `@`; empty restores the default.
    #[schemars(with = "String")]
    pub from_email_name: Option<String>,
    /// Where answers to e-mails go: what stands before the `@`; empty is nowhere.
    #[schemars(with = "String")]
    pub reply_to_email_name: Option<String>,
}

/// Body of `PreviewTemplate`. What is left out is taken from the template.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PreviewTemplate {
    /// The subject line, for e-mails.
    pub subject: Patch<String>,
    /// The page, or the text message.
    #[schemars(with = "String")]
    pub body: Option<String>,
    /// The sender of e-mails: what stands before the `@`.
    #[schemars(with = "String")]
    pub from_email_name: Option<String>,
    /// Where answers to e-mails go: what stands before the `@`.
    #[schemars(with = "String")]
    pub reply_to_email_name: Option<String>,
}

/// Body of `ToggleTemplateDelivery`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToggleTemplateDelivery {
    /// Whether this server delivers the messages.
    #[schemars(with = "bool")]
    pub delivered_by_service: Option<bool>,
    /// The same as `delivered_by_service`.
    #[schemars(with = "bool")]
    pub delivered_by_clerk: Option<bool>,
}

/// Body of `PutTemplateLocale`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutTemplateLocale {
    /// The page, or the text message, in this language.
    pub body: String,
    /// The subject line, for e-mails; without it the template's own is used.
    #[serde(default)]
    pub subject: Option<String>,
    /// The page as text; without it the text is made from the page.
    #[serde(default)]
    pub body_plain: Option<String>,
}
