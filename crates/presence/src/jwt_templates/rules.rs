//! Decisions about JWT templates, and the making of tokens from them. Pure: values in, values out.

use latchkey_base::kinds::{InstanceId, JwtTemplateId, UserId};
use latchkey_base::patch::Patch;
use latchkey_base::rng::Rng;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_jose::custom::{self, CustomKey};
use latchkey_jose::jwt;
use latchkey_jose::rsa::SigningKey;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::limits::{JWT_CLAIMS_BYTES, JWT_CLAIMS_DEPTH, JWT_TEMPLATE_NAME_CHARS};
use serde_json::{Map, Value, json};

use super::input::{CreateJwtTemplate, UpdateJwtTemplate};
use super::keys::{self, SigningRequest};
use super::model::{JwtTemplate, Signing};
use super::scope::ShortcodeScope;
use super::shortcodes::{render, unreadable};

const LIFETIME_SECONDS: i64 = 60;
const CLOCK_SKEW_SECONDS: i64 = 5;
/// Tells tokens of templates from those of sessions; SDKs look at it.
const CATEGORY: &str = "cl_B7d4PD222AAA";
/// Claims every token has anyway.
const RESERVED: [&str; 7] = ["azp", "exp", "iat", "iss", "jti", "nbf", "sub"];

/// Whose key signs a token.
pub enum TemplateSigner<'a> {
    /// The instance's: the key and its id.
    Instance(&'a SigningKey, &'a str),
    /// The template's own.
    Template(&'a CustomKey),
}

/// A checked input of either operation. Absent is what stays as it is, or gets its default.
pub struct Checked {
    name: String,
    claims: Map<String, Value>,
    lifetime: Patch<i64>,
    allowed_clock_skew: Patch<i64>,
    signing: SigningRequest,
}

/// Checks the body of `CreateJWTTemplate`.
pub fn check_new(input: CreateJwtTemplate) -> Result<Checked> {
    let mut problems = Vec::new();
    let custom = Some(input.custom_signing_key);
    let signing = keys::read(custom, input.signing_algorithm, input.signing_key, &mut problems);
    let patch = |value: Option<i64>| value.map_or(Patch::Null, Patch::Value);
    let (lifetime, allowed_clock_skew) = (patch(input.lifetime), patch(input.allowed_clock_skew));
    checked(
        Checked { name: input.name, claims: input.claims, lifetime, allowed_clock_skew, signing },
        problems,
    )
}

/// Checks the body of `UpdateJWTTemplate`.
pub fn check_change(input: UpdateJwtTemplate) -> Result<Checked> {
    let mut problems = Vec::new();
    let (algorithm, key) = (input.signing_algorithm.value(), input.signing_key.value());
    let signing = keys::read(input.custom_signing_key, algorithm, key, &mut problems);
    let UpdateJwtTemplate { name, claims, lifetime, allowed_clock_skew, .. } = input;
    checked(Checked { name, claims, lifetime, allowed_clock_skew, signing }, problems)
}

/// A new template.
pub fn create(
    checked: &Checked,
    instance: &InstanceId,
    master: &MasterKey,
    now: Time,
    rng: &dyn Rng,
) -> Result<JwtTemplate> {
    let blank = JwtTemplate {
        instance: instance.clone(),
        id: JwtTemplateId::new(now, rng),
        name: String::new(),
        claims: Map::new(),
        lifetime_seconds: LIFETIME_SECONDS,
        allowed_clock_skew_seconds: CLOCK_SKEW_SECONDS,
        signing: Signing::Instance,
        created_at: now,
        updated_at: now,
    };
    update(blank, checked, master, now)
}

