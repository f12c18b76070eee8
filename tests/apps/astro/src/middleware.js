import { clerkMiddleware } from '@clerk/astro/server';

export const onRequest = clerkMiddleware((auth, context) => {
  const { userId, redirectToSignIn } = auth();
  return !userId && context.url.pathname === '/protected' ? redirectToSignIn() : undefined;
});
