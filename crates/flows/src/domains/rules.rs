//! Decisions about domains: which host the Frontend API moves to, and what becomes of the settings. Pure: values in,
//! values out.

use latchkey_base::kinds::DomainId;
use latchkey_base::patch::Patch;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_kernel::domains::ids;
use latchkey_kernel::domains::rules::{host, name, primary};
use latchkey_kernel::hosts;
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::origins::{is_base_url, origin};
use latchkey_kernel::settings::{Satellite, SettingsFault};
use serde_json::{Value, json};

use super::input::{AddDomain, ChangeDomain, UpdateInstanceDomain};

/// What an operation makes of an instance.
#[derive(Debug, Default)]
pub struct DomainEdit {
    /// The host that its Frontend API moves to.
    pub host: Option<String>,
    /// A host that it has not had yet, and that nobody else may have.
    pub claimed: Option<String>,
    /// The settings that change.
    pub edits: Vec<(String, Value)>,
    /// The field that names the domain.
    param: &'static str,
}

impl DomainEdit {
    fn of(param: &'static str) -> DomainEdit {
        DomainEdit { param, ..DomainEdit::default() }
    }

    fn set(&mut self, path: &str, value: Value) {
        self.edits.push((path.to_owned(), value));
    }

    /// Somebody has the claimed host already, or another one of its registrable domain.
    pub fn taken(&self) -> Error {
        Error::param(Code::FormAlreadyExists, self.param)
            .saying("This domain is already taken: its Frontend API is that of another domain or instance, or lies on a domain of another instance.")
    }

    /// What is wrong with the settings, told by the field it comes from.
    pub fn refusal(&self, faults: Vec<SettingsFault>) -> Error {
        let problem = |SettingsFault { path, text }: SettingsFault| match path.as_str() {
            "proxy_url" => Problem::of(Code::FormParamValueInvalid, "proxy_url").saying(text),
            "satellites" if text.contains("proxy_url") => {
                Problem::of(Code::FormParamValueInvalid, "proxy_url").saying(text)
            }
            "satellites" | "display.home_url" => {
                Problem::of(Code::FormParamValueInvalid, self.param).saying(text)
            }
            _ => Problem::new(Code::BreaksInstanceInvariant).saying(format!(
                "The setting {path} does not allow it: {text} Change it with `latchkey settings set`."
            )),
        };
        let problems = faults.into_iter().map(problem).collect();
        Error::collect(problems).err().unwrap_or_else(|| Error::new(Code::BreaksInstanceInvariant))
    }
}

/// Adds a satellite.
pub fn add(instance: &Instance, input: AddDomain, id: DomainId) -> Result<DomainEdit> {
    if !input.is_satellite {
        return Err(Error::param(Code::PrimaryDomainAlreadyExists, "is_satellite")
            .saying("The instance has a primary domain already: `is_satellite` must be true."));
    }
    let proxy_url = input.proxy_url.map(|url| proxy(instance, &url)).transpose()?;
    let name = satellite_name(instance, &input.name)?;
    let mut edit = DomainEdit::of("name");
    edit.claimed = Some(host(&name));
    let new = Satellite { id: Some(id), name, frontend_api: None, proxy_url };
    let all: Vec<&Satellite> = instance.settings.satellites.iter().chain([&new]).collect();
    check_unique(instance, &new.name)?;
    edit.set("satellites", json!(all));
    Ok(edit)
}

/// Changes a domain, which keeps its id.
pub fn update(instance: &Instance, id: &DomainId, input: UpdateInstanceDomain) -> Result<DomainEdit> {
    if *id == ids::primary(&instance.id) {
        return update_primary(instance, input);
    }
    let at = position(instance, id)?;
    let mut satellites = instance.settings.satellites.clone();
    let mut edit = DomainEdit::of("name");
    let satellite = &mut satellites[at];
    if input.is_secondary == Patch::Value(false) {
        let text = "The whole name of a satellite counts: `is_secondary` can only be true for it.";
        return Err(Error::param(Code::FormConditionalParamDisallowed, "is_secondary").saying(text));
    }
    if let Some(text) = input.name.value() {
        let name = satellite_name(instance, &text)?;
        if satellite.name != name {
            check_unique(instance, &name)?;
            // Also where its Frontend API stays elsewhere: pages of the name are taken for the application's own.
            edit.claimed = Some(host(&name));
            (satellite.id, satellite.name) = (Some(id.clone()), name);
        }
    }
    if let Some(url) = input.proxy_url.change() {
        satellite.proxy_url = url.map(|url| proxy(instance, &url)).transpose()?;
    }
    edit.set("satellites", json!(satellites));
    Ok(edit)
}

