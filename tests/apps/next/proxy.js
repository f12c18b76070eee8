import { clerkMiddleware } from '@clerk/nextjs/server';

// It finds out who is signed in; pages that are for them only say so themselves.
export default clerkMiddleware();

export const config = { matcher: ['/((?!_next|favicon.ico).*)'] };
