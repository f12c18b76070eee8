//! Attempts to sign up: what somebody has told about themselves so far, and what of it is proven.
//!
//! An attempt belongs to one client and is a document. A password in it is hashed from the first moment on,
//! and leaves it for the user's credentials once the attempt is complete.

pub mod backend;
pub mod fields;
pub mod input;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;

use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use serde_json::value::{RawValue, to_raw_value};

use super::clients::model::Client;
use crate::people::users::view::ViewContext;

/// The attempt under way on a client, as it is shown with it.
pub async fn shown(tx: &mut Tx, context: ViewContext<'_>, client: &Client) -> Result<Option<Box<RawValue>>> {
    let Some(id) = &client.sign_up else { return Ok(None) };
    let found = store::find(tx, &client.instance, id).await?;
    let open =
        found.filter(|sign_up| sign_up.status(context.now) == model::SignUpStatus::MissingRequirements);
    let shown = open.map(|sign_up| to_raw_value(&view::frontend(&sign_up, context)));
    shown.transpose().map_err(Error::internal)
}
