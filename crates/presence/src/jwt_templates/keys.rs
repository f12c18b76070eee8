//! Keys an application brings for a template: checked when they come, sealed while they lie here.

use latchkey_base::kinds::JwtTemplateId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_jose::custom::{Algorithm, CustomKey};
use latchkey_jose::digest::sha256;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::keyring::CustomKeyDigest;

use super::model::{JwtTemplate, Signing};

/// What a caller says about signing, read and checked.
pub struct SigningRequest {
    custom: Option<bool>,
    algorithm: Option<Algorithm>,
    key: Option<Secret>,
}

/// Reads what a caller says about signing. An empty text says nothing.
pub fn read(
    custom: Option<bool>,
    algorithm: Option<String>,
    key: Option<Secret>,
    problems: &mut Vec<Problem>,
) -> SigningRequest {
    let name = algorithm.filter(|name| !name.is_empty());
    let key = key.filter(|key| !key.expose().is_empty());
    let algorithm = name.as_deref().and_then(Algorithm::parse);
    if name.is_some() && algorithm.is_none() {
        let names: Vec<&str> = Algorithm::ALL.into_iter().map(Algorithm::name).collect();
        let text = format!("`signing_algorithm` must be one of: {}.", names.join(", "));
        problems.push(Problem::of(Code::FormParamValueInvalid, "signing_algorithm").saying(text));
    }
    if let (Some(algorithm), Some(key)) = (algorithm, &key)
        && CustomKey::parse(algorithm, key.expose()).is_err()
    {
        let text = format!("For {} the key must be {}.", algorithm.name(), algorithm.key());
        problems.push(Problem::of(Code::FormParamValueInvalid, "signing_key").saying(text));
    }
    SigningRequest { custom, algorithm, key }
}

/// How a template signs from now on.
pub fn next(
    now: &Signing,
    request: &SigningRequest,
    id: &JwtTemplateId,
    master: &MasterKey,
) -> Result<Signing> {
    match (request.custom.unwrap_or(now.is_custom()), &request.key, request.algorithm) {
        (false, key, algorithm) => instance(key.is_some(), algorithm),
        (true, Some(key), Some(algorithm)) => {
            let key_sealed =
                master.seal(&seal_context(id), key.expose().as_bytes()).map_err(Error::internal)?;
            Ok(Signing::Custom { algorithm, key_sealed })
        }
        (true, None, algorithm) if now.is_custom() && algorithm.is_none_or(|it| it == now.algorithm()) => {
            Ok(now.clone())
        }
        (true, key, algorithm) => {
            let missing = [("signing_algorithm", algorithm.is_none()), ("signing_key", key.is_none())];
            let problems = missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(param, _)| {
                Problem::of(Code::FormConditionalParamMissing, param)
                    .saying(format!("A key of its own needs `{param}`."))
            });
            Err(Error::collect(problems.collect()).err().unwrap_or_else(|| Error::new(Code::Internal)))
        }
    }
}

/// The key of a template that has one of its own.
pub fn open(template: &JwtTemplate, master: &MasterKey) -> Result<Option<CustomKey>> {
    let Signing::Custom { algorithm, key_sealed } = &template.signing else { return Ok(None) };
    let opened = master.open(&seal_context(&template.id), key_sealed).map_err(Error::internal)?;
    let text = Secret::new(String::from_utf8(opened).map_err(Error::internal)?);
    CustomKey::open(*algorithm, text.expose()).map(Some).map_err(Error::internal)
}

/// What the key of a template is known by once it is open: no other template, algorithm or sealed text has the same.
pub fn digest(template: &JwtTemplate) -> CustomKeyDigest {
    let sealed = match &template.signing {
        Signing::Instance => &[][..],
        Signing::Custom { key_sealed, .. } => key_sealed,
    };
    let (context, algorithm) = (seal_context(&template.id), template.signing.algorithm().name());
    sha256(&[context.as_bytes(), b" ", algorithm.as_bytes(), b" ", sealed].concat())
}

/// The instance's key signs, and always with RS256.
fn instance(has_key: bool, algorithm: Option<Algorithm>) -> Result<Signing> {
    let is_other = algorithm.is_some_and(|algorithm| algorithm != Algorithm::Rs256);
    let given = [("signing_algorithm", is_other), ("signing_key", has_key)];
    let problems = given.into_iter().filter(|(_, is_given)| *is_given).map(|(param, _)| {
        Problem::of(Code::FormConditionalParamDisallowed, param)
            .saying(format!("`{param}` only goes with `custom_signing_key`."))
    });
    Error::collect(problems.collect())?;
    Ok(Signing::Instance)
}

