//! Whose an address is. What is shared out by address counts networks, because one person has many addresses.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What one person has of addresses: a whole one of IPv4, the upper half of one of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    told_by: ToldBy,
}

/// Who says that a request comes from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ToldBy {
    Connection,
    /// A proxy in front of the server.
    Proxy,
    /// A proxy of an application, by the digest of its instance. It may say what it likes, so what it says is compared with
    /// nothing that others say.
    ProxyOf(u64),
}

const NO_ADDRESS: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

impl Network {
    /// For requests whose address is not known.
    pub const UNKNOWN: Network = Network { address: NO_ADDRESS, told_by: ToldBy::Proxy };

    /// The network of the address at the other end of a connection. An IPv4 address mapped into IPv6 is the IPv4 address.
    pub fn of(address: IpAddr) -> Network {
        let address = match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let [first, second, third, fourth, ..] = address.segments();
                Ipv6Addr::new(first, second, third, fourth, 0, 0, 0, 0).into()
            }
        };
        Network { address, told_by: ToldBy::Connection }
    }

    /// The same as a proxy in front of the server says it.
    #[must_use]
    pub fn told_by_proxy(self) -> Network {
        Network { told_by: ToldBy::Proxy, ..self }
    }

    /// The same as the proxy of an application says it.
    #[must_use]
    pub fn told_by_proxy_of(self, instance: &str) -> Network {
        let mut digest = DefaultHasher::new();
        instance.hash(&mut digest);
        Network { told_by: ToldBy::ProxyOf(digest.finish()), ..self }
    }

    /// Whether it is this machine: whoever comes by a proxy that is not trusted seems to be here.
    pub fn is_here(self) -> bool {
        // Of `::1` only the upper half is kept.
        self.told_by == ToldBy::Connection && (self.address == NO_ADDRESS || self.address.is_loopback())
    }

    /// What one customer of a provider has: an address of IPv4, 48 bits of IPv6, which are up to 65,536 networks. What the
    /// proxy of an application tells is all of one customer.
    #[must_use]
    pub fn of_customer(self) -> Network {
        let address = match (self.told_by, self.address) {
            (ToldBy::ProxyOf(_), _) => NO_ADDRESS,
            (_, IpAddr::V4(_)) => self.address,
            (_, IpAddr::V6(address)) => {
                let [first, second, third, ..] = address.segments();
                Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0).into()
            }
        };
        Network { address, ..self }
    }

    /// The same for what is counted for one application only: the addresses that its own proxy tells are of many customers
    /// then.
    #[must_use]
    pub fn block(self) -> Network {
        let of_connection = Network { told_by: ToldBy::Connection, ..self }.of_customer();
        Network { told_by: self.told_by, ..of_connection }
    }

    /// The network around it, as large as one provider rents to one customer: 16 bits of IPv4, 32 of IPv6.
    #[must_use]
    pub fn wide(self) -> Network {
        let address = match self.address {
            IpAddr::V4(address) => {
                let [first, second, ..] = address.octets();
                Ipv4Addr::new(first, second, 0, 0).into()
            }
            IpAddr::V6(address) => {
                let [first, second, ..] = address.segments();
                Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0).into()
            }
        };
        Network { address, ..self }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.told_by {
            ToldBy::Connection | ToldBy::Proxy => self.address.fmt(out),
            ToldBy::ProxyOf(digest) => write!(out, "{} by {digest:x}", self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_one_address_of_ipv4_and_a_whole_network_of_ipv6() {
        let of = |text: &str| Network::of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }

    #[test]
    fn a_customer_has_one_block_whoever_tells_of_it() {
        for told in
            [Network::told_by_proxy, |network: Network| network.told_by_proxy_of("ins_1"), |network| network]
        {
            let of = |text: &str| told(Network::of(text.parse().unwrap())).block();
            assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:ffff::1"));
            assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:2:2::1"));
            assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        }
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        let is_here = |text: &str| Network::of(text.parse().unwrap()).is_here();
        assert!(
            is_here("127.0.0.1") && is_here("127.8.0.1") && is_here("::1") && is_here("::ffff:127.0.0.1")
        );
        let told = Network::of("127.0.0.1".parse().unwrap()).told_by_proxy();
        assert!(!told.is_here() && !Network::UNKNOWN.is_here());
        assert!(!is_here("10.0.0.1") && !is_here("192.0.2.1") && !is_here("2001:db8::1"));
    }

    #[test]
    fn what_the_proxy_of_an_application_says_is_compared_with_nothing_that_others_say() {
        let of = |text: &str| Network::of(text.parse().unwrap());
        let (seen, told) = (of("192.0.2.1"), of("192.0.2.1").told_by_proxy_of("ins_1"));
        assert_ne!(seen, told);
        assert_ne!(seen.to_string(), told.to_string());
        assert_ne!(told, of("192.0.2.1").told_by_proxy_of("ins_2"));
        assert_ne!(told, of("192.0.2.2").told_by_proxy_of("ins_1"));
        assert_eq!(told.of_customer(), of("203.0.113.9").told_by_proxy_of("ins_1").of_customer());
        assert!(!of("127.0.0.1").told_by_proxy_of("ins_1").is_here());
    }

    #[test]
    fn the_network_around_an_address_has_16_bits_of_ipv4_and_32_of_ipv6() {
        let wide = |text: &str| Network::of(text.parse().unwrap()).wide().to_string();
        assert_eq!(wide("192.0.2.1"), "192.0.0.0");
        assert_eq!(wide("2001:db8:1:2::1"), "2001:db8::");
    }
}
