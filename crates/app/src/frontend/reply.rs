//! Answers to browsers: an envelope with what was asked for and the whole client, the cookies that go
//! with it, and errors that carry the client too.

use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use latchkey_base::{Error, Result};
use latchkey_web::reply::{self, Failure, Meta};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::client::{self, ClientView, Scenery, lens};
use super::cookies::{self, Scope};
use super::visitor::Visitor;
use crate::cx::Cx;
use crate::resources::clients::token;

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

impl Cx {
    /// Answers a visitor: with what was asked for, or with the refusal; in both cases with the client as it
    /// is now.
    pub async fn answer<T: Serialize>(&self, visitor: &Visitor, outcome: Result<T>) -> Response {
        match self.answer_or_fail(visitor, outcome).await {
            Ok(response) => response,
            Err(error) => self.refuse(visitor, error).await,
        }
    }

    /// Answers a visitor with an error and nothing else. What was written stands, so a new secret goes out
    /// all the same: the old one opens nothing any more.
    pub async fn refuse(&self, visitor: &Visitor, error: Error) -> Response {
        let mut response = Failure(error).into_response();
        if let Err(error) = self.prove(visitor, response.headers_mut()).await {
            tracing::error!(?error, "a client did not get its new secret");
        }
        response
    }

    async fn answer_or_fail<T: Serialize>(&self, visitor: &Visitor, outcome: Result<T>) -> Result<Response> {
        let scenery = client::load(self, visitor).await?;
        let client = scenery.as_ref().map(|scenery| scenery.view(lens(&visitor.site, self.now)));
        let mut response = match outcome {
            Ok(response) => reply::json(&Envelope { response, client }, &[], self.version)?,
            Err(error) => {
                let mut response = Failure(error).into_response();
                if let Some(client) = client {
                    let client = serde_json::to_value(client).map_err(Error::internal)?;
                    response.extensions_mut().insert(Meta(json!({ "client": client })));
                }
                response
            }
        };
        self.hand_out(visitor, scenery.as_ref(), response.headers_mut()).await?;
        Ok(response)
    }

    /// Answers without the envelope and without the client.
    pub fn bare(&self, view: &impl Serialize) -> Result<Response, Failure> {
        Ok(reply::json(view, &[], self.version)?)
    }

    /// Sends the browser elsewhere, with the cookies of the client.
    pub async fn redirect(&self, visitor: &Visitor, status: StatusCode, url: &str) -> Response {
        match self.redirect_or_fail(visitor, status, url).await {
            Ok(response) => response,
            Err(error) => self.refuse(visitor, error).await,
        }
    }

    async fn redirect_or_fail(&self, visitor: &Visitor, status: StatusCode, url: &str) -> Result<Response> {
        let mut response = away(status, url)?;
        let scenery = client::load(self, visitor).await?;
        self.hand_out(visitor, scenery.as_ref(), response.headers_mut()).await?;
        Ok(response)
    }

    /// Hands out when the client changed and what proves it. The proof comes last: some proxies keep only the
    /// last cookie.
    pub async fn hand_out(
        &self,
        visitor: &Visitor,
        scenery: Option<&Scenery>,
        headers: &mut HeaderMap,
    ) -> Result<()> {
        let site = &*visitor.site;
        if !site.is_development() && !visitor.is_native {
            let changed_at = scenery.filter(|scenery| scenery.has_sessions());
            let seconds = changed_at.map_or(0, |scenery| scenery.client().updated_at.seconds());
            let names = cookies::names(cookies::CLIENT_UAT, &site.publishable_key(), true);
            for cookie in cookies::client_uat(&Scope::domain_of(site, &site.base_url), &names, seconds) {
                add_cookie(headers, &cookie)?;
            }
        }
        self.prove(visitor, headers).await
    }

    /// Hands out what proves the client, if that is new: a cookie, or a header for native apps.
    async fn prove(&self, visitor: &Visitor, headers: &mut HeaderMap) -> Result<()> {
        let Some((id, secret)) = &visitor.fresh else { return Ok(()) };
        let site = &*visitor.site;
        let signer = self.app.signer_at(site, self.now).await?;
        let proof = token::write(&signer, id, secret)?;
        match visitor.is_native {
            true => {
                headers.insert(AUTHORIZATION, HeaderValue::from_str(&proof).map_err(Error::internal)?);
                Ok(())
            }
            false => add_cookie(headers, &cookies::client(site, &proof)),
        }
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