/// Takes a satellite away.
pub fn delete(instance: &Instance, id: &DomainId) -> Result<DomainEdit> {
    if *id == ids::primary(&instance.id) {
        return Err(Error::new(Code::OperationNotAllowedOnPrimaryDomain).saying(
            "The primary domain cannot be deleted. Its name can be changed (`PATCH /v1/domains/{id}`).",
        ));
    }
    let mut satellites = instance.settings.satellites.clone();
    satellites.remove(position(instance, id)?);
    let mut edit = DomainEdit::of("name");
    edit.set("satellites", json!(satellites));
    Ok(edit)
}

/// Moves a production instance to the domain of its new home page.
pub fn change(instance: &Instance, input: ChangeDomain) -> Result<DomainEdit> {
    const PARAM: &str = "home_url";
    if instance.is_development() {
        return Err(Error::new(Code::DomainUpdateForbidden).saying(FOLLOWS_CONFIGURATION));
    }
    let missing = || Error::param(Code::FormParamMissing, PARAM).saying("`home_url` is required.");
    let url = input.home_url.filter(|url| !url.is_empty()).ok_or_else(missing)?;
    let origin = origin(&url).filter(|origin| origin.starts_with("https://"));
    let origin = origin.ok_or_else(|| {
        Error::param(Code::FormParamFormatInvalid, PARAM)
            .saying("`home_url` must be an absolute URL over https, such as https://www.example.com.")
    })?;
    let domain = domain(hosts::name(hosts::authority(origin)), input.is_secondary == Some(true), PARAM)?;
    let mut edit = DomainEdit::of(PARAM);
    move_to(&mut edit, instance, &domain);
    edit.set("display.home_url", json!(url));
    Ok(edit)
}

const FOLLOWS_CONFIGURATION: &str = "The domain of a development instance follows the configuration of the server: set \
     LATCHKEY_FRONTEND_API. Only that of a production instance can be changed here.";

fn update_primary(instance: &Instance, input: UpdateInstanceDomain) -> Result<DomainEdit> {
    let mut edit = DomainEdit::of("name");
    let is_secondary = input.is_secondary.value();
    match input.name.value() {
        None if is_secondary.is_some() => {
            let text = "`is_secondary` says how `name` is read: give `name` too.";
            return Err(Error::param(Code::FormConditionalParamMissing, "name").saying(text));
        }
        None => {}
        // The present name says nothing new, however the host of the Frontend API was chosen.
        Some(text) if text.eq_ignore_ascii_case(name(&instance.frontend_api)) => {}
        Some(_) if instance.is_development() => {
            return Err(Error::param(Code::DomainUpdateForbidden, "name").saying(FOLLOWS_CONFIGURATION));
        }
        Some(text) => {
            let domain = domain(&text, is_secondary == Some(true), "name")?;
            move_to(&mut edit, instance, &domain);
            if edit.host.is_some() {
                edit.set("display.home_url", json!(format!("https://{domain}")));
            }
        }
    }
    if let Some(url) = input.proxy_url.change() {
        let url = url.map(|url| proxy(instance, &url)).transpose()?;
        edit.edits.retain(|(path, _)| path != "proxy_url");
        edit.set("proxy_url", json!(url));
    }
    Ok(edit)
}

/// Moves the Frontend API to the host of a domain. A proxy on the domain that is left goes with it.
fn move_to(edit: &mut DomainEdit, instance: &Instance, domain: &str) {
    let host = host(domain);
    if host == instance.frontend_api {
        return;
    }
    let is_on = |host: &str, url: &str| hosts::is_within(hosts::name(hosts::authority(url)), primary(host));
    let proxy = instance.settings.proxy_url.as_deref();
    if proxy.is_some_and(|url| is_on(&instance.frontend_api, url) && !is_on(&host, url)) {
        edit.set("proxy_url", Value::Null);
    }
    (edit.host, edit.claimed) = (Some(host.clone()), Some(host));
}

fn position(instance: &Instance, id: &DomainId) -> Result<usize> {
    let mut satellites = instance.settings.satellites.iter();
    let found = satellites.position(|satellite| ids::satellite(&instance.id, satellite) == *id);
    found.ok_or_else(|| Error::not_found("domain", id))
}

/// The name of a satellite. What else is wrong with it is for the settings to say.
fn satellite_name(instance: &Instance, text: &str) -> Result<String> {
    if text.is_empty() {
        return Err(Error::param(Code::FormParamNil, "name").saying("`name` must not be empty."));
    }
    match instance.is_development() {
        true => Ok(text.to_ascii_lowercase()),
        false => domain(text, true, "name"),
    }
}

