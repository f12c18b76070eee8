// A device with passkeys: Chromium's virtual authenticator, in a browser that looks as if a person drove it.

/** Gives a browser a device that keeps passkeys, and which its owner always unlocks. */
export async function withPasskeys({ context, page }) {
  // clerk-js leaves passkeys alone in a browser that a program drives.
  await context.addInitScript(() => Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false }));
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** The passkeys on the device. */
    async credentials() {
      const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId });
      return credentials;
    },
    /** Whether its owner is there: without them nothing is answered by itself, as when a page offers passkeys unasked. */
    setPresent(enabled) {
      return session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
    },
  };
}
