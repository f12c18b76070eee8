// What Chromium holds, compared with the table of docs/COOKIES.md.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const document = join(import.meta.dirname, '..', '..', '..', 'docs', 'COOKIES.md');
const columns = [
  'Cookie', 'Instances', 'Set by', 'Domain', 'Path', 'Lifetime', 'Secure', 'SameSite', 'HttpOnly', 'Ended by',
];
const KINDS = ['development', 'local', 'production', 'proxied', 'satellite'];
const SETTERS = ['Frontend API', 'handshake', 'refresh', 'script', 'backend SDK'];
const SECONDS = { second: 1, minute: 60, day: 86_400, year: 365 * 86_400 };

function oneOf(cell, values, column) {
  assert.ok(values.includes(cell), `docs/COOKIES.md: "${cell}" is not understood as ${column}`);
  return cell;
}

function namesOf(cell) {
  return cell.split(', ').map((name) => {
    const [, plain, suffix] = name.match(/^`([a-z_]+?)(_<suffix>)?`$/) ?? [];
    assert.ok(plain, `docs/COOKIES.md: "${name}" is not understood as the name of a cookie`);
    return (site) => (suffix ? `${plain}_${site.suffix}` : plain);
  });
}

const kindsOf = (cell) => (cell === 'all' ? KINDS : cell.split(', ').map((kind) => oneOf(kind, KINDS, 'Instances')));

/** Seconds; `null` for cookies that end with the browser. */
function lifetimeOf(cell) {
  if (cell === 'session') return null;
  const [, count, unit] = cell.match(/^(\d+) (second|minute|day|year)s?$/) ?? [];
  assert.ok(unit, `docs/COOKIES.md: "${cell}" is not understood as a lifetime`);
  return Number(count) * SECONDS[unit];
}

function rowOf(line) {
  const cells = line.split('|').slice(1, -1).map((cell) => cell.trim());
  assert.equal(cells.length, columns.length, `docs/COOKIES.md: ${line}`);
  const [names, kinds, setter, domain, path, lifetime, secure, sameSite, httpOnly, end] = cells;
  assert.notEqual(end, '', `docs/COOKIES.md: ${line}`);
  return {
    line: cells.slice(0, -1).join(' | '),
    names: namesOf(names),
    kinds: kindsOf(kinds),
    setter: oneOf(setter, SETTERS, 'Set by'),
    domain: oneOf(domain, ['host only', 'Frontend API', 'registrable'], 'Domain'),
    path: oneOf(path, ['`/`', 'any'], 'Path'),
    lifetime: lifetimeOf(lifetime),
    secure: oneOf(secure, ['on https', 'if trusted', 'no'], 'Secure'),
    sameSite: oneOf(sameSite, ['Lax', 'Strict', 'None'], 'SameSite'),
    httpOnly: oneOf(httpOnly, ['yes', 'no'], 'HttpOnly') === 'yes',
  };
}

/** The rows of the table. Whatever is not understood is an error. */
function readTable() {
  const lines = readFileSync(document, 'utf8').split('\n').filter((line) => line.startsWith('|'));
  const header = lines[0].split('|').slice(1, -1).map((cell) => cell.trim());
  assert.deepEqual(header, columns, 'the columns of docs/COOKIES.md');
  assert.match(lines[1], /^[|-]+$/);
  return lines.slice(2).map(rowOf);
}

const table = readTable();

export const suffixOf = (publishableKey) =>
  createHash('sha1').update(publishableKey).digest('base64url').slice(0, 8);

/**
 * Hosts of one instance and of one kind, for comparisons: `kind`, `publishableKey`, `frontendApi` (the host browsers
 * ask), `registrable` if there is one, `apps` (hosts without ports).
 */
export const site = (values) => ({ isSecure: true, ...values, suffix: suffixOf(values.publishableKey) });

