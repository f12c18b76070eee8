//! Which addresses may be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only addresses everybody on the internet can reach.
    Public,
    /// Private networks and this machine too. Never what only machines in a data centre are told, such as
    /// the credentials at 169.254.169.254.
    Any,
}

impl Reach {
    /// Whether a connection to this address is allowed.
    pub fn allows(self, address: IpAddr) -> bool {
        let address = unwrapped(address);
        if is_forbidden(address) {
            return false;
        }
        match (self, address) {
            (Reach::Any, _) => true,
            (Reach::Public, IpAddr::V4(address)) => is_public_v4(address),
            (Reach::Public, IpAddr::V6(address)) => is_public_v6(address),
        }
    }
}

/// The IPv4 address inside of an IPv6 address that leads to it: mapped (RFC 4291), compatible, and
/// translated by NAT64 (RFC 6052), behind which networks without IPv4 find everything.
fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    match six.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] if !six.is_unspecified() && !six.is_loopback() => {
            v4(high, low)
        }
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        _ => address,
    }
}

fn v4(high: u16, low: u16) -> IpAddr {
    let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// What nobody may reach: addresses that name no machine, and the services by which providers of machines
/// hand credentials to them. Most of those are link-local.
fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
                || matches!(address.octets(), [100, 100, 100, 200] | [168, 63, 129, 16])
        }
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || address.is_multicast()
                || address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
                || is_tunnel(address)
        }
    }
}

/// 6to4 (RFC 3056) and Teredo (RFC 4380): both lead to an IPv4 address inside, and neither is in use.
fn is_tunnel(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x2002, ..] | [0x2001, 0, ..])
}

/// By the IANA registry of special-purpose IPv4 addresses.
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 31, 196, _]
            | [192, 52, 193, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [192, 175, 48, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

/// Of IPv6 only 2000::/3 is given to anybody, and the registry of special purposes takes some out of it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] => false,
        [0x2620, 0x4f, 0x8000, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_internet_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(Reach::Public.allows(text.parse().unwrap()), "{text}");
            assert!(Reach::Any.allows(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn private_addresses_need_the_wider_reach() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "240.0.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::2",
            "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "fc00::1",
            "fd12:3456::1",
            "2001:db8::1",
            "2001:10::1",
            "2001:20::1",
            "3fff::1",
            "5f00::1",
            "4000::1",
            "fec0::1",
        ] {
            assert!(!Reach::Public.allows(text.parse().unwrap()), "{text}");
            assert!(Reach::Any.allows(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn some_addresses_are_for_nobody() {
        for text in [
            "169.254.169.254",
            "169.254.0.1",
            "224.0.0.1",
            "239.255.255.255",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
        ] {
            assert!(!Reach::Public.allows(text.parse().unwrap()), "{text}");
            assert!(!Reach::Any.allows(text.parse().unwrap()), "{text}");
        }
    }
}
