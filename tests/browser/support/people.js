// People who do not exist yet, and the codes of their second factors.
import { createHmac, randomBytes } from 'node:crypto';

import { clerk } from './server.js';

export const unique = () => randomBytes(8).toString('hex');
export const newEmail = () => `${unique()}@example.com`;
/** An address to which nothing is ever sent: its code on a development instance is 424242. */
export const newTestEmail = () => `${unique()}+clerk_test@example.com`;
export const newPassword = () => `Zq7!${unique()}`;

/** A user with a verified address and a password, made through the Backend API. */
export async function newPerson({ email = newEmail(), api = clerk } = {}) {
  const password = newPassword();
  const user = await api.users.createUser({ emailAddress: [email], password });
  return { id: user.id, email, password };
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code of RFC 6238 (SHA-1, 6 digits, 30 s), `steps` periods away from now. */
export function totp(secret, steps = 0) {
  const bits = [...secret.replace(/=+$/, '')].map((char) => BASE32.indexOf(char).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const mac = createHmac('sha1', key).update(counter).digest();
  const number = mac.readUInt32BE(mac[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}
