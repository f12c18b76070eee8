//! What the raw inserts of both engines write: the least that a durable create must write, a user (a document
//! of about 1.5 KB), its identification with the unique value, and the outbox row that announces it.

use crate::people::People;

pub(crate) const INSTANCE: &str = "ins_2q9XkT4mVn7RzB1cYd8WsE5uGhJ";
const DOCUMENT_BYTES: usize = 1_500;

pub(crate) struct Insert {
    pub(crate) user_id: String,
    pub(crate) email: String,
    pub(crate) document: String,
    /// An outbox row refers to what happened and repeats little of it.
    pub(crate) event: String,
    pub(crate) at: i64,
}

impl Insert {
    pub(crate) fn new(people: People, number: u64) -> Self {
        let person = people.person(number);
        let (email, first, last) = (person.email(), person.first, person.last);
        // Ids grow with time, as KSUIDs do.
        let user_id = format!("user_{number:027}");
        let mut document = format!(
            r#"{{"id":"{user_id}","object":"user","first_name":"{first}","last_name":"{last}","email_addresses":[{{"email_address":"{email}"}}],"padding":""#
        );
        while document.len() < DOCUMENT_BYTES - 2 {
            document.push('x');
        }
        document.push_str("\"}");
        let event = format!(r#"{{"type":"user.created","id":"{user_id}"}}"#);
        Self { user_id, email, document, event, at: 1_760_000_000_000 + number as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_json_of_the_size_it_claims() {
        let insert = Insert::new(People::new(100), 42);
        assert_eq!(insert.document.len(), DOCUMENT_BYTES);
        serde_json::from_str::<serde_json::Value>(&insert.document).unwrap();
        serde_json::from_str::<serde_json::Value>(&insert.event).unwrap();
    }
}