/// A template, changed. One that stays the same is not newer.
pub fn update(
    template: JwtTemplate,
    checked: &Checked,
    master: &MasterKey,
    now: Time,
) -> Result<JwtTemplate> {
    let chosen = |patch: &Patch<i64>, current: i64, default: i64| match patch {
        Patch::Absent => current,
        Patch::Null => default,
        Patch::Value(value) => *value,
    };
    let changed = JwtTemplate {
        name: checked.name.clone(),
        claims: checked.claims.clone(),
        lifetime_seconds: chosen(&checked.lifetime, template.lifetime_seconds, LIFETIME_SECONDS),
        allowed_clock_skew_seconds: chosen(
            &checked.allowed_clock_skew,
            template.allowed_clock_skew_seconds,
            CLOCK_SKEW_SECONDS,
        ),
        signing: keys::next(&template.signing, &checked.signing, &template.id, master)?,
        ..template.clone()
    };
    match changed == template {
        true => Ok(template),
        false => Ok(JwtTemplate { updated_at: now, ..changed }),
    }
}

/// The claims of a token: those of the template, and those every token has. An error when the values of
/// the user make them too large to be of use.
pub fn claims(
    template: &JwtTemplate,
    scope: &ShortcodeScope<'_>,
    now: Time,
    iss: &str,
    sub: &UserId,
    azp: Option<&str>,
    jti: String,
) -> Result<Map<String, Value>> {
    let mut claims = render(&template.claims, scope)?;
    let iat = now.seconds();
    let own = [
        ("azp", azp.map(Value::from)),
        ("exp", Some(iat.saturating_add(template.lifetime_seconds).into())),
        ("iat", Some(iat.into())),
        ("iss", Some(iss.into())),
        ("jti", Some(jti.into())),
        ("nbf", Some((iat - template.allowed_clock_skew_seconds).into())),
        ("sub", Some(sub.as_str().into())),
    ];
    claims.extend(own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Ok(claims)
}

/// The header of a token. The key of a template is published nowhere, so it has no id.
pub fn header(template: &JwtTemplate, kid: Option<&str>) -> Value {
    let mut header = json!({ "alg": template.signing.algorithm().name(), "cat": CATEGORY, "typ": "JWT" });
    if let Some(kid) = kid {
        header["kid"] = kid.into();
    }
    header
}

/// The token. It must be signed by whom the template says: a key of another algorithm than the header
/// names would make a token nobody can verify.
pub fn sign(template: &JwtTemplate, by: TemplateSigner<'_>, claims: &Map<String, Value>) -> Result<String> {
    let wrong = || Error::internal("a JWT template was signed with a key that is not its own");
    let signed = match (&template.signing, by) {
        (Signing::Instance, TemplateSigner::Instance(key, kid)) => {
            jwt::sign(key, &header(template, Some(kid)), claims)
        }
        (Signing::Custom { algorithm, .. }, TemplateSigner::Template(key))
            if key.algorithm() == *algorithm =>
        {
            custom::token(key, &header(template, None), claims)
        }
        _ => return Err(wrong()),
    };
    signed.map_err(Error::internal)
}

fn checked(checked: Checked, mut problems: Vec<Problem>) -> Result<Checked> {
    // Programs look for this code, and it has another status than the others: it goes first.
    if let Some(claim) = RESERVED.into_iter().find(|claim| checked.claims.contains_key(*claim)) {
        let text = format!("Every token has the claim `{claim}` already; choose another name.");
        return Err(Error::param(Code::JwtTemplateReservedClaim, "claims").saying(text));
    }
    problems.extend(name_problem(&checked.name));
    problems.extend(claims_problem(&Value::Object(checked.claims.clone())));
    Error::collect(problems)?;
    Ok(checked)
}

/// A name is part of a path, and SDKs do not escape it.
fn name_problem(name: &str) -> Option<Problem> {
    let say = |code: Code, text: String| Some(Problem::of(code, "name").saying(text));
    let breaks_paths = |letter: char| letter.is_control() || "/\\?#%".contains(letter);
    if name.is_empty() {
        return say(Code::FormParamNil, "`name` must not be empty.".to_owned());
    }
    if name.chars().count() > JWT_TEMPLATE_NAME_CHARS {
        let text = format!("`name` may have at most {JWT_TEMPLATE_NAME_CHARS} characters.");
        return say(Code::FormParamMaxLengthExceeded, text);
    }
    match name.contains(breaks_paths) || name.trim() != name || [".", ".."].contains(&name) {
        true => say(
            Code::FormParamFormatInvalid,
            "`name` becomes part of a path: it must not be `.` or `..`, nor contain / \\ ? # % or control \
             characters, nor begin or end with a space."
                .to_owned(),
        ),
        false => None,
    }
}

fn claims_problem(claims: &Value) -> Option<Problem> {
    let say = |code: Code, text: String| Some(Problem::of(code, "claims").saying(text));
    if claims.to_string().len() > JWT_CLAIMS_BYTES {
        let text = format!("`claims` may have at most {JWT_CLAIMS_BYTES} bytes.");
        return say(Code::FormParamExceedsAllowedSize, text);
    }
    if depth(claims) > JWT_CLAIMS_DEPTH {
        let text = format!("`claims` may be nested {JWT_CLAIMS_DEPTH} levels deep at most.");
        return say(Code::FormParamValueInvalid, text);
    }
    let text = unreadable(claims)?;
    say(
        Code::FormParamValueInvalid,
        format!(
            "`{text}` cannot be read: a shortcode is made of paths such as user.first_name, texts in single \
             quotes, numbers, true and false, with || between them."
        ),
    )
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use latchkey_jose::custom::Algorithm;
    use latchkey_jose::jwt::verify;

    use super::super::tests::{API_URL, NOW, object, template, user};
    use super::*;

    fn input(fields: Value) -> CreateJwtTemplate {
        let mut body = object(json!({"name": "hasura", "claims": {}}));
        body.extend(object(fields));
        serde_json::from_value(Value::Object(body)).unwrap()
    }

    fn problems(fields: Value) -> Vec<(Code, Value)> {
        match check_new(input(fields)) {
            Ok(_) => Vec::new(),
            Err(error) => error
                .problems()
                .iter()
                .map(|problem| (problem.code, problem.meta["param_name"].clone()))
                .collect(),
        }
    }

    #[test]
    fn names_must_survive_in_a_path() {
        for good in ["hasura", "custom_hasura", "My template", "a.b", "größe", "a:b", "...", &"x".repeat(128)]
        {
            assert_eq!(problems(json!({"name": good})), [], "{good}");
        }
        for bad in ["a/b", "..", ".", "a?b", "a#b", "a%41", "a\\b", " a", "a ", "a\nb", "\u{7f}"] {
            assert_eq!(
                problems(json!({"name": bad})),
                [(Code::FormParamFormatInvalid, json!("name"))],
                "{bad:?}"
            );
        }
        assert_eq!(problems(json!({"name": ""})), [(Code::FormParamNil, json!("name"))]);
        let long = "ü".repeat(129);
        assert_eq!(problems(json!({"name": long})), [(Code::FormParamMaxLengthExceeded, json!("name"))]);
    }

    #[test]
    fn reserved_claims_are_refused_at_the_top_only() {
        for claim in RESERVED {
            let found = problems(json!({"name": "", "claims": {claim: 1}}));
            assert_eq!(found, [(Code::JwtTemplateReservedClaim, json!("claims"))], "{claim}");
            assert_eq!(problems(json!({"claims": {"nested": {claim: 1}}})), []);
        }
        assert_eq!(problems(json!({"claims": {"aud": "x", "sid": 1, "role": "authenticated"}})), []);
    }

    #[test]
    fn claims_are_bounded_and_readable() {
        let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
        assert_eq!(problems(json!({"claims": {"a": nested(JWT_CLAIMS_DEPTH - 1)}})), []);
        let refused = |code: Code| [(code, json!("claims"))];
        let deep = json!({"claims": {"a": nested(JWT_CLAIMS_DEPTH)}});
        assert_eq!(problems(deep), refused(Code::FormParamValueInvalid));
        let large = json!({"claims": {"a": "x".repeat(JWT_CLAIMS_BYTES)}});
        assert_eq!(problems(large), refused(Code::FormParamExceedsAllowedSize));
        let bad = json!({"claims": {"a": ["{{user.first_name | upper}}"]}});
        assert_eq!(problems(bad), refused(Code::FormParamValueInvalid));
    }

    #[test]
    fn a_token_has_the_claims_of_its_template_and_its_own() {
        let (template, user) = (template(json!({"role": "admin", "id": "{{user.id}}"})), user(json!({})));
        let scope = ShortcodeScope::of(&user, API_URL);
        let iat = NOW.seconds();
        let made =
            claims(&template, &scope, NOW, "https://clerk.x", &user.id, Some("https://app"), "ab".into());
        let expected = json!({
            "role": "admin", "id": user.id, "azp": "https://app", "exp": iat + 60, "iat": iat, "iss": "https://clerk.x",
            "jti": "ab", "nbf": iat - 5, "sub": user.id,
        });
        assert_eq!(Value::Object(made.unwrap()), expected);
        let made = claims(&template, &scope, NOW, "i", &user.id, None, "ab".into()).unwrap();
        assert!(!made.contains_key("azp"));
    }

    #[test]
    fn the_instance_signs_with_its_id_and_a_template_with_its_own_key() {
        let (key, claims) = (SigningKey::generate().unwrap(), object(json!({"sub": "user_1"})));
        let by_instance = template(json!({}));
        let token = sign(&by_instance, TemplateSigner::Instance(&key, "ins_1"), &claims).unwrap();
        let verified = verify(&[key.public_jwk("ins_1")], &token).unwrap();
        assert_eq!(verified.claims, Value::Object(claims.clone()));
        assert_eq!(verified.header, json!({"alg": "RS256", "cat": CATEGORY, "kid": "ins_1", "typ": "JWT"}));

        let own = CustomKey::parse(Algorithm::Hs256, &"s".repeat(32)).unwrap();
        let signing = Signing::Custom { algorithm: Algorithm::Hs256, key_sealed: Vec::new() };
        let by_template = JwtTemplate { signing, ..by_instance.clone() };
        let header = header(&by_template, None);
        assert_eq!(header, json!({"alg": "HS256", "cat": CATEGORY, "typ": "JWT"}));
        let token = sign(&by_template, TemplateSigner::Template(&own), &claims).unwrap();
        assert_eq!(token, custom::token(&own, &header, &claims).unwrap());

        assert!(sign(&by_instance, TemplateSigner::Template(&own), &claims).is_err());
        assert!(sign(&by_template, TemplateSigner::Instance(&key, "ins_1"), &claims).is_err());
        let other = CustomKey::parse(Algorithm::Hs512, &"s".repeat(64)).unwrap();
        assert!(sign(&by_template, TemplateSigner::Template(&other), &claims).is_err());
    }

    #[test]
    fn what_is_left_out_stays_and_null_is_the_default() {
        let master = MasterKey::generate();
        let change = |fields: Value| {
            let mut body = object(json!({"name": "hasura", "claims": {}}));
            body.extend(object(fields));
            check_change(serde_json::from_value(Value::Object(body)).unwrap()).unwrap()
        };
        let before =
            JwtTemplate { lifetime_seconds: 600, allowed_clock_skew_seconds: 0, ..template(json!({})) };
        let later = NOW.plus_ms(1);
        let same = update(before.clone(), &change(json!({})), &master, later).unwrap();
        assert_eq!(same, before);
        let reset = change(json!({"lifetime": null, "allowed_clock_skew": null}));
        let reset = update(before.clone(), &reset, &master, later).unwrap();
        assert_eq!(
            (reset.lifetime_seconds, reset.allowed_clock_skew_seconds, reset.updated_at),
            (60, 5, later)
        );
        let set = update(before, &change(json!({"lifetime": 30, "allowed_clock_skew": 300})), &master, later)
            .unwrap();
        assert_eq!((set.lifetime_seconds, set.allowed_clock_skew_seconds), (30, 300));
    }
}
