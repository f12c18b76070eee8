//! What browsers and devices look up at the Frontend API to know who may use its passkeys.

use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_door::site::RequestSite;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::settings::AndroidApp;
use latchkey_web::api::Api;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use super::origins;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Well Known");
    api.get("/.well-known/webauthn", "getWebAuthnRelatedOrigins", related_origins)
        .summary("List the origins that may use passkeys of this host")
        .returns::<RelatedOrigins>()
        .errors(&[404])
        .only_reads();
    api.get("/.well-known/assetlinks.json", "getAndroidAssetLinks", asset_links)
        .summary("List the Android apps of the application")
        .returns::<Vec<AssetLink<'_>>>()
        .only_reads();
    api.get("/.well-known/apple-app-site-association", "getAppleAppSiteAssociation", apple_apps)
        .summary("List the apps of the application for Apple's devices")
        .returns::<AppleAppSiteAssociation<'_>>()
        .only_reads();
}

/// By "Related Origin Requests" of WebAuthn, level 3.
#[derive(Serialize, JsonSchema)]
struct RelatedOrigins {
    origins: Vec<String>,
}

async fn related_origins(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    match origins::is_related_by_settings(&site.settings) {
        true => cx.reply_unversioned(&RelatedOrigins { origins: origins::related(&site) }),
        false => {
            let text = "Passkeys of this instance do not belong to this host.";
            Err(Error::new(Code::ResourceNotFound).saying(text).into())
        }
    }
}

/// A statement by Google's "Digital Asset Links".
#[derive(Serialize, JsonSchema)]
struct AssetLink<'a> {
    relation: [&'static str; 2],
    target: AssetTarget<'a>,
}

#[derive(Serialize, JsonSchema)]
struct AssetTarget<'a> {
    namespace: &'static str,
    package_name: &'a str,
    sha256_cert_fingerprints: &'a [String],
}

fn asset_link(app: &AndroidApp) -> AssetLink<'_> {
    AssetLink {
        relation: [
            "delegate_permission/common.handle_all_urls",
            "delegate_permission/common.get_login_creds",
        ],
        target: AssetTarget {
            namespace: "android_app",
            package_name: &app.package_name,
            sha256_cert_fingerprints: &app.sha256_cert_fingerprints,
        },
    }
}

async fn asset_links(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    let all: Vec<_> = site.settings.native_settings.android_apps.iter().map(asset_link).collect();
    cx.reply_unversioned(&all)
}

/// Apple's list of apps that may use the passwords and passkeys of a host.
#[derive(Serialize, JsonSchema)]
struct AppleAppSiteAssociation<'a> {
    webcredentials: WebCredentials<'a>,
}

#[derive(Serialize, JsonSchema)]
struct WebCredentials<'a> {
    apps: &'a [String],
}

async fn apple_apps(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    let apps = &site.settings.native_settings.apple_app_ids;
    cx.reply_unversioned(&AppleAppSiteAssociation { webcredentials: WebCredentials { apps } })
}
