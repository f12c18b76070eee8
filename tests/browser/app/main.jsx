// The application under test: one page for each component, and a home page that tells who is signed in.
import {
  ClerkProvider,
  CreateOrganization,
  OrganizationList,
  OrganizationProfile,
  OrganizationSwitcher,
  Show,
  SignIn,
  SignUp,
  UserButton,
  UserProfile,
  useAuth,
  useOrganization,
  useUser,
} from '@clerk/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

function Home() {
  return (
    <>
      <Show when="signed-out">
        <h1>Signed out</h1>
        <a href="/sign-in">Sign in</a> <a href="/sign-up">Sign up</a>
      </Show>
      <Show when="signed-in">
        <Account />
      </Show>
    </>
  );
}

function Account() {
  const { user } = useUser();
  const { getToken, sessionId } = useAuth();
  const [token, setToken] = useState('');
  return (
    <>
      <h1>Signed in</h1>
      <UserButton />
      <p data-testid="email">{user.primaryEmailAddress?.emailAddress}</p>
      <p data-testid="user">{user.id}</p>
      <p data-testid="session">{sessionId}</p>
      <a href="/profile">Profile</a>
      <button onClick={async () => setToken(await getToken({ skipCache: true }))}>Mint a token</button>
      <textarea data-testid="token" readOnly value={token} rows={8} cols={80} />
    </>
  );
}

const manages = { permission: 'org:sys_memberships:manage' };
const closes = { permission: 'org:ledger:close' };

/** For which organization somebody works, and what they may do there. */
function Workplace() {
  const { organization, isLoaded } = useOrganization();
  const { orgId, orgRole, orgSlug, has } = useAuth();
  if (!isLoaded) return null;
  return (
    <>
      <h1>Workplace</h1>
      <OrganizationSwitcher afterCreateOrganizationUrl="/workplace" afterLeaveOrganizationUrl="/workplace" />
      <p data-testid="organization">{organization?.name ?? 'none'}</p>
      <p data-testid="claims">{orgId ? `${orgId} ${orgSlug} ${orgRole}` : 'none'}</p>
      <p data-testid="has">
        {has(manages) ? 'manages members' : 'manages nobody'}, {has(closes) ? 'closes the ledger' : 'closes nothing'}
      </p>
      <Show when={closes} fallback={<p data-testid="protected">Not for you</p>}>
        <p data-testid="protected">The ledger</p>
      </Show>
    </>
  );
}

/** What accounts at other providers must let the application do, by provider: `?google=calendar`. */
const scopes = () =>
  Object.fromEntries([...new URLSearchParams(window.location.search)].map(([key, scope]) => [key, [scope]]));

const pages = {
  '/': Home,
  '/sign-in': () => <SignIn routing="hash" />,
  '/sign-in-by-window': () => <SignIn routing="hash" oauthFlow="popup" />,
  '/sign-up': () => <SignUp routing="hash" />,
  '/profile': () => <UserProfile routing="hash" additionalOAuthScopes={scopes()} />,
  '/workplace': Workplace,
  '/create-organization': () => <CreateOrganization routing="hash" afterCreateOrganizationUrl="/workplace" />,
  '/create-organization-by-default': () => <CreateOrganization routing="hash" />,
  '/organization-by-default': () => <OrganizationProfile routing="hash" />,
  '/organization': () => <OrganizationProfile routing="hash" afterLeaveOrganizationUrl="/workplace" />,
  '/organizations': () => (
    <OrganizationList
      afterSelectOrganizationUrl="/workplace"
      afterCreateOrganizationUrl="/workplace"
      afterSelectPersonalUrl="/workplace"
    />
  ),
};

function App() {
  const Page = pages[window.location.pathname] ?? (() => <h1>No such page</h1>);
  return (
    <ClerkProvider signInUrl="/sign-in" signUpUrl="/sign-up" afterSignOutUrl="/" telemetry={false} {...window.config}>
      <Page />
    </ClerkProvider>
  );
}

createRoot(document.getElementById('root')).render(<App />);
