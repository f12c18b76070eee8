//! Work with the keys that templates brought. Checking or opening a key and its first signature take up to 2 ms more than
//! a later one, and a signature with a long key takes 5. Nothing else waits for that: it is done in the lane for signing.
//! With any other key that is open already, tokens are signed where they are asked for.

use latchkey_base::{Error, Result};
use latchkey_jose::custom::CustomKey;
use latchkey_kernel::App;
use latchkey_kernel::slow::WorkOwner;
use serde_json::{Map, Value};

use super::keys;
use super::model::JwtTemplate;
use super::rules::{self, Checked, TemplateSigner};

/// Checks what a backend says about a template. Without a key in it this is quick.
pub async fn check(
    app: &App,
    owner: &WorkOwner,
    has_key: bool,
    check: impl FnOnce() -> Result<Checked> + Send + 'static,
) -> Result<Checked> {
    match has_key {
        true => app.signing.run(owner, check).await?,
        false => check(),
    }
}

/// A token, signed with the template's own key.
pub async fn sign(
    app: &App,
    owner: &WorkOwner,
    template: JwtTemplate,
    claims: Map<String, Value>,
) -> Result<String> {
    let sign = move |template: &JwtTemplate, key: &CustomKey| {
        rules::sign(template, TemplateSigner::Template(key), &claims)
    };
    with_key(app, owner, template, sign).await
}

/// How many bytes signatures of the template's own key have.
pub async fn signature_bytes(app: &App, owner: &WorkOwner, template: JwtTemplate) -> Result<usize> {
    match app.custom_keys.get(&template.instance, &keys::digest(&template)) {
        Some(key) => Ok(key.signature_bytes()),
        None => with_key(app, owner, template, |_, key| Ok(key.signature_bytes())).await,
    }
}

async fn with_key<T: Send + 'static>(
    app: &App,
    owner: &WorkOwner,
    template: JwtTemplate,
    work: impl FnOnce(&JwtTemplate, &CustomKey) -> Result<T> + Send + 'static,
) -> Result<T> {
    let digest = keys::digest(&template);
    let open = app.custom_keys.get(&template.instance, &digest);
    if let Some(key) = open.filter(|key| !key.is_slow()) {
        return work(&template, &key);
    }
    let (custom_keys, master) = (app.custom_keys.clone(), app.master.clone());
    let opens = move || {
        let open = || {
            let own = keys::open(&template, &master)?;
            own.ok_or_else(|| Error::internal("a JWT template has no key of its own"))
        };
        let key = custom_keys.get_or_open(&template.instance, digest, open)?;
        work(&template, &key)
    };
    app.signing.run(owner, opens).await?
}
