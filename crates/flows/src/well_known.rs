//! What others look up about an instance by convention: the keys its tokens are checked with, who it is, and whether
//! it is well.

use axum::http::HeaderMap;
use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_door::site::{RequestSite, Site};
use latchkey_jose::jwk::{Jwk, Jwks};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::instances::store;
use latchkey_web::api::Api;
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Well Known");
    api.get("/.well-known/jwks.json", "getJWKS", jwks)
        .summary("Get the JSON Web Key Set of the instance")
        .returns::<Jwks>()
        .only_reads();
    api.get("/.well-known/openid-configuration", "getOpenIDConfiguration", openid_configuration)
        .summary("Get the OpenID configuration of the instance")
        .returns::<OpenIdConfiguration>()
        .only_reads();
    api.get(
        "/.well-known/oauth-authorization-server",
        "getOAuth2AuthorizationServerMetadata",
        authorization_server,
    )
    .summary("Get the metadata of the authorization server")
    .returns::<AuthorizationServer>()
    .only_reads();
    api.group("Health");
    api.get("/v1/health", "getHealth", health)
        .summary("Tell that the Frontend API answers")
        .returns::<Health>()
        .only_reads();
    api.get("/v1/proxy-health", "getProxyHealth", proxy_health)
        .summary("Tell what arrives through a proxy")
        .header("Clerk-Proxy-Url", true, "The address of the proxy.")
        .header("Clerk-Secret-Key", true, "A secret key of the instance.")
        .header("X-Forwarded-For", true, "The address of who asked the proxy.")
        .returns::<ProxyHealth>()
        .instead(&[(422, 400)])
        .only_reads();
}

async fn jwks(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    let mut tx = cx.app.db.read().await?;
    let stored = store::public_keys(&mut tx, &site.instance, cx.now).await?;
    let keys = stored.iter().map(|jwk| serde_json::from_str::<Jwk>(jwk).map_err(Error::internal));
    cx.reply_unversioned(&Jwks { keys: keys.collect::<Result<_>>()? })
}

/// What verifiers of tokens look up. Applications cannot ask for sign-in by OAuth yet, so the document names no endpoint
/// for it, and the lists of how are empty.
#[derive(Serialize, JsonSchema)]
struct Endpoints {
    issuer: String,
    jwks_uri: String,
    scopes_supported: Vec<String>,
    response_types_supported: Vec<String>,
    grant_types_supported: Vec<String>,
    subject_types_supported: Vec<&'static str>,
    id_token_signing_alg_values_supported: Vec<&'static str>,
    token_endpoint_auth_methods_supported: Vec<String>,
    claims_supported: Vec<String>,
    code_challenge_methods_supported: Vec<String>,
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Serialize, JsonSchema)]
struct OpenIdConfiguration {
    #[serde(flatten)]
    endpoints: Endpoints,
    response_modes_supported: Vec<String>,
    backchannel_logout_supported: bool,
    frontchannel_logout_supported: bool,
}

#[derive(Serialize, JsonSchema)]
struct AuthorizationServer {
    #[serde(flatten)]
    endpoints: Endpoints,
    client_id_metadata_document_supported: bool,
}

fn endpoints(site: &Site) -> Endpoints {
    Endpoints {
        issuer: site.issuer.clone(),
        jwks_uri: format!("{}/.well-known/jwks.json", site.base_url),
        scopes_supported: Vec::new(),
        response_types_supported: Vec::new(),
        grant_types_supported: Vec::new(),
        subject_types_supported: vec!["public"],
        id_token_signing_alg_values_supported: vec!["RS256"],
        token_endpoint_auth_methods_supported: Vec::new(),
        claims_supported: Vec::new(),
        code_challenge_methods_supported: Vec::new(),
        authorization_response_iss_parameter_supported: false,
    }
}

async fn openid_configuration(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    cx.reply_unversioned(&OpenIdConfiguration {
        response_modes_supported: Vec::new(),
        backchannel_logout_supported: false,
        frontchannel_logout_supported: false,
        endpoints: endpoints(&site),
    })
}

async fn authorization_server(cx: Cx, RequestSite(site): RequestSite) -> Result<Response, Failure> {
    cx.reply_unversioned(&AuthorizationServer {
        endpoints: endpoints(&site),
        client_id_metadata_document_supported: false,
    })
}

#[derive(Serialize, JsonSchema)]
struct Health {
    status: &'static str,
}

async fn health(cx: Cx) -> Result<Response, Failure> {
    cx.reply_unversioned(&Health { status: "healthy" })
}

/// Whether a proxy passes on what it must.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ProxyHealth {
    Good { status: &'static str, x_forwarded_for: String },
    Bad { status: &'static str, message: &'static str },
}

/// Query of `getProxyHealth`.
#[derive(Deserialize, JsonSchema)]
struct ProxyHealthQuery {
    /// The domain that the proxy is for. The host of the request decides which instance answers.
    domain_id: String,
}

/// The gate has checked the secret key already, if one came.
async fn proxy_health(
    cx: Cx,
    Query(query): Query<ProxyHealthQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    if query.domain_id.is_empty() {
        return Err(Error::param(Code::FormParamMissing, "domain_id")
            .saying("`domain_id` is required.")
            .into());
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let seen = match (header("clerk-proxy-url"), header("clerk-secret-key"), header("x-forwarded-for")) {
        (Some(_), Some(_), Some(address)) => {
            ProxyHealth::Good { status: "healthy", x_forwarded_for: address.to_owned() }
        }
        _ => ProxyHealth::Bad {
            status: "unhealthy",
            message: "The proxy must send the headers Clerk-Proxy-Url, Clerk-Secret-Key and X-Forwarded-For.",
        },
    };
    cx.reply_unversioned(&seen)
}
