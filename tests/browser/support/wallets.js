// An extension with wallets: it is injected as extensions are, and signs with a real key.
import assert from 'node:assert/strict';

import { getBytes } from 'ethers';

export const METAMASK = 'web3_metamask_signature';

/** Installs an extension that holds the keys of wallets; the last one is the account that is chosen in it. */
export async function install(context) {
  const extension = { wallets: [], texts: [] };
  await context.exposeFunction('askExtension', (method, params) => {
    const wallet = extension.wallets.at(-1);
    if (method === 'eth_requestAccounts') return [wallet.address];
    assert.equal(method, 'personal_sign');
    assert.equal(params[1].toLowerCase(), wallet.address.toLowerCase());
    const bytes = getBytes(params[0]);
    extension.texts.push(new TextDecoder().decode(bytes));
    return wallet.signMessage(bytes);
  });
  await context.addInitScript(() => {
    const provider = { request: ({ method, params }) => window.askExtension(method, params) };
    const info = { uuid: 'e6b1e1f0-0000-4000-8000-000000000001', name: 'MetaMask', icon: 'data:,', rdns: 'io.metamask' };
    const announce = () =>
      window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
    window.addEventListener('eip6963:requestProvider', announce);
    window.ethereum = provider;
    announce();
  });
  return extension;
}

/** An address as the profile shows it. */
export const shortened = (address) => `${address.slice(0, 6)}...${address.slice(-4)}`;
