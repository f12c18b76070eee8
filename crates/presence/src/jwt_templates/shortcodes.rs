//! The language of templates: `{{ expression }}` in a text stands for a value.
//!
//! An expression is operands with `||` between them; the first that is neither null nor false counts, and
//! the last if none is. An operand is a path (`user.public_metadata.plan`), a text in single quotes, a
//! number, `true`, `false` or `null`. A text that is one expression and nothing else takes the type of its
//! value; in any other text values are written out. What a value says is never read as a shortcode again:
//! users choose their own names.

use std::borrow::Cow;
use std::io;

use latchkey_base::{Code, Error, Result};
use latchkey_kernel::limits::JWT_RENDERED_BYTES;
use serde_json::{Map, Value};

use super::scope::ShortcodeScope;

/// The claims with values in place of shortcodes; an error when they get too large to be of use.
pub fn render(claims: &Map<String, Value>, scope: &ShortcodeScope<'_>) -> Result<Map<String, Value>> {
    let mut budget = Budget { left: JWT_RENDERED_BYTES };
    object(claims, scope, &mut budget).map_err(|TooLarge| {
        Error::param(Code::FormParamExceedsAllowedSize, "claims").saying(format!(
            "With the values of this user the claims have more than {JWT_RENDERED_BYTES} bytes."
        ))
    })
}

