//! What a body changes of the settings document, and what is refused. Pure: values in, values out.

use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Problem, Result, countries};
use latchkey_kernel::environment::Environment;
use latchkey_kernel::limits::BLOCKED_COUNTRIES;
use latchkey_kernel::origins::canonical;
use latchkey_kernel::settings::{EnrollmentMode, SettingsFault};
use serde_json::{Value, json};

use super::input::{
    PreferredSignIn, UpdateAuthConfig, UpdateCommunication, UpdateInstance, UpdateOAuthApplicationSettings,
    UpdateOrganizationSettings, UpdateProtect, UpdateRestrictions,
};
use crate::environment::view::CLERK_JS_VERSION;

/// One published field, and the setting it changes.
#[derive(Debug, PartialEq)]
pub struct FieldChange {
    pub param: &'static str,
    pub path: &'static str,
    pub value: Value,
}

/// Settings to be changed, in their order.
#[derive(Debug, Default, PartialEq)]
pub struct FieldChanges(pub Vec<FieldChange>);

impl FieldChanges {
    /// Changes a setting, if the field has a value.
    fn set<T>(
        &mut self,
        param: &'static str,
        path: &'static str,
        field: Patch<T>,
        value: impl FnOnce(T) -> Value,
    ) {
        if let Some(given) = field.value() {
            self.0.push(FieldChange { param, path, value: value(given) });
        }
    }

    /// As the document takes them.
    pub fn edits(&self) -> Vec<(String, Value)> {
        self.0.iter().map(|change| (change.path.to_owned(), change.value.clone())).collect()
    }

    /// What is wrong with the document, told by the fields it comes from.
    pub fn refusal(&self, faults: Vec<SettingsFault>) -> Error {
        let problem = |fault: SettingsFault| {
            let cause = self.0.iter().find(|change| fault.path.starts_with(change.path));
            match cause {
                Some(change) => Problem::of(refused_by(change.path), change.param).saying(fault.text),
                None => Problem::new(Code::BreaksInstanceInvariant).saying(format!(
                    "The setting {} does not allow it: {} Change it with `latchkey settings set`.",
                    fault.path, fault.text
                )),
            }
        };
        let problems = faults.into_iter().map(problem).collect();
        Error::collect(problems).err().unwrap_or_else(|| Error::new(Code::BreaksInstanceInvariant))
    }
}

/// The code of a value that the document does not take.
fn refused_by(path: &str) -> Code {
    match path {
        "allowed_origins" => Code::FormInvalidOrigin,
        "restrictions.allowlist" => Code::SignUpModeRestrictedInvalidValue,
        _ => Code::FormParamValueInvalid,
    }
}

/// A field that the server has nothing for: what it is already may be said, anything else is refused.
fn is_only(param: &str, given: Option<bool>, only: bool, why: &str) -> Result<()> {
    match given {
        Some(value) if value != only => {
            Err(not_built(param, &format!("`{param}` can only be {only}: {why}")))
        }
        _ => Ok(()),
    }
}

fn not_built(param: &str, text: &str) -> Error {
    Error::param(Code::FeatureNotImplemented, param).saying(text)
}

/// Reads the body of `UpdateInstance`.
pub fn instance(input: UpdateInstance, environment: Environment) -> Result<FieldChanges> {
    let is_development = environment == Environment::Development;
    let syncing = "sessions are kept in URLs on development instances, and never on production instances.";
    is_only("cookieless_dev", input.cookieless_dev.value(), is_development, syncing)?;
    is_only("url_based_session_syncing", input.url_based_session_syncing.value(), is_development, syncing)?;
    check_script_version(input.clerk_js_version.value())?;
    let mut changes = FieldChanges::default();
    changes.set("test_mode", "test_mode", input.test_mode, Value::from);
    changes.set("hibp", "password.allow_breached", input.hibp, |is_checked| json!(!is_checked));
    changes.set("support_email", "display.support_email", input.support_email, text_or_null);
    if let Some(origin) = input.development_origin.value() {
        check_development_origin(&origin, is_development)?;
        let value = text_or_null(origin);
        changes.0.push(FieldChange { param: "development_origin", path: "display.home_url", value });
    }
    changes.set("allowed_origins", "allowed_origins", input.allowed_origins, Value::from);
    changes.set(
        "preferred_sign_in_strategy_when_password_required",
        "sign_in.preferred_strategy",
        input.preferred_sign_in_strategy_when_password_required,
        |preferred| match preferred {
            PreferredSignIn::Otp => json!("otp"),
            PreferredSignIn::Password | PreferredSignIn::Usual => json!("password"),
        },
    );
    Ok(changes)
}

