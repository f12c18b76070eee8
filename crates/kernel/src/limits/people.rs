//! What people write who are signed in: each by themselves, and what is an event with the whole user also together with
//! others, for a day.

use latchkey_base::{Code, Error, Result, Time};
use latchkey_web::api::Operation;
use latchkey_web::network::Network;
use latchkey_web::throttle::{Counter, PersonRate, Throttle};

use super::{
    CHANGES_OF_ADDRESS_DAILY, CHANGES_OF_INSTANCE_DAILY, CHANGES_OF_NETWORK_DAILY, INVITED_BY_PERSON,
    INVITED_TO_ORGANIZATION, LIGHT_PERSON, MEGAPIXELS_OF_ADDRESS, MEGAPIXELS_OF_INSTANCE,
    MEGAPIXELS_OF_PERSON, ONE_HOUR, RateLimits, check, count,
};

impl RateLimits {
    /// Counts what somebody does who is signed in, by the limits of the operation; an error when it is one too many.
    /// `person` is the id of the user.
    pub async fn check_person(
        &self,
        throttle: &Throttle,
        (instance, person, network): (&str, &str, Network),
        operation: &Operation,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let rates = operation.person_rates.unwrap_or_default();
        let is_shared = rates.iter().any(|rate| rate.is_shared);
        if is_shared {
            // Those who are refused for what others have changed take no place in the table of counters.
            for shared in changes_of_address(instance, network).iter() {
                check(throttle, shared, now).await?;
            }
        }
        let mut today = 0;
        for PersonRate { name, limit, is_shared } in rates {
            let counted =
                count(throttle, &Counter::known(name, format!("{instance}/{person}"), *limit), now).await?;
            if *is_shared {
                today = counted;
            }
        }
        match is_shared {
            true => self.check_changes(throttle, (instance, network), today, now).await,
            false => Ok(()),
        }
    }

    /// Counts a change that a person makes, who has made so many today with this one, for all people of the address, of the
    /// network and of the instance; an error when it is one too many. Those who change little are not stopped by what people
    /// do elsewhere in the network or the instance, and do not count there.
    pub async fn check_changes(
        &self,
        throttle: &Throttle,
        (instance, network): (&str, Network),
        today: u32,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let of_address = changes_of_address(instance, network);
        let of_others = (today > LIGHT_PERSON).then(|| changes_of_others(instance, network));
        for shared in of_address.iter().chain(of_others.iter().flatten()) {
            count(throttle, shared, now).await?;
        }
        Ok(())
    }

    /// Counts an upload of a person by its pixels, before they are decoded; an error when they are too many.
    pub async fn check_upload(
        &self,
        throttle: &Throttle,
        (instance, person, network): (&str, &str, Network),
        pixels: u64,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let megapixels = u32::try_from(pixels.div_ceil(1_000_000)).unwrap_or(u32::MAX);
        let scope = "uploaded megapixels";
        let of_address = || Counter::open(scope, format!("{instance}/{network}"), MEGAPIXELS_OF_ADDRESS);
        let of_address = (!network.is_here()).then(of_address);
        // What is too much for the person or the address is not taken from the others.
        let own = Counter::known(scope, format!("{instance}/{person}"), MEGAPIXELS_OF_PERSON);
        let sum = Counter::known(scope, instance, MEGAPIXELS_OF_INSTANCE);
        for counter in [Some(own), of_address, Some(sum)].into_iter().flatten() {
            let limit = counter.limit;
            throttle.weigh(&counter, megapixels, now).await.map_err(|wait| {
                let too_many = format!(
                    "At most {} megapixels of pictures in {} seconds; make the picture smaller, or try again in {wait} s.",
                    limit.requests,
                    limit.window_ms / 1000
                );
                Error::new(Code::TooManyRequests).saying(too_many).retry_after(wait)
            })?;
        }
        Ok(())
    }

    /// Counts addresses that a person invites to an organization; an error when they are too many.
    pub async fn check_invitations(
        &self,
        throttle: &Throttle,
        (instance, person, organization): (&str, &str, &str),
        addresses: usize,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let addresses = u32::try_from(addresses).unwrap_or(u32::MAX);
        for (id, limit) in [(person, INVITED_BY_PERSON), (organization, INVITED_TO_ORGANIZATION)] {
            let counter = Counter::known("invited addresses", format!("{instance}/{id}"), limit);
            throttle.weigh(&counter, addresses, now).await.map_err(|wait| {
                let too_many = format!(
                    "At most {} addresses can be invited in {} hours; try again in {wait} s.",
                    limit.requests,
                    limit.window_ms / ONE_HOUR
                );
                Error::new(Code::TooManyRequests).saying(too_many).retry_after(wait)
            })?;
        }
        Ok(())
    }
}

/// Counts the changes of an address, unless it is this machine.
fn changes_of_address<'a>(instance: &str, network: Network) -> Option<Counter<'a>> {
    let key = || format!("{instance}/{network}");
    let counter = || Counter::open("changes of an address in a day", key(), CHANGES_OF_ADDRESS_DAILY);
    (!network.is_here()).then(counter)
}

/// Counts those of its network, unless it is this machine, and of the instance.
fn changes_of_others<'a>(instance: &'a str, network: Network) -> Vec<Counter<'a>> {
    let around = format!("{instance}/{}", network.wide());
    let around = Counter::open("changes of a network in a day", around, CHANGES_OF_NETWORK_DAILY);
    let sum = Counter::known("changes of people in a day", instance, CHANGES_OF_INSTANCE_DAILY);
    if network.is_here() { vec![sum] } else { vec![around, sum] }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[tokio::test]
    async fn many_accounts_of_one_address_leave_others_room_for_their_pictures() {
        let (limits, throttle, now) = (RateLimits::default(), Throttle::default(), Time::from_ms(0));
        let address = |last| Network::of(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        let upload = async |person: &str, last| {
            let who = ("ins_1", person, address(last));
            limits.check_upload(&throttle, who, 25_000_000, now).await.is_ok()
        };
        let mut decoded = 0;
        for person in 0..20 {
            for _ in 0..4 {
                decoded += u32::from(upload(&format!("user_{person}"), 1).await);
            }
        }
        assert_eq!(decoded, 12, "300 megapixels");
        for person in 20..27 {
            for _ in 0..4 {
                assert!(
                    upload(&format!("user_{person}"), person).await,
                    "what was refused counts for nobody else"
                );
            }
        }
        assert!(!upload("user_28", 28).await, "1000 megapixels");
    }
}
