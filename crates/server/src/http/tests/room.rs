//! Who gets in when many want to, and who gives way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::slots::SlotGuard;
use super::*;

const ALL: usize = 80;
const SHARE: usize = ALL / 4;

fn slots(trusted: &[IpAddr]) -> Arc<Slots> {
    Arc::new(Slots::new(ALL, trusted))
}

/// The address with this number.
fn ip(number: usize) -> IpAddr {
    Ipv4Addr::from(0x0A00_0000 + u32::try_from(number).unwrap()).into()
}

/// Connections of an address, as many as get room.
fn take(slots: &Arc<Slots>, address: IpAddr, count: usize) -> Vec<SlotGuard> {
    (0..count).filter_map(|_| slots.take(address)).collect()
}

/// How many of them were told to give way since this was asked last.
fn gone(held: &[SlotGuard]) -> usize {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    held.iter().filter(|held| pin!(held.gives_way()).poll(&mut context).is_ready()).count()
}

#[tokio::test(start_paused = true)]
async fn a_network_keeps_its_newest_connections_and_has_a_share_of_them() {
    let slots = slots(&[]);
    let mut held = Vec::new();
    for _ in 0..ALL {
        held.extend(slots.take(ip(1)));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert_eq!(held.len(), ALL, "each gets in, and an older one goes");
    assert_eq!((gone(&held[ALL - SHARE..]), gone(&held)), (0, ALL - SHARE));
    assert_eq!(gone(&take(&slots, ip(2), SHARE)), 0);
}

/// One of the many networks that a provider gives one customer: 48 bits of IPv6 are theirs.
fn own_network(number: usize) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, 1, u16::try_from(number).unwrap(), 0, 0, 0, 1).into()
}

#[tokio::test(start_paused = true)]
async fn all_networks_of_one_customer_have_one_share() {
    let slots = slots(&[]);
    let held: Vec<SlotGuard> = (0..SHARE).filter_map(|number| slots.take(own_network(number))).collect();
    let _requests: Vec<_> = held.iter().map(|held| held.slot().request()).collect();
    assert_eq!(held.len(), SHARE);
    assert!(slots.take(own_network(SHARE)).is_none());
    assert!(slots.take(ip(1)).is_some());
}

