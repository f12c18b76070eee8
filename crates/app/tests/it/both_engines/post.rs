//! Messages leave: through a real mail server, a provider of text messages, a webhook; at the right time,
//! once, or not at all.

mod mail_server;
mod receiver;
mod support;

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use latchkey_jose::digest::hmac_sha256;
use latchkey_kernel::settings::messages::{SMS_WEBHOOK_SECRET, SMTP_PASSWORD, TWILIO_TOKEN};
use latchkey_kernel::settings::{EmailTransport, SmsTransport, SmtpTls};
use latchkey_testkit::until;
use mail_server::{MailServer, Manner, Security};
use receiver::Receiver;
use support::{Office, Row};

/// An office whose e-mails go to a mail server.
async fn mail_office(security: Security, manner: Manner) -> (Office, MailServer) {
    let server = MailServer::start(security, manner).await;
    let port = server.port;
    let office = Office::start(Some(server.root()), |settings, secret| {
        let email = &mut settings.messages.email;
        email.transport = EmailTransport::Smtp;
        email.from_domain = Some("mail.example.com".to_owned());
        (email.smtp.host, email.smtp.port) = ("localhost".to_owned(), port);
        email.smtp.tls = match security {
            Security::None => SmtpTls::None,
            Security::Starttls => SmtpTls::Starttls,
            Security::Implicit => SmtpTls::Implicit,
        };
        if security != Security::None {
            email.smtp.username = Some("me".to_owned());
            email.smtp.password = Some(secret(SMTP_PASSWORD, "hunter2"));
        }
    });
    (office.await, server)
}

#[tokio::test]
async fn an_email_arrives_as_a_person_reads_it() {
    for security in [Security::None, Security::Starttls, Security::Implicit] {
        let (office, server) = mail_office(security, Manner::Good).await;
        let id = office.queue_email("ada@example.com").await;
        office.post.run_once().await.unwrap();
        assert_eq!(office.row(&id).await, Row::sent(1));
        let mails = server.received();
        let [mail] = mails.as_slice() else { panic!("{mails:?}") };
        assert_eq!(
            (mail.from.as_str(), mail.to.as_slice()),
            ("hello@mail.example.com", &["ada@example.com".into()][..])
        );
        assert_eq!(mail.is_secure, security != Security::None);
        assert_eq!(mail.login.is_some(), security != Security::None);
        for part in [
            "From: Latchkey <hello@mail.example.com>",
            "Subject: 424242 is your verification code",
            &format!("Message-ID: <{id}@mail.example.com>"),
            "multipart/alternative",
            "text/plain",
            "text/html",
            "<p>Your code: 424242</p>",
            "\n.hidden dot",
        ] {
            assert!(mail.text.contains(part), "{part} is missing:\n{}", mail.text);
        }
    }
}

#[tokio::test]
async fn a_server_without_starttls_is_told_apart_with_what_to_do() {
    let server = MailServer::start(Security::None, Manner::Good).await;
    let port = server.port;
    let office = Office::start(None, |settings, _| {
        let email = &mut settings.messages.email;
        email.transport = EmailTransport::Smtp;
        email.from_domain = Some("mail.example.com".to_owned());
        (email.smtp.host, email.smtp.port) = ("localhost".to_owned(), port);
    });
    let office = office.await;
    let id = office.queue_email("ada@example.com").await;
    office.post.run_once().await.unwrap();
    let row = office.row(&id).await;
    assert_eq!((row.status.as_str(), row.attempts), ("queued", 1), "the setting can be put right");
    let said = row.failure.unwrap();
    for part in [
        &format!("localhost:{port} does not offer STARTTLS"),
        "latchkey settings set messages.email.smtp.tls=implicit",
        "messages.email.smtp.tls=none",
    ] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn connections_to_a_mail_server_are_used_again() {
    let (office, server) = mail_office(Security::Starttls, Manner::Good).await;
    for turn in 0..5 {
        office.queue_email(&format!("ada{turn}@example.com")).await;
        office.post.run_once().await.unwrap();
    }
    assert_eq!(server.received().len(), 5);
    assert_eq!(server.connections.load(SeqCst), 1);
}

#[tokio::test]
async fn a_refused_email_fails_and_a_deferred_one_is_tried_again() {
    let (office, server) = mail_office(Security::None, Manner::Refuses("550 5.1.1 no such user")).await;
    let id = office.queue_email("nobody@example.com").await;
    office.post.run_once().await.unwrap();
    let row = office.row(&id).await;
    assert_eq!((row.status.as_str(), row.attempts, row.next_in_ms), ("failed", 1, None));
    assert!(row.failure.unwrap().contains("no such user"));

    server.behave(Manner::Refuses("450 4.2.0 greylisted"));
    let id = office.queue_email("ada@example.com").await;
    office.post.run_once().await.unwrap();
    let row = office.row(&id).await;
    assert_eq!((row.status.as_str(), row.attempts), ("queued", 1));
    assert!(
        (4_000..=6_000).contains(&row.next_in_ms.unwrap()) && row.failure.unwrap().contains("greylisted")
    );
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await.attempts, 1, "not before its time");
    server.behave(Manner::Good);
    office.t.clock.advance_ms(6_000);
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await, Row::sent(2));
}

