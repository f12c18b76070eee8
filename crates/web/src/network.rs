//! Whose an address is. What is shared out by address counts networks, because one person has many addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What one person has of addresses: a whole one of IPv4, the upper half of one of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    /// For requests whose address is not known.
    pub const UNKNOWN: Network = Network(IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// The network an address belongs to. An IPv4 address mapped into IPv6 is the IPv4 address.
    pub fn of(address: IpAddr) -> Network {
        match address.to_canonical() {
            IpAddr::V4(address) => Network(address.into()),
            IpAddr::V6(address) => {
                let [first, second, third, fourth, ..] = address.segments();
                Network(Ipv6Addr::new(first, second, third, fourth, 0, 0, 0, 0).into())
            }
        }
    }

    /// Whether it is this machine, or not known: whoever comes by a proxy that is not trusted seems to be here.
    pub fn is_here(self) -> bool {
        // The upper half of `::1` is that of `::`.
        self == Network::UNKNOWN || self.0.is_loopback()
    }

    /// What one customer of a provider has: an address of IPv4, 48 bits of IPv6, which are up to 65,536 networks.
    #[must_use]
    pub fn of_customer(self) -> Network {
        match self.0 {
            IpAddr::V4(_) => self,
            IpAddr::V6(address) => {
                let [first, second, third, ..] = address.segments();
                Network(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0).into())
            }
        }
    }

    /// The network around it, as large as one provider rents to one customer: 16 bits of IPv4, 32 of IPv6.
    #[must_use]
    pub fn wide(self) -> Network {
        Network(match self.0 {
            IpAddr::V4(address) => {
                let [first, second, ..] = address.octets();
                Ipv4Addr::new(first, second, 0, 0).into()
            }
            IpAddr::V6(address) => {
                let [first, second, ..] = address.segments();
                Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0).into()
            }
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
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
    fn this_machine_is_known_by_its_addresses() {
        let is_here = |text: &str| Network::of(text.parse().unwrap()).is_here();
        assert!(
            is_here("127.0.0.1") && is_here("127.8.0.1") && is_here("::1") && is_here("::ffff:127.0.0.1")
        );
        assert!(Network::UNKNOWN.is_here());
        assert!(!is_here("10.0.0.1") && !is_here("192.0.2.1") && !is_here("2001:db8::1"));
    }

    #[test]
    fn the_network_around_an_address_has_16_bits_of_ipv4_and_32_of_ipv6() {
        let wide = |text: &str| Network::of(text.parse().unwrap()).wide().to_string();
        assert_eq!(wide("192.0.2.1"), "192.0.0.0");
        assert_eq!(wide("2001:db8:1:2::1"), "2001:db8::");
    }
}
