// Tells scripts/file_tests.py what became of each test, one JSON object per line.
const TOLD = ['test:pass', 'test:fail', 'test:diagnostic'];

export default async function* report(events) {
  for await (const { type, data } of events) {
    if (TOLD.includes(type) && data.file) {
      yield `${JSON.stringify({
        type,
        file: data.file,
        name: data.name,
        kind: data.details?.type,
        isSkipped: data.skip !== undefined || data.todo !== undefined,
        failure: data.details?.error?.failureType,
        message: data.message,
      })}\n`;
    }
  }
}
