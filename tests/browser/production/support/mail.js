// A mail server: whatever is sent to it can be read.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The texts of a mail: its parts, decoded. */
function decode(raw) {
  const boundary = raw.match(/boundary="?([^"\r\n;]+)/i)?.[1];
  const parts = boundary ? raw.split(`--${boundary}`).slice(1, -1) : [raw];
  return parts.map((part) => {
    const [head, ...rest] = part.split(/\r\n\r\n/);
    const body = rest.join('\r\n\r\n');
    if (/^content-transfer-encoding: *base64/im.test(head)) return Buffer.from(body, 'base64').toString();
    if (!/^content-transfer-encoding: *quoted-printable/im.test(head)) return body;
    const byte = (_, hex) => String.fromCharCode(parseInt(hex, 16));
    return Buffer.from(body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, byte), 'latin1').toString();
  });
}

/** Speaks as much SMTP as a sender needs. */
function converse(socket, keep) {
  let [text, to, isData] = ['', [], false];
  const say = (line) => socket.write(`${line}\r\n`);
  const answers = {
    EHLO: () => say('250 mail.acme.co.uk'),
    MAIL: () => say('250 OK'),
    RCPT: (line) => {
      to.push(line.match(/<(.*)>/)[1]);
      say('250 OK');
    },
    DATA: () => {
      isData = true;
      say('354 Go on');
    },
    QUIT: () => socket.end('221 Bye\r\n'),
  };
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk;
    for (;;) {
      const end = text.indexOf(isData ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return;
      const said = text.slice(0, end);
      text = text.slice(end + (isData ? 5 : 2));
      if (isData) {
        keep({ to, texts: decode(said.replace(/\r\n\.\./g, '\r\n.')) });
        [to, isData] = [[], false];
        say('250 Kept');
      } else {
        (answers[said.slice(0, 4).toUpperCase()] ?? (() => say('502 What?')))(said);
      }
    }
  });
  say('220 mail.acme.co.uk');
}

/** Starts a mail server, and lets the instance send by it. */
export async function serveMail() {
  const mails = [];
  const server = createServer((socket) => converse(socket, (mail) => mails.push(mail)));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const settings = [
    'messages.email.transport=smtp', 'messages.email.from_domain=acme.co.uk', 'messages.email.smtp.tls=none',
    'messages.email.smtp.host=127.0.0.1', `messages.email.smtp.port=${server.address().port}`,
  ];
  const { LATCHKEY_BIN, LATCHKEY_INSTANCE_ID } = process.env;
  execFileSync(LATCHKEY_BIN, ['settings', 'set', '--instance', LATCHKEY_INSTANCE_ID, ...settings], { stdio: 'pipe' });

  /** The next mail to an address, or one that is there already. Each is handed out once. */
  const next = async (address) => {
    for (let tries = 0; tries < 600; tries += 1) {
      const mail = mails.find(({ to, isRead }) => !isRead && to.includes(address));
      if (mail) {
        mail.isRead = true;
        return mail.texts;
      }
      await sleep(100);
    }
    throw new Error(`No mail to ${address} within a minute.`);
  };
  return { next, close: () => server.close() };
}

/** All addresses of the web in a mail. */
export function addressesIn(texts) {
  const found = texts.flatMap((text) => text.match(/https?:\/\/[^\s"'<>)]+/g) ?? []);
  return found.map((address) => address.replaceAll('&amp;', '&'));
}

export function codeIn(texts) {
  const code = texts.join('\n').match(/\b\d{6}\b/)?.[0];
  assert.ok(code, `no code in: ${texts[0]}`);
  return code;
}
