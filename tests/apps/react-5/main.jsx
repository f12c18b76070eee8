import {
  ClerkProvider, RedirectToSignIn, SignedIn, SignedOut, SignIn, SignOutButton, SignUp, useAuth,
} from '@clerk/clerk-react';
import { createRoot } from 'react-dom/client';

function Home() {
  return (
    <>
      <SignedOut>
        <h1>Signed out</h1>
      </SignedOut>
      <SignedIn>
        <h1>Signed in</h1>
      </SignedIn>
    </>
  );
}

function Protected() {
  const { userId } = useAuth();
  return (
    <>
      <SignedOut>
        <RedirectToSignIn />
      </SignedOut>
      <SignedIn>
        <h1>Protected</h1>
        <p id="who">{userId}</p>
        <SignOutButton />
      </SignedIn>
    </>
  );
}

const pages = {
  '/protected': Protected,
  '/sign-in': () => <SignIn routing="hash" />,
  '/sign-up': () => <SignUp routing="hash" />,
};
const Page = pages[window.location.pathname] ?? Home;
const env = import.meta.env;

createRoot(document.getElementById('root')).render(
  <ClerkProvider
    publishableKey={env.VITE_CLERK_PUBLISHABLE_KEY}
    telemetry={false}
    proxyUrl={env.VITE_CLERK_PROXY_URL}
    clerkJSUrl={env.VITE_CLERK_JS_URL}
    signInUrl={env.VITE_CLERK_SIGN_IN_URL ?? '/sign-in'}
    signUpUrl={env.VITE_CLERK_SIGN_UP_URL ?? '/sign-up'}
  >
    <Page />
  </ClerkProvider>,
);
