//! Several couriers on one database, and couriers that die.

use std::collections::HashMap;

use latchkey_testkit::{Reaction, until};

use super::*;

/// How often each event arrived.
fn times(receiver: &Receiver) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for id in receiver.ids() {
        *times.entry(id).or_default() += 1;
    }
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_couriers_share_the_work_and_repeat_nothing() {
    let t = TestServer::start().await;
    let receivers = [Receiver::start().await, Receiver::start().await, Receiver::start().await];
    for receiver in &receivers {
        endpoint(&t, receiver).await;
    }
    let (first, second) = (courier(&t), courier(&t));
    let (ann, _) = user(&t, "ann").await;
    let events = async {
        for number in 0..30 {
            user(&t, &format!("user{number}")).await;
            rename(&t, &ann, &format!("Ann {number}")).await;
        }
    };
    let working = |courier: Courier| {
        let all = &receivers;
        async move {
            while all.iter().any(|receiver| receiver.arrivals().len() < 61) {
                send(&courier).await;
                // Where there is nothing to do, nothing is waited for, and all of this is one task.
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    };
    let work = async { tokio::join!(events, working(first), working(second)) };
    tokio::time::timeout(Duration::from_secs(200), work).await.expect("some events do not arrive");
    send(&courier(&t)).await;
    let all = t.events().await;
    assert_eq!(all.len(), 61);
    for receiver in &receivers {
        let times = times(receiver);
        assert_eq!(times.len(), all.len());
        assert!(times.values().all(|times| *times == 1), "{times:?}");
        let line: Vec<&str> = all.iter().filter(|it| it.subject == ann).map(|it| it.id.as_str()).collect();
        let arrived = receiver.ids();
        let arrived: Vec<&str> = arrived.iter().map(String::as_str).filter(|id| line.contains(id)).collect();
        assert_eq!(arrived, line);
    }
}

#[tokio::test]
async fn a_courier_that_dies_in_the_middle_loses_nothing() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (ann, _) = user(&t, "ann").await;
    for number in 0..6 {
        rename(&t, &ann, &format!("Ann {number}")).await;
        user(&t, &format!("user{number}")).await;
    }
    // The fourth event of that user is on its way when the courier dies.
    let stuck = t.events().await.iter().filter(|it| it.subject == ann).nth(3).unwrap().id.clone();
    let waits_for = stuck.clone();
    receiver.react_by(move |arrival| match arrival.id() == waits_for {
        true => Reaction::Hang,
        false => Reaction::status(200),
    });
    let dying = courier(&t);
    let death = until(|| receiver.ids().contains(&stuck));
    tokio::select! {
        _ = dying.run_once() => panic!("the courier is still at it"),
        () = death => {}
    }
    let before = receiver.take();
    assert!(before.len() >= 4);
    receiver.react(Reaction::status(200));
    // While its time runs nobody else touches the endpoint.
    let heir = courier(&t);
    send(&heir).await;
    assert!(receiver.arrivals().is_empty());
    t.clock.advance_ms(10 * SECOND_MS);
    send(&heir).await;
    let all = t.events().await;
    let times = times(&receiver);
    assert!(all.iter().all(|event| times.get(&event.id) == Some(&1)) && times.len() == all.len());
    for arrival in &before {
        let again = receiver.arrivals().into_iter().find(|it| it.id() == arrival.id()).unwrap();
        assert_eq!(again.body, arrival.body, "the same id tells the same");
    }
    let line: Vec<&str> = all.iter().filter(|it| it.subject == ann).map(|it| it.id.as_str()).collect();
    let arrived = receiver.ids();
    let arrived: Vec<&str> = arrived.iter().map(String::as_str).filter(|id| line.contains(id)).collect();
    assert_eq!(arrived, line);
    assert_eq!(standing(&t, &endpoint, &stuck).await, ("succeeded".to_owned(), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_courier_that_was_away_too_long_writes_nothing_over_what_its_heir_wrote() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (_, event) = user(&t, "ann").await;
    receiver.react_next([Reaction::Hang]);
    let (slow, heir) = (hasty_courier(&t), courier(&t));
    let takes_over = async {
        until(|| !receiver.arrivals().is_empty()).await;
        t.clock.advance_ms(10 * SECOND_MS);
        send(&heir).await;
    };
    let (outcome, ()) = tokio::join!(slow.run_once(), takes_over);
    outcome.unwrap();
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!((&shown["status"], &shown["attempts"]), (&json!("succeeded"), &json!(1)));
    assert_eq!(receiver.ids(), [event.as_str(), event.as_str()]);
    // Its failure is not held against the endpoint either.
    let shown = t.get(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    assert_eq!(shown["failing_since"], json!(null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_turn_of_the_same_courier_is_somebody_else() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    let (_, event) = user(&t, "ann").await;
    receiver.react_next([Reaction::Hang]);
    let courier = hasty_courier(&t);
    let again = async {
        until(|| !receiver.arrivals().is_empty()).await;
        t.clock.advance_ms(10 * SECOND_MS);
        courier.run_once().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(courier.run_once(), again);
    outcome.unwrap();
    let shown = delivery(&t, &endpoint, &event).await;
    assert_eq!((&shown["status"], &shown["attempts"]), (&json!("succeeded"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_can_go_while_events_are_on_their_way() {
    let t = TestServer::start().await;
    let receiver = Receiver::start().await;
    let endpoint = endpoint(&t, &receiver).await;
    user(&t, "ann").await;
    receiver.react_next([Reaction::Late(Duration::from_millis(300), 200)]);
    let courier = courier(&t);
    let deletes = async {
        until(|| !receiver.arrivals().is_empty()).await;
        t.delete(&format!("/v1/webhooks/endpoints/{endpoint}")).await.ok();
    };
    let (outcome, ()) = tokio::join!(courier.run_once(), deletes);
    outcome.unwrap();
    send(&courier).await;
    assert_eq!(receiver.arrivals().len(), 1);
}
