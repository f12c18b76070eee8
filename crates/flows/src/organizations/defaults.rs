//! What the form for a new organization begins with: a name made from the domain of the user's address.

use axum::response::Response;
use latchkey_base::text::readable_domain;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::{AppState, hosts};
use latchkey_organizations::memberships::store as memberships;
use latchkey_organizations::orgs::model::Organization;
use latchkey_organizations::orgs::rules::{check_enabled, generated_slug, slugified};
use latchkey_organizations::orgs::store;
use latchkey_people::providers::provider_of;
use latchkey_people::users::model::User;
use latchkey_web::api::Api;
use schemars::JsonSchema;
use serde::Serialize;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Organization Creation Defaults");
    api.get("/v1/me/organization_creation_defaults", "getOrganizationCreationDefaults", get)
        .summary("Get what the form for a new organization begins with")
        .returns::<Envelope<'_, CreationDefaultsView>>()
        .only_reads()
        .errors(&[403]);
}

/// What the form for a new organization begins with.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationCreationDefaults")]
pub struct CreationDefaultsView {
    advisory: Option<AdvisoryView>,
    form: FormView,
}

/// What the user should know before.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationCreationAdvisory")]
struct AdvisoryView {
    code: &'static str,
    severity: &'static str,
    meta: AdvisoryMeta,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OrganizationCreationAdvisoryMeta")]
struct AdvisoryMeta {
    organization_name: String,
    organization_domain: String,
}

/// Texts are empty where there is nothing to begin with.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "OrganizationCreationForm")]
struct FormView {
    name: String,
    slug: String,
    /// Always null: logos of domains are not looked up.
    logo: Option<String>,
    /// Always null, as the logo.
    blur_hash: Option<String>,
}

async fn get(cx: Cx, person: Person) -> Response {
    let outcome = defaults(&cx, &person).await;
    person.visitor.answer(&cx, outcome).await
}

async fn defaults(cx: &Cx, person: &Person) -> Result<CreationDefaultsView> {
    let settings = &person.visitor.site.settings;
    check_enabled(settings)?;
    if !settings.organizations.creation_defaults {
        let text = "The settings of this instance do not have `organizations.creation_defaults`.";
        return Err(Error::new(Code::FeatureNotEnabled).saying(text));
    }
    let Some(domain) = company_domain(&person.user) else {
        return Ok(CreationDefaultsView { advisory: None, form: FormView::default() });
    };
    let mut tx = cx.app.db.read().await?;
    let name = name(domain);
    let slug = match settings.organizations.slugs {
        true => free_slug(&mut tx, cx, person, &name).await?,
        false => String::new(),
    };
    let advisory = advisory(&mut tx, &person.user, domain).await?;
    Ok(CreationDefaultsView { advisory, form: FormView { name, slug, ..FormView::default() } })
}

/// A slug like the name; with the time behind it if another organization has that one.
async fn free_slug(tx: &mut Tx, cx: &Cx, person: &Person, name: &str) -> Result<String> {
    let slug = slugified(name);
    match store::find_by_id_or_slug(tx, &person.visitor.site.instance, &slug).await? {
        Some(_) => Ok(generated_slug(name, cx.now)),
        None => Ok(slug),
    }
}

/// Says that the people of a domain have an organization already, to those who are not in it.
async fn advisory(tx: &mut Tx, user: &User, domain: &str) -> Result<Option<AdvisoryView>> {
    let Some(Organization { id, name, .. }) = store::find_by_domain(tx, &user.instance, domain).await? else {
        return Ok(None);
    };
    if memberships::find(tx, &user.instance, &id, &user.id).await?.is_some() {
        return Ok(None);
    }
    let meta = AdvisoryMeta { organization_name: name, organization_domain: domain.to_owned() };
    Ok(Some(AdvisoryView { code: "organization_already_exists", severity: "warning", meta }))
}

/// The domain of the user's verified primary address, unless everybody can have an address there.
fn company_domain(user: &User) -> Option<&str> {
    let address = user.email_addresses.primary().filter(|address| address.is_verified())?;
    let (_, domain) = address.value.rsplit_once('@')?;
    provider_of(domain).is_none().then_some(domain)
}

/// The name of whoever has a domain, as far as the domain tells: `acme-tools.co.uk` is `Acme Tools`.
fn name(domain: &str) -> String {
    let own = hosts::registrable(domain).unwrap_or(domain);
    let readable = readable_domain(own).unwrap_or_else(|| own.to_owned());
    let label = readable.split('.').next().unwrap_or_default();
    let words = label.split('-').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_names_whoever_has_it() {
        for (domain, expected) in [
            ("acme.com", "Acme"),
            ("mail.acme-tools.co.uk", "Acme Tools"),
            ("xn--bcher-kva.example", "Bücher"),
            ("intranet", "Intranet"),
        ] {
            assert_eq!(name(domain), expected, "{domain}");
        }
    }
}
