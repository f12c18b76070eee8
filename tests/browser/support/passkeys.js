// A device with passkeys: Chromium's virtual authenticator.

/** Gives a browser a device that keeps passkeys, and which its owner always unlocks. */
export async function withPasskeys({ context, page }) {
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
