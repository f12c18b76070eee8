//! Routes and handlers of the backend API.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use latchkey_base::kinds::{DomainId, ProxyCheckId};
use latchkey_base::{Code, Error, Id, Problem, Result};
use latchkey_db::Tx;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::domains::{ids, store as hosts};
use latchkey_kernel::instances::change::{self, ChangedSettings};
use latchkey_kernel::instances::model::Instance;
use latchkey_kernel::instances::store;
use latchkey_kernel::origins::is_base_url;
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{App, AppState};
use latchkey_presence::domain_changes;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

use super::input::{AddDomain, ChangeDomain, CheckProxy, UpdateInstanceDomain};
use super::rules::DomainEdit;
use super::view::{self, InstanceDomainView, ProxyCheckView};
use super::{proxy, rules};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Domains");
    api.get("/domains", "ListDomains", list)
        .summary("List the primary domain and the satellites")
        .returns::<ListView<InstanceDomainView>>();
    api.post("/domains", "AddDomain", add)
        .summary("Add a satellite")
        .returns::<InstanceDomainView>()
        .errors(&[400]);
    api.patch("/domains/{domain_id}", "UpdateDomain", update)
        .summary("Change a domain")
        .wants_body()
        .returns::<InstanceDomainView>()
        .errors(&[400]);
    api.delete("/domains/{domain_id}", "DeleteDomain", delete)
        .summary("Delete a satellite")
        .returns::<DeletedView>()
        .errors(&[403]);
    api.group("Proxy Checks");
    api.post("/proxy_checks", "VerifyDomainProxy", check_proxy)
        .summary("Try a proxy to the Frontend API")
        .returns::<ProxyCheckView>();
    api.group("Beta Features");
    api.post("/instance/change_domain", "ChangeProductionInstanceDomain", change_domain)
        .summary("Move a production instance to another domain")
        .accepts();
    api.put("/beta_features/domain", "UpdateProductionInstanceDomain", change_domain)
        .summary("Move a production instance to another domain")
        .accepts()
        .deprecated();
    api.post("/beta_features/change_domain", "ChangeDomain", change_domain)
        .summary("Move a production instance to another domain, as SDKs for JavaScript ask for it")
        .accepts();
}

async fn list(cx: Cx, key: SecretKey) -> Reply {
    let found = store::find(&mut cx.app.db.read().await?, &key.instance).await?;
    let instance = found.ok_or_else(|| Error::not_found("instance", &key.instance))?;
    let data = view::domains(&cx.app, &instance);
    let total_count = i64::try_from(data.len()).unwrap_or(i64::MAX);
    cx.reply(&ListView { data, total_count })
}

async fn add(cx: Cx, key: SecretKey, Input(input): Input<AddDomain>) -> Reply {
    let id = DomainId::new(cx.now, &*cx.app.rng);
    let new = id.clone();
    let instance = changed(&cx, &key, move |instance| rules::add(instance, input, new)).await?;
    shown(&cx, &instance, &id)
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<DomainId>,
    Input(input): Input<UpdateInstanceDomain>,
) -> Reply {
    let wanted = id.clone();
    let instance = changed(&cx, &key, move |instance| rules::update(instance, &wanted, input)).await?;
    shown(&cx, &instance, &id)
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<DomainId>) -> Reply {
    let gone = deleted("domain", &id);
    changed(&cx, &key, move |instance| rules::delete(instance, &id)).await?;
    cx.reply(&gone)
}

