//! Answers to browsers: an envelope with what was asked for and the whole client, the cookies that go
//! with it, and errors that carry the client too.

use axum::http::header::{AUTHORIZATION, HeaderName, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::{Error, Result};
use latchkey_kernel::cx::Cx;
use latchkey_presence::clients::token::{self, ClientProof};
use latchkey_web::reply::{Failure, Meta};
use schemars::JsonSchema;
use serde::Serialize;

use super::client::{self, ClientMeta, ClientView, ShownClient, view_context};
use super::cookies::{self, CookieScope};
use super::visitor::Visitor;

/// Where scripts find the new token of a developer's browser.
const DEV_BROWSER: HeaderName = HeaderName::from_static("clerk-db-jwt");

/// What every answer looks like.
#[derive(Serialize, JsonSchema)]
pub struct Envelope<'a, T> {
    response: T,
    client: Option<ClientView<'a>>,
}

impl<T> Envelope<'_, T> {
    /// An answer that tells nothing but what was asked for.
    pub fn alone(response: T) -> Self {
        Envelope { response, client: None }
    }
}

impl Visitor {
    /// Answers a visitor: with what was asked for, or with the refusal; in both cases with the client as it
    /// is now.
    pub async fn answer<T: Serialize>(&self, cx: &Cx, outcome: Result<T>) -> Response {
        match client::load(cx, self).await {
            Ok(shown_client) => self.answer_with(cx, shown_client.as_ref(), outcome).await,
            Err(error) => self.refuse(cx, error).await,
        }
    }

    /// The same with the client as it was loaded, for answers that show parts of it.
    pub async fn answer_with<T: Serialize>(
        &self,
        cx: &Cx,
        shown_client: Option<&ShownClient>,
        outcome: Result<T>,
    ) -> Response {
        match self.answer_or_fail(cx, shown_client, outcome).await {
            Ok(response) => response,
            Err(error) => self.refuse(cx, error).await,
        }
    }

    /// Answers a visitor with an error and nothing else. What was written stands, so a new secret goes out
    /// all the same: the old one opens nothing any more.
    pub async fn refuse(&self, cx: &Cx, error: Error) -> Response {
        let mut response = Failure(error).into_response();
        if let Err(error) = self.prove(cx, response.headers_mut()).await {
            tracing::error!(?error, "a client did not get its new secret");
        }
        response
    }

    async fn answer_or_fail<T: Serialize>(
        &self,
        cx: &Cx,
        shown_client: Option<&ShownClient>,
        outcome: Result<T>,
    ) -> Result<Response> {
        let client = shown_client.map(|shown_client| shown_client.view(view_context(&self.site, cx.now)));
        let mut response = match outcome {
            Ok(response) => {
                let written = cx.reply_unversioned(&Envelope { response, client });
                written.map_err(|Failure(error)| error)?
            }
            Err(error) => {
                let mut response = Failure(error).into_response();
                if let Some(client) = client {
                    response.extensions_mut().insert(Meta::of(&ClientMeta { client })?);
                }
                response
            }
        };
        self.hand_out(cx, shown_client, response.headers_mut()).await?;
        Ok(response)
    }

    /// Sends the browser elsewhere, with the cookies of the client.
    pub async fn redirect(&self, cx: &Cx, status: StatusCode, url: &str) -> Response {
        match self.redirect_or_fail(cx, status, url).await {
            Ok(response) => response,
            Err(error) => self.refuse(cx, error).await,
        }
    }

    async fn redirect_or_fail(&self, cx: &Cx, status: StatusCode, url: &str) -> Result<Response> {
        let mut response = away(status, url)?;
        let shown_client = client::load(cx, self).await?;
        self.hand_out(cx, shown_client.as_ref(), response.headers_mut()).await?;
        Ok(response)
    }

    /// Hands out when the client changed and what proves it. The proof comes last: some proxies keep only the
    /// last cookie.
    pub async fn hand_out(
        &self,
        cx: &Cx,
        shown_client: Option<&ShownClient>,
        headers: &mut HeaderMap,
    ) -> Result<()> {
        let site = &*self.site;
        if !site.is_development() && !self.is_native {
            let changed_at = shown_client.filter(|shown_client| shown_client.has_sessions());
            let seconds =
                changed_at.map_or(0, |shown_client| shown_client.client().changed_at(cx.now).seconds());
            let names = cookies::names(cookies::CLIENT_UAT, &site.publishable_key(), true);
            for cookie in cookies::client_uat(&CookieScope::domain_of(site, &site.base_url), &names, seconds)
            {
                add_cookie(headers, &cookie)?;
            }
        }
        self.prove(cx, headers).await
    }

    /// Hands out what proves the client, if that is new: a cookie, or a header for native apps.
    async fn prove(&self, cx: &Cx, headers: &mut HeaderMap) -> Result<()> {
        let Some((id, ClientProof { secret, .. })) = &self.fresh else { return Ok(()) };
        let site = &*self.site;
        if let Some(token) = self.new_dev_browser() {
            self.hand_out_dev_browser(token, headers)?;
        }
        let signer = site.signer(&cx.app, cx.now).await?;
        let proof = token::write(&signer, id, secret)?;
        match self.is_native {
            true => {
                headers.insert(AUTHORIZATION, HeaderValue::from_str(&proof).map_err(Error::internal)?);
                Ok(())
            }
            false => add_cookie(headers, &cookies::client(site, &proof)),
        }
    }
}

impl Visitor {
    /// Hands out the new token of a developer's browser: in the header that scripts read, and in the cookies that
    /// held the old one, which scripts of instances on the same host do not write themselves.
    fn hand_out_dev_browser(&self, token: &str, headers: &mut HeaderMap) -> Result<()> {
        headers.insert(DEV_BROWSER, HeaderValue::from_str(token).map_err(Error::internal)?);
        if self.is_dev_browser_in_cookie {
            for name in cookies::names(cookies::DEV_BROWSER, &self.site.publishable_key(), true) {
                add_cookie(headers, &cookies::for_app(&name, token, &self.site.base_url))?;
            }
        }
        Ok(())
    }
}

/// Sends the browser elsewhere, without cookies.
pub fn away(status: StatusCode, url: &str) -> Result<Response> {
    let location = HeaderValue::from_str(url).map_err(Error::internal)?;
    let mut response = status.into_response();
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}

/// Adds a cookie to an answer.
pub fn add_cookie(headers: &mut HeaderMap, cookie: &str) -> Result<()> {
    headers.append(SET_COOKIE, HeaderValue::from_str(cookie).map_err(Error::internal)?);
    Ok(())
}