/// The first text in braces that is no expression, so that whoever wrote it can be told.
pub fn unreadable(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => pieces(text).into_iter().find_map(|piece| match piece {
            Piece::Unreadable(text) => Some(text),
            Piece::Text(_) | Piece::Expression(_) => None,
        }),
        Value::Array(items) => items.iter().find_map(unreadable),
        Value::Object(fields) => fields.values().find_map(unreadable),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// How many more bytes values may add. A template of some kilobytes can name metadata hundreds of times;
/// a claim that is silently left out instead could be the one that denies something.
struct Budget {
    left: usize,
}

struct TooLarge;

impl Budget {
    fn spend(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }
}

fn object(
    fields: &Map<String, Value>,
    scope: &ShortcodeScope<'_>,
    budget: &mut Budget,
) -> Result<Map<String, Value>, TooLarge> {
    fields.iter().map(|(name, field)| Ok((name.clone(), value(field, scope, budget)?))).collect()
}

fn value(template: &Value, scope: &ShortcodeScope<'_>, budget: &mut Budget) -> Result<Value, TooLarge> {
    match template {
        Value::String(template) => text(template, scope, budget),
        Value::Array(items) => items.iter().map(|item| value(item, scope, budget)).collect(),
        Value::Object(fields) => object(fields, scope, budget).map(Value::Object),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(template.clone()),
    }
}

fn text(template: &str, scope: &ShortcodeScope<'_>, budget: &mut Budget) -> Result<Value, TooLarge> {
    let pieces = pieces(template);
    if let [Piece::Expression(operands)] = &pieces[..] {
        let value = evaluate(operands, scope);
        budget.spend(json_bytes(&value))?;
        return Ok(value.into_owned());
    }
    let mut written = String::new();
    for piece in &pieces {
        match piece {
            Piece::Text(text) | Piece::Unreadable(text) => written.push_str(text),
            Piece::Expression(operands) => {
                let value = evaluate(operands, scope);
                budget.spend(json_bytes(&value))?;
                match &*value {
                    Value::String(text) => written.push_str(text),
                    other => written.push_str(&other.to_string()),
                }
            }
        }
    }
    Ok(Value::String(written))
}

fn evaluate<'a>(operands: &'a [Operand<'_>], scope: &'a ShortcodeScope<'_>) -> Cow<'a, Value> {
    let mut last = Cow::Owned(Value::Null);
    for operand in operands {
        last = match operand {
            Operand::Literal(value) => Cow::Borrowed(value),
            Operand::Path(path) => scope.look_up(path),
        };
        if !matches!(*last, Value::Null | Value::Bool(false)) {
            break;
        }
    }
    last
}

/// How long a value is as JSON.
fn json_bytes(value: &Value) -> usize {
    struct Counted(usize);

    impl io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counted = Counted(0);
    match serde_json::to_writer(&mut counted, value) {
        Ok(()) => counted.0,
        Err(_) => usize::MAX,
    }
}

/// A part of a text.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Expression(Vec<Operand<'a>>),
    /// In braces, and yet no expression. It stays as it is.
    Unreadable(&'a str),
}

#[derive(Debug, PartialEq)]
enum Operand<'a> {
    Literal(Value),
    Path(&'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let inside = &rest[start + 2..];
        let (piece, after) = match (expression(inside), inside.find("}}")) {
            (Some((operands, after)), _) => (Piece::Expression(operands), after),
            (None, Some(end)) => (Piece::Unreadable(&rest[start..start + 2 + end + 2]), &inside[end + 2..]),
            // Braces that are never closed mean nothing.
            (None, None) => break,
        };
        if start > 0 {
            pieces.push(Piece::Text(&rest[..start]));
        }
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// The operands up to the closing braces, and what follows them.
fn expression(text: &str) -> Option<(Vec<Operand<'_>>, &str)> {
    let mut operands = Vec::new();
    let mut rest = text;
    loop {
        let (next, after) = operand(rest.trim_start())?;
        operands.push(next);
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix("}}") {
            return Some((operands, after));
        }
        rest = after.strip_prefix("||")?;
    }
}

fn operand(text: &str) -> Option<(Operand<'_>, &str)> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return literal(quoted);
    }
    let end = text.find(|next: char| next.is_whitespace() || "|{}'\"".contains(next))?;
    let (word, rest) = text.split_at(end);
    match serde_json::from_str(word) {
        Ok(value) => Some((Operand::Literal(value), rest)),
        Err(_) if word.is_empty() => None,
        Err(_) => Some((Operand::Path(word), rest)),
    }
}

/// A text up to its closing quote. A backslash takes a quote or a backslash literally.
fn literal(quoted: &str) -> Option<(Operand<'_>, &str)> {
    let mut text = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => return Some((Operand::Literal(Value::String(text)), &quoted[at + 1..])),
            '\\' if quoted[at + 1..].starts_with(['\'', '\\']) => {
                text.extend(letters.next().map(|(_, escaped)| escaped));
            }
            _ => text.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use latchkey_base::kinds::SessionId;
    use latchkey_base::rng::SeededRng;
    use latchkey_people::users::model::User;
    use serde_json::json;

    use super::super::scope::{TokenOrganization, TokenSession};
    use super::super::tests::{API_URL, NOW, object, user};
    use super::*;

    fn ada() -> User {
        let contact = |id: &str, value: &str, verification: Value| {
            let mut contact = json!({"id": id, "value": value, "created_at": 0, "updated_at": 0});
            if !verification.is_null() {
                contact["verification"] = verification;
            }
            json!({"primary": id, "all": [contact]})
        };
        let verified = json!({"strategy": "admin"});
        user(json!({
            "external_id": "ext-1", "first_name": "Ada", "last_name": "Lovelace",
            "username": {"id": "idn_1", "value": "ada"},
            "email_addresses": contact("idn_2", "ada@example.com", verified),
            "phone_numbers": contact("idn_3", "+15551234567", Value::Null),
            "totp_enabled": true,
            "public_metadata": {"plan": "pro", "seats": 3, "deep": {"er": [1, {"a": null}]}, "off": false, "none": null},
            "unsafe_metadata": {"code": "{{user.id}} || '", "größe": 1},
        }))
    }

    /// What one text becomes.
    fn rendered_for(user: &User, text: &str) -> Value {
        render(&object(json!({"it": text})), &ShortcodeScope::of(user, API_URL)).unwrap()["it"].clone()
    }

    fn rendered(text: &str) -> Value {
        rendered_for(&ada(), text)
    }

    #[test]
    fn every_shortcode_of_a_user_has_its_value_and_type() {
        for (path, expected) in [
            ("id", json!("user_000000000000000000000000001")),
            ("external_id", json!("ext-1")),
            ("first_name", json!("Ada")),
            ("last_name", json!("Lovelace")),
            ("full_name", json!("Ada Lovelace")),
            ("username", json!("ada")),
            ("has_image", json!(false)),
            ("primary_email_address", json!("ada@example.com")),
            ("primary_phone_number", json!("+15551234567")),
            ("primary_phone_address", json!("+15551234567")),
            ("primary_web3_wallet", json!(null)),
            ("email_verified", json!(true)),
            ("phone_number_verified", json!(false)),
            ("two_factor_enabled", json!(true)),
            ("created_at", json!(1_700_000_000)),
            ("updated_at", json!(1_700_000_100)),
            ("last_sign_in_at", json!(null)),
            ("public_metadata.plan", json!("pro")),
            ("public_metadata.seats", json!(3)),
            ("public_metadata.deep", json!({"er": [1, {"a": null}]})),
            ("public_metadata.deep.er", json!([1, {"a": null}])),
            ("unsafe_metadata.größe", json!(1)),
            ("organizations", json!({})),
        ] {
            assert_eq!(rendered(&format!("{{{{user.{path}}}}}")), expected, "{path}");
        }
        let url = rendered("{{user.image_url}}");
        assert!(
            url.as_str().unwrap().starts_with("https://api.example.com/images/avatar_placeholder/user_"),
            "{url}"
        );
        assert_eq!(rendered_for(&user(json!({"last_name": "Only"})), "{{user.full_name}}"), "Only");
        assert_eq!(rendered_for(&user(json!({})), "{{user.full_name}}"), json!(null));
    }

    #[test]
    fn private_metadata_and_unknown_paths_are_null() {
        for path in [
            "user.private_metadata",
            "user.private_metadata.secret",
            "user",
            "user.",
            "user.nothing",
            "user.first_name.more",
            "user.public_metadata.plan.more",
            "user.public_metadata.deep.er.0",
            "nobody.id",
            "org.id",
            "org.public_metadata.x",
            "org_membership.permissions",
            "session.actor",
            ".",
            "..",
            "user.password",
        ] {
            assert_eq!(rendered(&format!("{{{{ {path} }}}}")), Value::Null, "{path}");
        }
    }

    #[test]
    fn sessions_and_organizations_show_when_they_are_there() {
        let (user, session) = (ada(), SessionId::new(NOW, &SeededRng::new(1)));
        let actor = object(json!({"sub": "user_admin"}));
        let scope = ShortcodeScope::of(&user, API_URL)
            .with_session(TokenSession { id: &session, actor: Some(&actor), reverification_id: None })
            .with_organizations(object(json!({"org_1": "org:admin"})))
            .with_organization(TokenOrganization {
                id: "org_1",
                name: "Engines",
                slug: Some("engines"),
                image_url: "https://img".to_owned(),
                has_image: true,
                public_metadata: json!({"tier": 2}),
                role: Some("org:admin"),
                permissions: vec!["org:a:read"],
                membership_public_metadata: json!({"desk": "7"}),
            });
        let template = object(json!({
            "session": ["{{session.id}}", "{{session.actor}}", "{{session.actor.sub}}", "{{session.reverification_id}}"],
            "org": ["{{org.id}}", "{{org.name}}", "{{org.slug}}", "{{org.role}}", "{{org.image_url}}", "{{org.has_image}}",
                "{{org.public_metadata.tier}}"],
            "membership": ["{{org_membership.role}}", "{{org_membership.permissions}}", "{{org_membership.public_metadata.desk}}"],
            "all": "{{user.organizations}}",
        }));
        let expected = object(json!({
            "session": [session, {"sub": "user_admin"}, "user_admin", null],
            "org": ["org_1", "Engines", "engines", "org:admin", "https://img", true, 2],
            "membership": ["org:admin", ["org:a:read"], "7"],
            "all": {"org_1": "org:admin"},
        }));
        assert_eq!(render(&template, &scope).unwrap(), expected);
    }

    #[test]
    fn the_first_operand_that_is_something_counts_else_the_last() {
        for (text, expected) in [
            ("{{user.nothing || user.first_name}}", json!("Ada")),
            ("{{user.first_name||'x'}}", json!("Ada")),
            ("{{ user.nothing || 'it''", json!("{{ user.nothing || 'it''")),
            ("{{ user.nothing || 'text' }}", json!("text")),
            ("{{user.nothing || 30}}", json!(30)),
            ("{{user.nothing || -1.5}}", json!(-1.5)),
            ("{{user.public_metadata.off || true}}", json!(true)),
            ("{{user.public_metadata.none || user.public_metadata.off}}", json!(false)),
            ("{{user.public_metadata.off || user.public_metadata.none}}", json!(null)),
            ("{{user.nothing || ''}}", json!("")),
            ("{{'' || 'later'}}", json!("")),
            ("{{0 || 1}}", json!(0)),
            ("{{null || false || null}}", json!(null)),
            ("{{'a }} b || c'}}", json!("a }} b || c")),
            (r"{{'it\'s \\ \n'}}", json!(r"it's \ \n")),
        ] {
            assert_eq!(rendered(text), expected, "{text}");
        }
    }

    #[test]
    fn values_in_other_text_are_written_out() {
        for (text, expected) in [
            ("{{user.first_name}} {{user.last_name}}", "Ada Lovelace"),
            (" {{user.public_metadata.seats}}", " 3"),
            ("{{user.nothing}}!", "null!"),
            ("is {{user.email_verified}}", "is true"),
            ("{{user.public_metadata.deep}}.", r#"{"er":[1,{"a":null}]}."#),
            ("a {{ b", "a {{ b"),
            ("{{user.first_name}}}", "Ada}"),
            ("{ {user.id} }", "{ {user.id} }"),
            ("", ""),
        ] {
            assert_eq!(rendered(text), expected, "{text}");
        }
    }

    #[test]
    fn what_users_write_is_no_template() {
        assert_eq!(rendered("{{user.unsafe_metadata.code}}"), "{{user.id}} || '");
        assert_eq!(rendered("x{{user.unsafe_metadata.code}}"), "x{{user.id}} || '");
    }

    #[test]
    fn other_values_and_keys_stay_as_they_are() {
        let fixed = object(json!({"{{user.id}}": 1, "a": [true, null, 1.5, "plain"], "b": {"c": {}}}));
        assert_eq!(render(&fixed, &ShortcodeScope::of(&ada(), API_URL)).unwrap(), fixed);
    }

    #[test]
    fn what_is_no_expression_is_found_and_stays() {
        for bad in [
            "{{}}",
            "{{ }}",
            "{{a b}}",
            "{{a | b}}",
            "{{|| a}}",
            "{{a ||}}",
            "{{\"a\"}}",
            "{{'a}}",
            "{{a{{b}}",
        ] {
            let nested = json!({"a": [{"b": format!("text {bad} text")}]});
            assert_eq!(unreadable(&nested), Some(bad));
            assert_eq!(rendered(bad), bad);
        }
        for good in ["", "plain", "{{a.b}} {{c}}", "{{ 'x' || 1 }}", "{ {", "{{ open"] {
            assert_eq!(unreadable(&json!({"a": good})), None, "{good}");
        }
    }

    #[test]
    fn claims_do_not_grow_without_end() {
        let large = user(json!({"unsafe_metadata": {"a": "x".repeat(8000)}}));
        let scope = ShortcodeScope::of(&large, API_URL);
        let claims = |count: usize| json!({"a": vec!["{{user.unsafe_metadata}}"; count]});
        assert!(render(&object(claims(4)), &scope).is_ok());
        let error = render(&object(claims(5)), &scope).unwrap_err();
        assert_eq!(error.code(), Code::FormParamExceedsAllowedSize);
        let joined = json!({"a": "{{user.unsafe_metadata}}".repeat(300)});
        assert!(render(&object(joined), &scope).is_err());
    }

    #[test]
    fn a_scope_of_nobody_has_nothing() {
        let template = object(json!({"a": "{{user.id}}", "b": "{{session.id || 'none'}}"}));
        let expected = object(json!({"a": null, "b": "none"}));
        assert_eq!(render(&template, &ShortcodeScope::of_nobody()).unwrap(), expected);
    }
}
