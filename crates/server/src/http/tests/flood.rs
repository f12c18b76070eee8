//! Clients of HTTP/2 that hold up, flood or never end. Time stands still but for when everybody waits.

use tokio::time::Instant;

use super::raw::*;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_head_of_http2_that_never_ends_is_cut_off() {
    let began = Instant::now();
    let mut client = Client::new(65_535).await;
    client.send(HEADERS, END_STREAM, 1, &GET_ROOT).await.unwrap();
    assert!(client.refused().await.contains("head of a request took too long"));
    assert_eq!(began.elapsed().as_secs(), LIMITS.head.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_preface_that_never_ends_is_cut_off() {
    let mut client = Client::silent(side(LIMITS, None));
    client.pipe.write_all(b"PRI * HT").await.unwrap();
    assert!(client.refused().await.contains("head of a request took too long"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_its_window_shut_is_cut_off() {
    // With no room at all nothing is taken; with a little the answer lies in the queue of `h2`.
    for window in [0, 1] {
        let began = Instant::now();
        let mut client = Client::new(window).await;
        client.ask(1).await.unwrap();
        client.next_of(HEADERS).await.unwrap();
        assert_eq!(client.side.request_slots.free(), REQUESTS - 1);
        // Pings change nothing.
        client.send(PING, 0, 0, &[0; 8]).await.unwrap();
        let side = client.side.clone();
        assert!(client.refused().await.contains("does not read its answer"));
        assert!(began.elapsed() >= LIMITS.stall && began.elapsed() < LIMITS.stall * 2);
        assert_eq!(side.request_slots.free(), REQUESTS);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_its_socket_is_cut_off() {
    let mut client = Client::new(1 << 30).await;
    client.send(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes()).await.unwrap();
    client.send(HEADERS, END_STREAM | END_HEADERS, 1, &get_of("/large")).await.unwrap();
    assert!(client.refused().await.contains("does not read its answer"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_its_window_slowly_gets_its_whole_answer() {
    let mut client = Client::new(1).await;
    client.ask(1).await.unwrap();
    let mut answer = Vec::new();
    loop {
        let piece = client.next_of(DATA).await.unwrap();
        answer.extend(piece.payload);
        if piece.flags & END_STREAM != 0 {
            break;
        }
        tokio::time::advance(LIMITS.stall / 2).await;
        client.send(WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes()).await.unwrap();
    }
    assert_eq!(String::from_utf8(answer).unwrap(), "127.0.0.1:1");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_a_byte_now_and_then_is_cut_off() {
    let began = Instant::now();
    let mut client = Client::new(1).await;
    client.send(HEADERS, END_STREAM | END_HEADERS, 1, &get_of("/large")).await.unwrap();
    while client.next_of(DATA).await.is_some() {
        tokio::time::advance(LIMITS.stall / 2).await;
        let _ = client.send(WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes()).await;
    }
    assert!(client.refused().await.contains("reads its answer too slowly"));
    assert!(began.elapsed() >= LIMITS.stall * 10 && began.elapsed() < LIMITS.stall * 12);
}

#[tokio::test(start_paused = true)]
async fn idling_ends_with_a_goodbye_whether_or_not_it_is_heard() {
    let mut client = Client::new(65_535).await;
    client.ask(1).await.unwrap();
    client.next_of(DATA).await.unwrap();
    let idle_since = Instant::now();
    client.next_of(GOAWAY).await.unwrap();
    assert!(idle_since.elapsed() >= LIMITS.idle && idle_since.elapsed() < LIMITS.idle * 2);
    // The server asks whether the client has heard it, and gets no answer.
    assert!(client.refused().await.contains("does not leave"));
}

#[tokio::test(start_paused = true)]
async fn more_streams_than_allowed_are_refused() {
    let mut client = Client::new(0).await;
    client.next_of(SETTINGS).await.unwrap();
    client.send(SETTINGS, ACK, 0, &[]).await.unwrap();
    let allowed = super::super::http2::STREAMS;
    for number in 0..=allowed {
        client.ask(number * 2 + 1).await.unwrap();
    }
    let refused = client.next_of(RESET).await.unwrap();
    assert_eq!(refused.stream, allowed * 2 + 1);
    assert_eq!(refused.payload, 7_u32.to_be_bytes(), "REFUSED_STREAM: it was not looked at");
}

/// Asks so often that every request waits with its answer, and says how many of them got room.
async fn hold(client: &mut Client, requests: std::ops::Range<u32>) -> usize {
    let mut held = 0;
    for number in requests {
        client.ask(number * 2 + 1).await.unwrap();
        // Those without room get 503 without a body.
        held += usize::from(client.next_of(HEADERS).await.unwrap().flags & END_STREAM == 0);
    }
    held
}

/// Clients whose windows are shut, at addresses that end in these numbers.
async fn clients<const N: usize>(side: &Arc<SideService>, ends: [u8; N]) -> Vec<Client> {
    let mut clients = Vec::new();
    for end in ends {
        let mut client = Client::at(side.clone(), [127, 0, 0, end].into());
        client.begin(0).await;
        clients.push(client);
    }
    clients
}

#[tokio::test(start_paused = true)]
async fn the_connections_of_a_network_share_what_it_may_ask_at_once() {
    let side = side(LIMITS, None);
    let mut clients = clients(&side, [1, 1, 1, 2]).await;
    let mut held = Vec::new();
    for client in &mut clients {
        held.push(hold(client, 0..60).await);
    }
    // A third of all, however many connections; and as if it were not there for the next network.
    assert_eq!(held, [60, REQUESTS / 3 - 60, 0, REQUESTS / 6]);
}

#[tokio::test(start_paused = true)]
async fn where_room_is_scarce_a_connection_gets_little_of_it() {
    let few = super::super::request_slots::FEW;
    let side = side(LIMITS, None);
    // Of a network each, so that what they get is bounded by connection alone.
    let mut clients = clients(&side, [1, 2, 3, 4]).await;
    let mut held = Vec::new();
    for client in &mut clients {
        held.push(hold(client, 0..100).await);
    }
    assert_eq!(held, [100, REQUESTS / 2 - 100, few, few]);
    assert_eq!(side.request_slots.free(), REQUESTS / 2 - 2 * few);
    // A client that goes away makes room.
    let first = clients.remove(0);
    drop(first.pipe);
    let _ = first.server.await;
    assert!(hold(clients.last_mut().unwrap(), 100..150).await > few);
}

#[tokio::test(start_paused = true)]
async fn streams_that_are_reset_at_once_end_the_connection() {
    let mut client = Client::new(65_535).await;
    let mut burst = Vec::new();
    for number in 0..=u32::try_from(super::super::http2::UNSEEN_RESETS).unwrap() {
        burst.extend(frame(HEADERS, END_STREAM | END_HEADERS, number * 2 + 1, &GET_ROOT));
        burst.extend(frame(RESET, 0, number * 2 + 1, &8_u32.to_be_bytes()));
    }
    let _ = client.pipe.write_all(&burst).await;
    let goodbye = client.next_of(GOAWAY).await.unwrap();
    assert_eq!(goodbye.payload[4..8], 11_u32.to_be_bytes(), "ENHANCE_YOUR_CALM");
}

#[tokio::test(start_paused = true)]
async fn resets_of_requests_under_way_are_counted() {
    let mut client = Client::new(65_535).await;
    for number in 0..=super::super::frames::FREE_FRAMES {
        let stream = number * 2 + 1;
        let sent = async {
            client.send(HEADERS, END_STREAM | END_HEADERS, stream, &get_of("/never")).await?;
            // An answer to a ping says that the request before it was looked at.
            client.send(PING, 0, 0, &[0; 8]).await
        };
        if sent.await.is_err() || client.next_of(PING).await.is_none() {
            break;
        }
        let _ = client.send(RESET, 0, stream, &8_u32.to_be_bytes()).await;
    }
    assert!(client.refused().await.contains("too many frames"));
}

#[tokio::test(start_paused = true)]
async fn floods_of_pings_settings_and_empty_data_end_the_connection() {
    let (ours, theirs) = ("too many frames", "excessive load");
    for (kind, stream, payload, expected) in
        [(PING, 0, &[0; 8][..], ours), (SETTINGS, 0, &[], ours), (DATA, 1, &[], theirs)]
    {
        let mut client = Client::new(65_535).await;
        client.send(HEADERS, END_HEADERS, 1, &get_of("/never")).await.unwrap();
        let flood = frame(kind, 0, stream, payload);
        let (mut reader, mut writer) = tokio::io::split(client.pipe);
        let reads = tokio::spawn(async move { tokio::io::copy(&mut reader, &mut tokio::io::sink()).await });
        while writer.write_all(&flood).await.is_ok() {}
        let error = crate::failure::chain(&*client.server.await.unwrap().unwrap_err());
        assert!(error.contains(expected), "{kind}: {error}");
        let _ = reads.await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_of_many_frames_ends_the_connection() {
    let mut client = Client::new(65_535).await;
    client.send(HEADERS, END_STREAM, 1, &GET_ROOT).await.unwrap();
    while client.send(CONTINUATION, 0, 1, &field("x", "y")).await.is_ok() {}
    assert!(client.server.await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_head_of_http2_that_is_too_large_is_refused() {
    let mut client = Client::new(65_535).await;
    client.send(HEADERS, END_STREAM, 1, &GET_ROOT).await.unwrap();
    let line = field("x-large", &"x".repeat(120));
    let lines = line.repeat(HEAD_BYTES / line.len() / 3);
    for flags in [0, 0, 0, END_HEADERS] {
        client.send(CONTINUATION, flags, 1, &lines).await.unwrap();
    }
    let refused = client.next_of(HEADERS).await.unwrap();
    assert_eq!(refused.flags & END_STREAM, END_STREAM);
    assert_ne!(refused.payload[0], 0x88, "it is not 200, the field 8 of the static table");
}
