//! TXT records, asked for over UDP (RFC 1035). The resolver of the operating system only tells addresses, so the name
//! servers it is configured with are asked here.
//!
//! An answer is believed if it comes from the server that was asked, to the port the question came from, with the
//! question and its number. Everything is bounded: servers that are asked, the time each has, bytes and records of an
//! answer, and steps in compressed names.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Where the operating system says which name servers there are.
const CONFIGURATION: &str = "/etc/resolv.conf";
/// Name servers that are asked, one after the other; the system's own resolver asks three.
const SERVERS: usize = 3;
/// How long each may take. Three of them stay below what a browser waits for.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// The largest answer that is asked for and read: what passes most networks in one piece.
const ANSWER_BYTES: usize = 1232;
/// Steps in a compressed name. No name has more labels.
const NAME_STEPS: usize = 128;

const TYPE_TXT: u16 = 16;
const TYPE_OPT: u16 = 41;
const CLASS_IN: u16 = 1;
const HEADER_BYTES: usize = 12;
/// The answer to a question that has none: there is no such name.
const NO_SUCH_NAME: u8 = 3;

/// Why records could not be found.
#[derive(Debug, thiserror::Error)]
pub enum DnsFailure {
    /// The system has no name servers.
    #[error("no name server is configured in {CONFIGURATION}")]
    NoServers,
    /// The name cannot be asked for.
    #[error("the name is not one of DNS")]
    BadName,
    /// A server did not answer in time.
    #[error("the name server did not answer in time")]
    TooLate,
    /// A server refused, or could not find out.
    #[error("the name server refused with code {0}")]
    Refused(u8),
    /// The answer is not one of DNS.
    #[error("the answer of the name server is damaged")]
    Damaged,
    /// The question could not be sent.
    #[error("the name server could not be asked")]
    Unreachable(#[source] io::Error),
}

/// Name servers to ask.
#[derive(Clone, Debug)]
pub struct NameServers {
    /// Which; those of the system, read when they are needed, if none are given.
    given: Option<Vec<SocketAddr>>,
    within: Duration,
}

impl NameServers {
    /// Those the operating system is configured with.
    pub fn of_system() -> NameServers {
        NameServers { given: None, within: ANSWER_WITHIN }
    }

    /// These, each with so much time to answer.
    pub fn at(servers: Vec<SocketAddr>, within: Duration) -> NameServers {
        NameServers { given: Some(servers), within }
    }

