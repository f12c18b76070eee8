//! The users of the bench, made from their number alone: every run has the same ones, names repeat as names do,
//! and it is known in advance how many users a search term finds.

/// Every eighth user is a Garcia, so that one term finds more than a tenth of them all.
const COMMON: &str = "garcia";
const COMMON_EVERY: u64 = 8;
const COLLEAGUES: u64 = 100;
/// Nobody has colleagues on the other side of these, so that firms are whole whenever there are so many users.
const BORDERS: [u64; 2] = [10_000, 100_000];

const FIRST: [&str; 32] = [
    "amina", "bruno", "chloe", "daniel", "elena", "farid", "grace", "hugo", "ines", "jonas", "keiko", "liam",
    "mei", "nora", "oscar", "priya", "quentin", "rosa", "samir", "tessa", "umar", "vera", "wanda", "xavier",
    "yara", "zoltan", "aisha", "boris", "clara", "dmitri", "esther", "felix",
];
const LAST: [&str; 32] = [
    "abebe",
    "bauer",
    "costa",
    "dubois",
    "eriksen",
    "fischer",
    "gupta",
    "haddad",
    "ivanov",
    "jensen",
    "kowalski",
    "lindqvist",
    "moreau",
    "nakamura",
    "okafor",
    "petrov",
    "quispe",
    "rossi",
    "schmidt",
    "tanaka",
    "ueda",
    "virtanen",
    "weber",
    "ximenes",
    "yilmaz",
    "zhang",
    "andersson",
    "brennan",
    "castillo",
    "delgado",
    "ferrari",
    "hoffmann",
];
const FIRMS: [&str; 8] = ["harbor", "juniper", "cobalt", "meadow", "quarry", "saffron", "tundra", "willow"];

#[derive(Clone, Copy)]
pub(crate) struct People {
    /// How many are there.
    users: u64,
    /// How many there will be.
    planned: u64,
}

pub(crate) struct Person {
    pub(crate) first: &'static str,
    pub(crate) last: &'static str,
    number: u64,
    firm: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rarity {
    /// One user.
    Rare,
    /// About a hundred.
    Medium,
    /// More than a tenth.
    Common,
}

impl People {
    pub(crate) fn new(users: u64) -> Self {
        Self { users, planned: users }
    }

    /// The same people, of whom only the first `users` are there.
    pub(crate) fn first(self, users: u64) -> Self {
        Self { users, ..self }
    }

    /// The person with this number; numbers beyond the seeded ones are as good.
    pub(crate) fn person(self, number: u64) -> Person {
        let mixed = mix(number);
        let last = match mixed % COMMON_EVERY {
            0 => COMMON,
            _ => LAST[(mixed >> 8) as usize % LAST.len()],
        };
        let first = FIRST[(mixed >> 16) as usize % FIRST.len()];
        Person { first, last, number, firm: self.firm(number) }
    }

    /// Colleagues are spread over all between two borders, as people who signed up at different times.
    fn firm(self, number: u64) -> u64 {
        let borders = || BORDERS.into_iter().filter(|border| *border < self.planned);
        let from = borders().filter(|border| *border <= number).max().unwrap_or(0);
        let to = borders().find(|border| *border > number).unwrap_or(self.planned);
        let firms = ((to - from) / COLLEAGUES).max(1);
        from / COLLEAGUES + (number - from) % firms
    }

    /// A search term; `turn` chooses among the many of its kind, so that no single answer stays in a cache.
    pub(crate) fn term(self, rarity: Rarity, turn: u64) -> String {
        let person = self.person(mix(turn) % self.users);
        match rarity {
            Rarity::Rare => format!("{}{:07}", person.last, person.number),
            Rarity::Medium => person.firm(),
            Rarity::Common => COMMON.to_owned(),
        }
    }
}

impl Person {
    pub(crate) fn email(&self) -> String {
        format!("{}.{}{:07}@{}.example.com", self.first, self.last, self.number, self.firm())
    }

    /// The body of `POST /v1/users`.
    pub(crate) fn create_body(&self) -> String {
        let (email, first, last) = (self.email(), capital(self.first), capital(self.last));
        format!(
            r#"{{"email_address":["{email}"],"first_name":"{first}","last_name":"{last}","skip_password_requirement":true}}"#
        )
    }

    fn firm(&self) -> String {
        format!("{}{:05}", FIRMS[self.firm as usize % FIRMS.len()], self.firm)
    }
}

/// Spreads consecutive numbers evenly (the finaliser of SplitMix64).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn capital(name: &str) -> String {
    let (head, tail) = name.split_at(1);
    head.to_ascii_uppercase() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_find_as_many_as_their_kind_says() {
        let all = People::new(20_000);
        for people in [People::new(5_000), all.first(10_000), all] {
            let emails: Vec<String> = (0..people.users).map(|n| people.person(n).email()).collect();
            let hits = |term: &str| emails.iter().filter(|email| email.contains(term)).count();
            for turn in 0..20 {
                assert_eq!(hits(&people.term(Rarity::Rare, turn)), 1);
                assert_eq!(hits(&people.term(Rarity::Medium, turn)), 100);
            }
            assert!(hits(&people.term(Rarity::Common, 0)) as u64 > people.users / 10);
        }
    }

    #[test]
    fn the_body_is_json_with_a_capital() {
        let body = People::new(10).person(3).create_body();
        let value: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert!(value["first_name"].as_str().unwrap().starts_with(|c: char| c.is_ascii_uppercase()));
    }
}
