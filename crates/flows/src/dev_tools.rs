//! What the components offer on development instances: turning on what they need.

use axum::response::Response;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::instances::{change, store};
use latchkey_kernel::outbox::ChangeOrigin;
use latchkey_kernel::settings::{Settings, edit};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::environment::frontend::{given_roles, source};
use crate::environment::view::{self, EnvironmentView};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Environment");
    // The published description names the path and no method. Scripts send PATCH, in their way a POST that says so.
    api.patch("/v1/dev_tools/enable_environment_setting", "enableEnvironmentSetting", enable)
        .summary("Turn on organizations, on a development instance")
        .returns::<EnvironmentView<'_>>()
        .public()
        .errors(&[403]);
    api.post("/v1/dev_tools/enable_environment_setting", "postEnableEnvironmentSetting", enable)
        .summary("Turn on organizations, on a development instance")
        .returns::<EnvironmentView<'_>>()
        .public()
        .errors(&[403]);
}

/// Body of `enableEnvironmentSetting`.
#[derive(Deserialize, JsonSchema)]
pub struct EnabledSetting {
    /// Always true: nothing is turned off here.
    pub enable_organizations: bool,
    /// Whether people may work for themselves, and not for an organization.
    #[serde(default)]
    pub organization_allow_personal_accounts: Option<bool>,
}

/// Answers with the environment as it is then. Anybody may ask who reaches a development instance, as for everything
/// else that is easy there.
async fn enable(cx: Cx, visitor: Visitor, Form(input): Form<EnabledSetting>) -> Result<Response, Failure> {
    let site = &*visitor.site;
    if !site.is_development() {
        return Err(Error::new(Code::FeatureNotEnabled)
            .saying("Settings are changed from a page on development instances only. Use `latchkey settings set`.")
            .into());
    }
    if !input.enable_organizations {
        return Err(Error::from(Problem::of(Code::FormParamValueInvalid, "enable_organizations").saying(
            "Settings are only turned on here. Use `latchkey settings set organizations.enabled=false`.",
        ))
        .into());
    }
    let mut changes = vec![("organizations.enabled".to_owned(), Value::Bool(true))];
    if let Some(is_allowed) = input.organization_allow_personal_accounts {
        changes.push(("organizations.force_selection".to_owned(), Value::Bool(!is_allowed)));
    }
    let origin = ChangeOrigin::from(&visitor.act(&cx));
    let written = cx.write(move |tx| Box::pin(async move { turned_on(tx, &origin, &changes).await }));
    let settings = written.await?;
    let roles = given_roles(&cx, &site.instance).await?;
    cx.reply_unversioned(&view::environment(source(&cx, site, &settings, &roles)))
}

/// Where organizations are on already, everything stays as the developer has set it.
async fn turned_on(tx: &mut Tx, origin: &ChangeOrigin, changes: &[(String, Value)]) -> Result<Settings> {
    let id = &origin.instance;
    let instance = store::lock(tx, id).await?.ok_or_else(|| Error::not_found("instance", id))?;
    if instance.settings.organizations.enabled {
        return Ok(instance.settings);
    }
    let next = edit::changed(&instance.settings, changes)
        .map_err(|faults| Error::internal(format!("organizations cannot be enabled: {faults:?}")))?;
    change::save(tx, origin, &instance, None, &next).await?;
    Ok(next)
}