    /// The texts of the TXT records of a name; none if there is no such name. `id` numbers the question, and should be
    /// random.
    pub async fn txt(&self, name: &str, id: u16) -> Result<Vec<String>, DnsFailure> {
        let question = question(name, id).ok_or(DnsFailure::BadName)?;
        let servers = match &self.given {
            Some(given) => given.clone(),
            None => configured(&std::fs::read_to_string(CONFIGURATION).unwrap_or_default()),
        };
        let mut failure = DnsFailure::NoServers;
        for server in servers.into_iter().take(SERVERS) {
            let asked = timeout(self.within, ask(server, &question));
            match asked.await.unwrap_or(Err(DnsFailure::TooLate)) {
                Ok(texts) => return Ok(texts),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// The name servers in a text like `/etc/resolv.conf`.
fn configured(text: &str) -> Vec<SocketAddr> {
    let addresses = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        // The name of an interface may follow a link-local address; such a server is not asked.
        address.parse::<IpAddr>().ok()
    });
    addresses.map(|address| SocketAddr::new(address, 53)).collect()
}

/// A question for the TXT records of a name, with room for larger answers than DNS had at first (RFC 6891).
fn question(name: &str, id: u16) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + name.len() + 17);
    bytes.extend(id.to_be_bytes());
    // A standard question, for which the server is to ask others; one question, and one additional record.
    bytes.extend([0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 1]);
    for label in name.split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?;
        bytes.push(length);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    if bytes.len() - HEADER_BYTES > 255 || !name.is_ascii() {
        return None;
    }
    bytes.extend(TYPE_TXT.to_be_bytes());
    bytes.extend(CLASS_IN.to_be_bytes());
    bytes.push(0);
    bytes.extend(TYPE_OPT.to_be_bytes());
    bytes.extend((ANSWER_BYTES as u16).to_be_bytes());
    bytes.extend([0; 6]);
    Some(bytes)
}

async fn ask(server: SocketAddr, question: &[u8]) -> Result<Vec<String>, DnsFailure> {
    let any: IpAddr = match server.is_ipv4() {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connected, so that the system drops what others send.
    let socket = UdpSocket::bind((any, 0)).await.map_err(DnsFailure::Unreachable)?;
    socket.connect(server).await.map_err(DnsFailure::Unreachable)?;
    socket.send(question).await.map_err(DnsFailure::Unreachable)?;
    let mut buffer = [0; ANSWER_BYTES];
    loop {
        let length = socket.recv(&mut buffer).await.map_err(DnsFailure::Unreachable)?;
        // What answers another question may be somebody's guess; the right answer may still come.
        if let Some(answer) = Answer::to(question, &buffer[..length]) {
            return answer.texts();
        }
    }
}

/// An answer to a question.
struct Answer<'a> {
    bytes: &'a [u8],
    /// Where its records begin.
    records: usize,
}

impl<'a> Answer<'a> {
    /// Reads an answer, if it is one to this question.
    fn to(question: &[u8], bytes: &'a [u8]) -> Option<Answer<'a>> {
        let is_same_number = bytes.get(..2)? == question.get(..2)?;
        let is_answer = *bytes.get(2)? & 0xf8 == 0x80;
        let asks_one = bytes.get(4..6)? == [0, 1];
        let end = skip_name(bytes, HEADER_BYTES)? + 4;
        let asked = question.get(HEADER_BYTES..end)?;
        // Servers may write the name in other letters.
        let is_same = bytes.get(HEADER_BYTES..end)?.eq_ignore_ascii_case(asked);
        (is_same_number && is_answer && asks_one && is_same).then_some(Answer { bytes, records: end })
    }

    /// The texts of its TXT records. Of an answer that was cut, those that are whole.
    fn texts(&self) -> Result<Vec<String>, DnsFailure> {
        match self.bytes[3] & 0x0f {
            0 => (),
            NO_SUCH_NAME => return Ok(Vec::new()),
            code => return Err(DnsFailure::Refused(code)),
        }
        let count = u16::from_be_bytes([self.bytes[6], self.bytes[7]]);
        let is_cut = self.bytes[2] & 0x02 != 0;
        let (mut texts, mut at) = (Vec::new(), self.records);
        for _ in 0..count {
            match record(self.bytes, at) {
                Some((text, next)) => {
                    texts.extend(text);
                    at = next;
                }
                None if is_cut => break,
                None => return Err(DnsFailure::Damaged),
            }
        }
        Ok(texts)
    }
}

/// The text of the record at a place, if it is a TXT record, and where the next one begins. Aliases lead to records that
/// stand in the same answer, so whose a record is does not matter.
fn record(bytes: &[u8], at: usize) -> Option<(Option<String>, usize)> {
    let at = skip_name(bytes, at)?;
    let head = bytes.get(at..at + 10)?;
    let word = |place: usize| u16::from_be_bytes([head[place], head[place + 1]]);
    let end = at + 10 + usize::from(word(8));
    let data = bytes.get(at + 10..end)?;
    match (word(0), word(2)) {
        (TYPE_TXT, CLASS_IN) => Some((Some(text(data)?), end)),
        _ => Some((None, end)),
    }
}

/// The text of a TXT record: its parts of up to 255 bytes, joined.
fn text(mut data: &[u8]) -> Option<String> {
    let mut joined = Vec::with_capacity(data.len());
    while let Some((length, rest)) = data.split_first() {
        let length = usize::from(*length);
        joined.extend(rest.get(..length)?);
        data = &rest[length..];
    }
    Some(String::from_utf8_lossy(&joined).into_owned())
}

/// Where a name ends that begins at a place.
fn skip_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..NAME_STEPS {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            // The rest of the name stands elsewhere.
            length if length & 0xc0 == 0xc0 => return bytes.get(at + 1).map(|_| at + 2),
            length if length & 0xc0 == 0 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    /// An answer to a question, with these TXT records.
    fn answer(question: &[u8], code: u8, texts: &[&[&str]]) -> Vec<u8> {
        let end = skip_name(question, HEADER_BYTES).unwrap() + 4;
        let mut bytes = question[..end].to_vec();
        (bytes[2], bytes[3], bytes[7], bytes[11]) = (0x81, 0x80 | code, texts.len() as u8, 0);
        for parts in texts {
            let data: Vec<u8> =
                parts.iter().flat_map(|part| [&[part.len() as u8], part.as_bytes()].concat()).collect();
            bytes.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60]);
            bytes.extend((data.len() as u16).to_be_bytes());
            bytes.extend(data);
        }
        bytes
    }