#[tokio::test]
async fn a_server_that_closes_or_is_gone_is_tried_again_until_the_code_has_ended() {
    let (office, server) = mail_office(Security::None, Manner::Closes).await;
    let id = office.queue_email("ada@example.com").await;
    for attempts in 1..=7 {
        office.post.run_once().await.unwrap();
        let row = office.row(&id).await;
        assert_eq!(row.attempts, attempts);
        match row.next_in_ms {
            Some(pause) => office.t.clock.advance_ms(pause),
            None => {
                assert_eq!(row.status, "failed");
                assert!(attempts >= 5, "given up after {attempts}");
                assert!(server.received().is_empty());
                return;
            }
        }
    }
    panic!("never given up");
}

#[tokio::test]
async fn a_server_that_hangs_does_not_hold_up_other_instances() {
    let (office, server) = mail_office(Security::None, Manner::Hangs).await;
    let good = MailServer::start(Security::None, Manner::Good).await;
    let other = office.other_mail_instance(good.port).await;
    for turn in 0..40 {
        office.queue_email(&format!("slow{turn}@example.com")).await;
    }
    office.queue_for(&other, "email", "quick@example.com").await;
    let post = office.post.clone();
    let running = tokio::spawn(async move { post.run_once().await });
    until(|| !good.received().is_empty()).await;
    assert!(server.received().is_empty());
    running.abort();
}

#[tokio::test]
async fn many_servers_that_hang_do_not_take_all_the_room() {
    let (office, slow) = mail_office(Security::None, Manner::Hangs).await;
    let good = MailServer::start(Security::None, Manner::Good).await;
    let mut hanging = vec![office.t.tenant.id.clone()];
    for _ in 0..3 {
        hanging.push(office.other_mail_instance(slow.port).await);
    }
    for turn in 0..80 {
        office.queue_for(&hanging[turn % 4], "email", &format!("slow{turn}@example.com")).await;
    }
    // Theirs have waited longer.
    office.t.clock.advance_ms(1);
    let fifth = office.other_mail_instance(good.port).await;
    office.queue_for(&fifth, "email", "quick@example.com").await;
    let post = office.post.clone();
    let running = tokio::spawn(async move { post.run_once().await });
    until(|| !good.received().is_empty()).await;
    assert!(slow.received().is_empty());
    running.abort();
}

#[tokio::test]
async fn wrong_credentials_and_unknown_certificates_can_be_put_right() {
    let (office, server) = mail_office(Security::Starttls, Manner::Good).await;
    office
        .change(|settings, secret| {
            settings.messages.email.smtp.password = Some(secret(SMTP_PASSWORD, "wrong"));
        })
        .await;
    let id = office.queue_email("ada@example.com").await;
    office.post.run_once().await.unwrap();
    let row = office.row(&id).await;
    assert_eq!(row.status, "queued");
    assert!(row.failure.unwrap().contains("wrong credentials"));
    office
        .change(|settings, secret| {
            settings.messages.email.smtp.password = Some(secret(SMTP_PASSWORD, "hunter2"));
        })
        .await;
    let distrustful = office.t.post_office(None);
    office.t.clock.advance_ms(6_000);
    distrustful.run_once().await.unwrap();
    let row = office.row(&id).await;
    assert_eq!((row.status.as_str(), row.attempts), ("queued", 2));
    assert!(server.received().is_empty());
    office.t.clock.advance_ms(12_000);
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await, Row::sent(3));
}

