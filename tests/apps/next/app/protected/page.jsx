import { SignOutButton } from '@clerk/nextjs';
import { auth } from '@clerk/nextjs/server';

export default async function Protected() {
  const { userId } = await auth.protect();
  return (
    <>
      <h1>Protected</h1>
      <p id="who">{userId}</p>
      <SignOutButton />
    </>
  );
}