fn text_or_null(text: String) -> Value {
    if text.is_empty() { Value::Null } else { Value::String(text) }
}

fn check_script_version(given: Option<String>) -> Result<()> {
    match given.as_deref() {
        None | Some("" | CLERK_JS_VERSION) => Ok(()),
        Some(_) => Err(not_built(
            "clerk_js_version",
            &format!(
                "The hosted pages are written for version {CLERK_JS_VERSION} of the script. An application chooses the \
                 version of its own pages itself, for example with CLERK_JS_VERSION."
            ),
        )),
    }
}

fn check_development_origin(origin: &str, is_development: bool) -> Result<()> {
    if !is_development {
        return Err(Error::param(Code::RequestInvalidForEnvironment, "development_origin").saying(
            "Only development instances have a development origin. The home page of a production instance is the setting \
             display.home_url.",
        ));
    }
    match origin.is_empty() || canonical(origin).as_deref() == Some(origin) {
        true => Ok(()),
        false => Err(Error::param(Code::FormParamFormatInvalid, "development_origin")
            .saying("`development_origin` must be an origin such as http://localhost:3000, without a path.")),
    }
}

/// Reads the body of `UpdateInstanceRestrictions`.
pub fn restrictions(input: UpdateRestrictions) -> FieldChanges {
    let mut changes = FieldChanges::default();
    for (param, path, field) in [
        ("allowlist", "restrictions.allowlist", input.allowlist),
        ("blocklist", "restrictions.blocklist", input.blocklist),
        (
            "allowlist_blocklist_disabled_on_sign_in",
            "restrictions.allowlist_blocklist_disabled_on_sign_in",
            input.allowlist_blocklist_disabled_on_sign_in,
        ),
        ("block_email_subaddresses", "restrictions.block_email_subaddresses", input.block_email_subaddresses),
        (
            "block_disposable_email_domains",
            "restrictions.block_disposable_email_domains",
            input.block_disposable_email_domains,
        ),
    ] {
        changes.set(param, path, field, Value::from);
    }
    changes
}

/// Reads the body of `UpdateInstanceAuthConfig`.
pub fn auth_config(input: UpdateAuthConfig) -> Result<FieldChanges> {
    const SENDER: &str = "from_email_address";
    let is_plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if let Patch::Value(name) = &input.from_email_address
        && !is_plain(name)
    {
        return Err(Error::param(Code::FormParamFormatInvalid, SENDER).saying(
            "`from_email_address` is what stands before the `@` of the sender. It may have letters and digits only.",
        ));
    }
    let mut changes = FieldChanges::default();
    let listed = input.restricted_to_allowlist;
    changes.set("restricted_to_allowlist", "restrictions.allowlist", listed, Value::from);
    changes.set(SENDER, "messages.email.from_name", input.from_email_address, text_or_null);
    changes.set("progressive_sign_up", "sign_up.progressive", input.progressive_sign_up, Value::from);
    changes.set("test_mode", "test_mode", input.test_mode, Value::from);
    Ok(changes)
}

/// Reads the body of `UpdateInstanceOrganizationSettings`, but for the roles, which are no settings.
pub fn organizations(input: &mut UpdateOrganizationSettings) -> Result<FieldChanges> {
    let mut changes = FieldChanges::default();
    let is_ending = input.enabled == Patch::Value(false);
    let take = std::mem::take::<Patch<bool>>;
    changes.set("enabled", "organizations.enabled", take(&mut input.enabled), Value::from);
    let most = std::mem::take(&mut input.max_allowed_memberships);
    changes.set("max_allowed_memberships", "organizations.max_allowed_memberships", most, Value::from);
    let may_delete = take(&mut input.admin_delete_enabled);
    changes.set("admin_delete_enabled", "organizations.admin_delete", may_delete, Value::from);
    let domains = match take(&mut input.domains_enabled) {
        Patch::Absent | Patch::Null if is_ending => Patch::Value(false),
        given => given,
    };
    changes.set("domains_enabled", "organizations.domains", domains, Value::from);
    let without = take(&mut input.slug_disabled);
    changes.set("slug_disabled", "organizations.slugs", without, |is_disabled| json!(!is_disabled));
    if let Some(modes) = input.domains_enrollment_modes.take() {
        let value = enrollment_modes(&modes)?;
        changes.0.push(FieldChange {
            param: "domains_enrollment_modes",
            path: "organizations.domain_enrollment_modes",
            value: json!(value),
        });
    }
    Ok(changes)
}

