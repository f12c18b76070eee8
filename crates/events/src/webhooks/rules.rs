//! Decisions about endpoints.

use std::net::IpAddr;

use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::patch::Patch;
use latchkey_base::rng::Rng;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::events::Event;
use latchkey_kernel::limits::{
    WEBHOOK_DESCRIPTION_CHARS, WEBHOOK_ENDPOINTS, WEBHOOK_SECRET_OVERLAP_SECONDS, WEBHOOK_URL_CHARS,
};
use latchkey_kernel::signing_secrets;
use latchkey_outbound::reach::Reach;
use url::{Host, Url};

use super::input::{CreateWebhookEndpoint, RotateWebhookSecret, UpdateWebhookEndpoint};
use super::model::{Endpoint, SigningSecret};
use super::secrets;

/// The refusal of an endpoint that is not there.
pub fn not_found(id: &WebhookEndpointId) -> Error {
    Error::not_found("webhook endpoint", id)
}

/// What a new endpoint starts from, besides what its owner says.
pub struct Start<'a> {
    pub instance: &'a InstanceId,
    /// The number of the newest event: later ones are sent.
    pub head: i64,
    pub now: Time,
}

/// An endpoint after a change.
#[derive(Debug, PartialEq)]
pub struct UpdatedEndpoint {
    /// How it is now.
    pub endpoint: Endpoint,
    /// Whether what happened so far is left out.
    pub skips_missed: bool,
}

/// Refuses what cannot be an endpoint; all problems together.
pub fn check_new(input: &CreateWebhookEndpoint, reach: Reach) -> Result<()> {
    let own = input.secret.as_ref().and_then(|secret| signing_secrets::check(secret).err());
    let found = [
        url_problem(&input.url, reach),
        description_problem(input.description.as_deref().unwrap_or_default()),
        kinds_problem(input.event_types.as_deref().unwrap_or_default()),
        own,
    ];
    Error::collect(found.into_iter().flatten().collect())
}

/// Makes an endpoint of what was checked.
pub fn create(
    input: CreateWebhookEndpoint,
    start: &Start<'_>,
    master: &MasterKey,
    rng: &dyn Rng,
) -> Result<Endpoint> {
    let id = WebhookEndpointId::new(start.now, rng);
    let secret = input.secret.unwrap_or_else(|| signing_secrets::generate(rng));
    let secrets_sealed = secrets::seal(&id, &[SigningSecret { secret, expire_at: None }], master)?;
    Ok(Endpoint {
        instance: start.instance.clone(),
        id,
        url: input.url,
        description: input.description.unwrap_or_default(),
        kinds: sorted(input.event_types.unwrap_or_default()),
        secrets_sealed,
        is_disabled: input.disabled,
        cursor_seq: start.head,
        failing_since: None,
        created_at: start.now,
        updated_at: start.now,
    })
}

/// Refuses one endpoint too many.
pub fn check_count(existing: i64) -> Result<()> {
    match existing < WEBHOOK_ENDPOINTS {
        true => Ok(()),
        false => Err(Error::new(Code::WebhookEndpointsExceeded)
            .saying(format!("An instance has at most {WEBHOOK_ENDPOINTS} webhook endpoints."))),
    }
}

/// Refuses what an endpoint cannot become; all problems together.
pub fn check_change(input: &UpdateWebhookEndpoint, reach: Reach) -> Result<()> {
    let kinds = match &input.event_types {
        Patch::Value(kinds) => kinds_problem(kinds),
        Patch::Absent | Patch::Null => None,
    };
    let description = match &input.description {
        Patch::Value(text) => description_problem(text),
        Patch::Absent | Patch::Null => None,
    };
    let url = input.url.as_deref().and_then(|url| url_problem(url, reach));
    Error::collect([url, description, kinds].into_iter().flatten().collect())
}

/// Changes an endpoint. Whoever enables one says that it works again.
pub fn update(endpoint: Endpoint, input: UpdateWebhookEndpoint, now: Time) -> UpdatedEndpoint {
    let before = endpoint.clone();
    let is_disabled = input.disabled.unwrap_or(endpoint.is_disabled);
    let is_enabled_now = endpoint.is_disabled && !is_disabled;
    let mut after = Endpoint {
        url: input.url.unwrap_or(endpoint.url),
        description: input.description.change().map_or(endpoint.description, Option::unwrap_or_default),
        kinds: input.event_types.change().map_or(endpoint.kinds, |kinds| sorted(kinds.unwrap_or_default())),
        is_disabled,
        failing_since: endpoint.failing_since.filter(|_| !is_enabled_now),
        ..endpoint
    };
    if after != before {
        after.updated_at = now;
    }
    UpdatedEndpoint { endpoint: after, skips_missed: input.skip_missed }
}

/// Refuses a secret or a time that cannot be.
pub fn check_rotation(input: &RotateWebhookSecret) -> Result<()> {
    let problem = input.secret.as_ref().and_then(|secret| signing_secrets::check(secret).err());
    Error::collect(problem.into_iter().collect())
}