async fn change_domain(cx: Cx, key: SecretKey, Input(input): Input<ChangeDomain>) -> Reply {
    changed(&cx, &key, move |instance| rules::change(instance, input)).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Changes the domains of the instance by a pure rule, and returns it as it is then. Whoever was signed in on a primary
/// domain that it has left is signed out.
async fn changed<R>(cx: &Cx, key: &SecretKey, rule: R) -> Result<Instance>
where
    R: FnOnce(&Instance) -> Result<DomainEdit> + Send + 'static,
{
    let (act, app) = (cx.act(key), cx.app.clone());
    let (instance, left) =
        cx.write(move |tx| Box::pin(async move { changed_in(tx, &act, &app, rule).await })).await?;
    if let Some(left) = left {
        sign_out(cx, key, left).await;
    }
    Ok(instance)
}

async fn changed_in<R>(tx: &mut Tx, act: &Act, app: &App, rule: R) -> Result<(Instance, Option<String>)>
where
    R: FnOnce(&Instance) -> Result<DomainEdit> + Send,
{
    let found = store::lock(tx, &act.instance).await?;
    let edit = rule(&found.ok_or_else(|| Error::not_found("instance", &act.instance))?)?;
    if let Some(host) = &edit.claimed {
        hosts::lock_hosts(tx).await?;
        if app.is_reserved(host) || is_of_another(tx, act, host).await? {
            return Err(edit.taken());
        }
    }
    let outcome = change::with_host(tx, &act.into(), edit.host.as_deref(), &edit.edits).await?;
    let ChangedSettings { before, after } = outcome.map_err(|faults| edit.refusal(faults))?;
    let left = edit.host.is_some().then(|| before.frontend_api.clone());
    if let Some(left) = &left {
        domain_changes::begin(tx, act, left).await?;
    }
    let frontend_api = edit.host.unwrap_or_else(|| before.frontend_api.clone());
    Ok((Instance { frontend_api, settings: after, ..before }, left))
}

/// Whether a host is another instance's, or lies on a domain of one. Who may have names on the domain of somebody else is for
/// the operator to say, who makes and moves instances on the command line.
async fn is_of_another(tx: &mut Tx, act: &Act, host: &str) -> Result<bool> {
    Ok(hosts::holder(tx, &act.instance, host).await?.is_some()
        || hosts::is_beside_others(tx, &act.instance, host).await?)
}

/// Ends the first sessions of a domain that was left; a job ends what remains, or all if this fails.
async fn sign_out(cx: &Cx, key: &SecretKey, left: String) {
    let act = cx.act(key);
    let ended = cx.write(move |tx| Box::pin(async move { domain_changes::go_on(tx, act, &left).await }));
    if let Err(error) = ended.await {
        tracing::warn!(?error, "sessions of a domain that was left are ended later");
    }
}

fn shown(cx: &Cx, instance: &Instance, id: &DomainId) -> Reply {
    let domain = view::domain(&cx.app, instance, id).ok_or_else(|| Error::not_found("domain", id))?;
    cx.reply(&domain)
}

async fn check_proxy(cx: Cx, key: SecretKey, Input(input): Input<CheckProxy>) -> Reply {
    let (domain, url) = read_check(&key, input)?;
    let reach = key.settings.events.reach(key.environment);
    proxy::check(&cx.app.checks, reach, &url, &domain).await?;
    let id = ProxyCheckId::new(cx.now, &*cx.app.rng);
    cx.reply(&view::proxy_check(id, &domain, &url, cx.now))
}

/// The domain and the proxy that are to be tried; both must be named.
fn read_check(key: &SecretKey, input: CheckProxy) -> Result<(DomainId, String)> {
    let given = [("domain_id", &input.domain_id), ("proxy_url", &input.proxy_url)];
    let missing = given.into_iter().filter(|(_, value)| value.is_none()).map(|(param, _)| {
        Problem::of(Code::FormParamMissing, param).saying(format!("`{param}` is required."))
    });
    Error::collect(missing.collect())?;
    let (domain, url) = (input.domain_id.unwrap_or_default(), input.proxy_url.unwrap_or_default());
    let is_known = |id: &DomainId| {
        let mut satellites = key.settings.satellites.iter();
        *id == ids::primary(&key.instance) || satellites.any(|it| ids::satellite(&key.instance, it) == *id)
    };
    let domain = Id::parse(&domain).filter(is_known).ok_or_else(|| {
        Error::param(Code::FormResourceNotFound, "domain_id")
            .saying("The instance has no such domain. `GET /v1/domains` lists those it has.")
    })?;
    let url = url.trim_end_matches('/');
    match is_base_url(url) {
        true => Ok((domain, url.to_owned())),
        false => Err(Error::param(Code::FormParamFormatInvalid, "proxy_url")
            .saying("`proxy_url` must be an absolute URL such as https://example.com/__clerk.")),
    }
}