/// Inviting by hand is shown among the modes, so it may be sent back; it needs no setting.
fn enrollment_modes(names: &[String]) -> Result<Vec<EnrollmentMode>> {
    let mut modes = Vec::new();
    for name in names {
        match name.as_str() {
            "manual_invitation" => {}
            "automatic_invitation" => modes.push(EnrollmentMode::AutomaticInvitation),
            "automatic_suggestion" => modes.push(EnrollmentMode::AutomaticSuggestion),
            _ => {
                return Err(Error::param(Code::FormParamValueInvalid, "domains_enrollment_modes").saying(
                    "`domains_enrollment_modes` can have automatic_invitation and automatic_suggestion.",
                ));
            }
        }
    }
    Ok(modes)
}

/// Reads the body of `UpdateInstanceCommunication`.
pub fn communication(input: UpdateCommunication) -> Result<FieldChanges> {
    const PARAM: &str = "blocked_country_codes";
    let mut changes = FieldChanges::default();
    let Some(codes) = input.blocked_country_codes.value() else { return Ok(changes) };
    if codes.len() > BLOCKED_COUNTRIES {
        let text = format!("`{PARAM}` may have at most {BLOCKED_COUNTRIES} codes.");
        return Err(Error::param(Code::FormParamArraySizeExceeded, PARAM).saying(text));
    }
    let is_code = |code: &String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    if let Some(wrong) = codes.iter().find(|code| !is_code(code)) {
        let shown: String = wrong.chars().take(8).collect();
        let text = format!("`{shown}` is not a country code of two capital letters, such as GB.");
        return Err(Error::param(Code::FormParamFormatInvalid, PARAM).saying(text));
    }
    if let Some((_, twice)) = codes.iter().enumerate().find(|(at, code)| codes[..*at].contains(code)) {
        return Err(
            Error::param(Code::FormParamDuplicate, PARAM).saying(format!("`{twice}` stands there twice."))
        );
    }
    let known: Vec<String> = codes.into_iter().filter(|code| countries::is_known(code)).collect();
    let path = "messages.sms.blocked_countries";
    changes.0.push(FieldChange { param: PARAM, path, value: json!(known) });
    Ok(changes)
}

/// Checks the body of `UpdateInstanceProtect`.
pub fn protect(input: UpdateProtect) -> Result<()> {
    let why = "Latchkey does not have rules against abuse yet.";
    is_only("rules_enabled", input.rules_enabled.value(), false, why)?;
    is_only("specter_enabled", input.specter_enabled.value(), false, why)
}

/// Checks the body of `UpdateInstanceOAuthApplicationSettings`.
pub fn oauth_applications(input: UpdateOAuthApplicationSettings) -> Result<()> {
    let why = "Latchkey does not have OAuth applications yet.";
    if input.default_scopes.value().is_some_and(|scopes| !scopes.is_empty()) {
        return Err(not_built("default_scopes", &format!("`default_scopes` can only be empty: {why}")));
    }
    let advertised = input.client_id_metadata_documents_advertised;
    let pre_registered = input.client_id_metadata_documents_only_allow_pre_registered_clients;
    let implicit = input.client_id_metadata_documents_block_implicitly_allowed_clients;
    for (param, given) in [
        ("dynamic_oauth_client_registration", input.dynamic_oauth_client_registration),
        ("oauth_jwt_access_tokens", input.oauth_jwt_access_tokens),
        ("client_id_metadata_documents_advertised", advertised),
        ("client_id_metadata_documents_only_allow_pre_registered_clients", pre_registered),
        ("client_id_metadata_documents_block_implicitly_allowed_clients", implicit),
    ] {
        is_only(param, given.value(), false, why)?;
    }
    Ok(())
}
