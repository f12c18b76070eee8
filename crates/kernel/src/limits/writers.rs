//! What browsers write on which nobody is signed in: a sum for everybody, and a reserve that those who ask for much
//! cannot touch.

use latchkey_base::{Result, Time};
use latchkey_web::network::Network;
use latchkey_web::throttle::{Counter, Limit, Throttle};

use super::{
    BYTES_OF_WEIGHT, LIGHT_CLIENT, LIGHT_STRANGER, LONGEST_WEIGHED, RESERVE_OF_CLIENTS,
    RESERVE_OF_CLIENTS_OF_ADDRESS, RESERVE_OF_CLIENTS_OF_NETWORK, RESERVE_OF_STRANGERS,
    RESERVE_OF_STRANGERS_OF_NETWORK, RateLimits, STRANGERS, STRANGERS_OF_ADDRESS, STRANGERS_OF_NETWORK,
    WRITES_OF_CLIENT, WRITES_OF_CLIENT_HOURLY, WRITES_OF_CLIENTS, check, weigh,
};

/// What a request weighs that writes without anybody being signed in and has a body of so many bytes: one without a body,
/// or with the form of a sign-in, counts once, and one with 8 KB of metadata seventeen times. So the sums are bounds of
/// what is stored. A longer body than `LONGEST_WEIGHED` stores no more than that, and whoever sends it is to be told what is
/// wrong with it. One of unknown length may be as long.
pub fn weight(length: Option<u64>) -> u32 {
    let bytes = length.unwrap_or(LONGEST_WEIGHED).min(LONGEST_WEIGHED);
    u32::try_from(1 + bytes / BYTES_OF_WEIGHT).unwrap_or(u32::MAX)
}

/// A counter of what happens on a network.
fn network_counter<'a>(scope: &'static str, instance: &str, network: Network, limit: Limit) -> Counter<'a> {
    Counter::open(scope, format!("{instance}/{network}"), limit)
}

impl RateLimits {
    /// Counts what a browser writes that shows no client, by its address, by the network of that, and in sum; an error
    /// when it is one too many. Whoever is over a limit of their own takes nothing of the sum; when the sum is used up,
    /// an address that asks for little takes from the reserve.
    pub async fn check_stranger(
        &self,
        throttle: &Throttle,
        (instance, network): (&str, Network),
        weight: u32,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let wide = network.wide();
        let of_address = network_counter("strangers", instance, network, STRANGERS_OF_ADDRESS);
        let of_network = network_counter("strangers of a network", instance, wide, STRANGERS_OF_NETWORK);
        let sum = Counter::known("strangers", instance, STRANGERS);
        let reserve = [
            network_counter("reserve of strangers", instance, wide, RESERVE_OF_STRANGERS_OF_NETWORK),
            Counter::known("reserve of strangers", instance, RESERVE_OF_STRANGERS),
        ];
        // What others have used up is looked at first. The addresses that are refused for it, and there may be
        // millions, do not fill the table of counters.
        check(throttle, &of_network, now).await?;
        if check(throttle, &sum, now).await.is_err() {
            for part in &reserve {
                check(throttle, part, now).await?;
            }
        }
        let is_light = weigh(throttle, &of_address, weight, now).await? <= LIGHT_STRANGER;
        weigh(throttle, &of_network, weight, now).await?;
        match weigh(throttle, &sum, weight, now).await {
            Err(_) if is_light => take(throttle, &reserve, weight, now).await,
            counted => counted.map(|_| ()),
        }
    }

    /// Counts what a client writes without anybody being signed in; an error when it is one too many. Tells whether the
    /// client writes little, and may take from the reserve.
    pub async fn check_client(
        &self,
        throttle: &Throttle,
        (instance, client): (&str, &str),
        weight: u32,
        now: Time,
    ) -> Result<bool> {
        let RateLimits::On { .. } = self else { return Ok(true) };
        let key = format!("{instance}/{client}");
        let counter = Counter::client("writes of a client", &key, WRITES_OF_CLIENT);
        weigh(throttle, &counter, weight, now).await?;
        let hourly = Counter::client("writes of a client in an hour", &key, WRITES_OF_CLIENT_HOURLY);
        Ok(weigh(throttle, &hourly, weight, now).await? <= LIGHT_CLIENT)
    }

    /// Counts the same for all clients of an instance together.
    pub async fn check_clients(
        &self,
        throttle: &Throttle,
        instance: &str,
        weight: u32,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let sum = Counter::known("writes of clients", instance, WRITES_OF_CLIENTS);
        weigh(throttle, &sum, weight, now).await.map(|_| ())
    }

    /// Takes from the reserve of the clients, for one that writes little when their sum is used up; an error when there
    /// is nothing left.
    pub async fn take_reserve_of_clients(
        &self,
        throttle: &Throttle,
        (instance, network): (&str, Network),
        weight: u32,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        let (wide, scope) = (network.wide(), "reserve of clients");
        let reserve = [
            network_counter(scope, instance, network, RESERVE_OF_CLIENTS_OF_ADDRESS),
            network_counter("reserve of clients of a network", instance, wide, RESERVE_OF_CLIENTS_OF_NETWORK),
            Counter::known(scope, instance, RESERVE_OF_CLIENTS),
        ];
        for part in &reserve {
            check(throttle, part, now).await?;
        }
        take(throttle, &reserve, weight, now).await
    }
}

/// Counts a request in every part of a reserve, from the narrowest to the widest.
async fn take(throttle: &Throttle, reserve: &[Counter<'_>], weight: u32, now: Time) -> Result<()> {
    for part in reserve {
        weigh(throttle, part, weight, now).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_weigh_one_and_metadata_by_the_byte() {
        for (length, weighs) in [(0, 1), (511, 1), (512, 2), (8 * 1024, 17), (9 * 1024, 19)] {
            assert_eq!(weight(Some(length)), weighs, "{length}");
        }
        let longest = weight(Some(LONGEST_WEIGHED));
        assert_eq!(weight(None), longest, "a body whose length is not known");
        assert_eq!(weight(Some(u64::MAX)), longest);
        // Whoever sends one such body is told what is wrong with it, and not to come back later.
        assert!(longest < WRITES_OF_CLIENT.requests);
    }
}