#[tokio::test(start_paused = true)]
async fn connections_with_requests_do_not_give_way_to_their_own_network() {
    let slots = slots(&[]);
    let held = take(&slots, ip(1), SHARE);
    let mut requests: Vec<_> = held.iter().map(|held| held.slot().request()).collect();
    assert!(slots.take(ip(1)).is_none());
    assert!(slots.take(ip(2)).is_some());
    requests.pop();
    assert!(slots.take(ip(1)).is_some());
    assert_eq!(gone(&held), 1);
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_gets_in_whatever_few_or_many_networks_hold() {
    for networks in [4, 8, ALL / 2] {
        for is_busy in [false, true] {
            let slots = slots(&[]);
            let each = ALL / networks;
            let crowd: Vec<SlotGuard> =
                (1..=networks).flat_map(|number| take(&slots, ip(number), each)).collect();
            assert_eq!(crowd.len(), ALL);
            let requests: Vec<_> =
                crowd.iter().filter(|_| is_busy).map(|held| held.slot().request()).collect();
            let newcomer = slots.take(ip(1000)).expect("somebody gives way");
            assert_eq!((gone(&crowd), gone(&[newcomer])), (1, 0), "{networks} {is_busy}");
            drop(requests);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn newcomers_do_not_push_each_other_out_while_others_hold_many() {
    let slots = slots(&[]);
    let crowd: Vec<SlotGuard> = (1..=8).flat_map(|number| take(&slots, ip(number), ALL / 8)).collect();
    let newcomers: Vec<SlotGuard> = (100..140).filter_map(|number| slots.take(ip(number))).collect();
    assert_eq!((newcomers.len(), gone(&newcomers), gone(&crowd)), (40, 0, 40));
}

#[tokio::test(start_paused = true)]
async fn where_everybody_has_one_the_longest_idle_goes_and_the_busy_stay() {
    let slots = slots(&[]);
    let mut crowd = Vec::new();
    for number in 0..ALL {
        crowd.extend(slots.take(ip(number)));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let mut requests: Vec<_> = crowd.iter().map(|held| held.slot().request()).collect();
    assert!(slots.take(ip(1000)).is_none(), "nobody has more than it would have");
    requests.truncate(ALL / 2);
    assert!(slots.take(ip(1000)).is_some());
    assert_eq!((gone(&crowd[..ALL / 2]), gone(&crowd)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_trusted_proxy_may_have_all_room_and_gives_way_last() {
    let proxy = ip(1);
    let slots = slots(&[proxy]);
    let proxied = take(&slots, proxy, ALL / 2);
    let others: Vec<SlotGuard> =
        [2, 3].into_iter().flat_map(|number| take(&slots, ip(number), SHARE)).collect();
    assert_eq!((proxied.len(), others.len()), (ALL / 2, ALL / 2));
    let further = take(&slots, proxy, 10);
    assert_eq!((further.len(), gone(&proxied), gone(&others)), (10, 0, 10));
    drop((proxied, others, further));
    let alone = take(&slots, proxy, ALL);
    assert_eq!((alone.len(), gone(&alone)), (ALL, 0));
    assert!(slots.take(ip(2)).is_some(), "others get in beside it");
}

#[tokio::test(start_paused = true)]
async fn room_comes_back_when_connections_end() {
    let slots = slots(&[]);
    for _ in 0..3 {
        let held: Vec<SlotGuard> = (0..4).flat_map(|number| take(&slots, ip(number), SHARE)).collect();
        assert_eq!((held.len(), gone(&held)), (ALL, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn busy_connections_of_the_largest_network_stay_while_smaller_ones_have_idle_ones() {
    let slots = slots(&[]);
    let large = take(&slots, ip(1), SHARE);
    let requests: Vec<_> = large.iter().map(|held| held.slot().request()).collect();
    let others: Vec<SlotGuard> = (2..=16).flat_map(|number| take(&slots, ip(number), 4)).collect();
    assert_eq!(large.len() + others.len(), ALL);
    let newcomers: Vec<SlotGuard> = (100..120).filter_map(|number| slots.take(ip(number))).collect();
    assert_eq!((newcomers.len(), gone(&newcomers), gone(&large), gone(&others)), (20, 0, 0, 20));
    drop(requests);
}

#[tokio::test(start_paused = true)]
async fn newcomers_do_not_push_each_other_out_where_the_others_are_busy() {
    let slots = slots(&[]);
    let crowd: Vec<SlotGuard> = (1..=4).flat_map(|number| take(&slots, ip(number), SHARE)).collect();
    let requests: Vec<_> = crowd.iter().map(|held| held.slot().request()).collect();
    let newcomers: Vec<SlotGuard> = (100..120).filter_map(|number| slots.take(ip(number))).collect();
    assert_eq!((newcomers.len(), gone(&newcomers), gone(&crowd)), (20, 0, 20));
    drop(requests);
}

#[tokio::test]
async fn a_connection_whose_answer_is_being_sent_is_not_idle() {
    let slots = Arc::new(Slots::new(1, &[]));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, address) = listener.accept().await.unwrap();
    let held = slots.take(address.ip()).unwrap();
    let peer = Peer { address, slot: held.slot().clone() };
    let server = tokio::spawn(async move {
        let stops = Stops::default();
        http1::serve(&side(SLOW, None), Unstalled::new(stream, LONG), peer, stops.watch()).await
    });
    client.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    // The whole answer is made and handed over in one piece before its first byte arrives.
    client.read_u8().await.unwrap();
    assert!(slots.take(address.ip()).is_none());
    client.read_to_end(&mut Vec::new()).await.unwrap();
    server.await.unwrap().unwrap();
    assert!(slots.take(address.ip()).is_some());
}