/// A domain of a production instance, with its subdomain or without.
fn domain(text: &str, is_subdomain_kept: bool, param: &str) -> Result<String> {
    if text.is_empty() {
        return Err(Error::param(Code::FormParamNil, param).saying(format!("`{param}` must not be empty.")));
    }
    let wrong = || {
        let more = if text.contains([':', '/']) {
            " Give the domain alone: no https://, no port, no path."
        } else {
            ""
        };
        Error::param(Code::FormParamValueInvalid, param).saying(format!(
            "`{param}` must name a domain such as example.com, under which others have no names (not co.uk).{more}"
        ))
    };
    let whole = hosts::checked(text).map_err(|_| wrong())?;
    let registrable =
        hosts::registrable(&whole).filter(|_| hosts::name(&whole) == whole).ok_or_else(wrong)?;
    Ok(if is_subdomain_kept { whole } else { registrable.to_owned() })
}

fn check_unique(instance: &Instance, name: &str) -> Result<()> {
    match instance.settings.satellites.iter().any(|satellite| satellite.name == name) {
        true => {
            Err(Error::param(Code::FormAlreadyExists, "name").saying("The instance has this domain already."))
        }
        false => Ok(()),
    }
}

/// A proxy of a production instance. A slash at the end says nothing.
fn proxy(instance: &Instance, url: &str) -> Result<String> {
    if instance.is_development() {
        return Err(Error::param(Code::DomainUpdateForbidden, "proxy_url").saying(
            "Domains of development instances have no `proxy_url`: leave it out, or set it to null.",
        ));
    }
    let url = url.trim_end_matches('/');
    match url.starts_with("https://") && is_base_url(url) {
        true => Ok(url.to_owned()),
        false => Err(Error::param(Code::FormParamFormatInvalid, "proxy_url")
            .saying("`proxy_url` must be an absolute URL over https, such as https://example.com/__clerk.")),
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::environment::Environment;
    use latchkey_kernel::instances::rules::create;

    use super::*;

    fn production() -> Instance {
        create(Environment::Production, "clerk.example.com".into(), Time::from_ms(0), &SeededRng::new(1))
    }

    fn moved(home_url: &str, is_secondary: bool) -> Result<Option<String>, Code> {
        let input = ChangeDomain { home_url: Some(home_url.to_owned()), is_secondary: Some(is_secondary) };
        change(&production(), input).map(|edit| edit.host).map_err(|error| error.problems()[0].code)
    }

    #[test]
    fn a_subdomain_counts_only_for_secondary_applications() {
        for (url, is_secondary, expected) in [
            ("https://www.example.net/start", false, "clerk.example.net"),
            ("https://www.example.net:8443", true, "clerk.www.example.net"),
            ("https://app.shop.co.uk", false, "clerk.shop.co.uk"),
            ("https://ME.vercel.app", false, "clerk.me.vercel.app"),
        ] {
            assert_eq!(moved(url, is_secondary), Ok(Some(expected.to_owned())), "{url}");
        }
        assert_eq!(moved("https://www.example.com", false), Ok(None), "it is there already");
    }

    #[test]
    fn a_home_page_is_on_a_domain_of_its_own_over_tls() {
        for (url, code) in [
            ("", Code::FormParamMissing),
            ("example.net", Code::FormParamFormatInvalid),
            ("http://example.net", Code::FormParamFormatInvalid),
            ("https://u@example.net", Code::FormParamFormatInvalid),
            ("https://co.uk", Code::FormParamValueInvalid),
            ("https://localhost", Code::FormParamValueInvalid),
            ("https://127.0.0.1", Code::FormParamValueInvalid),
            ("https://[::1]", Code::FormParamValueInvalid),
        ] {
            assert_eq!(moved(url, true), Err(code), "{url}");
        }
    }

    #[test]
    fn a_proxy_of_the_old_domain_goes_with_it_and_others_stay() {
        for (proxy, goes) in [
            (Some("https://www.example.com/__clerk"), true),
            (Some("https://example.net/__clerk"), false),
            (Some("https://app.vercel.app/__clerk"), false),
            (None, false),
        ] {
            let mut instance = production();
            instance.settings.proxy_url = proxy.map(str::to_owned);
            let input = ChangeDomain { home_url: Some("https://example.net".into()), is_secondary: None };
            let edit = change(&instance, input).unwrap();
            assert_eq!(edit.edits.contains(&("proxy_url".to_owned(), Value::Null)), goes, "{proxy:?}");
        }
    }
}