    /// A name server that sends what `reply` makes of a question.
    async fn server(reply: impl Fn(&[u8]) -> Vec<Vec<u8>> + Send + 'static) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                for bytes in reply(&buffer[..length]) {
                    socket.send_to(&bytes, from).await.unwrap();
                }
            }
        });
        address
    }

    fn at(servers: &[SocketAddr]) -> NameServers {
        NameServers::at(servers.to_vec(), WITHIN)
    }

    #[tokio::test]
    async fn texts_of_all_records_are_found_and_their_parts_joined() {
        let to = server(|question| vec![answer(question, 0, &[&["one"], &["two ", "parts"], &[""]])]).await;
        assert_eq!(at(&[to]).txt("_x.example.com", 7).await.unwrap(), ["one", "two parts", ""]);
        let to = server(|question| vec![answer(question, NO_SUCH_NAME, &[])]).await;
        assert!(at(&[to]).txt("example.com", 7).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn answers_to_other_questions_are_not_believed() {
        let to = server(|asked| {
            let other = question("other.example", u16::from_be_bytes([asked[0], asked[1]])).unwrap();
            let mut wrong = answer(asked, 0, &[&["wrong number"]]);
            wrong[1] ^= 1;
            let mut echo = answer(asked, 0, &[&["a question"]]);
            echo[2] = 1;
            let other = answer(&other, 0, &[&["other name"]]);
            vec![wrong, echo, other, Vec::new(), vec![0; 11], answer(asked, 0, &[&["right"]])]
        });
        assert_eq!(at(&[to.await]).txt("example.com", 258).await.unwrap(), ["right"]);
    }

    #[tokio::test]
    async fn damaged_answers_are_refused_and_cut_ones_used_as_far_as_they_go() {
        let whole = answer(&question("example.com", 1).unwrap(), 0, &[&["first"], &["second"]]);
        for length in HEADER_BYTES..whole.len() {
            let part = whole[..length].to_vec();
            let to = server(move |_| vec![part.clone(), vec![]]).await;
            let found = NameServers::at(vec![to], Duration::from_millis(50)).txt("example.com", 1).await;
            assert!(found.is_err(), "{length}");
        }
        let mut cut = whole[..whole.len() - 2].to_vec();
        cut[2] |= 2;
        let to = server(move |_| vec![cut.clone()]).await;
        assert_eq!(at(&[to]).txt("example.com", 1).await.unwrap(), ["first"]);
    }

    #[tokio::test]
    async fn a_server_that_fails_or_stays_silent_is_followed_by_the_next() {
        let failing = server(|question| vec![answer(question, 2, &[])]).await;
        let silent = server(|_| Vec::new()).await;
        let good = server(|question| vec![answer(question, 0, &[&["found"]])]).await;
        assert_eq!(at(&[failing, good]).txt("example.com", 1).await.unwrap(), ["found"]);
        let hasty = NameServers::at(vec![silent, good], Duration::from_secs(1));
        assert_eq!(hasty.txt("example.com", 1).await.unwrap(), ["found"]);
        let refused = at(&[failing]).txt("example.com", 1).await;
        assert!(matches!(refused, Err(DnsFailure::Refused(2))), "{refused:?}");
        let late = NameServers::at(vec![silent], Duration::from_millis(20)).txt("example.com", 1).await;
        assert!(matches!(late, Err(DnsFailure::TooLate)), "{late:?}");
        assert!(matches!(at(&[]).txt("example.com", 1).await, Err(DnsFailure::NoServers)));
    }

    #[tokio::test]
    async fn what_is_no_name_is_not_asked_for() {
        let long = ["a".repeat(60).as_str(); 5].join(".");
        for bad in ["", "a..b", ".", "ä.example", &"a".repeat(64), &long] {
            assert!(matches!(at(&[]).txt(bad, 1).await, Err(DnsFailure::BadName)), "{bad}");
        }
    }

    #[test]
    fn name_servers_are_read_from_the_configuration_of_the_system() {
        let text = "# nameserver 9.9.9.9\nsearch x\nnameserver 1.1.1.1\n nameserver\t::1 \nnameserver fe80::1%eth0\n";
        let found: Vec<String> = configured(text).iter().map(SocketAddr::to_string).collect();
        assert_eq!(found, ["1.1.1.1:53", "[::1]:53"]);
    }
}