#[tokio::test]
async fn text_messages_leave_as_twilio_takes_them() {
    let receiver = Receiver::start().await;
    let url = receiver.url();
    let office = Office::start(None, |settings, secret| {
        let sms = &mut settings.messages.sms;
        sms.transport = SmsTransport::Twilio;
        (sms.twilio.base_url, sms.twilio.account_sid) = (url, "AC123".to_owned());
        sms.twilio.from = "+15005550006".to_owned();
        sms.twilio.auth_token = Some(secret(TWILIO_TOKEN, "token"));
    })
    .await;
    let id = office.queue_sms("+442071838750").await;
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await, Row::sent(1));
    let came = receiver.came();
    assert_eq!(came[0].path, "/2010-04-01/Accounts/AC123/Messages.json");
    assert_eq!(came[0].headers["authorization"], "Basic QUMxMjM6dG9rZW4=");
    assert_eq!(came[0].headers["content-type"], "application/x-www-form-urlencoded");
    assert!(
        came[0].body.starts_with("To=%2B442071838750&From=%2B15005550006&Body=Your%20code"),
        "{}",
        came[0].body
    );

    receiver.answer_next(400, r#"{"code": 21211, "message": "Invalid 'To' Phone Number"}"#);
    let id = office.queue_sms("+442071838751").await;
    office.post.run_once().await.unwrap();
    let row = office.row(&id).await;
    assert_eq!(row.status, "failed");
    assert!(row.failure.unwrap().contains("21211"));

    receiver.answer_next(503, "");
    let id = office.queue_sms("+442071838752").await;
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await.status, "queued");
    office.t.clock.advance_ms(6_000);
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await, Row::sent(2));
}

#[tokio::test]
async fn a_webhook_gets_the_whole_message_signed() {
    let receiver = Receiver::start().await;
    let url = format!("{}/sms", receiver.url());
    let office = Office::start(None, |settings, secret| {
        settings.messages.sms.transport = SmsTransport::Webhook;
        settings.messages.sms.webhook.url = Some(url);
        settings.messages.sms.webhook.secret = Some(secret(SMS_WEBHOOK_SECRET, "whsec_c2VjcmV0"));
    })
    .await;
    receiver.answer_next(302, "");
    let id = office.queue_sms("+442071838750").await;
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await.status, "queued");
    office.t.clock.advance_ms(6_000);
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&id).await, Row::sent(2));
    let came = receiver.came();
    assert_eq!(came.len(), 2, "redirects are not followed");
    let header = |name: &str| came[1].headers[name].to_str().unwrap().to_owned();
    // Called as events and the inbox call it.
    let id = id.replacen("ema_", "sms_", 1);
    assert_eq!(header("webhook-id"), id);
    let signed = format!("{id}.{}.{}", header("webhook-timestamp"), came[1].body);
    let expected = hmac_sha256(b"secret", signed.as_bytes());
    assert_eq!(header("webhook-signature"), format!("v1,{}", support::base64(&expected)));
    assert_ne!(header("webhook-timestamp"), came[0].headers["webhook-timestamp"].to_str().unwrap());
    let body: serde_json::Value = serde_json::from_str(&came[1].body).unwrap();
    assert_eq!(
        (&body["to"], &body["code"], &body["channel"]),
        (&"+442071838750".into(), &"424242".into(), &"sms".into())
    );
    assert_eq!(body["id"], id);
}

#[tokio::test]
async fn without_a_transport_development_holds_messages_and_production_says_why() {
    let office = Office::start(None, |_, _| {}).await;
    let held = office.queue_email("ada@example.com").await;
    let failed = office.queue_for(&office.t.other.id.clone(), "sms", "+442071838750").await;
    office.post.run_once().await.unwrap();
    let row = office.row(&held).await;
    assert_eq!((row.status.as_str(), row.next_in_ms), ("held", None));
    let row = office.row(&failed).await;
    assert_eq!(
        (row.status.as_str(), row.failure.as_deref()),
        ("failed", Some("No transport for text messages is set up."))
    );
}

