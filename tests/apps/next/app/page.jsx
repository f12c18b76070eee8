import { Show } from '@clerk/nextjs';

export default function Home() {
  return (
    <>
      <Show when="signed-out">
        <h1>Signed out</h1>
      </Show>
      <Show when="signed-in">
        <h1>Signed in</h1>
      </Show>
    </>
  );
}