function domainsOf(row, place) {
  // Where there is no registrable domain, no other host gets the cookie.
  if (row.domain === 'registrable') return place.registrable ? [`.${place.registrable}`] : place.apps;
  if (row.domain === 'Frontend API') return [`.${place.frontendApi}`];
  if (row.setter === 'Frontend API') return [place.frontendApi];
  // The hosted pages have scripts too.
  return row.setter === 'script' ? [...place.apps, place.frontendApi] : place.apps;
}

/** Whether a lifetime is the one of a row, less what may have gone by: a day, or all of it if it is shorter. */
function isAlive(row, expires, { asked, answered }) {
  if (row.lifetime === null) return expires === -1;
  // A year of scripts can have a day more, and clocks differ by a second.
  const longest = row.lifetime === SECONDS.year ? row.lifetime + SECONDS.day : row.lifetime;
  // Chromium looked between the two times: a cookie can be over by the second.
  return expires - answered <= longest + 1 && expires - asked >= Math.max(0, row.lifetime - SECONDS.day);
}

/** The attributes of a cookie that are not those of a row. */
function misfits(cookie, row, place, now) {
  const wrong = [];
  if (!domainsOf(row, place).includes(cookie.domain)) wrong.push('domain');
  if (row.path !== 'any' && cookie.path !== '/') wrong.push('path');
  if (!isAlive(row, cookie.expires, now)) wrong.push('lifetime');
  const secure = { 'on https': place.isSecure, 'if trusted': true, no: false }[row.secure];
  if (cookie.secure !== secure) wrong.push('secure');
  if (cookie.sameSite !== row.sameSite) wrong.push('sameSite');
  if (cookie.httpOnly !== row.httpOnly) wrong.push('httpOnly');
  return wrong;
}

function show({ name, domain, path, expires, secure, sameSite, httpOnly }, now) {
  const left = expires === -1 ? 'session' : `${(expires - now.asked).toFixed(1)} s`;
  return `${name} | ${domain} | ${path} | ${left} | secure ${secure} | ${sameSite} | httpOnly ${httpOnly}`;
}

/** What is wrong with a cookie: nothing if a row fits. */
function wrongWith(cookie, places, now) {
  const candidates = places.flatMap((place) =>
    table
      .filter((row) => row.kinds.includes(place.kind) && row.names.some((name) => name(place) === cookie.name))
      .map((row) => ({ row, wrong: misfits(cookie, row, place, now), kind: place.kind })));
  if (candidates.some(({ wrong }) => wrong.length === 0)) return [];
  const least = Math.min(...candidates.map(({ wrong }) => wrong.length));
  const nearest = candidates.find(({ wrong }) => wrong.length === least);
  const why = nearest ? `has another ${nearest.wrong.join(', ')} than ${nearest.row.line}` : 'is in no row';
  return [`${show(cookie, now)}\n    ${why}`];
}

/** Whether there is a host that gets both of two cookies. */
function meet(one, other) {
  const read = ({ domain }) => ({ name: domain.replace(/^\./, ''), isWide: domain.startsWith('.') });
  const [a, b] = [read(one), read(other)];
  const reaches = (wide, narrow) => wide.isWide && narrow.name.endsWith(`.${wide.name}`);
  return a.name === b.name || reaches(a, b) || reaches(b, a);
}

/** Fails unless all cookies of a browser fit the table, each host gets one of a name, and no handshake is left. */
export async function compareJar(context, places) {
  const asked = Date.now() / 1000;
  const cookies = await context.cookies();
  const now = { asked, answered: Date.now() / 1000 };
  const wrong = cookies.flatMap((cookie) => wrongWith(cookie, places, now));
  cookies.forEach((cookie, index) => {
    const twins = cookies.slice(index + 1).filter((other) => other.name === cookie.name && meet(cookie, other));
    wrong.push(...twins.map((twin) => `two of a name:\n    ${show(cookie, now)}\n    ${show(twin, now)}`));
    if (cookie.name.startsWith('__clerk_handshake')) wrong.push(`left behind: ${show(cookie, now)}`);
  });
  assert.deepEqual(wrong, [], `cookies that are not as docs/COOKIES.md says\n  ${wrong.join('\n  ')}`);
}