/// Gives an endpoint a new secret, beside which the old one signs for a while.
pub fn rotate(
    endpoint: Endpoint,
    secret: Secret,
    expire_old_in_seconds: Option<i64>,
    master: &MasterKey,
    now: Time,
) -> Result<Endpoint> {
    let seconds = expire_old_in_seconds.unwrap_or(WEBHOOK_SECRET_OVERLAP_SECONDS);
    let old_until = now.plus_ms(seconds.saturating_mul(1000));
    let all = secrets::rotate(secrets::open(&endpoint, master)?, secret, old_until, now)?;
    let secrets_sealed = secrets::seal(&endpoint.id, &all, master)?;
    Ok(Endpoint { secrets_sealed, updated_at: now, ..endpoint })
}

pub fn kind(name: &str, param: &str) -> Result<Event> {
    Event::parse(name).ok_or_else(|| unknown_kind(name, param).into())
}

/// What is wrong with the address of an endpoint, if anything. Where its name leads is looked at when
/// something is sent: it may lead elsewhere by then.
pub fn url_problem(text: &str, reach: Reach) -> Option<Problem> {
    if text.chars().count() > WEBHOOK_URL_CHARS {
        return Some(
            Problem::of(Code::FormParamMaxLengthExceeded, "url")
                .saying(format!("A URL has at most {WEBHOOK_URL_CHARS} characters.")),
        );
    }
    let refused = |why: &str| Some(Problem::of(Code::FormParamFormatInvalid, "url").saying(why));
    // Parsing would drop white space and control characters without a word.
    let is_plain = !text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\');
    let Some(url) = Url::parse(text).ok().filter(|_| is_plain) else {
        return refused("`url` must be a whole URL, such as https://example.com/webhooks.");
    };
    let is_public_only = reach == Reach::Public;
    match (url.scheme(), url.host()) {
        ("http" | "https", Some(_)) if !url.username().is_empty() || url.password().is_some() => {
            refused("`url` must not contain a user name or a password.")
        }
        ("http" | "https", Some(_)) if url.fragment().is_some() => refused("`url` must not have a fragment."),
        ("http", Some(_)) if is_public_only => refused("Production instances send events over https only."),
        ("http" | "https", Some(host)) if is_public_only && !is_public(&host) => refused(
            "Production instances send no events into private networks, unless `events.allow_private_targets` is set.",
        ),
        ("http" | "https", Some(_)) => None,
        _ => refused("`url` must begin with https:// or http://."),
    }
}

/// Whether a host is a name, or an address that can be one on the internet.
fn is_public(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name != "localhost" && !name.ends_with(".localhost")
        }
        Host::Ipv4(address) => Reach::Public.allows(IpAddr::V4(*address)),
        Host::Ipv6(address) => Reach::Public.allows(IpAddr::V6(*address)),
    }
}

fn description_problem(text: &str) -> Option<Problem> {
    (text.chars().count() > WEBHOOK_DESCRIPTION_CHARS).then(|| {
        Problem::of(Code::FormParamMaxLengthExceeded, "description")
            .saying(format!("A description has at most {WEBHOOK_DESCRIPTION_CHARS} characters."))
    })
}

fn kinds_problem(kinds: &[String]) -> Option<Problem> {
    let unknown = kinds.iter().find(|name| Event::parse(name).is_none())?;
    Some(unknown_kind(unknown, "event_types"))
}

fn unknown_kind(name: &str, param: &str) -> Problem {
    let shown: String = name.chars().take(64).collect();
    Problem::of(Code::FormParamValueInvalid, param).saying(format!(
        "There are no events of the type {shown:?}; `GET /v1/webhooks/event_types` and `latchkey webhooks events` list them."
    ))
}

