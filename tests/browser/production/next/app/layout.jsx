import { ClerkProvider } from '@clerk/nextjs';

export const metadata = { title: 'Test application on Next.js', icons: 'data:,' };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <ClerkProvider>{children}</ClerkProvider>
      </body>
    </html>
  );
}
