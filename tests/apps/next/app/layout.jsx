import { ClerkProvider } from '@clerk/nextjs';

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <ClerkProvider>{children}</ClerkProvider>
      </body>
    </html>
  );
}
