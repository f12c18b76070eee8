//! Routes and handlers of the backend API.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::instances::change;
use latchkey_kernel::settings::Settings;
use latchkey_organizations::access::model::Access;
use latchkey_organizations::access::store as access;
use latchkey_web::api::Api;
use latchkey_web::input::Input;
use latchkey_web::reply::Reply;

use super::input::{
    UpdateAuthConfig, UpdateCommunication, UpdateInstance, UpdateOAuthApplicationSettings,
    UpdateOrganizationSettings, UpdateProtect, UpdateRestrictions,
};
use super::organizations::with_roles;
use super::rules::FieldChanges;
use super::view::{
    InstanceAuthConfigView, InstanceCommunicationView, InstanceOrganizationsView, InstanceProtectView,
    InstanceRestrictionsView, InstanceView, OAuthApplicationSettingsView,
};
use super::{rules, view};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Instance Settings");
    api.get("/instance", "GetInstance", get).summary("Get the instance").returns::<InstanceView>();
    api.patch("/instance", "UpdateInstance", update)
        .summary("Change settings of the instance")
        .returns_nothing()
        .errors(&[400, 403]);
    api.patch("/instance/restrictions", "UpdateInstanceRestrictions", update_restrictions)
        .summary("Change who may enter")
        .returns::<InstanceRestrictionsView>()
        .errors(&[400]);
    api.get("/instance/organization_settings", "GetInstanceOrganizationSettings", get_organizations)
        .summary("Get the settings of organizations")
        .returns::<InstanceOrganizationsView>();
    api.patch("/instance/organization_settings", "UpdateInstanceOrganizationSettings", update_organizations)
        .summary("Change the settings of organizations")
        .returns::<InstanceOrganizationsView>()
        .errors(&[400, 404, 409]);
    api.get("/instance/communication", "GetInstanceCommunication", get_communication)
        .summary("Get the countries to which no text messages are sent")
        .returns::<InstanceCommunicationView>();
    api.patch("/instance/communication", "UpdateInstanceCommunication", update_communication)
        .summary("Replace the countries to which no text messages are sent")
        .returns::<InstanceCommunicationView>()
        .errors(&[400]);
    api.get("/instance/protect", "GetInstanceProtect", get_protect)
        .summary("Get the settings against abuse")
        .returns::<InstanceProtectView>();
    api.patch("/instance/protect", "UpdateInstanceProtect", update_protect)
        .summary("Change the settings against abuse")
        .returns::<InstanceProtectView>()
        .errors(&[403]);
    api.get(
        "/instance/oauth_application_settings",
        "GetInstanceOAuthApplicationSettings",
        get_oauth_applications,
    )
    .summary("Get the settings of OAuth applications")
    .returns::<OAuthApplicationSettingsView>();
    api.patch(
        "/instance/oauth_application_settings",
        "UpdateInstanceOAuthApplicationSettings",
        update_oauth_applications,
    )
    .summary("Change the settings of OAuth applications")
    .returns::<OAuthApplicationSettingsView>()
    .errors(&[403]);
    api.group("Beta Features");
    api.patch("/beta_features/instance_settings", "UpdateInstanceAuthConfig", update_auth_config)
        .summary("Change how people sign up, and the sender of e-mails")
        .returns::<InstanceAuthConfigView>()
        .errors(&[400]);
}

async fn get(cx: Cx, key: SecretKey) -> Reply {
    cx.reply(&view::instance(&key.instance, key.environment, &key.settings))
}

async fn update(cx: Cx, key: SecretKey, Input(input): Input<UpdateInstance>) -> Reply {
    let changes = rules::instance(input, key.environment)?;
    changed(&cx, key, changes).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn update_restrictions(cx: Cx, key: SecretKey, Input(input): Input<UpdateRestrictions>) -> Reply {
    let changes = rules::restrictions(input);
    let settings = changed(&cx, key, changes).await?;
    cx.reply(&view::restrictions(&settings))
}

async fn update_auth_config(cx: Cx, key: SecretKey, Input(input): Input<UpdateAuthConfig>) -> Reply {
    let (instance, changes) = (key.instance.clone(), rules::auth_config(input)?);
    let settings = changed(&cx, key, changes).await?;
    cx.reply(&view::auth_config(&instance, &settings))
}

async fn get_organizations(cx: Cx, key: SecretKey) -> Reply {
    let access = access::find(&mut cx.app.db.read().await?, &key.instance).await?;
    cx.reply(&view::organizations(&key.settings, &access))
}

async fn update_organizations(
    cx: Cx,
    key: SecretKey,
    Input(mut input): Input<UpdateOrganizationSettings>,
) -> Reply {
    let changes = rules::organizations(&mut input)?;
    let act = cx.act(&key);
    let written = cx
        .write(move |tx| Box::pin(async move { update_organizations_in(tx, &act, &input, &changes).await }));
    let (settings, access) = written.await?;
    cx.reply(&view::organizations(&settings, &access))
}

async fn update_organizations_in(
    tx: &mut Tx,
    act: &Act,
    input: &UpdateOrganizationSettings,
    changes: &FieldChanges,
) -> Result<(Settings, Access)> {
    let before = access::lock(tx, &act.instance, act.now).await?;
    let after = with_roles(before.clone(), input, act)?;
    if after != before {
        access::save(tx, &after, act.now).await?;
    }
    let changed = change::settings(tx, &act.into(), &changes.edits()).await?;
    Ok((changed.map_err(|faults| changes.refusal(faults))?.after, after))
}

async fn get_communication(cx: Cx, key: SecretKey) -> Reply {
    cx.reply(&view::communication(&key.settings))
}

async fn update_communication(cx: Cx, key: SecretKey, Input(input): Input<UpdateCommunication>) -> Reply {
    let changes = rules::communication(input)?;
    let settings = changed(&cx, key, changes).await?;
    cx.reply(&view::communication(&settings))
}

async fn get_protect(cx: Cx, _: SecretKey) -> Reply {
    cx.reply(&view::protect())
}

async fn update_protect(cx: Cx, _: SecretKey, Input(input): Input<UpdateProtect>) -> Reply {
    rules::protect(input)?;
    cx.reply(&view::protect())
}

async fn get_oauth_applications(cx: Cx, _: SecretKey) -> Reply {
    cx.reply(&view::oauth_applications())
}

async fn update_oauth_applications(
    cx: Cx,
    _: SecretKey,
    Input(input): Input<UpdateOAuthApplicationSettings>,
) -> Reply {
    rules::oauth_applications(input)?;
    cx.reply(&view::oauth_applications())
}

/// Changes the settings of the instance, all fields or none, and returns them as they are then.
async fn changed(cx: &Cx, key: SecretKey, changes: FieldChanges) -> Result<Arc<Settings>> {
    if changes.0.is_empty() {
        return Ok(key.settings);
    }
    let origin = cx.change_origin(&key);
    cx.write(move |tx| {
        Box::pin(async move {
            let outcome = change::settings(tx, &origin, &changes.edits()).await?;
            Ok(Arc::new(outcome.map_err(|faults| changes.refusal(faults))?.after))
        })
    })
    .await
}