/// The kinds in order, each once.
fn sorted(mut kinds: Vec<String>) -> Vec<String> {
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_000_000);
    const LATER: Time = Time::from_ms(2_000_000);
    use Reach::{Any, Public};

    fn input(url: &str) -> CreateWebhookEndpoint {
        CreateWebhookEndpoint {
            url: url.to_owned(),
            description: None,
            event_types: None,
            secret: None,
            disabled: false,
        }
    }

    fn made() -> Endpoint {
        let (master, rng) = (MasterKey::from_bytes([1; 32]), SeededRng::new(1));
        let instance = InstanceId::new(NOW, &rng);
        let start = Start { instance: &instance, head: 7, now: NOW };
        create(input("https://example.com/hook"), &start, &master, &rng).unwrap()
    }

    fn nothing() -> UpdateWebhookEndpoint {
        UpdateWebhookEndpoint {
            url: None,
            description: Patch::Absent,
            event_types: Patch::Absent,
            disabled: None,
            skip_missed: false,
        }
    }

    #[test]
    fn urls_are_http_without_secrets_in_them() {
        for good in
            ["https://example.com", "http://localhost:3000/hook?x=1", "http://10.0.0.1", "http://[::1]:80/"]
        {
            assert_eq!(url_problem(good, Any), None, "{good}");
        }
        for bad in [
            "",
            "example.com",
            "/hook",
            "ftp://example.com",
            "javascript:alert(1)",
            "https://user@example.com",
            "https://user:pass@example.com",
            "https://:pass@example.com",
            "https://example.com/#x",
            "https://example.com/#",
            "https://exa mple.com",
            " https://example.com",
            "https://example.com/\n",
            "https://example.com\\@evil.com",
            "https://",
            "https://1.2.3.4.5",
        ] {
            assert!(url_problem(bad, Any).is_some(), "{bad}");
        }
        let long = format!("https://example.com/{}", "x".repeat(WEBHOOK_URL_CHARS));
        assert_eq!(url_problem(&long, Any).unwrap().code, Code::FormParamMaxLengthExceeded);
    }

    #[test]
    fn production_sends_over_https_and_to_the_internet_only() {
        assert_eq!(url_problem("https://example.com", Public), None);
        assert_eq!(url_problem("https://8.8.8.8/", Public), None);
        for bad in [
            "http://example.com",
            "https://localhost",
            "https://app.localhost",
            "https://localhost./",
            "https://127.0.0.1",
            "https://127.1",
            "https://2130706433",
            "https://0x7f000001",
            "https://0.0.0.0",
            "https://10.1.2.3",
            "https://172.16.0.1",
            "https://192.168.0.1",
            "https://169.254.169.254",
            "https://100.64.0.1",
            "https://224.0.0.1",
            "https://255.255.255.255",
            "https://[::1]",
            "https://[::]",
            "https://[::ffff:10.0.0.1]",
            "https://[fd00::1]",
            "https://[fe80::1]",
            "https://[ff02::1]",
        ] {
            assert!(url_problem(bad, Public).is_some(), "{bad}");
        }
    }

    #[test]
    fn every_problem_of_a_new_endpoint_is_told() {
        let bad = CreateWebhookEndpoint {
            description: Some("x".repeat(501)),
            event_types: Some(vec!["user.created".into(), "user.invented".into()]),
            secret: Some(Secret::new("short".into())),
            ..input("nowhere")
        };
        let error = check_new(&bad, Any).unwrap_err();
        let params: Vec<_> = error.problems().iter().map(|it| it.meta["param_name"].clone()).collect();
        assert_eq!(params, ["url", "description", "event_types", "secret"]);
    }

    #[test]
    fn a_new_endpoint_starts_at_the_head_with_a_secret() {
        let endpoint = made();
        assert_eq!((endpoint.cursor_seq, endpoint.is_disabled), (7, false));
        let opened = secrets::open(&endpoint, &MasterKey::from_bytes([1; 32])).unwrap();
        assert!(opened.len() == 1 && signing_secrets::check(&opened[0].secret).is_ok());
        assert!(check_count(49).is_ok() && check_count(50).is_err());
    }

    #[test]
    fn a_change_changes_what_it_names() {
        let before = made();
        assert_eq!(update(before.clone(), nothing(), LATER).endpoint, before);
        let kinds = vec!["user.updated".to_owned(), "user.created".to_owned(), "user.updated".to_owned()];
        let change = UpdateWebhookEndpoint {
            description: Patch::Value("ours".into()),
            event_types: Patch::Value(kinds),
            ..nothing()
        };
        let after = update(before.clone(), change, LATER).endpoint;
        assert_eq!((after.description.as_str(), after.url.as_str()), ("ours", "https://example.com/hook"));
        assert_eq!((after.kinds.join(" "), after.updated_at), ("user.created user.updated".into(), LATER));
        assert!(after.wants("user.created") && !after.wants("user.deleted") && before.wants("user.deleted"));
        let cleared =
            UpdateWebhookEndpoint { description: Patch::Null, event_types: Patch::Null, ..nothing() };
        let after = update(after, cleared, LATER).endpoint;
        assert!(after.description.is_empty() && after.kinds.is_empty());
    }

    #[test]
    fn enabling_forgets_the_failures_and_disabling_does_not() {
        let failing = Endpoint { failing_since: Some(NOW), ..made() };
        let set = |disabled| UpdateWebhookEndpoint { disabled: Some(disabled), ..nothing() };
        let same = update(failing.clone(), set(false), LATER).endpoint;
        assert_eq!(same, failing, "it was enabled before");
        let off = update(failing, set(true), LATER).endpoint;
        assert_eq!((off.is_disabled, off.failing_since), (true, Some(NOW)));
        let on = update(off, UpdateWebhookEndpoint { skip_missed: true, ..set(false) }, LATER);
        assert_eq!(
            (on.endpoint.is_disabled, on.endpoint.failing_since, on.skips_missed),
            (false, None, true)
        );
    }
}
