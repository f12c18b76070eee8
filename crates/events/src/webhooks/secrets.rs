//! The secrets of an endpoint: sealed, rotated, and signed with.
//!
//! The scheme is that of Standard Webhooks, which the `svix` libraries read: an HMAC with SHA-256 over id,
//! time and body, one for each secret that is good, newest first.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::kinds::WebhookEndpointId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::{HmacSha256, constant_time_eq};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::limits::WEBHOOK_SECRETS;
use latchkey_kernel::signing_secrets::key;
use serde_json::{Value, json};

use super::model::{Endpoint, SigningSecret};

/// The secrets of an endpoint, newest first.
pub fn open(endpoint: &Endpoint, master: &MasterKey) -> Result<Vec<SigningSecret>> {
    let plain =
        master.open(&seal_context(&endpoint.id), &endpoint.secrets_sealed).map_err(Error::internal)?;
    let entries: Vec<(String, Option<i64>)> = serde_json::from_slice(&plain).map_err(Error::internal)?;
    let read = |(text, expire_at): (String, Option<i64>)| SigningSecret {
        secret: Secret::new(text),
        expire_at: expire_at.map(Time::from_ms),
    };
    Ok(entries.into_iter().map(read).collect())
}

/// The secrets as they lie in the table of endpoints.
pub fn seal(id: &WebhookEndpointId, secrets: &[SigningSecret], master: &MasterKey) -> Result<Vec<u8>> {
    let entries: Vec<Value> =
        secrets.iter().map(|it| json!([it.secret.expose(), it.expire_at.map(Time::ms)])).collect();
    let plain = serde_json::to_vec(&entries).map_err(Error::internal)?;
    master.seal(&seal_context(id), &plain).map_err(Error::internal)
}

/// Puts a new secret first. The one before signs until `old_until`, those before that as long as they
/// were to; receivers compare with each, so there are only a few.
pub fn rotate(
    secrets: Vec<SigningSecret>,
    secret: Secret,
    old_until: Time,
    now: Time,
) -> Result<Vec<SigningSecret>> {
    let limited = |it: SigningSecret| SigningSecret {
        expire_at: Some(it.expire_at.map_or(old_until, |expire_at| expire_at.min(old_until))),
        secret: it.secret,
    };
    if secrets.iter().any(|it| it.is_good(now) && is_same(&it.secret, &secret)) {
        return Err(Error::param(Code::FormParamValueInvalid, "secret")
            .saying("The endpoint signs with this secret already."));
    }
    let old = secrets.into_iter().map(limited).filter(|it| it.is_good(now));
    let all: Vec<SigningSecret> =
        std::iter::once(SigningSecret { secret, expire_at: None }).chain(old).collect();
    match all.len() > WEBHOOK_SECRETS {
        true => Err(Error::new(Code::WebhookSecretsExceeded)
            .saying(format!("At most {WEBHOOK_SECRETS} secrets sign at once; wait until one has expired, or pass `expire_old_in_seconds: 0`."))),
        false => Ok(all),
    }
}

/// What signs for an endpoint: its secrets, ready for use.
pub struct WebhookSigner(Vec<(SigningSecret, HmacSha256)>);

impl WebhookSigner {
    /// Prepares the secrets of an endpoint.
    pub fn new(secrets: Vec<SigningSecret>) -> Result<WebhookSigner> {
        let ready = |it: SigningSecret| {
            let key = key(&it.secret).ok_or_else(|| Error::internal("a signing secret is no base64"))?;
            Ok((it, HmacSha256::new(&key)))
        };
        Ok(WebhookSigner(secrets.into_iter().map(ready).collect::<Result<_>>()?))
    }

    /// The value of the header `svix-signature`: one signature for each secret that is good.
    pub fn sign(&self, id: &str, now: Time, body: &str) -> String {
        let seconds = now.seconds().to_string();
        let signed = [id, ".", &*seconds, ".", body].map(str::as_bytes);
        let good = self.0.iter().filter(|(secret, _)| secret.is_good(now));
        let texts: Vec<String> =
            good.map(|(_, key)| format!("v1,{}", STANDARD.encode(key.of(&signed)))).collect();
        texts.join(" ")
    }
}

fn is_same(left: &Secret, right: &Secret) -> bool {
    constant_time_eq(left.expose().as_bytes(), right.expose().as_bytes())
}

fn seal_context(id: &WebhookEndpointId) -> String {
    format!("webhook_secrets:{id}")
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;
    use latchkey_kernel::signing_secrets::generate;

    use super::*;

    const NOW: Time = Time::from_ms(1_614_265_330_000);
    const HOUR: i64 = 3_600_000;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    fn texts(secrets: &[SigningSecret]) -> Vec<(String, Option<i64>)> {
        let text =
            |it: &SigningSecret| (it.secret.expose().to_owned(), it.expire_at.map(|at| at.ms_since(NOW)));
        secrets.iter().map(text).collect()
    }

    #[test]
    fn signature_matches_the_example_of_the_libraries() {
        let known =
            SigningSecret { secret: secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), expire_at: None };
        let signer = WebhookSigner::new(vec![known]).unwrap();
        let signature = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", NOW, "{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn sealed_secrets_open_for_their_endpoint_only() {
        let (master, rng) = (MasterKey::generate(), SeededRng::new(1));
        let (id, other) = (WebhookEndpointId::new(NOW, &rng), WebhookEndpointId::new(NOW, &rng));
        let made = [SigningSecret { secret: generate(&rng), expire_at: Some(NOW) }];
        let sealed = seal(&id, &made, &master).unwrap();
        let endpoint = |id: &WebhookEndpointId| Endpoint {
            instance: latchkey_base::Id::unset(),
            id: id.clone(),
            url: String::new(),
            description: String::new(),
            kinds: Vec::new(),
            secrets_sealed: sealed.clone(),
            is_disabled: false,
            cursor_seq: 0,
            failing_since: None,
            created_at: NOW,
            updated_at: NOW,
        };
        assert_eq!(texts(&open(&endpoint(&id), &master).unwrap()), texts(&made));
        assert!(open(&endpoint(&other), &master).is_err());
    }

    #[test]
    fn old_secrets_sign_until_their_time_and_three_at_most() {
        let first = vec![SigningSecret { secret: secret("a"), expire_at: None }];
        let second = rotate(first, secret("b"), NOW.plus_ms(HOUR), NOW).unwrap();
        assert_eq!(texts(&second), [("b".to_owned(), None), ("a".to_owned(), Some(HOUR))]);
        let third = rotate(second, secret("c"), NOW.plus_ms(2 * HOUR), NOW).unwrap();
        assert_eq!(texts(&third)[1..], [("b".to_owned(), Some(2 * HOUR)), ("a".to_owned(), Some(HOUR))]);
        let again = |secrets: &Vec<SigningSecret>, text: &str, until: i64, now: Time| {
            rotate(secrets.clone(), secret(text), now.plus_ms(until), now)
        };
        assert_eq!(again(&third, "d", HOUR, NOW).unwrap_err().code(), Code::WebhookSecretsExceeded);
        assert_eq!(again(&third, "a", 0, NOW).unwrap_err().code(), Code::FormParamValueInvalid);
        assert_eq!(again(&third, "d", HOUR, NOW.plus_ms(HOUR)).unwrap().len(), 3);
        assert_eq!(texts(&again(&third, "d", 0, NOW).unwrap()), [("d".to_owned(), None)]);
    }
}