fn seal_context(id: &JwtTemplateId) -> String {
    format!("jwt_template:{id}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::template;
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn request(custom: Option<bool>, algorithm: Option<&str>, key: Option<&str>) -> SigningRequest {
        let mut problems = Vec::new();
        let key = key.map(|key| Secret::new(key.to_owned()));
        let request = read(custom, algorithm.map(str::to_owned), key, &mut problems);
        assert_eq!(problems, []);
        request
    }

    /// What comes of a request, or the parameters that are complained about.
    fn outcome(now: &Signing, request: SigningRequest) -> Result<Signing, Vec<(Code, String)>> {
        let master = MasterKey::from_bytes([1; 32]);
        next(now, &request, &template(json!({})).id, &master).map_err(|error| {
            let param = |problem: &Problem| problem.meta["param_name"].as_str().unwrap().to_owned();
            error.problems().iter().map(|problem| (problem.code, param(problem))).collect()
        })
    }

    fn custom() -> Signing {
        outcome(&Signing::Instance, request(Some(true), Some("HS256"), Some(SECRET))).unwrap()
    }

    #[test]
    fn a_key_is_sealed_for_its_template_and_opens_again() {
        let master = MasterKey::from_bytes([1; 32]);
        let own = JwtTemplate { signing: custom(), ..template(json!({})) };
        let Signing::Custom { key_sealed, .. } = &own.signing else { panic!("no key") };
        assert!(!key_sealed.windows(8).any(|part| part == &SECRET.as_bytes()[..8]));
        assert_eq!(open(&own, &master).unwrap().unwrap().algorithm(), Algorithm::Hs256);
        assert!(open(&template(json!({})), &master).unwrap().is_none());
        let moved = JwtTemplate { id: JwtTemplateId::unset(), ..own.clone() };
        assert!(open(&moved, &master).is_err());
        assert!(open(&own, &MasterKey::from_bytes([2; 32])).is_err());
    }

    #[test]
    fn no_two_keys_of_templates_are_known_by_the_same_digest() {
        let own = JwtTemplate { signing: custom(), ..template(json!({})) };
        assert_eq!(digest(&own), digest(&JwtTemplate { name: "renamed".to_owned(), ..own.clone() }));
        let Signing::Custom { key_sealed, .. } = own.signing.clone() else { panic!("no key") };
        let sealed_again = custom();
        let moved = JwtTemplate { id: JwtTemplateId::unset(), ..own.clone() };
        let changed = JwtTemplate { signing: sealed_again, ..own.clone() };
        let algorithm = Algorithm::Hs384;
        let renamed = JwtTemplate { signing: Signing::Custom { algorithm, key_sealed }, ..own.clone() };
        let none = JwtTemplate { signing: Signing::Instance, ..own.clone() };
        let digests: std::collections::HashSet<_> =
            [own, moved, changed, renamed, none].iter().map(digest).collect();
        assert_eq!(digests.len(), 5);
    }

    #[test]
    fn a_key_of_its_own_needs_algorithm_and_key() {
        let missing = |params: &[&str]| -> Result<Signing, Vec<(Code, String)>> {
            let code = Code::FormConditionalParamMissing;
            Err(params.iter().map(|param| (code, (*param).to_owned())).collect())
        };
        let none = Signing::Instance;
        assert_eq!(
            outcome(&none, request(Some(true), None, None)),
            missing(&["signing_algorithm", "signing_key"])
        );
        assert_eq!(outcome(&none, request(Some(true), Some("HS256"), None)), missing(&["signing_key"]));
        assert_eq!(outcome(&none, request(Some(true), Some("HS256"), Some(""))), missing(&["signing_key"]));
        assert_eq!(outcome(&none, request(Some(true), None, Some(SECRET))), missing(&["signing_algorithm"]));
        // Another algorithm needs its own key, and a new key says what it is for.
        assert_eq!(outcome(&custom(), request(Some(true), Some("HS384"), None)), missing(&["signing_key"]));
        assert_eq!(outcome(&custom(), request(None, None, Some(SECRET))), missing(&["signing_algorithm"]));
    }

    #[test]
    fn a_key_stays_until_it_is_replaced_or_given_up() {
        let now = custom();
        for keep in [
            request(None, None, None),
            request(Some(true), None, None),
            request(Some(true), Some("HS256"), None),
        ] {
            assert_eq!(outcome(&now, keep), Ok(now.clone()));
        }
        let replaced = outcome(&now, request(None, Some("HS384"), Some(&"s".repeat(48)))).unwrap();
        assert_eq!(replaced.algorithm(), Algorithm::Hs384);
        assert_eq!(outcome(&now, request(Some(false), None, None)), Ok(Signing::Instance));
    }

    #[test]
    fn the_instances_key_takes_neither_key_nor_algorithm() {
        let refused = |param: &str| Err(vec![(Code::FormConditionalParamDisallowed, param.to_owned())]);
        let none = Signing::Instance;
        assert_eq!(outcome(&none, request(Some(false), Some("RS256"), Some(""))), Ok(none.clone()));
        assert_eq!(outcome(&none, request(None, Some(""), None)), Ok(none.clone()));
        assert_eq!(outcome(&none, request(None, Some("HS256"), None)), refused("signing_algorithm"));
        assert_eq!(outcome(&none, request(Some(false), None, Some(SECRET))), refused("signing_key"));
    }

    #[test]
    fn unknown_algorithms_and_unfit_keys_are_refused() {
        let refused = |algorithm: &str, key: &str| -> Vec<String> {
            let mut problems = Vec::new();
            read(Some(true), Some(algorithm.to_owned()), Some(Secret::new(key.to_owned())), &mut problems);
            assert!(problems.iter().all(|problem| problem.code == Code::FormParamValueInvalid));
            assert!(problems.iter().all(|problem| !problem.detail.as_deref().unwrap().contains("0123")));
            problems.iter().map(|problem| problem.meta["param_name"].as_str().unwrap().to_owned()).collect()
        };
        for algorithm in ["none", "hs256", "RS1", "x"] {
            assert_eq!(refused(algorithm, SECRET), ["signing_algorithm"]);
        }
        for algorithm in ["HS384", "RS256", "ES256", "EdDSA", "PS512"] {
            assert_eq!(refused(algorithm, SECRET), ["signing_key"]);
        }
    }
}
