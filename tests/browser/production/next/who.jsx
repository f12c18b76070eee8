import { UserButton } from '@clerk/nextjs';
import { auth } from '@clerk/nextjs/server';

/** Whom the server sees, and the component that whoever is signed in sees in the browser. */
export async function Who({ title }) {
  const { userId } = await auth();
  return (
    <>
      <h1>{title}</h1>
      <p id="who">{userId ?? 'nobody'}</p>
      <UserButton />
    </>
  );
}