#[tokio::test]
async fn the_log_and_private_addresses_are_for_development_only() {
    let receiver = Receiver::start().await;
    let url = receiver.url().replace("http://", "https://");
    let office =
        Office::start(None, |settings, _| settings.messages.email.transport = EmailTransport::Log).await;
    let logged = office.queue_email("ada@example.com").await;
    let other = office.t.other.id.clone();
    office
        .change_of(&other, |settings, secret| {
            settings.messages.email.transport = EmailTransport::Log;
            settings.messages.sms.transport = SmsTransport::Webhook;
            settings.messages.sms.webhook.url = Some(url);
            settings.messages.sms.webhook.secret = Some(secret(SMS_WEBHOOK_SECRET, "word"));
        })
        .await;
    let (email, sms) = (
        office.queue_for(&other, "email", "ada@example.com").await,
        office.queue_for(&other, "sms", "+442071838750").await,
    );
    office.post.run_once().await.unwrap();
    assert_eq!(office.row(&logged).await, Row::sent(1));
    assert_eq!(office.row(&email).await.status, "failed");
    let row = office.row(&sms).await;
    assert!(row.failure.unwrap().contains("no address that requests may go to"));
    assert!(receiver.came().is_empty());
}

#[tokio::test]
async fn several_nodes_send_each_message_once() {
    let (office, server) = mail_office(Security::None, Manner::Slow(Duration::from_millis(20))).await;
    for turn in 0..60 {
        office.queue_email(&format!("ada{turn}@example.com")).await;
    }
    let nodes = [office.post.clone(), office.t.post_office(None), office.t.post_office(None)];
    let nodes = nodes.map(|post| tokio::spawn(async move { post.run_once().await }));
    for node in nodes {
        node.await.unwrap().unwrap();
    }
    // A node ends when nothing is due; what others took may still be on its way.
    until(|| server.received().len() >= 60).await;
    let mut to: Vec<String> = server.received().into_iter().flat_map(|mail| mail.to).collect();
    to.sort();
    to.dedup();
    assert_eq!((to.len(), server.received().len()), (60, 60));
}

#[tokio::test]
async fn what_a_dead_node_took_is_sent_when_its_time_is_over() {
    let (office, server) = mail_office(Security::None, Manner::Hangs).await;
    let id = office.queue_email("ada@example.com").await;
    let dead = office.t.post_office(None);
    let running = tokio::spawn(async move { dead.run_once().await });
    until(|| server.connections.load(SeqCst) == 1).await;
    running.abort();
    server.behave(Manner::Good);
    office.post.run_once().await.unwrap();
    assert!(server.received().is_empty(), "still taken");
    office.t.clock.advance_ms(31_000);
    office.post.run_once().await.unwrap();
    assert_eq!((office.row(&id).await, server.received().len()), (Row::sent(2), 1));
}

#[tokio::test]
async fn replies_of_mail_servers_reach_the_log_without_the_recipient() {
    crate::bad_inputs::logs::record();
    let reply =
        "550 5.1.1 <Seldom.Seen@hidden.example>: mailbox seldom.seen, phone +49 30 555 123 4567, unknown";
    let (office, server) = mail_office(Security::None, Manner::Refuses(reply)).await;
    let refused = office.queue_email("seldom.seen@hidden.example").await;
    office.post.run_once().await.unwrap();
    server.behave(Manner::Refuses("450 4.2.1 seldom.seen@hidden.example is busy"));
    let deferred = office.queue_email("seldom.seen@hidden.example").await;
    office.post.run_once().await.unwrap();
    // The owner finds the whole reply with the message.
    assert!(office.row(&refused).await.failure.unwrap().contains("<Seldom.Seen@hidden.example>"));
    let log = crate::bad_inputs::logs::log().to_lowercase();
    for id in [refused, deferred] {
        let line = log.lines().find(|line| line.contains(&id.to_lowercase())).unwrap();
        assert!(line.contains("[address]"), "{line}");
    }
    for secret in ["seldom", "hidden.example", "555 123"] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[tokio::test]
async fn what_was_queued_before_the_clock_was_set_back_is_sent() {
    let (office, server) = mail_office(Security::None, Manner::Good).await;
    let id = office.queue_email("ada@example.com").await;
    office.t.clock.advance_ms(-24 * 3_600_000);
    office.post.run_once().await.unwrap();
    assert_eq!((office.row(&id).await, server.received().len()), (Row::sent(1), 1));
}

#[tokio::test]
async fn metrics_tell_how_many_messages_wait() {
    let office = Office::start(None, |_, _| {}).await;
    office.queue_email("ada@example.com").await;
    let text = String::from_utf8(office.t.get("/metrics").await.bytes).unwrap();
    assert!(text.contains("# TYPE latchkey_messages_waiting gauge\nlatchkey_messages_waiting 1\n"), "{text}");
    assert!(text.contains("latchkey_messages_sent_total 0\n"), "{text}");
}
